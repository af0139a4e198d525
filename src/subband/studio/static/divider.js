// The divider between before and after: dragged, or moved with the keys. It stays where it is on the screen.

import { find } from './dom.js';

/** Percent of the width for each key. */
const STEPS = {
  ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -100, End: 100,
};

export class Divider {
  constructor() {
    this.handle = find('divider');
    this.image = find('image');
    this.before = find('canvas-before');
    /** Percent of the width that is seen. */
    this.share = 50;
    /** Percent of the width of the image. */
    this.split = 50;
    /** What of the image is not seen, in pixels of the screen. */
    this.hiddenPart = { left: 0, right: 0, across: 1 };
    this.handle.addEventListener('pointerdown', (event) => {
      this.handle.setPointerCapture(event.pointerId);
      event.preventDefault();
      this.handle.focus();
    });
    this.handle.addEventListener('pointermove', (event) => {
      if (!this.handle.hasPointerCapture(event.pointerId)) return;
      const { left, right, across } = this.hiddenPart;
      const from = this.image.getBoundingClientRect().left + left;
      this.move((100 * (event.clientX - from)) / (across - left - right));
    });
    this.handle.addEventListener('keydown', (event) => {
      if (!(event.key in STEPS)) return;
      event.preventDefault();
      this.move(this.share + STEPS[event.key] * (event.shiftKey ? 5 : 1));
    });
    this.move(50);
  }

  /** @param {boolean} on */
  show(on) {
    this.handle.hidden = this.before.hidden = !on;
    this.image.classList.toggle('split', on);
  }

  /** The image lies elsewhere. @param {{left: number, right: number, across: number}} hiddenPart */
  follow(hiddenPart) {
    this.hiddenPart = hiddenPart;
    this.move(this.share);
  }

  /** @param {number} share of the width that is seen that shows the image before, in percent */
  move(share) {
    this.share = Math.min(100, Math.max(0, share));
    const { left, right, across } = this.hiddenPart;
    this.split = (100 * left + this.share * (across - left - right)) / across;
    this.image.style.setProperty('--split', `${this.split}%`);
    const before = Math.round(this.share);
    this.handle.setAttribute('aria-valuenow', String(before));
    this.handle.setAttribute('aria-valuetext', `${before} % before, ${100 - before} % after`);
  }
}
