// The 3-D view of a surface: a grid of points that turns with the mouse, a finger or the arrow keys.

import { colour, make } from './dom.js';
import { MeshView } from './mesh.js';

const TURN = 0.008;
const KEY_TURN = 0.1;
const CLOSEST = 1.2;
const FARTHEST = 8;

export class Surface {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.parent = parent;
    this.canvas = make('canvas', {
      tabindex: '0', role: 'application',
      'aria-label': 'Surface in three dimensions: arrow keys turn it, plus and minus zoom, Home faces it again',
    });
    parent.replaceChildren(this.canvas);
    this.view = new MeshView(this.canvas);
    this.canvas.addEventListener('webglcontextrestored', () => this.draw());
    this.shape = '';
    this.#face();
    this.#listen();
    new ResizeObserver(() => this.#resize()).observe(parent);
    this.#resize();
  }

  /**
   * Take a new grid of points.
   * @param {{rows: number, columns: number, closed: [boolean, boolean]}} header
   * @param {ArrayBuffer} buffer
   * @param {number} offset where positions begin; normals follow
   */
  setGrid({ rows, columns, closed = [false, false] }, buffer, offset) {
    const floats = new Float32Array(buffer.slice(offset, offset + 24 * rows * columns));
    const shape = `${rows}×${columns}×${closed}`;
    // every surface is shown at the same size, and keeps it while its bands are scaled
    this.view.setMesh(floats, shape === this.shape ? null : joinGrid(rows, columns, closed));
    this.shape = shape;
    this.draw();
  }

  /** Draw in the colours of the present theme. */
  draw() {
    const { azimuth, height, distance } = this;
    const eye = [
      distance * Math.cos(height) * Math.sin(azimuth),
      distance * Math.sin(height),
      distance * Math.cos(height) * Math.cos(azimuth),
    ];
    this.view.draw(eye, readColour(colour('stage')));
  }

  /** Read the drawing back. @returns {{width: number, height: number, data: Uint8ClampedArray}} */
  pixels() {
    const { width, height } = this.canvas;
    const copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    Object.assign(copy.canvas, { width, height });
    copy.drawImage(this.canvas, 0, 0);
    return { width, height, data: copy.getImageData(0, 0, width, height).data };
  }

  #face() {
    Object.assign(this, { azimuth: 0.55, height: 0.22, distance: 3.3 });
  }

  #turn(across, up) {
    this.azimuth -= across;
    this.height = Math.min(1.5, Math.max(-1.5, this.height + up));
    this.draw();
  }

  #zoom(factor) {
    this.distance = Math.min(FARTHEST, Math.max(CLOSEST, this.distance * factor));
    this.draw();
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.parent;
    if (!width || !height) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    this.view.resize(Math.round(width * ratio), Math.round(height * ratio));
    this.draw();
  }

  #listen() {
    /** @type {Map<number, {x: number, y: number}>} */
    const fingers = new Map();
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    this.canvas.addEventListener('pointermove', (event) => {
      const last = fingers.get(event.pointerId);
      if (!last) return;
      const next = { x: event.clientX, y: event.clientY };
      if (fingers.size === 1) this.#turn((next.x - last.x) * TURN, (next.y - last.y) * TURN);
      if (fingers.size === 2) {
        const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, finger]) => finger);
        const apart = (finger) => Math.hypot(finger.x - other.x, finger.y - other.y) || 1;
        this.#zoom(apart(last) / apart(next));
      }
      fingers.set(event.pointerId, next);
    });
    for (const name of ['pointerup', 'pointercancel']) {
      this.canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
    }
    this.canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.#zoom(Math.exp(event.deltaY * 0.001));
    }, { passive: false });
    this.canvas.addEventListener('keydown', (event) => {
      const acts = {
        ArrowLeft: () => this.#turn(-KEY_TURN, 0), ArrowRight: () => this.#turn(KEY_TURN, 0),
        ArrowUp: () => this.#turn(0, -KEY_TURN), ArrowDown: () => this.#turn(0, KEY_TURN),
        '+': () => this.#zoom(0.9), '-': () => this.#zoom(1.1),
        Home: () => { this.#face(); this.draw(); },
      };
      if (!(event.key in acts)) return;
      event.preventDefault();
      acts[event.key]();
    });
  }
}

/**
 * The triangles of a grid of points, two for each cell; a closed direction joins its last points to its first.
 * @param {number} rows @param {number} columns @param {[boolean, boolean]} closed
 */
export function joinGrid(rows, columns, [closedRows, closedColumns]) {
  const down = closedRows ? rows : rows - 1;
  const across = closedColumns ? columns : columns - 1;
  const corners = new Uint32Array(6 * down * across);
  let offset = 0;
  for (let row = 0; row < down; row += 1) {
    for (let column = 0; column < across; column += 1) {
      const first = row * columns + column;
      const right = row * columns + ((column + 1) % columns);
      const below = ((row + 1) % rows) * columns + column;
      const opposite = ((row + 1) % rows) * columns + ((column + 1) % columns);
      corners.set([first, below, right, right, below, opposite], offset);
      offset += 6;
    }
  }
  return corners;
}

/** @param {string} css a colour as style sheets write it @returns {number[]} red, green and blue from 0 to 1 */
function readColour(css) {
  const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  pen.fillStyle = css;
  pen.fillRect(0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255);
}
