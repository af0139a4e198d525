// The WebSocket to the server: JSON both ways, binary frames, and a new try when it drops.

import { readTab, writeTab } from './keeping.js';

const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;
const NO_TOKEN = 4401;
const PAGE = 'subband-page';

/**
 * Take a binary message apart.
 * @param {ArrayBuffer} buffer
 * @returns {{header: any, offset: number}} the header, and where the payload begins
 */
export function readMessage(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return { header, offset: 4 + length };
}

/** Put a binary message together. @param {any} header @param {ArrayBuffer} payload */
export function writeMessage(header, payload) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const message = new Uint8Array(4 + text.length + payload.byteLength);
  new DataView(message.buffer).setUint32(0, text.length, true);
  message.set(text, 4);
  message.set(new Uint8Array(payload), 4 + text.length);
  return message.buffer;
}

export class Link {
  /**
   * @param {{message: (m: any) => void, binary: (b: ArrayBuffer) => void,
   *          lost: (seconds: number) => void, refused: () => void}} handlers
   */
  constructor(handlers) {
    this.handlers = handlers;
    this.wait = FIRST_WAIT;
    this.socket = null;
    this.timer = 0;
    this.connect();
    window.addEventListener('online', () => this.retry());
  }

  get isOpen() {
    return this.socket !== null && this.socket.readyState === WebSocket.OPEN;
  }

  connect() {
    const address = new URL('live', document.baseURI);
    address.protocol = address.protocol.replace('http', 'ws');
    address.hash = address.search = '';
    // a page that comes back finds its uploads and exports
    const page = readTab(PAGE);
    if (page) address.searchParams.set('page', page);
    const socket = new WebSocket(address);
    socket.binaryType = 'arraybuffer';
    socket.onmessage = ({ data }) => {
      if (typeof data !== 'string') return this.handlers.binary(data);
      const message = JSON.parse(data);
      // the server has let this page in, so that the next loss is a new one
      if (message.type === 'hello') {
        this.wait = FIRST_WAIT;
        writeTab(PAGE, message.page);
      }
      return this.handlers.message(message);
    };
    socket.onclose = ({ code }) => {
      if (this.socket !== socket) return;
      this.socket = null;
      if (code === NO_TOKEN) return this.handlers.refused();
      this.handlers.lost(this.wait / 1000);
      this.timer = window.setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
    };
    this.socket = socket;
  }

  /** Try again now instead of later. */
  retry() {
    if (this.socket !== null) return;
    window.clearTimeout(this.timer);
    this.connect();
  }

  /** Send a message; without a connection it is dropped, since a new one begins with all there is to say. */
  send(type, content = {}) {
    if (this.isOpen) this.socket.send(JSON.stringify({ type, ...content }));
  }

  /** @param {any} header @param {ArrayBuffer} payload */
  sendBinary(header, payload) {
    if (this.isOpen) this.socket.send(writeMessage(header, payload));
  }
}
