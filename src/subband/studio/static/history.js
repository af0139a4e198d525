// Undo and redo of settings.

import { find } from './dom.js';

const MOST = 100;
/** Changes of one setting within so many milliseconds are one step, such as all of a drag. */
const TOGETHER = 1000;

export class History {
  /** @param {{present: () => any, restore: (snapshot: any) => void}} handlers */
  constructor(handlers) {
    this.handlers = handlers;
    this.past = [];
    this.future = [];
    this.last = { name: '', time: 0 };
    find('undo').addEventListener('click', () => this.undo());
    find('redo').addEventListener('click', () => this.redo());
    window.addEventListener('keydown', (event) => {
      const isText = event.target instanceof Element && event.target.closest('input[type=text], input[type=number], textarea');
      if (!(event.ctrlKey || event.metaKey) || event.altKey || isText) return;
      const key = event.key.toLowerCase();
      if (key !== 'z' && key !== 'y') return;
      event.preventDefault();
      if (key === 'z' && !event.shiftKey) this.undo();
      else this.redo();
    });
    this.#show();
  }

  /** Note what is there before it changes. @param {string} name of the one setting that does; empty if it is more */
  note(name = '') {
    const time = performance.now();
    const isSame = name !== '' && name === this.last.name && time - this.last.time < TOGETHER;
    this.last = { name, time };
    if (isSame) return;
    this.past.push(this.handlers.present());
    this.past = this.past.slice(-MOST);
    this.future = [];
    this.#show();
  }

  /** @returns {boolean} whether there was something to undo */
  undo() {
    return this.#go(this.past, this.future);
  }

  redo() {
    return this.#go(this.future, this.past);
  }

  #go(from, to) {
    if (!from.length) return false;
    to.push(this.handlers.present());
    this.last.name = '';
    this.handlers.restore(from.pop());
    this.#show();
    return true;
  }

  #show() {
    find('undo').disabled = !this.past.length;
    find('redo').disabled = !this.future.length;
  }
}
