// Presets: those of the server, and the user's own, which this browser keeps.

import { find, make } from './dom.js';
import { read, write } from './keeping.js';
import { PresetBook } from './presetbook.js';

const KEY = 'subband-presets';
const MOST = 30;
const OWN = 'Kept in this browser';

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
    this.book = new PresetBook({ list: () => this.own, changed: (own) => this.#keep(own) });
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
    this.#keep([...this.own, { title: `${words.join(', ') || settings.tool} · ${new Date().toLocaleString()}`, settings }]);
    this.select.value = String(this.given.length + this.own.length - 1);
  }

  #keep(own) {
    this.own = own.slice(-MOST);
    write(KEY, JSON.stringify(this.own));
    this.show();
  }

  /** No preset is chosen any more, since something else was. */
  clear() {
    this.select.value = '';
  }

  show() {
    const groups = new Map();
    [...this.given, ...this.own].forEach(({ title, group = OWN }, index) => {
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push(make('option', { value: index, text: title }));
    });
    this.select.replaceChildren(make('option', { value: '', text: 'Choose…' }),
      ...[...groups].map(([label, options]) => make('optgroup', { label }, ...options)));
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
