// A tour of four steps for those who come for the first time; who skips it once is not asked again.

import { find, make } from './dom.js';
import { read, write } from './keeping.js';

const KEY = 'subband-tour';

/** What each step is about: an element, a title and a sentence. */
const STEPS = [
  ['viewport', 'Before and after', () => {
    const noise = find('status-noise-box').hidden ? '' : ` Its noise is estimated as σ ${find('status-noise').textContent}.`;
    return `This photograph is as noisy as one taken at night; right of the line it is denoised.${noise} Drag the line; the wheel or two fingers enlarge it.`;
  }],
  ['source', 'Your own images', () =>
    'Drop, paste or open images, videos, CT series and stacks, several at once. They stay on this computer.'],
  ['presets', 'Filters', () =>
    'Begin with a preset for what you have, then move the sliders below: the image answers at once. Ctrl+Z goes back.'],
  ['copies', 'Take it with you', () =>
    'Every setting is also a command, Python and a link: here. Export writes the file.'],
];

export class Tour {
  constructor() {
    this.step = -1;
    this.title = make('h2', { id: 'tour-title' });
    this.text = make('p', {});
    this.count = make('span', { class: 'hint' });
    this.next = make('button', { type: 'button', class: 'primary', on: { click: () => this.show(this.step + 1) } });
    this.skip = make('button', { type: 'button', class: 'quiet', text: 'Skip', on: { click: () => this.end() } });
    this.card = make('section', { class: 'tour', id: 'tour', 'aria-labelledby': 'tour-title', hidden: true },
      this.title, this.text, make('footer', {}, this.count, this.skip, this.next));
    document.body.append(this.card);
    find('tour-open').addEventListener('click', () => {
      find('help').close();
      this.show(0);
    });
    this.card.addEventListener('keydown', (event) => event.key === 'Escape' && this.end());
  }

  /** Begin, unless it was seen or skipped before. */
  offer() {
    if (read(KEY) === null) this.show(0);
  }

  /** @param {number} step behind the last one, the tour is over */
  show(step) {
    this.#mark(false);
    if (step >= STEPS.length) {
      this.end();
      return;
    }
    this.step = step;
    const [, title, text] = STEPS[step];
    this.title.textContent = title;
    this.text.textContent = text();
    this.count.textContent = `${step + 1} of ${STEPS.length}`;
    this.next.textContent = step === STEPS.length - 1 ? 'Done' : 'Next';
    this.card.hidden = false;
    this.#mark(true);
    this.next.focus({ preventScroll: true });
  }

  end() {
    this.#mark(false);
    this.step = -1;
    this.card.hidden = true;
    write(KEY, 'seen');
  }

  #mark(on) {
    if (this.step < 0) return;
    const element = find(STEPS[this.step][0]);
    element.classList.toggle('pointed', on);
    if (!on) return;
    element.closest('details')?.setAttribute('open', '');
    if (element.closest('.panel')) element.scrollIntoView({ block: 'nearest' });
  }
}
