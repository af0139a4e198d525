// Short messages, read aloud: news goes by itself, an error stays until it is dismissed.

import { find, icon, make } from './dom.js';

const LASTS = 3000;
const MOST = 4;

/** Tell of an error, or of news. @param {string} message @param {"alert"|"status"} role */
export function tell(message, role = 'alert') {
  const place = find('toasts');
  const same = [...place.children].find((toast) => toast.firstChild.textContent === message);
  same?.remove();
  while (place.children.length >= MOST) place.firstChild.remove();
  const close = make('button', { type: 'button', class: 'quiet bare', 'aria-label': 'Dismiss' }, icon('close'));
  const toast = make('div', { class: `toast ${role}`, role }, make('p', { text: message }), close);
  close.addEventListener('click', () => toast.remove());
  place.append(toast);
  // above whatever is above the page, such as the picture on the full screen
  place.togglePopover?.(false);
  place.togglePopover?.(true);
  if (role !== 'alert') window.setTimeout(() => toast.remove(), LASTS);
}
