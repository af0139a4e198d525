// The stage around the image: its title, messages instead of it, full screen.

import { find } from './dom.js';
import { tell } from './toasts.js';

export class Stage {
  constructor() {
    find('fullscreen').addEventListener('click', () => this.toggleFullScreen());
  }

  async toggleFullScreen() {
    try {
      if (document.fullscreenElement) await document.exitFullscreen();
      else await find('stage').requestFullscreen();
    } catch {
      tell('The browser does not allow full screen here');
    }
  }

  /** @param {any} info about what is shown @param {boolean} isSurface */
  showTitle({ title, kind, width, height, count, channels, bits, unit, rate, duration }, isSurface) {
    find('source-title').textContent = isSurface ? 'Surface' : (title ?? '');
    const slices = kind === 'volume' && count > 1 ? `×${count}` : '';
    const words = [
      width && height ? `${width}×${height}${slices}` : '',
      channels ? `${channels} ${channels === 1 ? 'channel' : 'channels'}` : '',
      bits ? `${bits} bit${unit ? ` ${unit}` : ''}` : '',
      kind === 'film' && rate ? `${Number(rate.toFixed(2))} fps` : '',
      duration ? `${duration.toFixed(1)} s` : '',
    ];
    const text = isSurface ? '' : words.filter(Boolean).join(' · ');
    Object.assign(find('source-detail'), { textContent: text, title: text });
    document.title = title && !isSurface ? `${title} · subband studio` : 'subband studio';
  }

  /** Show what belongs to images, or what belongs to a surface. @param {boolean} isSurface @param {boolean} hasBands */
  arrange(isSurface, hasBands) {
    find('surface').hidden = !isSurface;
    for (const name of ['image', 'transport', 'source', 'zoom']) find(name).hidden = isSurface;
    find('histogram-group').hidden = isSurface || !hasBands;
    find('status-noise-box').hidden = true;
  }

  /** A sentence instead of the image, or above it. @param {string} text */
  notice(text) {
    const notice = find('notice');
    if (notice.textContent === text) return;
    notice.textContent = text;
    notice.hidden = !text;
    notice.classList.toggle('over', find('image').classList.contains('drawn'));
    find('spoken').textContent = text;
  }
}
