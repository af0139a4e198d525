// The panel of settings, built from the server's schema: one group of controls after another.

import { makeBands } from './bands.js';
import { makeCombobox } from './combobox.js';
import { make } from './dom.js';
import { addGuide } from './guide.js';
import { formatNumber } from './measures.js';
import { withUnit } from './units.js';
import { makeWindow } from './window.js';

const SEGMENTS = { count: 3, letters: 26 };
/** The unit of settings that are scaled to the depth of an image. */
const SHADES = 'of 255';

/**
 * @typedef {{element: HTMLElement, update: (value: any, settings: import('./settings.js').Settings) => void}} Drawn
 * @typedef {{changed: (name: string, value: any) => void, sources: import('./sources.js').Sources,
 *   measures: import('./measures.js').Measures}} Surroundings
 */

/** A row of radio buttons that looks like one switch. @returns {Drawn} */
export function makeSegments(control, changed) {
  const id = `control-${control.name}`;
  const inputs = control.options.map(([value, title], index) => {
    const input = make('input', { type: 'radio', name: id, id: `${id}-${index}`, 'data-value': value });
    input.addEventListener('change', () => changed(value));
    return [input, make('label', { for: input.id, text: title }), value];
  });
  const element = make('div', { class: 'segments', role: 'radiogroup', 'aria-label': control.label, id },
    ...inputs.flatMap(([input, label]) => [input, label]));
  return { element, update: (value) => inputs.forEach(([input, , own]) => { input.checked = own === value; }) };
}

function makeChoice(control, { changed }) {
  const report = (value) => changed(control.name, value);
  const letters = control.options.reduce((sum, [, title]) => sum + title.length, 0);
  if (control.options.length <= SEGMENTS.count && letters <= SEGMENTS.letters) {
    const segments = makeSegments(control, report);
    return {
      element: make('div', { class: 'control' },
        make('span', { class: 'label', 'aria-hidden': 'true', text: control.label }), segments.element),
      update: segments.update,
    };
  }
  const id = `control-${control.name}`;
  const select = make('select', { id, on: { change: () => report(control.options[select.selectedIndex][0]) } },
    ...control.options.map(([, title], index) => make('option', { value: index, text: title })));
  return {
    element: make('div', { class: 'control' }, make('label', { for: id, text: control.label }), select),
    update: (value) => { select.selectedIndex = control.options.findIndex(([own]) => own === value); },
  };
}

function makeRange(control, { changed }) {
  const id = `control-${control.name}`;
  const { min = 0, max = 1, step = 0.01 } = control;
  const spoken = control.unit ? `${control.label}, ${control.unit}` : control.label;
  const slider = make('input', { type: 'range', id: `${id}-slider`, min, max, step, 'aria-label': spoken });
  const field = make('input', { type: 'number', id, min, max, step });
  const unit = control.unit ? make('span', { class: 'unit', text: control.unit }) : null;
  const auto = control.auto ? make('input', { type: 'checkbox', id: `${id}-auto` }) : null;
  const fill = () => slider.style.setProperty('--fill', `${(100 * (slider.value - min)) / (max - min || 1)}%`);
  slider.addEventListener('input', () => {
    field.value = slider.value;
    fill();
    changed(control.name, Number(slider.value));
  });
  // a number that is still being typed may be out of range, so that it counts only where it is not
  field.addEventListener('input', () => {
    if (field.value !== '' && field.validity.valid) changed(control.name, Number(field.value));
  });
  field.addEventListener('change', () => {
    const number = field.value === '' ? Number(slider.value) : Math.min(max, Math.max(min, Number(field.value)));
    field.value = number;
    changed(control.name, number);
  });
  auto?.addEventListener('change', () => changed(control.name, auto.checked ? 'auto' : Number(slider.value)));
  const element = make('div', { class: 'control range' },
    make('div', { class: 'row' },
      make('label', { for: id, text: control.label }),
      auto && make('label', { class: 'auto' }, auto, 'auto'),
      make('span', { class: 'number' }, field, unit)),
    slider);
  return {
    element,
    update(value, settings) {
      const isAuto = value === 'auto';
      // deeper data has units of its own, and so have thresholds for it
      const isScaled = control.unit === SHADES && settings.scale !== 1 && settings.tool.name === 'enhance';
      if (isScaled) unit.textContent = isAuto ? '' : `${SHADES} = ${withUnit(formatNumber(value * settings.scale))}`;
      else if (unit) unit.textContent = control.unit;
      if (auto) auto.checked = isAuto;
      slider.disabled = field.disabled = isAuto;
      if (isAuto) {
        slider.value = control.auto_value ?? min;
        field.value = '';
      } else {
        slider.value = value;
        if (document.activeElement !== field) field.value = Number(Number(value).toFixed(6));
      }
      fill();
    },
  };
}

function makeFlag(control, { changed }) {
  const id = `control-${control.name}`;
  const box = make('input', { type: 'checkbox', id, on: { change: () => changed(control.name, box.checked) } });
  return {
    element: make('div', { class: 'control' },
      make('label', { class: 'flag', for: id }, box, make('span', { text: control.label }))),
    update: (value) => { box.checked = Boolean(value); },
  };
}

function makeSearch(control, { changed }) {
  const id = `control-${control.name}`;
  const box = makeCombobox({ id, options: control.options, changed: (value) => changed(control.name, value) });
  const label = make('label', { for: id, text: control.label });
  return { element: make('div', { class: 'control' }, label, box.element), update: box.update };
}

function makeMatrix(control, { changed, measures }) {
  const { element, update } = makeBands({ control, changed, measures });
  return {
    element,
    update(value, settings) {
      const thresholds = control.thresholds && settings.control(control.thresholds);
      const isUsed = thresholds && settings.isShown(thresholds);
      update(value, settings.levels(control), isUsed ? settings.value(control.thresholds) : undefined);
    },
  };
}

function makeSource(control, { changed, sources }) {
  const id = `control-${control.name}`;
  const select = make('select', { id, on: { change: () => changed(control.name, select.value) } });
  const label = make('label', { for: id, text: control.label });
  const file = make('input', { type: 'file', class: 'hidden', tabindex: '-1' });
  file.setAttribute('aria-label', `File for ${control.label}`);
  const button = make('button', {
    type: 'button', class: 'quiet', text: 'File…', 'aria-label': `Open a file for ${control.label}`,
    on: { click: () => file.click() },
  });
  file.addEventListener('change', async () => {
    const source = file.files[0] && (await sources.upload(file.files[0]));
    if (source) changed(control.name, source);
    file.value = '';
  });
  let value = '';
  const fill = () => {
    sources.fillSelect(select, false);
    select.value = value;
  };
  sources.watch(fill, select);
  return {
    element: make('div', { class: 'control' }, label, make('div', { class: 'row' }, select, button), file),
    update(wanted) {
      value = String(wanted ?? '');
      fill();
    },
  };
}

/** Help shows when the pointer rests on a control, and is read aloud with it; always shown, it would fill the panel. */
function explain(element, { name, help }) {
  const text = make('span', { class: 'hidden', id: `help-${name}`, text: help });
  element.title = help;
  element.append(text);
  for (const field of element.querySelectorAll('input, select, [role=radiogroup]')) {
    field.setAttribute('aria-describedby', text.id);
  }
}

const MAKERS = {
  choice: makeChoice, range: makeRange, flag: makeFlag, search: makeSearch, bands: makeMatrix, source: makeSource,
  window: makeWindow,
};

export class Panel {
  /**
   * @param {HTMLElement} parent
   * @param {import('./settings.js').Settings} settings
   * @param {Surroundings} surroundings
   */
  constructor(parent, settings, surroundings) {
    this.parent = parent;
    this.settings = settings;
    this.surroundings = surroundings;
    /** @type {[import('./settings.js').Control, Drawn][]} */
    this.drawn = [];
    this.groups = [];
  }

  /** Make the controls of the present tool; those drawn elsewhere are named. @param {string[]} elsewhere */
  build(elsewhere) {
    const groups = new Map();
    this.drawn = [];
    for (const control of this.settings.tool.controls) {
      if (elsewhere.includes(control.name)) continue;
      const maker = MAKERS[control.kind];
      if (maker === undefined) continue;
      const plain = maker(control, this.surroundings);
      const drawn = control.lines ? addGuide(control, plain, this.surroundings.changed) : plain;
      if (control.help && control.kind !== 'bands') explain(drawn.element, control);
      this.drawn.push([control, drawn]);
      const title = control.group ?? 'Settings';
      if (!groups.has(title)) groups.set(title, []);
      groups.get(title).push(drawn.element);
    }
    const opened = new Map(this.groups.map(([group, title]) => [title, group.open]));
    this.groups = [...groups].map(([title, elements]) => [
      make('details', { class: 'group', open: opened.get(title) ?? true }, make('summary', { text: title }),
        make('div', { class: 'group-body' }, ...elements)), title, elements]);
    this.parent.replaceChildren(...this.groups.map(([group]) => group));
    this.update();
  }

  /** Show the present values, and only the controls that they leave something to say. */
  update() {
    for (const [control, { element, update }] of this.drawn) {
      element.hidden = !this.settings.isShown(control);
      update(this.settings.value(control.name), this.settings);
    }
    for (const [group, , elements] of this.groups) group.hidden = elements.every((element) => element.hidden);
  }
}
