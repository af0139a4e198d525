// What takes longer than a moment is said, with how far it is, and can be given up.

import { find } from './dom.js';

const MOMENT = 500;

export class Busy {
  /** @param {() => void} cancelled */
  constructor(cancelled) {
    this.element = find('busy');
    this.timer = 0;
    /** Whether what is seen is there, and the rest of a large image is computed. */
    this.isRest = false;
    find('busy-cancel').addEventListener('click', () => cancelled());
  }

  get isShown() {
    return !this.element.hidden;
  }

  get canEnd() {
    return this.isShown && !find('busy-cancel').hidden;
  }

  /** Something was asked for. @param {string} text @param {boolean} canEnd whether it can be given up */
  start(text, canEnd) {
    window.clearTimeout(this.timer);
    this.timer = 0;
    this.isRest = false;
    this.#say(text, canEnd);
  }

  /** What is seen is there, and a part of the whole. @param {number} share */
  follow(share) {
    this.isRest = true;
    this.#say(`Computing all of it… ${Math.round(100 * share)} %`, true);
  }

  #say(text, canEnd) {
    this.text = text;
    find('busy-cancel').hidden = !canEnd;
    if (this.isShown) find('busy-text').textContent = text;
    this.timer ||= window.setTimeout(() => {
      find('busy-text').textContent = this.text;
      this.element.hidden = false;
    }, this.isShown ? 0 : MOMENT);
  }

  stop() {
    window.clearTimeout(this.timer);
    this.timer = 0;
    this.isRest = false;
    this.element.hidden = true;
  }
}
