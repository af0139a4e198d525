// The settings: what the server's schema says can be chosen, and what was chosen.

/**
 * @typedef {{name: string, label: string, kind: string, default: any, group?: string, options?: any[][],
 *   min?: number, max?: number, step?: number, unit?: string, help?: string, auto?: boolean, auto_value?: number,
 *   levels?: number, shown?: Record<string, any[]>, only?: string}} Control
 * @typedef {{name: string, title: string, inputs?: number, controls: Control[]}} Tool
 */

/** Choices of the machine rather than of an image: neither a reset nor a preset touches them. */
export const OF_THE_MACHINE = ['engine', 'format', 'pace', 'precision'];

/** Through what an image is looked at. */
const OF_THE_DISPLAY = ['view', 'display_window', 'display_gamma', 'display_colours'];

/** What a preset does not touch, unless it names it: how one looks, and at what noise. */
export const OF_THE_LOOKER = [...OF_THE_MACHINE, ...OF_THE_DISPLAY, 'added_noise', 'added_sigma'];

/** What tools share besides: who looks at two halves with one goes on to do so with the next. */
const SHARED = [...OF_THE_MACHINE, ...OF_THE_DISPLAY];

export class Settings {
  /** @param {Tool[]} tools */
  constructor(tools) {
    this.tools = tools;
    this.tool = tools[0];
    /** What was chosen, by tool and name: a threshold of one tool is none of another. @type {Map<string, any>} */
    this.chosen = new Map();
    /** What a setting of 255 shades is multiplied by to count as the data does. */
    this.scale = 1;
    /** What is open, such as "volume". */
    this.kind = '';
  }

  /** Everything that was chosen, for `restore`. */
  snapshot() {
    return { tool: this.tool.name, chosen: new Map(this.chosen) };
  }

  restore({ tool, chosen }) {
    this.pickTool(tool);
    this.chosen = new Map(chosen);
  }

  /** @param {string} name */
  pickTool(name) {
    this.tool = this.tools.find((tool) => tool.name === name) ?? this.tool;
  }

  /** @param {string} name @returns {Control|undefined} */
  control(name) {
    return this.tool.controls.find((control) => control.name === name);
  }

  /** The value of a control of the present tool; undefined if it has none of that name. @param {string} name */
  value(name) {
    const control = this.control(name);
    if (control === undefined) return undefined;
    const value = readValue(control, this.chosen.get(this.#key(name)));
    return value === undefined ? control.default : value;
  }

  /** @param {string} name @param {any} value */
  set(name, value) {
    this.chosen.set(this.#key(name), value);
  }

  /** Forget what was chosen for the present tool, but not what is named. @param {string[]} kept */
  reset(kept = []) {
    for (const { name } of this.tool.controls) if (!kept.includes(name)) this.chosen.delete(this.#key(name));
  }

  /** Take over many values. @param {Record<string, any>} values of one tool, with its name if it is another one */
  adopt(values) {
    if (typeof values.tool === 'string') this.pickTool(values.tool);
    for (const [name, value] of Object.entries(values)) if (name !== 'tool') this.set(name, value);
  }

  #key(name) {
    return SHARED.includes(name) ? name : `${this.tool.name} ${name}`;
  }

  /** All settings of the present tool, as the server wants them. @returns {Record<string, any>} */
  complete() {
    const values = this.tool.controls.map((control) => [control.name, this.value(control.name)]);
    return { tool: this.tool.name, ...Object.fromEntries(values) };
  }

  /** Those that differ from their defaults. @returns {Record<string, any>} */
  differing() {
    const differs = this.tool.controls.filter((control) => this.value(control.name) !== control.default);
    return Object.fromEntries(differs.map((control) => [control.name, this.value(control.name)]));
  }

  /** Whether a control has anything to say with the present values. @param {Control} control */
  isShown(control) {
    if (control.only && control.only !== this.kind) return false;
    return Object.entries(control.shown ?? {}).every(([name, values]) => values.includes(this.value(name)));
  }

  /** How many levels the transform has. @param {Control} [control] */
  levels(control) {
    const level = Number(this.value('level'));
    return Number.isInteger(level) && level > 0 ? level : (control?.levels ?? 3);
  }
}

/**
 * Read a value of any origin (an address, a preset, the server) as one that a control can have; undefined if it cannot.
 * @param {Control} control
 * @param {any} value
 */
export function readValue(control, value) {
  if (control.kind === 'flag') {
    if (value === true || value === 'true' || value === '1') return true;
    return value === false || value === 'false' || value === '0' ? false : undefined;
  }
  if (control.kind === 'range') {
    if (control.auto && value === 'auto') return 'auto';
    const number = value === '' || value === null ? NaN : Number(value);
    if (!Number.isFinite(number)) return undefined;
    return Math.min(control.max ?? Infinity, Math.max(control.min ?? -Infinity, number));
  }
  if (control.kind === 'choice') {
    return control.options.find(([known]) => known === value || String(known) === String(value))?.[0];
  }
  return value === undefined || value === null ? undefined : String(value);
}
