// The divider between before and after: dragged, or moved with the keys.

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
    this.share = 50;
    this.handle.addEventListener('pointerdown', (event) => {
      this.handle.setPointerCapture(event.pointerId);
      event.preventDefault();
      this.handle.focus();
    });
    this.handle.addEventListener('pointermove', (event) => {
      if (!this.handle.hasPointerCapture(event.pointerId)) return;
      const box = this.image.getBoundingClientRect();
      this.move((100 * (event.clientX - box.left)) / box.width);
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

  /** @param {number} share of the width that shows the image before, in percent */
  move(share) {
    this.share = Math.min(100, Math.max(0, share));
    this.image.style.setProperty('--split', `${this.share}%`);
    const before = Math.round(this.share);
    this.handle.setAttribute('aria-valuenow', String(before));
    this.handle.setAttribute('aria-valuetext', `${before} % before, ${100 - before} % after`);
  }
}
