// The small plot of the last seconds: frames per second as an area, milliseconds per frame as a line.

import { colour, preparePen } from './dom.js';

const SECONDS = 20;
const EVERY = 250;

export class Plot {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    /** @type {{time: number, fps: number, milliseconds: number}[]} */
    this.points = [];
    this.last = 0;
  }

  /** @param {number} fps @param {number} milliseconds */
  add(fps, milliseconds) {
    const time = performance.now();
    if (time - this.last < EVERY) return;
    this.last = time;
    this.points.push({ time, fps, milliseconds });
    while (this.points.length && this.points[0].time < time - 1000 * SECONDS) this.points.shift();
    this.draw();
  }

  draw() {
    const { pen, width, height } = preparePen(this.canvas);
    if (this.points.length < 2 || width === 0) return;
    const now = this.last;
    const x = ({ time }) => width - ((now - time) / (1000 * SECONDS)) * width;
    const mostFps = Math.max(30, ...this.points.map(({ fps }) => fps)) * 1.15;
    const mostTime = Math.max(20, ...this.points.map(({ milliseconds }) => milliseconds)) * 1.15;
    pen.fillStyle = colour('plot-area');
    pen.beginPath();
    pen.moveTo(x(this.points[0]), height);
    for (const point of this.points) pen.lineTo(x(point), height - (point.fps / mostFps) * height);
    pen.lineTo(width, height);
    pen.fill();
    for (const [name, most, key] of [['plot-fps', mostFps, 'fps'], ['plot-ms', mostTime, 'milliseconds']]) {
      pen.strokeStyle = colour(name);
      pen.lineWidth = 1.5;
      pen.lineJoin = 'round';
      pen.beginPath();
      this.points.forEach((point, index) => {
        const y = height - 1 - (point[key] / most) * (height - 2);
        if (index === 0) pen.moveTo(x(point), y);
        else pen.lineTo(x(point), y);
      });
      pen.stroke();
    }
  }
}
