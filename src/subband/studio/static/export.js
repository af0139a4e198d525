// Export: whole files are processed on the server, one after the other. Here is their queue, with progress in the bar.

import { download, find, make } from './dom.js';

/** Have the server stop and forget an export. @param {string} id */
const remove = (id) => fetch(`exports/${id}`, { method: 'DELETE' }).catch(() => {});

const isOpen = ({ state }) => state === 'waiting' || state === 'running';

export class Export {
  /** @param {{describe: () => any, failed: (message: string) => void}} handlers */
  constructor(handlers) {
    this.handlers = handlers;
    /** Files that are made or ready, by their ids, the oldest first. @type {Map<string, any>} */
    this.files = new Map();
    /** Those whose row was taken away, of which messages may still come. @type {Set<string>} */
    this.removed = new Set();
    this.dialog = find('export');
    this.ending = find('export-ending');
    this.queue = find('export-queue');
    find('export-open').addEventListener('click', () => this.open());
    find('export-start').addEventListener('click', () => this.start());
  }

  open() {
    const { endings = [], settings, kind, part, title } = this.handlers.describe();
    for (const file of this.files.values()) if (!isOpen(file)) this.#forget(file.id);
    const last = this.ending.value;
    this.ending.replaceChildren(...endings.map((ending) => make('option', { value: ending, text: ending })));
    if (endings.includes(last)) this.ending.value = last;
    const isVain = endings.length === 0;
    const isNoisy = (settings.added_noise ?? 'none') !== 'none';
    const noise = isNoisy ? ' Noise that was added to judge a filter is left out.' : '';
    const why = kind === 'volume'
      ? 'Outside the studio, volumes are filtered in three dimensions; copy the command line for that.'
      : 'A live camera has no end: record it instead, with the button below the image.';
    const what = part
      ? `Frames ${part[0] + 1} to ${part[1] + 1} of ${title} are processed` : `${title} is processed as a whole`;
    find('export-what').textContent = isVain ? why : `${what} with the present settings.${noise}`;
    this.ending.disabled = find('export-start').disabled = isVain;
    this.#say('');
    if (!this.dialog.open) this.dialog.showModal();
  }

  async start() {
    const { source, settings, page, part } = this.handlers.describe();
    this.#say('');
    try {
      const answer = await fetch('export', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ page, source, settings, part, ending: this.ending.value }),
      });
      const content = await answer.json();
      if (!answer.ok || !content.id) throw new Error(content.error ?? `the server answered ${answer.status}`);
    } catch (error) {
      this.#say(`Export failed: ${error.message}`);
    }
  }

  /** Take the files of before a reload; those that have become ready wait for a click. @param {any[]} files */
  offer(files = []) {
    const present = new Set(files.map(({ id }) => id));
    for (const { id } of [...this.files.values()]) if (!present.has(id)) this.#forget(id);
    for (const file of files) {
      const wasOpen = this.files.has(file.id) && isOpen(this.files.get(file.id));
      if (wasOpen) this.take(file);
      else this.#show(file);
    }
  }

  /** @param {any} file as the server tells of it */
  take(file) {
    if (this.removed.has(file.id)) return;
    if (file.state === 'failed') {
      this.#forget(file.id);
      this.#say(`Export failed: ${file.error ?? 'unknown'}`);
      this.handlers.failed(file.error ?? 'Export failed');
    } else if (file.state === 'cancelled') {
      this.#forget(file.id);
      this.#say('Cancelled.');
    } else {
      this.#show(file);
      if (file.state === 'done') download(`exports/${file.id}`, file.name);
    }
  }

  #cancel(id) {
    this.removed.add(id);
    this.#forget(id);
    remove(id);
    this.#say('Cancelled.');
  }

  #forget(id) {
    this.files.delete(id);
    document.getElementById(`export-${id}`)?.remove();
    this.#total();
  }

  #say(text) {
    find('export-text').textContent = text;
  }

  /** Draw the row of a file. */
  #show(file) {
    this.files.set(file.id, file);
    const { id, name, state, frames = 0, count, seconds_left: left } = file;
    let row = document.getElementById(`export-${id}`);
    if (!row) {
      row = make('li', { id: `export-${id}` },
        make('span', { class: 'name', text: name }), make('progress', { max: 1, 'aria-label': name }),
        make('span', { class: 'hint' }),
        make('button', { type: 'button', class: 'small', text: 'Cancel', on: { click: () => this.#cancel(id) } }),
        make('a', { class: 'button small', href: `exports/${id}`, download: name, text: 'Download' }));
      this.queue.append(row);
    }
    const rest = left !== null && left !== undefined ? ` · ${Math.ceil(left)} s left` : '';
    const texts = {
      waiting: 'waiting', done: 'ready', running: count ? `${frames} of ${count} frames${rest}` : `${frames} frames`,
    };
    const bar = row.querySelector('progress');
    const share = state === 'done' ? 1 : measure(file);
    if (share === null) bar.removeAttribute('value');
    else bar.value = share;
    row.querySelector('.hint').textContent = texts[state] ?? state;
    row.querySelector('button').hidden = state === 'done';
    row.querySelector('a').hidden = state !== 'done';
    this.#total();
  }

  /** What all files together have done, in the bar of the page. */
  #total() {
    const open = [...this.files.values()].filter(isOpen);
    find('export-total').hidden = open.length === 0;
    const shares = open.map(measure);
    const bar = find('export-bar');
    if (shares.includes(null)) bar.removeAttribute('value');
    else bar.value = shares.reduce((sum, share) => sum + share, 0) / Math.max(1, shares.length);
    find('export-count').textContent = open.length > 1 ? String(open.length) : '';
  }
}

/** How much of a file is there; null if nobody knows how long it will be. */
const measure = ({ state, frames, count }) => (state === 'waiting' ? 0 : count ? frames / count : null);
