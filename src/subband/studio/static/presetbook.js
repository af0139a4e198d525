// The book of one's own presets: named, removed, exported to a file, imported from one, shared as a link.

import { download, find, make } from './dom.js';
import { tell } from './toasts.js';

const FILE = 'subband-presets.json';

/** A link that brings settings to another page, without its image. @param {Record<string, any>} settings */
export function formatLink(settings) {
  const address = new URL(location.href);
  address.search = '';
  address.hash = new URLSearchParams(Object.entries(settings).map(([name, value]) => [name, String(value)])).toString();
  return address.href;
}

/** Presets out of a file of ours. @param {string} text @returns {{title: string, settings: Record<string, any>}[]} */
export function readPresets(text) {
  const entries = JSON.parse(text);
  const isFlat = (settings) => Object.values(settings).every((value) => ['string', 'number', 'boolean'].includes(typeof value));
  const isOne = (entry) => typeof entry?.title === 'string' && entry.settings && typeof entry.settings === 'object'
    && !Array.isArray(entry.settings) && isFlat(entry.settings);
  if (!Array.isArray(entries) || !entries.every(isOne)) throw new Error('it holds no presets');
  return entries.map(({ title, settings }) => ({ title: title.slice(0, 100), settings }));
}

export class PresetBook {
  /**
   * @param {{list: () => {title: string, settings: Record<string, any>}[], changed: (own: any[]) => void}} presets list:
   *   one's own; changed: takes them as they are then
   */
  constructor(presets) {
    this.presets = presets;
    this.file = find('preset-file');
    find('preset-open').addEventListener('click', () => this.open());
    find('preset-export').addEventListener('click', () => this.#export());
    find('preset-import').addEventListener('click', () => this.file.click());
    this.file.addEventListener('change', () => this.#import());
  }

  open() {
    this.#show();
    find('preset-book').showModal();
  }

  #change(own) {
    this.presets.changed(own);
    this.#show();
  }

  #show() {
    const own = this.presets.list();
    find('preset-export').disabled = !own.length;
    find('preset-list').replaceChildren(...own.map((preset, index) => {
      const name = make('input', {
        type: 'text', value: preset.title, 'aria-label': `Name of preset ${index + 1}`, maxlength: 100,
        on: {
          change: () => this.presets.changed(own.map((each) => (each === preset ? { ...each, title: name.value || each.title } : each))),
        },
      });
      const press = (text, act) => make('button', {
        type: 'button', class: 'small', text, 'aria-label': `${text} ${preset.title}`, on: { click: act },
      });
      return make('li', {}, name, press('Share', () => this.#share(preset)),
        press('Remove', () => this.#change(own.filter((each) => each !== preset))));
    }));
    if (!own.length) {
      find('preset-list').append(make('li', { class: 'hint', text: 'None yet: the button beside the presets keeps the present settings.' }));
    }
  }

  async #share({ title, settings }) {
    const link = formatLink(settings);
    try {
      await navigator.clipboard.writeText(link);
      tell(`The link of “${title}” was copied`, 'status');
    } catch {
      tell(link, 'status');
    }
  }

  #export() {
    const text = JSON.stringify(this.presets.list(), null, 2);
    const address = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    download(address, FILE);
    window.setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  async #import() {
    const [file] = this.file.files;
    if (!file) return;
    try {
      this.#change([...this.presets.list(), ...readPresets(await file.text())]);
    } catch (error) {
      tell(`${file.name} was not read: ${error.message}`);
    }
    this.file.value = '';
  }
}
