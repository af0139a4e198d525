// Large images: the server is told what is seen of them, and sends that.

export class Large {
  /**
   * @param {import('./viewport.js').Viewport} viewport
   * @param {(message: any) => void} send
   */
  constructor(viewport, send) {
    this.viewport = viewport;
    this.send = send;
    /** Whether only what is seen of the image comes. */
    this.isOn = false;
    this.last = '';
    this.timer = 0;
  }

  /** Another source, or another connection: the server takes all of the image for seen. */
  begin() {
    this.isOn = false;
    this.last = '';
    this.#tell();
  }

  /** Take what a frame says about itself. @param {{size?: number[]}} header */
  take({ size }) {
    this.isOn = size !== undefined;
    this.follow();
  }

  /** The image lies elsewhere: tell it once before the next frame of the screen. */
  follow() {
    this.timer ||= window.requestAnimationFrame(() => {
      this.timer = 0;
      this.#tell();
    });
  }

  #tell() {
    const message = JSON.stringify(this.describe());
    if (message === this.last) return;
    this.last = message;
    this.send(JSON.parse(message));
  }

  /** The screen, and what of the image is on it if that is not all of it. */
  describe() {
    const { element, size, scales, hiddenPart } = this.viewport;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [element.clientWidth, element.clientHeight].map((side) => Math.max(1, Math.round(side * ratio)));
    const { left = 0, right = 0, top = 0, bottom = 0 } = hiddenPart ?? {};
    if (!this.isOn || !(left || right || top || bottom)) return { width, height };
    return {
      width, height, left: left / scales.x, top: top / scales.y,
      right: size.width - right / scales.x, bottom: size.height - bottom / scales.y,
    };
  }
}
