// Where images come from: samples, media of the command line, uploads, the camera.

import { find, make } from './dom.js';
import { groupFiles, listenForFiles } from './dropping.js';

export class Sources {
  /**
   * @param {{opened: (source: string) => void, failed: (message: string) => void}} handlers
   */
  constructor(handlers) {
    this.handlers = handlers;
    this.samples = [];
    this.media = [];
    /** @type {{name: string, title: string, kind: string}[]} */
    this.uploads = [];
    this.most = Infinity;
    /** What is called when the list changes, and the element that it is for. */
    this.watchers = new Map();
    this.select = find('source-select');
    this.present = '';
    this.watch(() => {
      this.fillSelect(this.select, true);
      this.select.value = this.present;
    }, this.select);
    this.select.addEventListener('change', () => handlers.opened(this.select.value));
    listenForFiles((files) => this.#take(files));
  }

  /**
   * Call back when the list changes, as long as an element is on the page.
   * @param {() => void} changed
   * @param {HTMLElement} element
   */
  watch(changed, element) {
    this.watchers.set(changed, element);
  }

  #tell() {
    for (const [changed, element] of this.watchers) {
      // the controls of a tool are made anew each time that it is picked
      if (element.isConnected) changed();
      else this.watchers.delete(changed);
    }
  }

  /** Take the lists from the server's hello. */
  offer({ samples = [], media = [], limits = {}, kept = {}, page = '' }) {
    this.page = page;
    // those of before a reload
    const known = new Set(this.uploads.map(({ name }) => name));
    this.uploads.push(...(kept.uploads ?? []).filter(({ id }) => !known.has(id)).map(describeUpload));
    this.samples = samples;
    this.media = media;
    this.most = limits.upload ?? Infinity;
    this.#tell();
  }

  /** The first thing to show when the address does not say: what was given on the command line, else a video. */
  first() {
    if (this.media.length) return `media:${this.media[0].name}`;
    const video = this.samples.find(({ kind }) => kind === 'film') ?? this.samples[0];
    return video ? `sample:${video.name}` : '';
  }

  /** @param {string} source */
  mark(source) {
    this.present = source;
    this.select.value = source;
  }

  /** @param {HTMLSelectElement} select @param {boolean} hasCamera */
  fillSelect(select, hasCamera) {
    const live = hasCamera ? [{ name: '', title: 'Camera of this browser' }] : [];
    const groups = [
      ['Samples', 'sample', this.samples], ['Given', 'media', this.media],
      ['Opened files', 'upload', this.uploads], ['Live', 'camera', live],
    ];
    const offer = (kind, entry) => make('option', { value: `${kind}:${entry.name}`, text: describe(entry) });
    select.replaceChildren(...groups.filter(([, , entries]) => entries.length).map(([label, kind, entries]) =>
      make('optgroup', { label }, ...entries.map((entry) => offer(kind, entry)))));
  }

  /**
   * Send a file to the server, or several that are one volume: behind a list of their names and sizes, one after the other.
   * @param {File|{name: string, files: {file: File, path: string}[]}} given
   * @returns {Promise<string|null>} the source, such as "upload:3f"; null if it failed and that was told
   */
  upload(given) {
    const { name } = given;
    const files = given.files ?? [];
    const list = new Blob(files.length ? [JSON.stringify(files.map(({ file, path }) => [path, file.size]))] : []);
    const body = files.length ? new Blob([list, ...files.map(({ file }) => file)]) : given;
    if (body.size > this.most) {
      const [size, most] = [body.size, this.most].map((bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`);
      this.handlers.failed(`${name} has ${size}, and ${most} can be sent; name it when starting subband studio`);
      return Promise.resolve(null);
    }
    const progress = find('upload-progress');
    const bar = find('upload-bar');
    return new Promise((resolve) => {
      // fetch tells nothing of how far an upload is
      const request = new XMLHttpRequest();
      const finish = (source, message) => {
        progress.hidden = true;
        if (message) this.handlers.failed(message);
        resolve(source);
      };
      const query = `name=${encodeURIComponent(name)}&page=${this.page}${list.size ? `&list=${list.size}` : ''}`;
      request.open('POST', `upload?${query}`);
      request.responseType = 'json';
      request.upload.onprogress = ({ loaded, total }) => { bar.value = total ? loaded / total : 0; };
      request.onload = () => {
        const answer = request.response;
        if (!answer?.id) return finish(null, answer?.error ?? `${name} was refused (${request.status})`);
        this.uploads.push(describeUpload(answer));
        this.#tell();
        return finish(`upload:${answer.id}`);
      };
      request.onerror = () => finish(null, `${name} did not reach the server`);
      request.onabort = () => finish(null);
      find('upload-cancel').onclick = () => request.abort();
      bar.value = 0;
      progress.hidden = false;
      request.send(body);
    });
  }

  /** Send what was dropped, pasted or picked, one thing after the other, and open the first. */
  async #take(files) {
    let isOpen = false;
    for (const group of await groupFiles(files)) {
      const source = await this.upload(group.files.length > 1 ? group : group.files[0].file);
      if (source && !isOpen) this.handlers.opened(source);
      isOpen ||= source !== null;
    }
  }
}

/** An entry of the list. @param {{id: string, name: string, info: any}} upload as the server tells of it */
const describeUpload = ({ id, name, info }) => ({ ...info, name: id, title: name });

function describe({ title, name, kind, width, height }) {
  const size = width && height ? ` · ${width}×${height}` : '';
  const shown = title ?? name;
  return `${shown}${kind === 'film' && !shown.includes('video') ? ' · video' : ''}${size}`;
}

/** The page's form of a source. @param {{kind: string, name?: string, id?: string}} source as messages have it */
export const nameSource = ({ kind, name, id }) => `${kind}:${name ?? id ?? ''}`;

/** The message's form of a source. @param {string} source such as "sample:bunny" */
export function formatSource(source) {
  const [kind, ...rest] = source.split(':');
  const name = rest.join(':');
  if (kind === 'camera') return { kind };
  return kind === 'upload' ? { kind, id: name } : { kind, name };
}
