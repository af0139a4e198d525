// Presets: those of the server, and the user's own, which this browser keeps.

import { find, make } from './dom.js';
import { read, write } from './keeping.js';

const KEY = 'subband-presets';
const MOST = 30;

export class Presets {
  /** @param {{chosen: (settings: Record<string, any>) => void, present: () => Record<string, any>}} handlers */
  constructor(handlers) {
    this.handlers = handlers;
    this.given = [];
    this.own = readOwn();
    this.select = find('preset-select');
    this.select.addEventListener('change', () => {
      const preset = [...this.given, ...this.own][Number(this.select.value)];
      if (preset) handlers.chosen(preset.settings);
    });
    find('preset-save').addEventListener('click', () => this.save());
    this.show();
  }

  /** @param {{title: string, settings: Record<string, any>}[]} presets */
  offer(presets) {
    this.given = presets ?? [];
    this.show();
  }

  save() {
    const settings = this.handlers.present();
    const words = ['filter', 'wavelet'].map((name) => settings[name]).filter(Boolean);
    this.own.push({ title: `${words.join(', ') || settings.tool} · ${new Date().toLocaleString()}`, settings });
    this.own = this.own.slice(-MOST);
    write(KEY, JSON.stringify(this.own));
    this.show();
    this.select.value = String(this.given.length + this.own.length - 1);
  }

  /** No preset is chosen any more, since something else was. */
  clear() {
    this.select.value = '';
  }

  show() {
    const offer = ({ title }, index) => make('option', { value: index, text: title });
    const offerOwn = (preset, index) => offer(preset, this.given.length + index);
    this.select.replaceChildren(make('option', { value: '', text: 'Choose…' }), ...this.given.map(offer));
    if (this.own.length) {
      this.select.append(make('optgroup', { label: 'Kept in this browser' }, ...this.own.map(offerOwn)));
    }
    this.select.value = '';
  }
}

function readOwn() {
  try {
    const kept = JSON.parse(read(KEY) ?? '[]');
    return kept.filter(({ title, settings }) => typeof title === 'string' && typeof settings === 'object');
  } catch {
    return [];
  }
}
