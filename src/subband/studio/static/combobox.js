// A text field with a list that it searches: the editable combobox of the ARIA practices.

import { make } from './dom.js';

/**
 * @param {{id: string, options: [string, string][], changed: (value: string) => void}} about
 * @returns {{element: HTMLElement, update: (value: string) => void}}
 */
export function makeCombobox({ id, options, changed }) {
  let value = '';
  let active = -1;
  /** @type {[string, string][]} */
  let matches = [];

  const field = make('input', {
    id, type: 'text', role: 'combobox', autocomplete: 'off', spellcheck: 'false',
    'aria-autocomplete': 'list', 'aria-expanded': 'false', 'aria-controls': `${id}-list`,
  });
  const list = make('ul', { id: `${id}-list`, role: 'listbox', 'aria-label': 'Matches', hidden: true });
  const element = make('div', { class: 'combobox' }, field, list);

  const titleOf = (wanted) => options.find(([known]) => known === wanted)?.[1] ?? wanted;

  const setActive = (index) => {
    active = index;
    [...list.children].forEach((item, number) => item.setAttribute('aria-selected', String(number === active)));
    const item = list.children[active];
    if (item) {
      field.setAttribute('aria-activedescendant', item.id);
      item.scrollIntoView({ block: 'nearest' });
    } else {
      field.removeAttribute('aria-activedescendant');
    }
  };

  const close = () => {
    list.hidden = true;
    field.setAttribute('aria-expanded', 'false');
    setActive(-1);
  };

  const open = (wanted) => {
    const letters = wanted.trim().toLowerCase();
    const begins = (option) => option.some((text) => text.toLowerCase().startsWith(letters));
    const found = options.filter(([known, title]) => `${known} ${title}`.toLowerCase().includes(letters));
    matches = [...found.filter(begins), ...found.filter((option) => !begins(option))];
    list.replaceChildren(...matches.map(([known, title], number) =>
      make('li', {
        id: `${id}-${number}`, role: 'option', 'aria-selected': 'false', 'data-value': known,
        class: known === value ? 'present' : null, text: title,
      })));
    list.hidden = matches.length === 0;
    field.setAttribute('aria-expanded', String(!list.hidden));
    setActive(letters ? Math.min(0, matches.length - 1) : matches.findIndex(([known]) => known === value));
  };

  const choose = (wanted) => {
    const isNew = wanted !== value;
    value = wanted;
    field.value = titleOf(value);
    close();
    if (isNew) changed(value);
  };

  field.addEventListener('focus', () => field.select());
  field.addEventListener('click', () => (list.hidden ? open('') : close()));
  field.addEventListener('input', () => open(field.value));
  field.addEventListener('blur', () => {
    field.value = titleOf(value);
    close();
  });
  field.addEventListener('keydown', (event) => {
    const last = matches.length - 1;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      if (list.hidden) open('');
      else setActive(event.key === 'ArrowDown' ? (active >= last ? 0 : active + 1) : (active <= 0 ? last : active - 1));
    } else if (event.key === 'Enter' && !list.hidden && active >= 0) {
      choose(matches[active][0]);
    } else if (event.key === 'Escape' && !list.hidden) {
      field.value = titleOf(value);
      close();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
  // the press would take the focus from the field, and its loss would close the list before the click
  list.addEventListener('pointerdown', (event) => event.preventDefault());
  list.addEventListener('click', (event) => {
    const item = event.target.closest('[role=option]');
    if (item) choose(item.dataset.value);
  });

  return {
    element,
    update(wanted) {
      value = String(wanted);
      if (document.activeElement !== field || list.hidden) field.value = titleOf(value);
    },
  };
}
