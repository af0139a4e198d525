// Copying the equivalent command, code or link; where the clipboard is closed, the text is shown to be selected.

import { find } from './dom.js';
import { tell } from './toasts.js';

const TITLES = { command: 'Command line', python: 'Python', toml: 'TOML', link: 'Link' };

/** @param {() => Record<string, string>} texts by kind */
export function listenForCopies(texts) {
  for (const button of document.querySelectorAll('[data-copy]')) {
    button.addEventListener('click', () => copy(button.dataset.copy, texts()[button.dataset.copy]));
  }
}

/** @param {string} kind @param {string|undefined} text */
async function copy(kind, text) {
  if (!text) {
    tell(`There is no ${TITLES[kind]} for these settings`, 'status');
    return;
  }
  let copied = false;
  try {
    await navigator.clipboard.writeText(text);
    copied = true;
  } catch {
    copied = false;
  }
  find('copy-title').textContent = TITLES[kind];
  find('copy-note').textContent = copied
    ? 'Copied to the clipboard.'
    : 'The browser keeps its clipboard closed here: select and copy the text.';
  const area = find('copy-text');
  area.value = text;
  area.rows = Math.min(18, Math.max(3, text.split('\n').length + 1));
  find('copy').showModal();
  area.focus();
  area.select();
}
