// Where images come from: samples, media of the command line, uploads, the camera.

import { find, make } from './dom.js';

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
    this.#listenForFiles();
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
   * Send a file to the server.
   * @param {File} file
   * @returns {Promise<string|null>} the source, such as "upload:3f"; null if it failed and that was told
   */
  upload(file) {
    if (file.size > this.most) {
      const [size, most] = [file.size, this.most].map((bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`);
      this.handlers.failed(`${file.name} has ${size}, and ${most} can be sent; name it when starting subband studio`);
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
      request.open('POST', `upload?name=${encodeURIComponent(file.name)}&page=${this.page}`);
      request.responseType = 'json';
      request.upload.onprogress = ({ loaded, total }) => { bar.value = total ? loaded / total : 0; };
      request.onload = () => {
        const answer = request.response;
        if (!answer?.id) return finish(null, answer?.error ?? `${file.name} was refused (${request.status})`);
        this.uploads.push(describeUpload(answer));
        this.#tell();
        return finish(`upload:${answer.id}`);
      };
      request.onerror = () => finish(null, `${file.name} did not reach the server`);
      request.onabort = () => finish(null);
      find('upload-cancel').onclick = () => request.abort();
      bar.value = 0;
      progress.hidden = false;
      request.send(file);
    });
  }

  #listenForFiles() {
    const file = find('upload-file');
    const drop = find('drop');
    const take = async (chosen) => {
      const source = chosen && (await this.upload(chosen));
      if (source) this.handlers.opened(source);
    };
    find('upload').addEventListener('click', () => file.click());
    file.addEventListener('change', () => {
      take(file.files[0]);
      file.value = '';
    });
    let depth = 0;
    const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes('Files');
    window.addEventListener('dragenter', (event) => {
      if (!hasFiles(event)) return;
      depth += 1;
      drop.hidden = false;
    });
    window.addEventListener('dragleave', (event) => {
      if (!hasFiles(event)) return;
      depth = Math.max(0, depth - 1);
      drop.hidden = depth === 0;
    });
    window.addEventListener('dragover', (event) => hasFiles(event) && event.preventDefault());
    window.addEventListener('drop', (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth = 0;
      drop.hidden = true;
      take(event.dataTransfer.files[0]);
    });
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
