// Recording the camera: the server writes what is shown, and the file comes as that of an export does.

import { find } from './dom.js';

export class Record {
  /** @param {(on: boolean) => void} send */
  constructor(send) {
    this.button = find('record');
    this.isOn = false;
    this.button.addEventListener('click', () => send(!this.isOn));
  }

  /** @param {boolean} isLive whether the camera is shown */
  show(isLive) {
    this.button.hidden = !isLive;
    if (!isLive) this.take({ on: false });
  }

  /** @param {{on: boolean}} message */
  take({ on }) {
    this.isOn = on;
    this.button.setAttribute('aria-pressed', String(on));
    this.button.title = on ? 'End the recording' : 'Record the camera';
  }
}
