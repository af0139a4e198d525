// Where the image lies on the screen: fitted, or enlarged about a point by wheel, pinch or keys, and dragged.

import { find, make } from './dom.js';

const LEAST_LABEL = { width: 26, height: 16 };
const MOST_ENLARGED = 6;
const LARGEST = 64;
const ZOOMS = ['fit', '1', '2', '4'];
/** How far a pointer goes before it drags, so that a click stays one. */
const SLACK = 4;
/** How much a turn of the wheel, or a key, enlarges. */
const WHEEL = 0.0015;
const KEY = 1.25;
/** How far an arrow key moves the image, as a part of what is seen. */
const STRIDE = 0.1;

export class Viewport {
  /**
   * @param {{picked: (band: string) => void, moved: () => void,
   *   hovered: (pixel: {row: number, column: number}|null) => void}} handlers picked: a band of a mosaic was clicked;
   *   moved: the image lies elsewhere; hovered: the pointer is on another pixel
   */
  constructor(handlers) {
    this.handlers = handlers;
    this.element = find('viewport');
    this.image = find('image');
    this.labels = find('labels');
    this.zoom = find('zoom');
    this.size = { width: 0, height: 0 };
    /** Pixels of the screen for one of the image; null to fit it. @type {number|null} */
    this.chosen = null;
    this.scale = 1;
    /** How much wider and higher than others the pixels of the image are. */
    this.stretch = { x: 1, y: 1 };
    /** Where the image begins in the viewport. */
    this.offset = { x: 0, y: 0 };
    /** @type {[string, number, number, number, number][]} */
    this.bands = [];
    this.drawn = '';
    new ResizeObserver(() => this.arrange()).observe(this.element);
    this.zoom.addEventListener('change', () => this.setZoom(this.zoom.value));
    this.labels.addEventListener('click', (event) => {
      const name = event.target.closest('[data-band]')?.dataset.band;
      if (name) handlers.picked(name);
    });
    this.#listen();
  }

  get #box() {
    return { width: this.element.clientWidth, height: this.element.clientHeight };
  }

  get #fitting() {
    const { width, height } = this.#box;
    const { x, y } = this.stretch;
    return Math.min(width / (x * this.size.width), height / (y * this.size.height), MOST_ENLARGED);
  }

  /** Pixels of the screen for one of the image, across and down. */
  get scales() {
    return { x: this.scale * this.stretch.x, y: this.scale * this.stretch.y };
  }

  nextZoom() {
    this.setZoom(ZOOMS[(ZOOMS.indexOf(this.zoom.value) + 1) % ZOOMS.length]);
  }

  /** @param {string} zoom "fit", or how many times as large, about the middle of what is seen */
  setZoom(zoom) {
    if (zoom === 'fit') {
      this.chosen = null;
      this.arrange();
    } else {
      this.zoomTo(Number(zoom), this.#box.width / 2, this.#box.height / 2);
    }
  }

  /** Enlarge by a key. @param {number} steps */
  zoomBy(steps) {
    this.zoomTo(this.scale * KEY ** steps, this.#box.width / 2, this.#box.height / 2);
  }

  /**
   * Enlarge, and leave what is at a point of the viewport there.
   * @param {number} wanted scale @param {number} x @param {number} y
   */
  zoomTo(wanted, x, y) {
    if (!this.size.width) return;
    const least = Math.min(this.#fitting, 1);
    const scale = Math.min(LARGEST, Math.max(least, wanted));
    const at = { x: (x - this.offset.x) / this.scale, y: (y - this.offset.y) / this.scale };
    this.chosen = scale <= this.#fitting && least === this.#fitting ? null : scale;
    this.offset = { x: x - at.x * scale, y: y - at.y * scale };
    this.arrange();
  }

  /** @param {number} x @param {number} y by how many pixels of the screen */
  moveBy(x, y) {
    this.offset = { x: this.offset.x + x, y: this.offset.y + y };
    this.arrange();
  }

  /** Let a point of the image be in the middle. @param {number} across @param {number} down as parts of the image */
  centre(across, down) {
    const { width, height } = this.#box;
    const { scales, size } = this;
    this.offset = { x: width / 2 - across * size.width * scales.x, y: height / 2 - down * size.height * scales.y };
    this.arrange();
  }

  /**
   * @param {number} width @param {number} height of the frame
   * @param {number} aspect how many times as far apart rows are as columns; no pixel becomes smaller by it
   */
  setSize(width, height, aspect = 1) {
    const stretch = { x: Math.max(1, 1 / aspect), y: Math.max(1, aspect) };
    const isSame = this.stretch.x === stretch.x && this.stretch.y === stretch.y;
    if (isSame && this.size.width === width && this.size.height === height) return;
    this.size = { width, height };
    this.stretch = stretch;
    this.chosen = null;
    this.arrange();
  }

  arrange() {
    const { width, height } = this.size;
    if (!width || !height) return;
    const box = this.#box;
    this.scale = this.chosen ?? this.#fitting;
    const { scales } = this;
    const [across, down] = [Math.floor(width * scales.x), Math.floor(height * scales.y)];
    const { left, top } = this.element.getBoundingClientRect();
    // in the middle, or without a gap at an edge; on whole pixels: half a pixel aside, each would be a mean of two
    const fit = (from, wanted, free) =>
      Math.round(from + (free >= 0 ? free / 2 : Math.min(0, Math.max(free, wanted)))) - from;
    this.offset = {
      x: fit(left, this.offset.x, box.width - across), y: fit(top, this.offset.y, box.height - down),
    };
    const { x, y } = this.offset;
    // less than a pixel is no part: the viewport may begin between two
    const beyond = (length) => (length < 1 ? 0 : length);
    /** The part that is seen, in pixels of the screen from each edge of the image. */
    this.hiddenPart = {
      left: beyond(-x), right: beyond(x + across - box.width), top: beyond(-y), bottom: beyond(y + down - box.height), across,
    };
    const { style } = this.image;
    Object.assign(style, { width: `${across}px`, height: `${down}px`, left: `${x}px`, top: `${y}px` });
    for (const side of ['left', 'right', 'top', 'bottom']) style.setProperty(`--${side}`, `${this.hiddenPart[side]}px`);
    this.image.classList.toggle('pixelated', this.chosen !== null && this.scale >= 2);
    this.element.classList.toggle('movable', across > box.width || down > box.height);
    this.#showZoom();
    this.drawn = '';
    this.setBands(this.bands);
    this.handlers.moved();
  }

  #showZoom() {
    const value = this.chosen === null ? 'fit' : String(this.chosen);
    const other = this.zoom.querySelector('[data-other]');
    if ([...this.zoom.options].some((option) => option !== other && option.value === value)) {
      other.hidden = true;
    } else {
      Object.assign(other, { value, text: `${Math.round(100 * this.scale)} %`, hidden: false });
    }
    this.zoom.value = value;
  }

  /** The pixel at a point of the screen; null beside the image. @param {number} x @param {number} y */
  #findPixel(x, y) {
    const { left, top } = this.element.getBoundingClientRect();
    const column = Math.floor((x - left - this.offset.x) / this.scales.x);
    const row = Math.floor((y - top - this.offset.y) / this.scales.y);
    const isInside = column >= 0 && row >= 0 && column < this.size.width && row < this.size.height;
    return isInside ? { row, column } : null;
  }

  #listen() {
    const { element } = this;
    /** @type {Map<number, {x: number, y: number}>} */
    const fingers = new Map();
    let isDragging = false;
    element.addEventListener('wheel', (event) => {
      if (find('image').hidden) return;
      event.preventDefault();
      const { left, top } = element.getBoundingClientRect();
      const turns = event.deltaY * (event.deltaMode === 1 ? 20 : 1) * (event.ctrlKey ? 5 : 1);
      this.zoomTo(this.scale * Math.exp(-turns * WHEEL), event.clientX - left, event.clientY - top);
    }, { passive: false });
    element.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || event.target.closest('#divider, .surface, button')) return;
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      isDragging = fingers.size > 1;
    });
    element.addEventListener('pointermove', (event) => {
      this.handlers.hovered(this.#findPixel(event.clientX, event.clientY));
      const last = fingers.get(event.pointerId);
      if (!last) return;
      const next = { x: event.clientX, y: event.clientY };
      if (!isDragging && Math.hypot(next.x - last.x, next.y - last.y) < SLACK) return;
      if (!isDragging) {
        isDragging = true;
        // not before, else clicks on bands would go to the viewport
        element.setPointerCapture(event.pointerId);
      }
      const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, finger]) => finger);
      if (others.length) {
        const [other] = others;
        const apart = (finger) => Math.hypot(finger.x - other.x, finger.y - other.y) || 1;
        const { left, top } = element.getBoundingClientRect();
        const middle = { x: (next.x + other.x) / 2 - left, y: (next.y + other.y) / 2 - top };
        this.zoomTo((this.scale * apart(next)) / apart(last), middle.x, middle.y);
        this.moveBy((next.x - last.x) / 2, (next.y - last.y) / 2);
      } else {
        this.moveBy(next.x - last.x, next.y - last.y);
      }
      fingers.set(event.pointerId, next);
    });
    for (const name of ['pointerup', 'pointercancel']) {
      window.addEventListener(name, (event) => fingers.delete(event.pointerId));
    }
    element.addEventListener('pointerleave', () => this.handlers.hovered(null));
    element.addEventListener('keydown', (event) => {
      const { width, height } = this.#box;
      const steps = {
        ArrowLeft: [width, 0], ArrowRight: [-width, 0], ArrowUp: [0, height], ArrowDown: [0, -height],
      };
      if (event.target !== element || !(event.key in steps)) return;
      event.preventDefault();
      this.moveBy(...steps[event.key].map((length) => length * STRIDE));
      const { left, top } = element.getBoundingClientRect();
      this.handlers.hovered(this.#findPixel(left + width / 2, top + height / 2));
    });
  }

  /** Draw the names of the bands of a mosaic. @param {[string, number, number, number, number][]} bands */
  setBands(bands) {
    this.bands = bands;
    const key = JSON.stringify(bands);
    if (key === this.drawn) return;
    this.drawn = key;
    const { width, height } = this.size;
    this.labels.replaceChildren(...bands.map(([name, row, column, rows, columns]) => {
      const fits = columns * this.scales.x >= LEAST_LABEL.width && rows * this.scales.y >= LEAST_LABEL.height;
      const region = make('div', { class: 'band', 'data-band': name, title: `${name}: show its histogram` },
        fits ? make('span', { text: name }) : null);
      Object.assign(region.style, {
        left: `${(100 * column) / width}%`, top: `${(100 * row) / height}%`,
        width: `${(100 * columns) / width}%`, height: `${(100 * rows) / height}%`,
      });
      return region;
    }));
  }
}
