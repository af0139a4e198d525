// What takes longer than a moment is said, and can be given up.

import { find } from './dom.js';

const MOMENT = 500;

export class Busy {
  /** @param {() => void} cancelled */
  constructor(cancelled) {
    this.element = find('busy');
    this.timer = 0;
    find('busy-cancel').addEventListener('click', () => cancelled());
  }

  /** Something was asked for. @param {string} text @param {boolean} canEnd whether it can be given up */
  start(text, canEnd) {
    window.clearTimeout(this.timer);
    find('busy-cancel').hidden = !canEnd;
    this.timer = window.setTimeout(() => {
      find('busy-text').textContent = text;
      this.element.hidden = false;
    }, this.element.hidden ? MOMENT : 0);
  }

  stop() {
    window.clearTimeout(this.timer);
    this.element.hidden = true;
  }
}
