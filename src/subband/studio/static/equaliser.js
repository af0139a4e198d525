// The meters of the equaliser: how strong each band is, and the threshold below which it counts as noise, dragged.

import { make } from './dom.js';
import { formatNumber } from './measures.js';

/** Octaves from one end of a meter to the other. */
const OCTAVES = 12;

/**
 * @typedef {{energy: number, threshold?: number}} Strength
 * @param {{names: string[], label: string, least: number, most: number, step: number,
 *   weightOf: (name: string) => number, set: (names: string[], weight: number) => void}} about names: the band first,
 *   then the others of its level, which Shift takes along
 * @returns {{element: HTMLElement, draw: (strength: Strength|undefined, loudest: number) => void}}
 */
export function makeMeter({ names, label, least, most, step, weightOf, set }) {
  const [name] = names;
  const energy = make('i', { class: 'energy' });
  const line = make('i', { class: 'line' });
  const element = make('div', {
    class: 'meter', role: 'slider', tabindex: '0', 'aria-label': `Threshold of ${label}`, 'data-band': name,
    'aria-orientation': 'horizontal', 'aria-valuemin': least, 'aria-valuemax': most, 'aria-valuenow': 1,
  }, energy, line);
  /** @type {Strength|undefined} */
  let shown;
  let top = 1;
  let from = null;

  const locate = (value) => Math.min(1, Math.max(0, 1 + Math.log2(Math.max(value, 1e-30) / top) / OCTAVES));
  const give = (weight, isLevel) => {
    const rounded = Number((Math.round(Math.min(most, Math.max(least, weight)) / step) * step).toFixed(4));
    set(isLevel ? names : [name], rounded);
  };

  element.addEventListener('pointerdown', (event) => {
    if (shown?.threshold === undefined) return;
    element.setPointerCapture(event.pointerId);
    from = { x: event.clientX, weight: Math.max(weightOf(name), step) };
    event.preventDefault();
    element.focus();
  });
  element.addEventListener('pointermove', (event) => {
    if (!from || !element.hasPointerCapture(event.pointerId)) return;
    const octaves = ((event.clientX - from.x) / element.clientWidth) * OCTAVES;
    const weight = from.weight * 2 ** octaves;
    give(weight < step / 2 ? 0 : weight, event.shiftKey);
  });
  for (const kind of ['pointerup', 'pointercancel']) element.addEventListener(kind, () => { from = null; });
  element.addEventListener('dblclick', (event) => give(1, event.shiftKey));
  element.addEventListener('keydown', (event) => {
    const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };
    if (event.key in steps) give(weightOf(name) + steps[event.key] * step, event.shiftKey);
    else if (event.key === 'Home') give(least, event.shiftKey);
    else if (event.key === 'End') give(most, event.shiftKey);
    else if (event.key === 'Delete' || event.key === 'Backspace') give(1, event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    element,
    /** @param {Strength|undefined} strength @param {number} loudest the right end of all meters */
    draw(strength, loudest) {
      // what is held must not move away under the pointer
      if (!from) [shown, top] = [strength, loudest];
      const weight = weightOf(name);
      energy.style.width = `${100 * (shown ? locate(shown.energy) : 0)}%`;
      const threshold = shown?.threshold === undefined ? null : shown.threshold * weight;
      line.hidden = threshold === null;
      line.style.left = `${100 * (threshold ? locate(threshold) : 0)}%`;
      element.classList.toggle('changed', weight !== 1);
      const words = [
        threshold === null ? '' : `threshold ${formatNumber(threshold)}`, `× ${weight}`,
        shown ? `energy ${formatNumber(shown.energy)}` : '',
      ].filter(Boolean).join(', ');
      element.setAttribute('aria-valuenow', String(weight));
      element.setAttribute('aria-valuetext', words);
      element.title = `${label}: ${words}; drag left or right, with Shift all of the level`;
    },
  };
}

/** The right end of all meters: a little above the loudest band. @param {Record<string, Strength>} bands */
export function findLoudest(bands) {
  return 2 * Math.max(...Object.values(bands).flatMap(({ energy, threshold }) => [energy, threshold ?? 0]), 1e-6);
}
