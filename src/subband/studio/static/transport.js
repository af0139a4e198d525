// Play both ways, pause, step, loop, seek, and play only a part.

import { find, setIcon } from './dom.js';

const EVERY = 120;
const FASTEST = 8;

export class Transport {
  /** @param {(type: string, content?: any) => void} send */
  constructor(send) {
    this.send = send;
    this.playing = true;
    this.loop = true;
    this.speed = 1;
    /** The frame that is drawn, which the counter shows. */
    this.position = 0;
    /** The frame that was asked for and is on its way, which the slider shows. @type {number|null} */
    this.wanted = null;
    this.count = 0;
    this.rate = 0;
    /** First and last frame of the part that is played. @type {[number, number|null]} */
    this.part = [0, null];
    this.isVideo = false;
    this.isVolume = false;
    this.isSeeking = false;
    this.shown = 0;
    this.seek = find('seek');
    find('play').addEventListener('click', () => this.toggle());
    find('step').addEventListener('click', () => this.step(false));
    find('back').addEventListener('click', () => this.step(true));
    find('loop').addEventListener('click', () => this.setLoop(!this.loop));
    find('part').addEventListener('click', () => (this.hasPart ? this.setPart(0, null) : this.setStart()));
    this.seek.addEventListener('pointerdown', () => { this.isSeeking = true; });
    for (const event of ['pointerup', 'pointercancel', 'blur']) {
      this.seek.addEventListener(event, () => { this.isSeeking = false; });
    }
    this.seek.addEventListener('input', () => this.seekTo(Number(this.seek.value)));
    this.show();
  }

  get hasPart() {
    return this.part[0] > 0 || this.part[1] !== null;
  }

  /** @param {any} info of a source that was opened @param {boolean} isLive */
  open(info, isLive) {
    this.isVolume = info.kind === 'volume';
    this.isVideo = info.kind === 'film' || this.isVolume || isLive;
    this.isLive = isLive;
    this.count = info.count ?? 0;
    this.rate = this.isVolume ? 0 : (info.rate ?? 0);
    this.position = 0;
    this.wanted = null;
    this.part = [0, null];
    this.speed = 1;
    this.playing = this.isVideo && !this.isVolume;
    this.show();
  }

  /** @param {any} state told by the server; the frame that it is at is not drawn yet */
  take(state) {
    for (const name of ['playing', 'loop', 'speed', 'count', 'part']) this[name] = state[name] ?? this[name];
    this.wanted = null;
    this.show();
  }

  /** @param {number} position of the frame that was drawn */
  setPosition(position) {
    if (typeof position !== 'number') return;
    this.position = position;
    if (position === this.wanted) this.wanted = null;
    // repainting the slider with each frame would cost more than it tells
    if (this.playing && performance.now() - this.shown < EVERY) return;
    this.shown = performance.now();
    this.showPosition();
  }

  /** @param {number} position of the frame that is to be shown */
  seekTo(position) {
    this.wanted = position;
    this.send('seek', { position });
    this.show();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play(1);
  }

  pause() {
    if (!this.isVideo) return;
    this.playing = false;
    this.send('pause');
    this.show();
  }

  /** @param {number} speed as a multiple of the rate; backwards below 0 */
  play(speed) {
    if (!this.isVideo) return;
    this.playing = true;
    this.speed = this.isLive ? 1 : speed;
    this.send('play', this.speed === 1 ? {} : { speed: this.speed });
    this.show();
  }

  /** Play forwards or backwards; each further time twice as fast. @param {1|-1} direction */
  shuttle(direction) {
    const isOnIt = this.playing && Math.sign(this.speed) === direction;
    this.play(isOnIt ? direction * Math.min(FASTEST, 2 * Math.abs(this.speed)) : direction);
  }

  /** @param {boolean} isBack */
  step(isBack) {
    if (!this.isVideo || this.isLive) return;
    this.playing = false;
    this.send('step', isBack ? { back: true } : {});
    this.show();
  }

  setLoop(on) {
    this.loop = on;
    this.send('loop', { on });
    this.show();
  }

  /** Let the part that is played begin with the frame that is shown. */
  setStart() {
    this.setPart(this.position, this.part[1] !== null && this.part[1] < this.position ? null : this.part[1]);
  }

  /** Let the part that is played end with the frame that is shown. */
  setStop() {
    this.setPart(this.part[0] > this.position ? 0 : this.part[0], this.position);
  }

  /** @param {number} start @param {number|null} stop */
  setPart(start, stop) {
    if (!this.isVideo || this.isLive) return;
    this.part = [start, stop];
    this.send('part', stop === null ? { start } : { start, stop });
    this.show();
  }

  show() {
    const play = find('play');
    setIcon(play, this.playing ? 'pause' : 'play');
    play.setAttribute('aria-label', this.playing ? 'Pause' : 'Play');
    play.disabled = !this.isVideo;
    for (const id of ['step', 'back', 'loop', 'part', 'seek']) find(id).disabled = !this.isVideo || this.isLive;
    find('loop').setAttribute('aria-pressed', String(this.loop));
    find('part').setAttribute('aria-pressed', String(this.hasPart));
    this.seek.max = String(Math.max(0, this.count - 1));
    find('transport').classList.toggle('idle', !this.isVideo);
    const bar = find('part-bar');
    bar.hidden = !this.hasPart;
    const last = Math.max(1, this.count - 1);
    bar.style.left = `${(100 * this.part[0]) / last}%`;
    bar.style.right = `${100 - (100 * (this.part[1] ?? last)) / last}%`;
    this.showPosition();
  }

  showPosition() {
    const slider = this.wanted ?? this.position;
    if (this.isVideo && !this.isLive && this.count) {
      if (!this.isSeeking) this.seek.value = String(slider);
      const unit = this.isVolume ? 'slice' : 'frame';
      const time = this.rate ? `${(this.position / this.rate).toFixed(2)} s` : unit;
      this.seek.setAttribute('aria-valuetext', this.rate ? time : `${unit} ${this.position + 1}`);
      const speed = this.playing && this.speed !== 1 ? ` · ${this.speed}×` : '';
      find('position').textContent = `${time}${this.rate ? ' ·' : ''} ${this.position + 1}/${this.count}${speed}`;
    } else {
      this.seek.value = '0';
      find('position').textContent = this.isLive ? 'live' : this.isVideo ? `frame ${this.position + 1}` : 'still';
    }
    this.seek.style.setProperty('--fill', `${this.count > 1 ? (100 * slider) / (this.count - 1) : 0}%`);
  }
}
