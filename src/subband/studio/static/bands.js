// The equaliser of bands: a gain for each, dragged up and down, and above it its energy and its threshold.
// Grey is a gain of 1, darker is more, lighter is less.

import { make } from './dom.js';
import { findLoudest, makeMeter } from './equaliser.js';

/** The bands of a level. */
export const KEYS = ['ad', 'da', 'dd'];
const TITLES = { ad: 'across', da: 'down', dd: 'diagonal' };
const DRAG = 110;

/** Read "1:ad=1.5,dd=0;2:da=2". @param {string} text @returns {Map<string, number>} "ad1" → gain, without ones */
export function readGains(text) {
  const gains = new Map();
  for (const part of String(text ?? '').split(';')) {
    const [level, bands] = part.split(':');
    for (const band of (bands ?? '').split(',')) {
      const [key, gain] = band.split('=');
      const name = key.trim();
      if (KEYS.includes(name) && Number.isFinite(Number(gain))) gains.set(`${name}${Number(level)}`, Number(gain));
    }
  }
  return gains;
}

/**
 * Format gains so that readGains reads them; ones are omitted.
 * @param {Map<string, number>} gains
 * @param {number} levels
 */
export function formatGains(gains, levels) {
  const parts = [];
  for (let level = 1; level <= levels; level += 1) {
    const changed = KEYS.filter((key) => (gains.get(key + level) ?? 1) !== 1);
    const bands = changed.map((key) => `${key}=${gains.get(key + level)}`);
    if (bands.length) parts.push(`${level}:${bands.join(',')}`);
  }
  return parts.join(';');
}

/** The shade of a gain between 0 and `most`, 0 to 255. @param {number} gain @param {number} most */
export function shadeOf(gain, most) {
  return Math.round(gain <= 1 ? 236 - 108 * gain : 128 - (104 * (Math.min(gain, most) - 1)) / (most - 1));
}

/**
 * @param {{control: import('./settings.js').Control, changed: (name: string, value: string) => void,
 *   measures: import('./measures.js').Measures}} about
 * @returns {{element: HTMLElement, update: (value: string, levels: number, weights: string|undefined) => void}} weights:
 *   those of thresholds, if the filter has any
 */
export function makeBands({ control, changed, measures }) {
  const least = control.min ?? 0;
  const most = control.max ?? 4;
  const step = control.step ?? 0.05;
  let gains = new Map();
  /** What thresholds are multiplied by; null if there are none. @type {Map<string, number>|null} */
  let weights = null;
  let levels = 0;
  /** @type {Record<string, import('./equaliser.js').Strength>} */
  let strengths = {};
  /** @type {Map<string, ReturnType<typeof makeMeter>>} */
  const meters = new Map();
  /** @type {Map<string, HTMLElement>} */
  const cells = new Map();

  const grid = make('div', { class: 'matrix', role: 'group', 'aria-label': control.label });
  const reset = make('button', { type: 'button', class: 'quiet small', text: 'All to 1' });
  const head = make('div', { class: 'row' }, make('span', { class: 'label', text: control.label }), reset);
  const element = make('div', { class: 'control bands' }, head, grid,
    make('p', { class: 'hint', text: control.help ?? 'Drag a band up for more, down for less.' }));

  const report = () => changed(control.name, formatGains(gains, levels));
  const reportWeights = () => changed(control.thresholds, formatGains(weights, levels));
  reset.addEventListener('click', () => {
    gains = new Map();
    if (weights?.size) {
      weights = new Map();
      reportWeights();
    }
    draw();
    report();
  });
  const setWeight = (names, weight) => {
    for (const name of names) weights.set(name, weight);
    draw();
    reportWeights();
  };

  /** Handles stand for one band, or for all of a level or a direction. @param {string[]} names */
  const gainOf = (names) => names.reduce((sum, name) => sum + (gains.get(name) ?? 1), 0) / names.length;
  const toSpot = (gain) => (gain <= 1 ? gain - 1 : (gain - 1) / (most - 1));
  const toGain = (spot) => (spot <= 0 ? 1 + spot : 1 + spot * (most - 1));

  const setGain = (names, gain) => {
    const rounded = Number((Math.round(Math.min(most, Math.max(least, gain)) / step) * step).toFixed(4));
    for (const name of names) gains.set(name, rounded);
    draw();
    report();
  };

  const draw = () => {
    for (const [name, cell] of cells) {
      const gain = gainOf(cell.names);
      cell.setAttribute('aria-valuenow', String(Number(gain.toFixed(3))));
      cell.setAttribute('aria-valuetext', `gain ${Number(gain.toFixed(2))}`);
      if (cell.names.length > 1) continue;
      const shade = shadeOf(gain, most);
      cell.style.backgroundColor = `rgb(${shade} ${shade} ${shade})`;
      cell.style.color = shade >= 118 ? '#000' : '#fff';
      cell.querySelector('b').textContent = Number(gain.toFixed(2));
      cell.dataset.name = name;
    }
    const loudest = findLoudest(strengths);
    for (const [name, meter] of meters) {
      meter.element.hidden = weights === null;
      if (weights !== null) meter.draw(strengths[name], loudest);
    }
    reset.disabled = formatGains(gains, levels) === '' && formatGains(weights ?? new Map(), levels) === '';
  };

  const makeHandle = (names, label, ...inside) => {
    const cell = make('div', {
      class: names.length > 1 ? 'handle' : 'cell', role: 'slider', tabindex: '0',
      'aria-label': label, 'aria-orientation': 'vertical',
      'aria-valuemin': least, 'aria-valuemax': most, 'aria-valuenow': 1, title: `${label}: drag up or down`,
    }, ...inside);
    cell.names = names;
    let from = null;
    cell.addEventListener('pointerdown', (event) => {
      cell.setPointerCapture(event.pointerId);
      from = { y: event.clientY, spot: toSpot(gainOf(names)) };
      event.preventDefault();
      cell.focus();
    });
    cell.addEventListener('pointermove', (event) => {
      if (!from || !cell.hasPointerCapture(event.pointerId)) return;
      setGain(names, toGain(from.spot + (from.y - event.clientY) / DRAG));
    });
    const release = () => { from = null; };
    cell.addEventListener('pointerup', release);
    cell.addEventListener('pointercancel', release);
    cell.addEventListener('dblclick', () => setGain(names, 1));
    cell.addEventListener('keydown', (event) => {
      const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };
      if (event.key in steps) setGain(names, gainOf(names) + steps[event.key] * step * (event.shiftKey ? 5 : 1));
      else if (event.key === 'Home') setGain(names, least);
      else if (event.key === 'End') setGain(names, most);
      else if (event.key === 'Delete' || event.key === 'Backspace') setGain(names, 1);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    return cell;
  };

  const build = () => {
    cells.clear();
    meters.clear();
    grid.replaceChildren(make('span', { class: 'corner', 'aria-hidden': 'true' }));
    const numbers = Array.from({ length: levels }, (_, index) => index + 1);
    for (const key of KEYS) {
      const handle = makeHandle(numbers.map((level) => key + level), `All levels, ${TITLES[key]} (${key})`, key);
      cells.set(`all-${key}`, handle);
      grid.append(handle);
    }
    for (const level of numbers) {
      const handle = makeHandle(KEYS.map((key) => key + level), `Level ${level}, all bands`, String(level));
      cells.set(`all-${level}`, handle);
      grid.append(handle);
      for (const key of KEYS) {
        const label = `Level ${level}, ${TITLES[key]} (${key}${level})`;
        const cell = makeHandle([key + level], label, make('b', { text: '1' }));
        cells.set(key + level, cell);
        if (!control.thresholds) {
          grid.append(cell);
          continue;
        }
        const others = KEYS.filter((each) => each !== key).map((each) => each + level);
        const meter = makeMeter({
          names: [key + level, ...others], label: `level ${level}, ${TITLES[key]} (${key}${level})`,
          least, most, step, weightOf: (name) => weights?.get(name) ?? 1, set: setWeight,
        });
        meters.set(key + level, meter);
        grid.append(make('div', { class: 'strip' }, meter.element, cell));
      }
    }
  };

  if (control.thresholds) {
    measures.watch(({ bands }) => {
      if (!bands) return;
      strengths = bands;
      draw();
    }, grid);
  }

  return {
    element,
    update(value, wanted, wantedWeights) {
      if (wanted !== levels) {
        levels = wanted;
        build();
      }
      gains = readGains(value);
      weights = wantedWeights === undefined ? null : readGains(wantedWeights);
      draw();
    },
  };
}
