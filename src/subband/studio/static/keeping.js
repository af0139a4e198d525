// What this browser keeps for the page: the theme, presets, whether single keys work.

/** What is kept; null if nothing is. @param {string} key */
export function read(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
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
