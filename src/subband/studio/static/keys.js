// Single keys as shortcuts, and the list of them in the help.

import { find, make } from './dom.js';
import { read, write } from './keeping.js';

const KEY = 'subband-keys';
const OWN_KEYS = 'input:not([type=checkbox], [type=radio], [type=range]), select, textarea';
const PRESSED_BY_SPACE = 'button, summary, a, input, select, textarea, [role=tab], [role=slider]';

/**
 * @param {[string, string, () => void, string?][]} shortcuts key as in KeyboardEvent.key, what it does (empty where
 *   another's entry says so), the doing, and how the key is called
 */
export function listenForKeys(shortcuts) {
  const byKey = new Map(shortcuts.map(([key, , act]) => [key, act]));
  const on = find('keys-on');
  on.checked = read(KEY) !== 'off';
  on.addEventListener('change', () => write(KEY, on.checked ? 'on' : 'off'));
  find('keys').replaceChildren(...shortcuts.filter(([, title]) => title).map(([key, title, , shown]) =>
    make('div', {}, make('dt', {}, make('kbd', { text: shown ?? key.toUpperCase() })), make('dd', { text: title }))));

  window.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.repeat || !on.checked) return;
    if (document.querySelector('dialog[open]')) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.closest(OWN_KEYS)) return;
    if (event.key === ' ' && target.closest(PRESSED_BY_SPACE)) return;
    const act = byKey.get(event.key.length === 1 ? event.key.toLowerCase() : event.key);
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}
