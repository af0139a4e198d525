// What the server measures of the image: its histogram, its noise, what is black and white.

import { find } from './dom.js';
import { withUnit } from './units.js';

/** Milliseconds between two measurements, and while a video plays. */
const EVERY = 300;
const PLAYING = 2000;

/** A number as people write it. @param {number} value */
export const formatNumber = (value) => String(Number(value.toPrecision(Math.abs(value) >= 1000 ? 6 : 4)));

export class Measures {
  /** @param {() => void} ask */
  constructor(ask) {
    this.ask = ask;
    /** @type {any} */
    this.last = null;
    this.timer = 0;
    this.asked = 0;
    /** What is called with a new message, and the element that it is for. */
    this.watchers = new Map();
    /** Who waits for the next one. @type {((message: any) => void)[]} */
    this.waiting = [];
  }

  /** @param {(message: any) => void} changed @param {HTMLElement} element as long as it is on the page */
  watch(changed, element) {
    this.watchers.set(changed, element);
    if (this.last) window.requestAnimationFrame(() => this.last && changed(this.last));
  }

  /** The next message. @returns {Promise<any>} */
  next() {
    return new Promise((resolve) => { this.waiting.push(resolve); });
  }

  /** Another source is opened: what was measured says nothing about it. */
  begin() {
    this.last = null;
    this.asked = 0;
    window.clearTimeout(this.timer);
    this.timer = 0;
  }

  /** Another frame is shown: ask a moment later, and not for every frame. @param {boolean} isPlaying */
  refresh(isPlaying = false) {
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.asked = performance.now();
      this.ask();
    }, Math.max(50, this.asked + (isPlaying ? PLAYING : EVERY) - performance.now()));
  }

  /** @param {any} message */
  take(message) {
    this.last = message;
    for (const [changed, element] of this.watchers) {
      // the controls of a tool are made anew each time that it is picked
      if (element.isConnected) changed(message);
      else this.watchers.delete(changed);
    }
    const { noise, noise_kind: kind, noise_report: report } = message;
    find('status-noise-box').hidden = typeof noise !== 'number';
    this.waiting.splice(0).forEach((resolve) => resolve(message));
    if (typeof noise !== 'number') return;
    find('status-noise').textContent = withUnit(formatNumber(noise));
    find('status-noise-kind').textContent = kind;
    find('status-noise-box').title = report;
  }
}
