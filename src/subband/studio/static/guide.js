// Guidance: a line about what is chosen under its control, and a dialog with a thumbnail and a line for each choice.

import { find, icon, make } from './dom.js';
import { tell } from './toasts.js';

const SIZE = { width: 96, height: 48 };

/** What the server has drawn, by the name of the control. @type {Map<string, Promise<any[]>>} */
const drawn = new Map();

function load(name) {
  if (!drawn.has(name)) {
    const answer = fetch(`guide/${name}`).then((response) => {
      if (!response.ok) throw new Error(`the thumbnails did not come (${response.status})`);
      return response.json();
    });
    drawn.set(name, answer);
    answer.catch(() => drawn.delete(name));
  }
  return drawn.get(name);
}

function drawCurve(points) {
  const space = 'http://www.w3.org/2000/svg';
  const image = document.createElementNS(space, 'svg');
  image.setAttribute('viewBox', `0 0 ${SIZE.width} ${SIZE.height}`);
  image.setAttribute('aria-hidden', 'true');
  image.setAttribute('class', 'curve');
  const line = document.createElementNS(space, 'polyline');
  const locate = (height, index) =>
    `${((index * SIZE.width) / (points.length - 1)).toFixed(1)},${((SIZE.height / 2) * (1 - 0.9 * height)).toFixed(1)}`;
  line.setAttribute('points', points.map(locate).join(' '));
  image.append(line);
  return image;
}

async function openGuide(control, value, choose) {
  const dialog = find('guide');
  const cards = find('guide-cards');
  find('guide-title').textContent = control.label;
  cards.replaceChildren(make('p', { class: 'hint', text: 'Drawing…' }));
  dialog.showModal();
  try {
    const entries = new Map((await load(control.name)).map((entry) => [entry.name, entry]));
    cards.replaceChildren(...control.options.map(([name, title]) => {
      const { image, points } = entries.get(name) ?? {};
      const thumbnail = image ? make('img', { src: image, alt: '', width: 96, height: 96 }) : drawCurve(points ?? [0, 0]);
      return make('button', {
        type: 'button', class: 'card', 'aria-pressed': String(name === value), 'data-value': name,
        on: {
          click: () => {
            dialog.close();
            choose(name);
          },
        },
      }, thumbnail, make('b', { text: title }), make('span', { class: 'hint', text: control.lines[name] ?? '' }));
    }));
    cards.querySelector('[aria-pressed=true]')?.scrollIntoView({ block: 'nearest' });
  } catch (error) {
    dialog.close();
    tell(error.message);
  }
}

/**
 * Add guidance to a drawn control that has a line for each of its options.
 * @param {import('./settings.js').Control & {lines: Record<string, string>}} control
 * @param {import('./controls.js').Drawn} control drawn
 * @param {(name: string, value: any) => void} changed
 * @returns {import('./controls.js').Drawn}
 */
export function addGuide(control, { element, update }, changed) {
  let value = '';
  const line = make('span', { class: 'hint' });
  const button = make('button', {
    type: 'button', class: 'quiet bare', 'aria-label': `Compare all: ${control.label}`, title: 'Compare all',
    on: { click: () => openGuide(control, value, (chosen) => changed(control.name, chosen)) },
  }, icon('grid'));
  element.append(make('div', { class: 'guided' }, line, button));
  return {
    element,
    update(wanted, settings) {
      value = wanted;
      line.textContent = control.lines[wanted] ?? '';
      update(wanted, settings);
    },
  };
}
