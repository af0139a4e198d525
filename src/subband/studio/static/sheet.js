// On phones and tablets, the settings are a sheet below the image, as high as its handle is pulled; the image stays.

import { find } from './dom.js';
import { read, write } from './keeping.js';

const KEY = 'subband-sheet';
/** Percent of the height for each key, and the heights that a tap on the handle goes through. */
const STEPS = { ArrowUp: 5, ArrowDown: -5, PageUp: 20, PageDown: -20, Home: -100, End: 100 };
const STOPS = [0, 45, 80];
const MOST = 80;
/** How far a pointer goes before it drags. */
const SLACK = 5;

export class Sheet {
  constructor() {
    this.handle = find('sheet');
    this.workspace = find('workspace');
    let from = null;
    this.handle.addEventListener('pointerdown', (event) => {
      this.handle.setPointerCapture(event.pointerId);
      from = { y: event.clientY, height: this.height, isDragged: false };
    });
    this.handle.addEventListener('pointermove', (event) => {
      if (!from) return;
      from.isDragged ||= Math.abs(event.clientY - from.y) > SLACK;
      if (from.isDragged) this.set(from.height + (100 * (from.y - event.clientY)) / this.workspace.clientHeight);
    });
    this.handle.addEventListener('pointerup', () => {
      if (from && !from.isDragged) this.set(STOPS.find((stop) => stop > this.height) ?? 0);
      from = null;
    });
    this.handle.addEventListener('pointercancel', () => { from = null; });
    this.handle.addEventListener('keydown', (event) => {
      if (event.key in STEPS) this.set(this.height + STEPS[event.key]);
      else if (event.key === 'Enter' || event.key === ' ') this.set(STOPS.find((stop) => stop > this.height) ?? 0);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.set(Number(read(KEY) ?? 45));
  }

  /** @param {number} height in percent of what there is */
  set(height) {
    this.height = Math.min(MOST, Math.max(0, Number.isFinite(height) ? height : 45));
    this.workspace.style.setProperty('--sheet', `${this.height}%`);
    this.workspace.classList.toggle('closed', this.height === 0);
    const shown = Math.round(this.height);
    this.handle.setAttribute('aria-valuenow', String(shown));
    this.handle.setAttribute('aria-valuetext', shown ? `${shown} % of the height` : 'closed');
    write(KEY, String(this.height));
  }
}
