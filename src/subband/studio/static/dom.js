// Short ways to find and to make elements.

/**
 * The element with an id, which index.html has.
 * @param {string} id
 * @returns {HTMLElement & any}
 */
export const find = (id) => document.getElementById(id);

/**
 * Make an element.
 * @param {string} tag
 * @param {Record<string, any>} [attributes] `class`, `text`, `on` (listeners), attributes; false and null leave one out
 * @param {...(Node|string|null)} children
 * @returns {HTMLElement & any}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'text') element.textContent = value;
    else if (name === 'on') Object.entries(value).forEach((pair) => element.addEventListener(...pair));
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Make an icon of icons.svg. @param {string} name */
export function icon(name) {
  const space = 'http://www.w3.org/2000/svg';
  const image = document.createElementNS(space, 'svg');
  image.setAttribute('class', 'icon');
  image.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS(space, 'use');
  use.setAttribute('href', `static/icons.svg#${name}`);
  image.append(use);
  return image;
}

/**
 * Show another of the icons that a button has; one with a new address would have to be loaded first.
 * @param {Element} button
 * @param {string} name
 */
export function setIcon(button, name) {
  for (const image of button.querySelectorAll('[data-icon]')) {
    image.toggleAttribute('hidden', image.dataset.icon !== name);
  }
}

/** Offer a file for download. @param {string} address @param {string} name */
export function download(address, name) {
  const link = make('a', { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

/** A colour of the present theme. @param {string} name of a custom property, without the dashes */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/**
 * Fit the bitmap of a small drawing to its size on the screen.
 * @param {HTMLCanvasElement} canvas
 * @returns {{pen: CanvasRenderingContext2D, width: number, height: number}} sizes in CSS pixels
 */
export function preparePen(canvas) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  const columns = Math.max(1, Math.round(width * scale));
  const rows = Math.max(1, Math.round(height * scale));
  if (canvas.width !== columns || canvas.height !== rows) Object.assign(canvas, { width: columns, height: rows });
  const pen = canvas.getContext('2d');
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}
