// Where the image lies on the screen: fitted or zoomed, its labels of bands, its divider.

import { find, make } from './dom.js';

const LEAST_LABEL = { width: 26, height: 16 };
const MOST_ENLARGED = 6;
const ZOOMS = ['fit', '1', '2', '4'];

export class Viewport {
  /** @param {(band: string) => void} picked called with the band of a mosaic that was clicked */
  constructor(picked) {
    this.element = find('viewport');
    this.image = find('image');
    this.labels = find('labels');
    this.zoom = find('zoom');
    this.size = { width: 0, height: 0 };
    /** @type {[string, number, number, number, number][]} */
    this.bands = [];
    this.drawn = '';
    new ResizeObserver(() => this.arrange()).observe(this.element);
    this.zoom.addEventListener('change', () => this.arrange());
    this.labels.addEventListener('click', (event) => {
      const name = event.target.closest('[data-band]')?.dataset.band;
      if (name) picked(name);
    });
  }

  nextZoom() {
    this.zoom.value = ZOOMS[(ZOOMS.indexOf(this.zoom.value) + 1) % ZOOMS.length];
    this.arrange();
  }

  /** @param {number} width @param {number} height of the frame */
  setSize(width, height) {
    if (this.size.width === width && this.size.height === height) return;
    this.size = { width, height };
    this.arrange();
  }

  arrange() {
    const { width, height } = this.size;
    if (!width || !height) return;
    const fits = Math.min(this.element.clientWidth / width, this.element.clientHeight / height, MOST_ENLARGED);
    const scale = this.zoom.value === 'fit' ? fits : Number(this.zoom.value);
    const [across, down] = [Math.floor(width * scale), Math.floor(height * scale)];
    const { left, top } = this.element.getBoundingClientRect();
    // in the middle, but on whole pixels: half a pixel aside, every pixel would be a mean of two
    const centre = (from, free) => Math.max(0, Math.round(from + free / 2) - from);
    Object.assign(this.image.style, {
      width: `${across}px`,
      height: `${down}px`,
      marginLeft: `${centre(left, this.element.clientWidth - across)}px`,
      marginTop: `${centre(top, this.element.clientHeight - down)}px`,
    });
    this.image.classList.toggle('pixelated', this.zoom.value !== 'fit' && scale >= 2);
    this.drawn = '';
    this.setBands(this.bands);
  }

  /** Draw the names of the bands of a mosaic. @param {[string, number, number, number, number][]} bands */
  setBands(bands) {
    this.bands = bands;
    const key = JSON.stringify(bands);
    if (key === this.drawn) return;
    this.drawn = key;
    const { width, height } = this.size;
    const scale = this.image.clientWidth / width;
    this.labels.replaceChildren(...bands.map(([name, row, column, rows, columns]) => {
      const fits = columns * scale >= LEAST_LABEL.width && rows * scale >= LEAST_LABEL.height;
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
