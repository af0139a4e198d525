// Short messages, read aloud: news goes by itself, an error stays until it is dismissed.

import { find, icon, make } from './dom.js';

const LASTS = 3000;
const MOST = 4;

/** Tell of an error, or of news. @param {string} message @param {"alert"|"status"} role */
export function tell(message, role = 'alert') {
  const list = find('toasts');
  const same = [...list.children].find((toast) => toast.firstChild.textContent === message);
  same?.remove();
  while (list.children.length >= MOST) list.firstChild.remove();
  const close = make('button', { type: 'button', class: 'quiet bare', 'aria-label': 'Dismiss' }, icon('close'));
  const toast = make('div', { class: `toast ${role}`, role }, make('p', { text: message }), close);
  close.addEventListener('click', () => toast.remove());
  list.append(toast);
  // above whatever is above the page, such as the image on the full screen
  list.togglePopover?.(false);
  list.togglePopover?.(true);
  if (role !== 'alert') window.setTimeout(() => toast.remove(), LASTS);
}
