// Settings in the address: a link reproduces what is on the screen.

/** @returns {Record<string, string>} what the address says; "source" among it */
export function readAddress() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/**
 * Add what an address cannot say: uploads, which only this page has and finds again after a reload.
 * @param {Record<string, any>} values what the address says
 * @param {{source?: any, settings?: any, uploads?: any[]}} kept what the server remembers of this page
 */
export function recall(values, { source, settings = {}, uploads = [] }) {
  const ids = new Set(uploads.map(({ id }) => id));
  const found = { ...values };
  if (!found.source && source?.kind === 'upload' && ids.has(source.id)) found.source = `upload:${source.id}`;
  for (const [name, value] of Object.entries(settings ?? {})) {
    const [kind, id] = String(value).split(':');
    if (!(name in found) && kind === 'upload' && ids.has(id)) found[name] = value;
  }
  return found;
}

/**
 * Format the address of the present state.
 * @param {import('./settings.js').Settings} settings
 * @param {string} source such as "sample:bunny"
 */
export function formatAddress(settings, source) {
  const values = new URLSearchParams();
  if (settings.tool !== settings.tools[0]) values.set('tool', settings.tool.name);
  // an upload lives only as long as this page, so that no link could find it again
  if (source && !source.startsWith('upload:')) values.set('source', source);
  for (const [name, value] of Object.entries(settings.differing())) {
    if (!String(value).startsWith('upload:')) values.set(name, String(value));
  }
  const address = new URL(location.href);
  // a link is for others, and what stands there may be a token
  address.search = '';
  // these need no escape behind a hash, and the address is for people too
  address.hash = values.toString().replace(/%(3A|2C|3D|3B)/g, decodeURIComponent);
  return address.href;
}

/** Writes the address a moment after the last change, since browsers limit how often it may change. */
export class Address {
  /** @param {() => string} format @param {() => void} changed called when the user follows or types another address */
  constructor(format, changed) {
    this.format = format;
    this.timer = 0;
    window.addEventListener('hashchange', changed);
  }

  update() {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => history.replaceState(null, '', this.format()), 200);
  }
}
