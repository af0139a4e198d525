// The unit of the data, such as HU, behind numbers that are in it.

let unit = '';

/** Another source is shown. @param {string} name of its unit; empty if it has none */
export const setUnit = (name) => { unit = name ?? ''; };

/** @param {string} text a number of the data */
export const withUnit = (text) => (unit ? `${text} ${unit}` : text);

export const getUnit = () => unit;
