// What single keys do.

import { find } from './dom.js';
import { listenForKeys } from './keys.js';

/** @param {import('./studio.js').Studio} studio */
export function listenForShortcuts(studio) {
  const { transport, viewport } = studio;
  const pickView = (index) => {
    const option = studio.settings?.control('view')?.options[index];
    if (option) studio.change('view', option[0]);
  };
  listenForKeys([
    [' ', 'Play or pause', () => transport.toggle(), 'space'],
    ['.', 'Next frame', () => transport.step(false)],
    [',', 'Frame before', () => transport.step(true)],
    ['j', 'Backwards, pause, forwards; again for twice as fast', () => transport.shuttle(-1), 'J K L'],
    ['k', '', () => transport.pause()],
    ['l', '', () => transport.shuttle(1)],
    ['i', 'First and last frame of a part; all again', () => transport.setStart(), 'I O X'],
    ['o', '', () => transport.setStop()],
    ['x', '', () => transport.setPart(0, null)],
    ['c', 'Loop', () => transport.setLoop(!transport.loop)],
    ['f', 'Full screen', () => studio.stage.toggleFullScreen()],
    ['s', 'Screenshot', () => studio.screenshot()],
    ['e', 'Export', () => studio.export.open()],
    ['1', 'Views, in their order', () => pickView(0), '1 – 5'],
    ['2', '', () => pickView(1)],
    ['3', '', () => pickView(2)],
    ['4', '', () => pickView(3)],
    ['5', '', () => pickView(4)],
    ['z', 'Zoom', () => viewport.nextZoom()],
    ['+', 'Larger, smaller, whole', () => viewport.zoomBy(1), '+ − 0'],
    ['-', '', () => viewport.zoomBy(-1)],
    ['0', '', () => viewport.setZoom('fit')],
    ['r', 'Reset settings', () => studio.reset()],
    ['Escape', 'Give up what is being computed', () => studio.busy.canEnd && studio.cancel(), 'Esc'],
    ['t', 'Light or dark', () => studio.nextTheme()],
    ['?', 'This help', () => find('help').showModal()],
  ]);
}
