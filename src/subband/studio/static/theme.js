// Light, dark, or as the system says.

import { find, setIcon } from './dom.js';
import { read, write } from './keeping.js';

const THEMES = ['auto', 'light', 'dark'];
const TITLES = { auto: 'as the system', light: 'light', dark: 'dark' };
const KEY = 'subband-theme';

/** @param {() => void} changed */
export function listenForTheme(changed) {
  let theme = read(KEY) ?? 'auto';
  const show = () => {
    if (theme === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    const button = find('theme');
    setIcon(button, theme);
    button.setAttribute('aria-label', `Theme: ${TITLES[theme]}`);
    button.title = `Theme: ${TITLES[theme]} (T)`;
    changed();
  };
  const next = () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    write(KEY, theme);
    show();
  };
  if (!THEMES.includes(theme)) theme = 'auto';
  find('theme').addEventListener('click', next);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
  show();
  return next;
}
