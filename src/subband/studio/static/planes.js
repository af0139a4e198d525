// Volumes: sliders for times and channels, and three planes that cross in a point, any of which is shown large.

import { makeSegments } from './controls.js';
import { find, make } from './dom.js';

/** What each axis of a volume is called, and what lies along the rows and columns of the plane across it. */
const AXES = [
  { title: 'XY', name: 'slice', down: 'row', across: 'column' },
  { title: 'XZ', name: 'row', down: 'slice', across: 'column' },
  { title: 'YZ', name: 'column', down: 'slice', across: 'row' },
];
const EVERY = 250;

/** Numbers along each axis of a position in a file whose slices lie one behind the other. */
export function splitPosition(position, axes) {
  const numbers = [];
  let rest = position;
  for (const [, length] of [...axes].reverse()) {
    numbers.unshift(rest % length);
    rest = Math.floor(rest / length);
  }
  return numbers;
}

/** The position of numbers along each axis. */
export function joinPosition(numbers, axes) {
  return numbers.reduce((sum, number, index) => sum * axes[index][1] + number, 0);
}

export class Planes {
  /** @param {{send: (type: string, content?: any) => void, seek: (position: number) => void}} handlers */
  constructor(handlers) {
    this.handlers = handlers;
    this.group = find('planes-group');
    this.axes = [];
    this.axis = 0;
    this.depth = 1;
    /** Where the planes cross; below 0 for the middle. */
    this.point = { slice: 0, row: 0, column: 0 };
    this.counts = { slice: 1, row: 1, column: 1 };
    this.timer = 0;
    this.segments = makeSegments({ name: 'plane', label: 'Plane', options: AXES.map(({ title }, axis) => [axis, title]) },
      (axis) => handlers.send('plane', { axis }));
    find('planes-choice').append(this.segments.element);
    this.views = AXES.map((about) => this.#makeView(about));
    find('planes').append(...this.views.map(({ element }) => element));
    this.group.addEventListener('toggle', () => this.ask());
  }

  #makeView(about) {
    const image = make('img', { alt: `Plane ${about.title}`, draggable: 'false' });
    const [line, post] = [make('i', { class: 'across' }), make('i', { class: 'down' })];
    const element = make('div', {
      class: 'plane', role: 'group', tabindex: '0', 'aria-label': `Plane ${about.title}: click or arrow keys move the cross`,
    }, image, line, post);
    const go = (event) => {
      const box = element.getBoundingClientRect();
      const part = (from, length) => Math.min(0.9999, Math.max(0, from / length));
      const [x, y] = [part(event.clientX - box.left, box.width), part(event.clientY - box.top, box.height)];
      // heads are on top
      const down = about.down === 'slice' ? 1 - y - 1e-9 : y;
      this.#move({
        [about.across]: Math.floor(x * this.counts[about.across]), [about.down]: Math.floor(down * this.counts[about.down]),
      });
    };
    element.addEventListener('pointerdown', (event) => {
      element.setPointerCapture(event.pointerId);
      go(event);
    });
    element.addEventListener('pointermove', (event) => element.hasPointerCapture(event.pointerId) && go(event));
    element.addEventListener('keydown', (event) => {
      const up = about.down === 'slice' ? 1 : -1;
      const steps = {
        ArrowLeft: [about.across, -1], ArrowRight: [about.across, 1], ArrowUp: [about.down, up], ArrowDown: [about.down, -up],
      };
      if (!(event.key in steps)) return;
      event.preventDefault();
      const [name, step] = steps[event.key];
      this.#move({ [name]: this.point[name] + step });
    });
    return { element, image, line, post, about };
  }

  /** Another source is shown, or the same along another axis. @param {any} info */
  open(info) {
    this.axes = info.axes ?? [];
    this.axis = info.axis ?? 0;
    this.group.hidden = !(info.depth > 1);
    if (this.depth !== info.depth) this.point = { slice: Math.floor((info.depth ?? 1) / 2), row: -1, column: -1 };
    this.depth = info.depth ?? 1;
    this.segments.update(this.axis);
    const shown = this.axes.length > 1 ? this.axes : [];
    find('axes').hidden = !shown.length;
    this.sliders = shown.map(([name, length], index) => {
      const output = make('output', { 'aria-live': 'off' });
      const slider = make('input', {
        type: 'range', min: 0, max: length - 1, step: 1, 'aria-label': `${name[0].toUpperCase()}${name.slice(1)}`,
        on: {
          input: () => {
            const numbers = this.sliders.map((each) => Number(each.slider.value));
            this.handlers.seek(joinPosition(numbers, this.axes));
          },
        },
      });
      return { slider, output, index, element: make('label', {}, make('span', { text: name }), slider, output) };
    });
    find('axes').replaceChildren(...this.sliders.map(({ element }) => element));
    this.ask();
  }

  /** @param {number} position of the frame that is drawn */
  follow(position) {
    if (typeof position !== 'number' || this.position === position) return;
    this.position = position;
    splitPosition(position, this.axes).forEach((number, index) => {
      const entry = this.sliders?.[index];
      if (!entry) return;
      entry.slider.value = String(number);
      entry.slider.style.setProperty('--fill', `${(100 * number) / (this.axes[index][1] - 1 || 1)}%`);
      entry.output.textContent = `${number + 1}/${this.axes[index][1]}`;
    });
    if (this.depth < 2) return;
    this.point[AXES[this.axis].name] = this.axis === 0 ? position % this.depth : position;
    this.ask();
  }

  /** Ask for the planes, a moment later, if they can be seen. */
  ask() {
    if (this.timer || this.group.hidden || !this.group.open) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.handlers.send('planes', this.point);
    }, EVERY);
  }

  #move(changes) {
    for (const [name, number] of Object.entries(changes)) {
      this.point[name] = Math.min(this.counts[name] - 1, Math.max(0, number));
    }
    this.#draw();
    const { name } = AXES[this.axis];
    if (name in changes) {
      const before = this.axis === 0 ? Math.floor((this.position ?? 0) / this.depth) * this.depth : 0;
      this.handlers.seek(before + this.point[name]);
    }
    this.ask();
  }

  /** @param {{planes: {position: number, count: number, image: string, shape: number}[]}} message */
  take({ planes }) {
    planes.forEach(({ position, count, image, shape }, axis) => {
      const { name } = AXES[axis];
      this.counts[name] = count;
      if (this.point[name] < 0) this.point[name] = position;
      this.views[axis].image.src = image;
      // voxels are rarely cubes
      this.views[axis].element.style.aspectRatio = String(shape);
      this.views[axis].element.dataset.position = String(position);
    });
    this.#draw();
  }

  #draw() {
    for (const { about, line, post } of this.views) {
      const part = (name) => (100 * (this.point[name] + 0.5)) / this.counts[name];
      line.style.top = `${about.down === 'slice' ? 100 - part('slice') : part(about.down)}%`;
      post.style.left = `${part(about.across)}%`;
    }
  }
}
