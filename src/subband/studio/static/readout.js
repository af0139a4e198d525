// The numbers of the pixel under the pointer, before and after, in the units of the data.

import { find } from './dom.js';
import { formatNumber } from './measures.js';
import { withUnit } from './units.js';

export class Readout {
  /** @param {(pixel: {row: number, column: number}) => void} ask */
  constructor(ask) {
    this.ask = ask;
    this.element = find('readout');
    /** @type {{row: number, column: number}|null} */
    this.pixel = null;
    this.isAsked = false;
    this.isNew = false;
  }

  /** @param {{row: number, column: number}|null} pixel under the pointer */
  point(pixel) {
    if (pixel?.row === this.pixel?.row && pixel?.column === this.pixel?.column) return;
    this.pixel = pixel;
    this.element.hidden = pixel === null;
    if (pixel === null) return;
    this.element.textContent = formatPosition(pixel);
    this.refresh();
  }

  /** Ask again, since another frame is shown; one question at a time. */
  refresh() {
    if (this.pixel === null) return;
    this.isNew = this.isAsked;
    if (this.isAsked) return;
    this.isAsked = true;
    this.ask(this.pixel);
    // a view without pixels of its own answers nothing
    this.timer = window.setTimeout(() => { this.isAsked = false; }, 1000);
  }

  /** @param {{row: number, column: number, before: number[], after: number[]}} message */
  take(message) {
    window.clearTimeout(this.timer);
    this.isAsked = false;
    if (this.isNew) this.refresh();
    if (message.row !== this.pixel?.row || message.column !== this.pixel?.column) return;
    const [before, after] = [message.before, message.after].map((values) => values.map(formatNumber).join(' '));
    this.element.textContent = `${formatPosition(message)} · ${before} → ${withUnit(after)}`;
  }
}

const formatPosition = ({ row, column }) => `x ${column}, y ${row}`;
