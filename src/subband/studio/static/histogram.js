// The histogram of a band's coefficients, with the threshold drawn in it. Counts are on a logarithmic scale.

import { KEYS } from './bands.js';
import { colour, find, make, preparePen } from './dom.js';

export class Histogram {
  /** @param {(band: string|null) => void} ask */
  constructor(ask) {
    this.ask = ask;
    this.group = find('histogram-group');
    this.select = find('histogram-band');
    this.canvas = find('histogram');
    this.text = find('histogram-text');
    this.levels = 0;
    this.last = null;
    this.asked = null;
    this.group.addEventListener('toggle', () => this.request());
    this.select.addEventListener('change', () => this.request());
    new ResizeObserver(() => this.last && this.draw(this.last)).observe(this.canvas);
  }

  /** @param {number} levels */
  setLevels(levels) {
    if (levels === this.levels) return;
    const band = this.select.value || 'dd1';
    this.levels = levels;
    const names = Array.from({ length: levels }, (_, index) => KEYS.map((key) => `${key}${index + 1}`)).flat();
    this.select.replaceChildren(...names.map((name) => make('option', { value: name, text: name })));
    this.select.value = names.includes(band) ? band : names.at(-1);
    this.request();
  }

  /** Show a band. @param {string} band */
  pick(band) {
    if (![...this.select.options].some((option) => option.value === band)) return;
    this.select.value = band;
    this.group.open = true;
    this.group.scrollIntoView({ block: 'nearest' });
    this.request();
  }

  /** Tell the server which band is looked at, if any. */
  request(isNew = false) {
    const band = this.group.open && !this.group.hidden ? this.select.value || null : null;
    if (band === this.asked && !isNew) return;
    this.asked = band;
    this.ask(band);
  }

  /** @param {{band: string, edges: number[], counts: number[], threshold: number|null, sigma: number|null}} message */
  draw(message) {
    this.last = message;
    const { band, edges, counts, threshold, sigma } = message;
    const { pen, width, height } = preparePen(this.canvas);
    if (!counts.length || width === 0) return;
    const floor = height - 14;
    const least = edges[0];
    const span = edges.at(-1) - least || 1;
    const x = (value) => ((value - least) / span) * width;
    const most = Math.log1p(Math.max(...counts)) || 1;
    counts.forEach((count, index) => {
      const left = x(edges[index]);
      const tall = (Math.log1p(count) / most) * (floor - 4);
      const middle = (edges[index] + edges[index + 1]) / 2;
      pen.fillStyle = colour(threshold !== null && Math.abs(middle) < threshold ? 'bar-cut' : 'bar');
      pen.fillRect(left, floor - tall, Math.max(1, x(edges[index + 1]) - left - 0.5), tall);
    });
    pen.fillStyle = colour('line');
    pen.fillRect(0, floor, width, 1);
    if (threshold !== null && threshold !== undefined) {
      pen.strokeStyle = colour('plot-ms');
      pen.lineWidth = 1.5;
      pen.setLineDash([4, 3]);
      for (const value of [-threshold, threshold]) {
        pen.beginPath();
        pen.moveTo(x(value), 0);
        pen.lineTo(x(value), floor);
        pen.stroke();
      }
      pen.setLineDash([]);
    }
    pen.fillStyle = colour('muted');
    pen.font = '11px system-ui, sans-serif';
    const short = (value) => Number(value.toPrecision(3)).toString();
    pen.textAlign = 'left';
    pen.fillText(short(least), 0, height - 2);
    pen.textAlign = 'right';
    pen.fillText(short(edges.at(-1)), width, height - 2);
    pen.textAlign = 'center';
    if (least < 0) pen.fillText('0', x(0), height - 2);
    const words = [`${counts.reduce((sum, count) => sum + count, 0).toLocaleString('en')} coefficients of ${band}`];
    if (threshold !== null && threshold !== undefined) words.push(`threshold ${short(threshold)}`);
    if (sigma !== null && sigma !== undefined) words.push(`noise ${short(sigma)}`);
    this.text.textContent = words.join(' · ');
    this.canvas.setAttribute('aria-label', `Histogram: ${words.join(', ')}`);
  }
}
