// Play, pause, step, loop and seek.

import { find, setIcon } from './dom.js';

const EVERY = 120;

export class Transport {
  /** @param {(type: string, content?: any) => void} send */
  constructor(send) {
    this.send = send;
    this.playing = true;
    this.loop = true;
    this.position = 0;
    this.count = 0;
    this.rate = 0;
    this.isVideo = false;
    this.isSeeking = false;
    this.shown = 0;
    this.seek = find('seek');
    find('play').addEventListener('click', () => this.toggle());
    find('step').addEventListener('click', () => this.step());
    find('loop').addEventListener('click', () => this.setLoop(!this.loop));
    this.seek.addEventListener('pointerdown', () => { this.isSeeking = true; });
    for (const event of ['pointerup', 'pointercancel', 'blur']) {
      this.seek.addEventListener(event, () => { this.isSeeking = false; });
    }
    this.seek.addEventListener('input', () => {
      this.position = Number(this.seek.value);
      this.send('seek', { position: this.position });
      this.show();
    });
    this.show();
  }

  /** @param {any} info of a source that was opened @param {boolean} isLive */
  open(info, isLive) {
    this.isVideo = info.kind === 'film' || isLive;
    this.isLive = isLive;
    this.count = info.count ?? 0;
    this.rate = info.rate ?? 0;
    this.position = 0;
    this.playing = this.isVideo;
    this.show();
  }

  /** @param {any} state told by the server */
  take(state) {
    for (const name of ['playing', 'loop', 'position', 'count']) this[name] = state[name] ?? this[name];
    this.show();
  }

  /** @param {number} position of the frame that was drawn */
  setPosition(position) {
    if (this.isSeeking || typeof position !== 'number') return;
    this.position = position;
    // repainting the slider with each frame would cost more than it tells
    if (this.playing && performance.now() - this.shown < EVERY) return;
    this.shown = performance.now();
    this.showPosition();
  }

  toggle() {
    if (!this.isVideo) return;
    this.playing = !this.playing;
    this.send(this.playing ? 'play' : 'pause');
    this.show();
  }

  step() {
    if (!this.isVideo || this.isLive) return;
    this.playing = false;
    this.send('step');
    this.show();
  }

  setLoop(on) {
    this.loop = on;
    this.send('loop', { on });
    this.show();
  }

  show() {
    const play = find('play');
    setIcon(play, this.playing ? 'pause' : 'play');
    play.setAttribute('aria-label', this.playing ? 'Pause' : 'Play');
    play.disabled = !this.isVideo;
    find('step').disabled = find('loop').disabled = this.seek.disabled = !this.isVideo || this.isLive;
    find('loop').setAttribute('aria-pressed', String(this.loop));
    this.seek.max = String(Math.max(0, this.count - 1));
    find('transport').classList.toggle('idle', !this.isVideo);
    this.showPosition();
  }

  showPosition() {
    if (this.isVideo && !this.isLive && this.count) {
      this.seek.value = String(this.position);
      const time = this.rate ? `${(this.position / this.rate).toFixed(2)} s` : `frame ${this.position}`;
      this.seek.setAttribute('aria-valuetext', time);
      find('position').textContent = `${time} · ${this.position + 1}/${this.count}`;
    } else {
      this.seek.value = '0';
      find('position').textContent = this.isLive ? 'live' : this.isVideo ? `frame ${this.position + 1}` : 'still';
    }
    this.seek.style.setProperty('--fill', `${this.count > 1 ? (100 * this.position) / (this.count - 1) : 0}%`);
  }
}
