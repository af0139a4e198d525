// The tools as tabs: arrows go from one to the next, as in the ARIA practices.

import { find, make } from './dom.js';

/**
 * @param {import('./settings.js').Tool[]} tools
 * @param {(name: string) => void} picked
 * @returns {(name: string) => void} what marks the tab of a tool
 */
export function makeTabs(tools, picked) {
  const tabs = tools.map((tool) => make('button', {
    type: 'button', role: 'tab', id: `tab-${tool.name}`, 'aria-controls': 'workspace', text: tool.title,
    on: { click: () => picked(tool.name) },
  }));
  const list = find('tools');
  list.replaceChildren(...tabs);
  list.addEventListener('keydown', (event) => {
    const index = tabs.indexOf(document.activeElement);
    const count = tabs.length;
    const targets = { ArrowRight: (index + 1) % count, ArrowLeft: (index + count - 1) % count, Home: 0, End: count - 1 };
    if (index < 0 || !(event.key in targets)) return;
    event.preventDefault();
    tabs[targets[event.key]].focus();
    tabs[targets[event.key]].click();
  });
  return (name) => {
    for (const tab of tabs) {
      const isChosen = tab.id === `tab-${name}`;
      tab.setAttribute('aria-selected', String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    }
    // on phones there are more tabs than the screen is wide
    find(`tab-${name}`).scrollIntoView({ block: 'nearest', inline: 'nearest' });
    find('workspace').setAttribute('aria-labelledby', `tab-${name}`);
  };
}
