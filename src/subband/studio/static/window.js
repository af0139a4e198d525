// Black and white: the histogram of the image with the window drawn into it, whose edges are dragged or typed.

import { colour, make, preparePen } from './dom.js';
import { formatNumber } from './measures.js';
import { getUnit, withUnit } from './units.js';

/** How near to an edge of the window a pointer takes it, in pixels. */
const NEAR = 24;
/** Windows of computed tomography by what is to be seen: level and width in Hounsfield units. */
const TISSUES = { 'Soft tissue': [40, 400], Lung: [-600, 1500], Bone: [400, 1800], Brain: [40, 80] };

/** @returns {import('./controls.js').Drawn} */
export function makeWindow(control, { changed, measures }) {
  const canvas = make('canvas', { class: 'histogram levels', role: 'img', 'aria-label': 'Histogram of the image' });
  const [low, high] = ['Black', 'White'].map((label) => make('input', {
    type: 'number', step: 'any', 'aria-label': `${label}, in units of the data`,
    on: { change: () => set(Number(low.value), Number(high.value)) },
  }));
  const press = (text, title, act) => make('button', { type: 'button', class: 'small', text, title, on: { click: act } });
  const about = make('p', { class: 'hint', role: 'status' });
  const tissues = make('div', { class: 'row', hidden: true }, ...Object.entries(TISSUES).map(([name, [level, width]]) => (
    press(name, `Level ${level}, width ${width} HU`, () => set(level - width / 2, level + width / 2)))));
  const element = make('div', { class: 'control window' }, canvas,
    make('div', { class: 'row' }, low, make('span', { class: 'unit', text: 'to' }), high),
    make('div', { class: 'row' },
      press('Auto', 'All but a few pixels between black and white', () => last && set(...last.auto)),
      press('All', 'All pixels between black and white', () => last && set(...last.range)),
      press('As opened', 'Black and white as they were', () => changed(control.name, ''))),
    tissues, about);
  let last = null;
  let dragged = null;

  function set(black, white) {
    if (Number.isFinite(black) && Number.isFinite(white) && black < white) {
      changed(control.name, `${formatNumber(black)}:${formatNumber(white)}`);
    }
  }

  function span() {
    const least = last.edges[0];
    return { least, reach: last.edges.at(-1) - least || 1 };
  }

  function draw() {
    if (!last) return;
    const { pen, width, height } = preparePen(canvas);
    if (!width) return;
    const { least, reach } = span();
    const x = (value) => ((value - least) / reach) * width;
    const floor = height - 14;
    const most = Math.log1p(Math.max(...last.counts)) || 1;
    const step = width / last.counts.length;
    last.counts.forEach((count, index) => {
      const tall = (Math.log1p(count) / most) * (floor - 4);
      const middle = (last.edges[index] + last.edges[index + 1]) / 2;
      pen.fillStyle = colour(middle < last.low || middle > last.high ? 'bar-cut' : 'bar');
      pen.fillRect(index * step, floor - tall, Math.max(1, step - 0.5), tall);
    });
    pen.strokeStyle = colour('muted');
    pen.beginPath();
    last.after.forEach((count, index) => {
      const y = floor - (Math.min(Math.log1p(count), most) / most) * (floor - 4);
      pen[index ? 'lineTo' : 'moveTo']((index + 0.5) * step, y);
    });
    pen.stroke();
    // from black to white, as the image goes
    pen.strokeStyle = colour('plot-ms');
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x(last.low), floor);
    pen.lineTo(x(last.high), 2);
    for (const value of [last.low, last.high]) {
      pen.moveTo(x(value), floor);
      pen.lineTo(x(value), 2);
    }
    pen.stroke();
    pen.fillStyle = colour('muted');
    pen.font = '11px system-ui, sans-serif';
    pen.textAlign = 'left';
    pen.fillText(formatNumber(least), 0, height - 2);
    pen.textAlign = 'right';
    pen.fillText(formatNumber(least + reach), width, height - 2);
    const words = `Histogram of the image, from ${formatNumber(least)} to ${formatNumber(least + reach)}`;
    canvas.setAttribute('aria-label', `${words}; black at ${formatNumber(last.low)}, white at ${formatNumber(last.high)}`);
  }

  function drag(event) {
    const box = canvas.getBoundingClientRect();
    const { least, reach } = span();
    const value = least + ((event.clientX - box.left) / box.width) * reach;
    if (dragged === 'low') set(Math.min(value, last.high - reach / 1000), last.high);
    else set(last.low, Math.max(value, last.low + reach / 1000));
  }
  canvas.addEventListener('pointerdown', (event) => {
    if (!last) return;
    const box = canvas.getBoundingClientRect();
    const { least, reach } = span();
    const away = (value) => Math.abs(((value - least) / reach) * box.width - (event.clientX - box.left));
    dragged = away(last.low) <= away(last.high) ? 'low' : 'high';
    if (away(last[dragged]) > NEAR) return;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => canvas.hasPointerCapture(event.pointerId) && drag(event));
  new ResizeObserver(draw).observe(canvas);
  measures.watch((message) => {
    last = { ...message };
    show();
  }, canvas);

  function show() {
    for (const [field, value] of [[low, last.low], [high, last.high]]) {
      if (document.activeElement !== field) field.value = formatNumber(value);
    }
    tissues.hidden = getUnit() !== 'HU';
    const [level, width] = [(last.low + last.high) / 2, last.high - last.low].map(formatNumber);
    about.textContent = `Level ${level}, width ${withUnit(width)}. Drag with the right button over the image: across for the width, up and down for the level.`;
    draw();
  }
  return {
    element,
    update(value) {
      if (!value || !last) return;
      [last.low, last.high] = value.split(':').map(Number);
      show();
    },
  };
}
