// Export: the whole file is processed on the server; here are its progress, a way to stop it, and the download.

import { download, find, make } from './dom.js';

/** Have the server stop and forget an export. @param {string} id */
const remove = (id) => fetch(`exports/${id}`, { method: 'DELETE' }).catch(() => {});

export class Export {
  /** @param {{describe: () => any, failed: (message: string) => void}} handlers */
  constructor(handlers) {
    this.handlers = handlers;
    this.id = null;
    this.attempt = 0;
    this.dialog = find('export');
    this.ending = find('export-ending');
    find('export-open').addEventListener('click', () => this.open());
    find('export-start').addEventListener('click', () => this.start());
    find('export-cancel').addEventListener('click', () => this.cancel());
  }

  open() {
    const { title, endings = [], settings, count, kind, part } = this.handlers.describe();
    this.count = count;
    if (!this.id) {
      const last = this.ending.value;
      this.ending.replaceChildren(...endings.map((ending) => make('option', { value: ending, text: ending })));
      if (endings.includes(last)) this.ending.value = last;
      const isLive = endings.length === 0;
      const isNoisy = (settings.added_noise ?? 'none') !== 'none';
      const noise = isNoisy ? ' Noise that was added to judge a filter is left out.' : '';
      const why = kind === 'volume'
        ? 'Outside the studio, volumes are filtered in three dimensions; copy the command line for that.'
        : 'A live camera has no end, so that there is nothing to export; the screenshot keeps an image of it.';
      const what = part
        ? `Frames ${part[0] + 1} to ${part[1] + 1} of ${title} are processed` : `${title} is processed as a whole`;
      find('export-what').textContent = isLive ? why : `${what} with the present settings.${noise}`;
      this.#show('ready');
      this.ending.disabled = find('export-start').disabled = isLive;
    }
    if (!this.dialog.open) this.dialog.showModal();
  }

  async start() {
    const { source, settings, page, part } = this.handlers.describe();
    this.#show('running', 'Starting…');
    const attempt = (this.attempt += 1);
    try {
      const answer = await fetch('export', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ page, source, settings, part, ending: this.ending.value }),
      });
      const content = await answer.json();
      if (!answer.ok || !content.id) throw new Error(content.error ?? `the server answered ${answer.status}`);
      if (attempt !== this.attempt) {
        // cancelled before it had a number
        remove(content.id);
        return;
      }
      this.id = content.id;
      // a short export may have ended before its id came
      if (this.early?.id === this.id) this.take(this.early);
    } catch (error) {
      if (attempt !== this.attempt) return;
      this.id = null;
      this.#show('ready', `Export failed: ${error.message}`);
    }
  }

  cancel() {
    if (this.id) remove(this.id);
    this.id = null;
    this.attempt += 1;
    this.#show('ready', 'Cancelled.');
  }

  /** The server ends what it does for a page whose connection is lost. */
  lose() {
    if (!this.id) return;
    this.id = null;
    this.#show('ready', 'The connection was lost, and the export with it.');
  }

  /** @param {any} message about an export */
  take(message) {
    if (message.id !== this.id) {
      this.early = message;
      return;
    }
    const { state, frames = 0, seconds_left: left, name, error } = message;
    const count = message.count ?? this.count;
    if (state === 'running') {
      const rest = left !== null && left !== undefined ? ` · ${Math.ceil(left)} s left` : '';
      const text = count ? `${frames} of ${count} frames${rest}` : `${frames} frames`;
      this.#show('running', text, count ? frames / count : null);
    } else if (state === 'done') {
      const address = `exports/${this.id}`;
      const link = find('export-download');
      link.href = address;
      link.download = name ?? '';
      this.id = null;
      this.#show('done', `${name ?? 'The file'} is ready.`, 1);
      download(address, name ?? '');
    } else {
      this.id = null;
      this.#show('ready', state === 'failed' ? `Export failed: ${error ?? 'unknown'}` : 'Cancelled.');
      if (state === 'failed') this.handlers.failed(error ?? 'Export failed');
    }
  }

  #show(state, text = '', share = undefined) {
    find('export-start').hidden = state === 'running';
    find('export-start').textContent = state === 'done' ? 'Again' : 'Start';
    find('export-cancel').hidden = state !== 'running';
    find('export-download').hidden = state !== 'done';
    find('export-progress').hidden = state === 'ready' && !text;
    this.ending.disabled = state === 'running';
    const bar = find('export-bar');
    bar.hidden = state === 'ready';
    if (share === null) bar.removeAttribute('value');
    else bar.value = share ?? 0;
    const note = find('export-text');
    if (note.textContent !== text) note.textContent = text;
  }
}
