// The status bar: how fast it is, where the time goes, what computes, how large the image is.

import { find } from './dom.js';
import { formatNumber } from './measures.js';
import { Plot } from './plot.js';
import { withUnit } from './units.js';

const EVERY = 200;
const WINDOW = 2000;
const KEPT = 400;

export class Status {
  constructor() {
    this.plot = new Plot(find('plot'));
    /** When the last frames were drawn. @type {number[]} */
    this.times = [];
    /** Milliseconds from a change of settings to the frame that shows it. @type {number[]} */
    this.latencies = [];
    this.answered = 0;
    this.frames = 0;
    this.drawMilliseconds = 0;
    this.stats = {};
    this.format = '';
    this.size = { width: 0, height: 0 };
    window.setInterval(() => this.show(), EVERY);
  }

  /** Frames per second drawn by this page over the last two seconds. */
  get fps() {
    const now = performance.now();
    while (this.times.length && this.times[0] < now - WINDOW) this.times.shift();
    if (this.times.length < 2) return 0;
    return (1000 * (this.times.length - 1)) / (this.times.at(-1) - this.times[0]);
  }

  /** Note a frame that was drawn. @param {any} header @param {number} received @param {number} drawn */
  note(header, received, drawn) {
    this.frames += 1;
    this.times.push(drawn);
    this.stats = header.stats ?? {};
    this.drawMilliseconds = drawn - received;
    this.format = header.parts[0]?.format ?? '';
    const [width, height] = header.size ?? [header.parts[0]?.width ?? 0, header.parts[0]?.height ?? 0];
    this.size = { width, height };
    // numbers may wait for the next look at them, but not stand beside another view
    if (find('removed').hidden === Boolean(this.stats.removed)) this.showRemoved();
  }

  showRemoved() {
    const { removed } = this.stats;
    find('removed').hidden = !removed;
    if (removed) {
      const [deviation, mean, reach] = [removed.deviation, removed.mean, removed.reach].map(formatNumber);
      write('removed', `removed: σ ${deviation}, mean ${mean}; black and white are ∓${withUnit(reach)}`);
    }
  }

  /** A further part of the image that was noted last; the last one brings what only the whole tells. @param {any} header */
  add({ stats = {} }) {
    if (typeof stats.psnr === 'number') this.stats = { ...this.stats, psnr: stats.psnr, psnr_before: stats.psnr_before };
  }

  /**
   * Note how long new settings took, once for each, when the browser is about to show their frame.
   * @param {number} number of the settings @param {number|null} time when they were sent
   */
  answer(number, time) {
    if (number <= this.answered || !time) return;
    this.answered = number;
    requestAnimationFrame(() => {
      this.latencies.push(performance.now() - time);
      if (this.latencies.length > KEPT) this.latencies.shift();
    });
  }

  /** Begin anew, as after a new source. */
  clear() {
    this.times = [];
  }

  show() {
    if (document.hidden) return;
    const { engine_fps: engineFps, stages = {}, psnr, psnr_before: before, bytes_per_second: bytes } = this.stats;
    const fps = this.fps;
    const total = Object.values(stages).reduce((sum, milliseconds) => sum + (milliseconds ?? 0), 0);
    write('status-fps', fps ? fps.toFixed(1) : '–');
    // what passes through takes no time, and has no rate
    write('status-engine-fps', engineFps && engineFps < 1e4 ? engineFps.toFixed(engineFps < 100 ? 1 : 0) : '–');
    const latest = this.latencies.at(-1);
    write('status-latency', latest === undefined ? '–' : latest.toFixed(0));
    const parts = Object.entries(stages).map(([name, ms]) => `${name} ${(ms ?? 0).toFixed(ms < 10 ? 1 : 0)}`);
    write('status-stages', parts.length ? `${parts.join(' · ')} ms` : '–');
    const isJudged = typeof psnr === 'number';
    find('status-psnr-box').hidden = !isJudged;
    if (isJudged) write('status-psnr', `${before?.toFixed(1) ?? '–'} → ${psnr.toFixed(1)}`);
    this.showRemoved();
    write('status-size', this.size.width ? `${this.size.width}×${this.size.height}` : '–');
    const rate = bytes ? ` · ${(bytes / 2 ** 20).toFixed(bytes < 10 * 2 ** 20 ? 1 : 0)} MiB/s` : '';
    write('status-link', this.format ? `${NAMES[this.format] ?? 'raw'}${rate}` : '–');
    if (this.frames) this.plot.add(fps, total);
  }
}

const NAMES = { jpeg: 'JPEG', webp: 'WebP', png: 'PNG' };

function write(id, text) {
  const element = find(id);
  if (element.textContent !== text) element.textContent = text;
}
