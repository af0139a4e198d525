// The overview map: the whole image in a corner, with the part that is seen, where the image is larger than its frame.

import { find, make } from './dom.js';

/** The longest side of the map, in pixels of the screen and as a part of the frame's, and milliseconds between two of its drawings. */
const LONGEST = 132;
const PART = 0.28;
const EVERY = 250;

export class Overview {
  /** @param {import('./viewport.js').Viewport} viewport */
  constructor(viewport) {
    this.viewport = viewport;
    this.canvas = make('canvas', { 'aria-hidden': 'true' });
    this.part = make('span', { class: 'seen' });
    this.element = make('div', { class: 'overview', id: 'overview', role: 'img', 'aria-label': 'Overview', hidden: true },
      this.canvas, this.part);
    find('viewport').append(this.element);
    this.timer = 0;
    this.isLarge = false;
    this.element.addEventListener('pointerdown', (event) => {
      this.element.setPointerCapture(event.pointerId);
      // the image under the map must not be dragged with it
      event.stopPropagation();
      event.preventDefault();
      this.#go(event);
    });
    this.element.addEventListener('pointermove', (event) => {
      event.stopPropagation();
      if (this.element.hasPointerCapture(event.pointerId)) this.#go(event);
    });
  }

  #go(event) {
    const box = this.element.getBoundingClientRect();
    this.viewport.centre((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  }

  /** The image lies elsewhere. */
  follow() {
    const { hiddenPart, size, scales } = this.viewport;
    const { left, right, top, bottom } = hiddenPart;
    const isLarger = left + right + top + bottom > 0;
    const isNew = isLarger && this.element.hidden;
    this.element.hidden = !isLarger;
    if (isNew) this.refresh();
    if (!isLarger) return;
    const [width, height] = [size.width * scales.x, size.height * scales.y];
    const longest = Math.min(LONGEST, PART * this.viewport.element.clientWidth);
    const small = longest / Math.max(width, height);
    Object.assign(this.element.style, { width: `${width * small}px`, height: `${height * small}px` });
    const percent = (value, whole) => `${(100 * value) / whole}%`;
    Object.assign(this.part.style, {
      left: percent(left, width), right: percent(right, width), top: percent(top, height), bottom: percent(bottom, height),
    });
    const [column, row] = [(left + width - right) / 2 / width, (top + height - bottom) / 2 / height];
    const where = `${Math.round(100 * column)} % across and ${Math.round(100 * row)} % down`;
    this.element.setAttribute('aria-label', `Overview: the part that is seen is around ${where}`);
  }

  /** Another frame is shown. @param {boolean} isLarge whether only the part that is seen of it comes */
  refresh(isLarge = this.isLarge) {
    this.isLarge = isLarge;
    // of a large image, the whole is drawn while it is seen
    const isWanted = () => this.element.hidden === this.isLarge;
    if (this.timer || !isWanted()) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (isWanted()) this.#draw();
    }, EVERY);
  }

  #draw() {
    const source = find('canvas-result');
    const small = (2 * LONGEST) / Math.max(source.width, source.height);
    const [columns, rows] = [source.width, source.height].map((length) => Math.max(1, Math.round(length * small)));
    Object.assign(this.canvas, { width: columns, height: rows });
    const pen = this.canvas.getContext('2d');
    pen.imageSmoothingQuality = 'high';
    pen.drawImage(source, 0, 0, columns, rows);
  }
}
