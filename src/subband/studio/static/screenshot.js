// What is on the screen as a file, at the resolution of the frame.

import { download, find } from './dom.js';

/**
 * @param {number|null} share of the width before the divider in percent; null without a divider
 * @param {string} name of the file
 */
export async function saveScreenshot(share, name) {
  const surface = document.querySelector('#surface:not([hidden]) canvas');
  const result = surface ?? find('canvas-result');
  let canvas = result;
  if (share !== null && !surface) {
    canvas = document.createElement('canvas');
    Object.assign(canvas, { width: result.width, height: result.height });
    const pen = canvas.getContext('2d');
    const left = Math.round((result.width * share) / 100);
    pen.drawImage(result, 0, 0);
    if (left > 0) {
      pen.clearRect(0, 0, left, result.height);
      pen.drawImage(find('canvas-before'), 0, 0, left, result.height, 0, 0, left, result.height);
    }
  }
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
  if (!blob) throw new Error('There is no image yet');
  const address = URL.createObjectURL(blob);
  download(address, name);
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
