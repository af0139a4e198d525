// What this browser keeps for the page: the theme, presets, whether single keys work.

/** What is kept; null if nothing is. @param {string} key */
export function read(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** What is kept for this tab alone, until it is closed. @param {string} key */
export function readTab(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string} value */
export function writeTab(key, value) {
  try {
    sessionStorage.setItem(key, value);
  } catch {
    // a page that is loaded again is a new one then
  }
}

/** @param {string} key @param {string} value */
export function write(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // private windows keep nothing, and all works without
  }
}
