// Drawing frames: raw or encoded parts onto canvases that keep the resolution of the frame.

const TYPES = { jpeg: 'image/jpeg', webp: 'image/webp', png: 'image/png' };

/** Where each role is drawn: a mosaic replaces the result. */
const LAYERS = { result: 'result', analysis: 'result', removed: 'result', before: 'before' };

/**
 * Spread raw pixels to RGBA words.
 * @param {"rgb"|"grey"} format
 * @param {Uint8Array} bytes
 * @param {Uint32Array} words as many as there are pixels
 */
export function spreadPixels(format, bytes, words) {
  const count = words.length;
  if (format === 'grey') {
    for (let i = 0; i < count; i += 1) words[i] = 0xff000000 | (bytes[i] * 0x010101);
    return;
  }
  // four pixels of three bytes are three words: a third of the reads
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const packed = new Uint32Array(aligned.buffer, aligned.byteOffset, (3 * count) >> 2);
  const whole = count - (count % 4);
  for (let i = 0, j = 0; i < whole; i += 4, j += 3) {
    const first = packed[j];
    const second = packed[j + 1];
    const third = packed[j + 2];
    words[i] = first | 0xff000000;
    words[i + 1] = (first >>> 24) | (second << 8) | 0xff000000;
    words[i + 2] = (second >>> 16) | (third << 16) | 0xff000000;
    words[i + 3] = (third >>> 8) | 0xff000000;
  }
  for (let i = whole; i < count; i += 1) {
    words[i] = bytes[3 * i] | (bytes[3 * i + 1] << 8) | (bytes[3 * i + 2] << 16) | 0xff000000;
  }
}

export class Frames {
  /** @param {{result: HTMLCanvasElement, before: HTMLCanvasElement}} canvases */
  constructor(canvases) {
    this.canvases = canvases;
    this.pens = {};
    this.images = {};
    // frames come from memory and tests read them back, so that a canvas in memory is the short way
    for (const [layer, canvas] of Object.entries(canvases)) {
      this.pens[layer] = canvas.getContext('2d', { willReadFrequently: true });
    }
    this.last = Promise.resolve();
    /** Where the canvases begin in the image, and how much of its width they have. */
    this.from = 0;
    this.span = 1;
    /** Left, top, right and bottom of the part of a large image that they hold; null if they hold all. */
    this.extent = null;
  }

  /**
   * Draw all parts of a frame at once, after those of the frame before.
   * @param {any} header
   * @param {ArrayBuffer} buffer
   * @param {number} offset where the payload begins
   * @returns {Promise<void>}
   */
  draw(header, buffer, offset) {
    const drawn = this.last.then(() => this.#draw(header, buffer, offset));
    // a frame that cannot be decoded must not keep the next from being drawn
    this.last = drawn.catch(() => {});
    return drawn;
  }

  async #draw(header, buffer, offset) {
    const ready = [];
    for (const part of header.parts) {
      const bytes = new Uint8Array(buffer, offset, part.length);
      offset += part.length;
      const type = TYPES[part.format];
      const bitmap = type
        ? await createImageBitmap(new Blob([bytes], { type }), { colorSpaceConversion: 'none' })
        : this.#spread(part, bytes);
      ready.push([LAYERS[part.role] ?? 'result', part, bitmap]);
    }
    // a part of a large image is drawn into what is seen of it
    const [x, y] = header.at ?? [0, 0];
    if (!header.at) this.#lay(header);
    for (const [layer, part, bitmap] of ready) {
      const canvas = this.canvases[layer];
      if (!header.at && (canvas.width !== part.width || canvas.height !== part.height)) {
        Object.assign(canvas, { width: part.width, height: part.height });
      }
      if (bitmap instanceof ImageData) {
        this.pens[layer].putImageData(bitmap, x, y);
      } else {
        this.pens[layer].drawImage(bitmap, x, y);
        bitmap.close();
      }
    }
  }

  /** Put the canvases where the part of the image lies that they hold: all of it, unless it is large. */
  #lay({ size = [1, 1], extent = null }) {
    this.extent = extent;
    const [width, height] = size;
    const [left, top, right, bottom] = extent ?? [0, 0, 1, 1];
    this.from = left / width;
    this.span = (right - left) / width;
    for (const { style } of Object.values(this.canvases)) {
      Object.assign(style, {
        left: `${100 * this.from}%`, top: `${(100 * top) / height}%`,
        width: `${100 * this.span}%`, height: `${(100 * (bottom - top)) / height}%`,
      });
      style.setProperty('--from', `${100 * this.from}%`);
      style.setProperty('--span', String(this.span));
    }
  }

  /** What percent of the width of a canvas lie before some percent of that of the image. @param {number} split */
  locate(split) {
    return Math.min(100, Math.max(0, (split - 100 * this.from) / this.span));
  }

  /** One buffer for each layer, used again by the next frame of the same size. */
  #spread(part, bytes) {
    const layer = LAYERS[part.role] ?? 'result';
    let image = this.images[layer];
    if (image?.width !== part.width || image?.height !== part.height) {
      image = this.images[layer] = new ImageData(part.width, part.height);
    }
    spreadPixels(part.format, bytes, new Uint32Array(image.data.buffer));
    return image;
  }

  /** Read a canvas back. @param {string} role @returns {{width: number, height: number, data: Uint8ClampedArray}} */
  pixels(role = 'result') {
    const layer = LAYERS[role] ?? 'result';
    const { width, height } = this.canvases[layer];
    return { width, height, data: this.pens[layer].getImageData(0, 0, width, height).data };
  }
}
