// Window and level by the right mouse button, as viewers of scans have it: across for contrast, down for brightness.

import { find } from './dom.js';
import { formatNumber } from './measures.js';

/** Pixels of the screen for the whole window. */
const REACH = 400;
const SLACK = 3;

/** @param {() => {low: number, high: number}|null} present @param {(window: string) => void} change */
export function listenForWindowing(present, change) {
  const element = find('viewport');
  let from = null;
  let isMoved = false;
  element.addEventListener('pointerdown', (event) => {
    const shown = event.button === 2 && !find('image').hidden ? present() : null;
    if (!shown) return;
    from = { x: event.clientX, y: event.clientY, middle: (shown.low + shown.high) / 2, width: shown.high - shown.low };
    isMoved = false;
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener('pointermove', (event) => {
    if (!from) return;
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    if (!isMoved && Math.hypot(x, y) < SLACK) return;
    isMoved = true;
    const width = from.width * 2 ** ((2 * x) / REACH);
    const middle = from.middle + (y / REACH) * from.width;
    change(`${formatNumber(middle - width / 2)}:${formatNumber(middle + width / 2)}`);
  });
  for (const name of ['pointerup', 'pointercancel']) window.addEventListener(name, () => { from = null; });
  element.addEventListener('contextmenu', (event) => {
    // who has not moved wants the menu, such as to save the image
    if (isMoved) event.preventDefault();
    isMoved = false;
  });
}
