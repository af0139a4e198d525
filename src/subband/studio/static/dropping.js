// Files that are dropped, pasted or picked: several at once, whole folders, and the slices of a series as one volume.

import { find } from './dom.js';

/** Folders that are looked into, and files that are taken, at most. */
const DEEPEST = 12;
const MOST_FILES = 20000;
const SERIES = /\.(dcm|dicom|ima)$/i;
const STORE = /\.zarr$/i;

/** All files of a dropped folder, with their path in it. @param {any} entry @param {number} depth */
async function walk(entry, depth = 0) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => { entry.file(resolve, reject); });
    return [{ file, path: entry.fullPath.replace(/^\//, '') }];
  }
  if (depth >= DEEPEST) return [];
  const reader = entry.createReader();
  const found = [];
  // a reader gives a hundred entries at a time
  for (;;) {
    const entries = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
    if (!entries.length || found.length > MOST_FILES) return found;
    for (const each of entries) found.push(...(await walk(each, depth + 1)));
  }
}

/** What was dropped, folders with all that is in them. @param {DataTransfer} transfer */
async function listDropped(transfer) {
  const entries = [...(transfer.items ?? [])].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return [...transfer.files].map((file) => ({ file, path: file.name }));
  return (await Promise.all(entries.map((entry) => walk(entry)))).flat();
}

/** Whether a file without a telling name holds a slice. @param {File} file */
async function isSlice(file) {
  if (SERIES.test(file.name)) return true;
  if (/\.\w{1,5}$/.test(file.name) || file.size < 132) return false;
  const head = new Uint8Array(await file.slice(128, 132).arrayBuffer());
  return String.fromCharCode(...head) === 'DICM';
}

/**
 * Sort files into what is opened as one: a store, the slices of a series, and everything else by itself.
 * @param {{file: File, path: string}[]} files
 * @returns {Promise<{name: string, files: {file: File, path: string}[]}[]>}
 */
export async function groupFiles(files) {
  const groups = new Map();
  const add = (name, entry) => {
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(entry);
  };
  for (const { file, path } of files.slice(0, MOST_FILES)) {
    const parts = path.split('/');
    const store = parts.findIndex((part) => STORE.test(part));
    if (store >= 0 && store < parts.length - 1) {
      add(parts[store], { file, path: parts.slice(store + 1).join('/') });
    } else if (parts.some((part) => part.startsWith('.'))) {
      continue;
    } else if (await isSlice(file)) {
      add(`${parts.at(-2) ?? 'series'}/`, { file, path: parts.at(-1) });
    } else {
      add(path, { file, path });
    }
  }
  return [...groups].map(([name, entries]) => (
    // one slice is an image like any other
    entries.length === 1 && name.endsWith('/')
      ? { name: entries[0].file.name, files: entries } : { name: name.replace(/\/$/, ''), files: entries }));
}

/** Listen for files. @param {(files: {file: File, path: string}[]) => void} take */
export function listenForFiles(take) {
  const field = find('upload-file');
  const drop = find('drop');
  const asPairs = (files) => [...files].map((file) => ({ file, path: file.webkitRelativePath || file.name }));
  find('upload').addEventListener('click', () => field.click());
  field.addEventListener('change', () => {
    take(asPairs(field.files));
    field.value = '';
  });
  window.addEventListener('paste', (event) => {
    if (!event.clipboardData?.files.length) return;
    event.preventDefault();
    take(asPairs(event.clipboardData.files));
  });
  let depth = 0;
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes('Files');
  window.addEventListener('dragenter', (event) => {
    if (!hasFiles(event)) return;
    depth += 1;
    drop.hidden = false;
  });
  window.addEventListener('dragleave', (event) => {
    if (!hasFiles(event)) return;
    depth = Math.max(0, depth - 1);
    drop.hidden = depth === 0;
  });
  window.addEventListener('dragover', (event) => hasFiles(event) && event.preventDefault());
  window.addEventListener('drop', async (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    drop.hidden = true;
    take(await listDropped(event.dataTransfer));
  });
}
