// The studio: what comes from the server, what comes from the user, and what is on the screen.

import { Address, formatAddress, readAddress, recall } from './address.js';
import { Busy } from './busy.js';
import { Camera } from './camera.js';
import { listenForCopies } from './clipboard.js';
import { Panel, makeSegments } from './controls.js';
import { Divider } from './divider.js';
import { find, make } from './dom.js';
import { Export } from './export.js';
import { Frames } from './frames.js';
import { Histogram } from './histogram.js';
import { History } from './history.js';
import { Measures } from './measures.js';
import { Overview } from './overview.js';
import { Planes } from './planes.js';
import { Presets } from './presets.js';
import { Record } from './record.js';
import { Readout } from './readout.js';
import { saveScreenshot } from './screenshot.js';
import { OF_THE_LOOKER, OF_THE_MACHINE, Settings } from './settings.js';
import { Large } from './large.js';
import { Sheet } from './sheet.js';
import { listenForShortcuts } from './shortcuts.js';
import { Link, readMessage } from './socket.js';
import { Sources, formatSource, nameSource } from './sources.js';
import { Stage } from './stage.js';
import { Status } from './status.js';
import { makeTabs } from './tabs.js';
import { listenForTheme } from './theme.js';
import { tell } from './toasts.js';
import { Tour } from './tour.js';
import { Transport } from './transport.js';
import { setUnit } from './units.js';
import { Viewport } from './viewport.js';
import { listenForWindowing } from './windowing.js';

/** What is shown to those who come without a link: the image before and after; without a file, too, one with noise. */
const FIRST = { source: 'sample:noisy', settings: { filter: 'bivariate', view: 'split' } };

export class Studio {
  constructor() {
    /** @type {Settings|null} */
    this.settings = null;
    this.page = '';
    this.source = '';
    /** What was opened last and is shown. */
    this.opened = '';
    /** Rises with each source that is asked for. */
    this.turn = 0;
    this.info = {};
    this.sent = 0;
    this.drawn = 0;
    /** Blocks of a large image that are not computed yet. */
    this.left = 0;
    this.equivalent = {};
    this.surface = null;
    this.ready = new Promise((resolve) => { this.isReady = resolve; });

    this.frames = new Frames({ result: find('canvas-result'), before: find('canvas-before') });
    this.stage = new Stage();
    this.status = new Status();
    this.divider = new Divider();
    this.link = new Link({
      message: (message) => this.take(message),
      binary: (buffer) => this.takeBinary(buffer),
      lost: (seconds) => {
        this.stage.notice(`The connection was lost; the next try is in ${seconds} s.`);
      },
      refused: () => this.stage.notice('This server wants its token: open the address that it printed when it started.'),
    });
    const send = (type, content) => this.link.send(type, content);
    this.transport = new Transport((type, content) => {
      if (this.camera.isOn && (type === 'play' || type === 'pause')) this.pauseCamera(type === 'pause');
      send(type, content);
    });
    this.histogram = new Histogram((band) => send('histogram', { band }));
    this.measures = new Measures(() => send('measure', { bands: document.querySelector('.meter') !== null }));
    this.readout = new Readout((pixel) => send('probe', pixel));
    this.viewport = new Viewport({
      picked: (band) => this.histogram.pick(band),
      moved: () => {
        this.divider.follow(this.viewport.hiddenPart);
        this.large.follow();
        this.overview.follow();
      },
      hovered: (pixel) => this.readout.point(pixel),
    });
    this.large = new Large(this.viewport, (view) => send('view', view));
    this.overview = new Overview(this.viewport);
    this.tour = new Tour();
    this.sheet = new Sheet();
    this.planes = new Planes({ send, seek: (position) => this.transport.seekTo(position) });
    this.busy = new Busy(() => this.cancel());
    this.history = new History({
      present: () => this.settings.snapshot(), restore: (snapshot) => this.restore(snapshot),
    });
    this.camera = new Camera((header, payload) => this.link.sendBinary(header, payload));
    this.sources = new Sources({ opened: (source) => this.open(source), failed: tell });
    this.presets = new Presets({
      chosen: (settings) => this.adopt(settings, OF_THE_LOOKER),
      present: () => ({ tool: this.settings.tool.name, ...this.settings.differing() }),
    });
    this.record = new Record((on) => send('record', { on }));
    this.export = new Export({ describe: () => this.describe(), failed: tell });
    this.address = new Address(() => formatAddress(this.settings, this.source), () => this.followAddress());
    this.nextTheme = listenForTheme(() => {
      this.status.plot.draw();
      if (this.histogram.last) this.histogram.draw(this.histogram.last);
      this.surface?.draw();
      this.measures.refresh();
    });
    listenForCopies(() => ({ ...this.equivalent, link: formatAddress(this.settings, this.source) }));
    this.#listen();
  }

  // From the server

  /** @param {any} message */
  take(message) {
    if (message.type === 'hello') this.welcome(message);
    else if (message.type === 'opened') this.takeSource(message);
    else if (message.type === 'resolved') this.takeSettings(message);
    else if (message.type === 'error') this.takeError(message);
    else if (message.type === 'export') this.export.take(message);
    else if (message.type === 'histogram') this.histogram.draw(message);
    else if (message.type === 'image') this.measures.take(message);
    else if (message.type === 'pixel') this.readout.take(message);
    else if (message.type === 'planes') this.planes.take(message);
    else if (message.type === 'state') this.transport.take(message);
    else if (message.type === 'recording') this.record.take(message);
    else if (message.type === 'progress') this.takeRest(message);
  }

  welcome(hello) {
    const isFirst = this.settings === null;
    this.page = hello.page;
    find('status-hardware').textContent = hello.hardware ?? '–';
    find('status-hardware').title = hello.hardware ?? '';
    this.sources.offer(hello);
    this.presets.offer(hello.presets);
    this.export.offer(hello.kept.exports);
    this.stage.notice('');
    // a new socket counts from the beginning, and knows nothing of what was said on the last
    this.sent = this.drawn = this.status.answered = 0;
    this.opened = '';
    if (isFirst) {
      this.settings = new Settings(hello.tools);
      const { source, ...values } = recall(readAddress(), hello.kept);
      const { problems = [], media = [] } = hello;
      const isPlain = !source && !Object.keys(values).length;
      const isNew = isPlain && !media.length && !problems.length;
      this.settings.adopt(isPlain ? FIRST.settings : values);
      this.panel = new Panel(find('groups'), this.settings, {
        changed: (name, value) => this.change(name, value), sources: this.sources, measures: this.measures,
      });
      this.markTab = makeTabs(this.settings.tools, (name) => this.pickTool(name));
      this.buildTool();
      problems.forEach((problem) => tell(problem));
      // who has named files that cannot be read is not shown something else
      const isVain = !source && problems.length && !media.length;
      if (isVain) this.stage.notice(`Nothing that was named can be shown. ${problems.join(' ')}`);
      this.source = isVain ? '' : source || (isNew ? FIRST.source : this.sources.first());
      if (isNew) this.measures.next().then(() => this.tour.offer());
    }
    this.large.begin();
    this.sendSettings();
    if (document.hidden) this.link.send('pause', { hidden: true });
    if (isFirst) {
      this.open(this.source);
      const { source, state } = hello.kept;
      // a page that was loaded again goes on where it was; others have nothing that is kept
      if (source && state?.count > 1 && this.source === nameSource(source)) this.resume(state);
      return;
    }
    if (!this.source) return;
    this.link.send('open', { source: formatSource(this.source) });
    if (this.transport.isVideo && !this.camera.isOn) this.resume(this.transport);
    this.camera.next();
    this.histogram.request(true);
  }

  /** Go on in a video where it was. @param {{position: number, playing: boolean, loop: boolean, part: any}} state */
  resume({ position, playing, loop, part }) {
    this.link.send('loop', { on: loop });
    const [start, stop] = part ?? [0, null];
    if (start > 0 || stop !== null) this.link.send('part', stop === null ? { start } : { start, stop });
    this.link.send('seek', { position });
    if (!playing) this.link.send('pause');
  }

  takeError({ message, about }) {
    tell(message);
    if (about !== 'source') return;
    this.busy.stop();
    // what could not be opened leaves the last image where it is
    if (this.opened) {
      this.source = this.opened;
      this.sources.mark(this.opened);
      this.address.update();
    } else if (this.source !== this.sources.first()) {
      this.open(this.sources.first());
    }
  }

  takeSettings({ number, settings, notes = [], equivalent = {} }) {
    this.equivalent = equivalent;
    find('notes').replaceChildren(...notes.map((text) => make('li', { text })));
    // while newer settings are on their way, the answer to older ones would pull a slider back
    if (number !== this.sent) return;
    const { tool, ...values } = settings;
    for (const [name, value] of Object.entries(values)) {
      if (this.settings.control(name) && this.settings.value(name) !== value) this.settings.set(name, value);
    }
    this.show();
  }

  /** @param {ArrayBuffer} buffer */
  async takeBinary(buffer) {
    const received = performance.now();
    const { header, offset } = readMessage(buffer);
    if (header.type === 'surface') {
      this.takeSurface(header, buffer, offset);
      return;
    }
    if (header.type !== 'frame') return;
    try {
      await this.frames.draw(header, buffer, offset);
    } catch (error) {
      tell(`A frame could not be drawn: ${error.message}`);
    }
    const drawn = performance.now();
    this.link.send('ack', { frame: header.frame, received, drawn });
    if (header.at) {
      this.takeRest(header);
      return;
    }
    const [width, height] = header.size ?? [header.parts[0].width, header.parts[0].height];
    this.viewport.setSize(width, height, header.bands ? 1 : this.info.aspect);
    this.large.take(header);
    this.viewport.setBands(header.bands ?? []);
    this.divider.show(header.parts.some(({ role }) => role === 'before'));
    find('image').classList.add('drawn');
    this.transport.setPosition(header.position);
    this.planes.follow(header.position);
    this.measures.refresh(this.transport.playing);
    this.readout.refresh();
    this.overview.refresh(header.size !== undefined);
    this.finishFrame(header, received, drawn);
    if (this.camera.isOn) this.camera.next();
  }

  /** A further part of a large image. @param {any} header */
  takeRest(header) {
    this.status.add(header);
    this.followRest(header);
    if (header.left === 0) {
      this.measures.refresh();
      this.readout.refresh();
    }
  }

  /** Say how much of a large image is left to compute. @param {any} header */
  followRest({ settings, left = 0, count }) {
    this.left = left;
    if (settings < this.sent) return;
    if (left) this.busy.follow(1 - left / count);
    else this.busy.stop();
  }

  finishFrame(header, received, drawn) {
    this.drawn = header.settings ?? 0;
    if (header.parts) this.status.note(header, received, drawn);
    this.status.answer(header.settings, header.client_time);
    this.isSketch = Boolean(header.is_sketch);
    this.followRest(header);
    this.stage.notice('');
    this.isReady();
  }

  async takeSurface(header, buffer, offset) {
    const received = performance.now();
    // who cannot draw it has been told when the tab was picked, and the page goes on
    const surface = await this.wantSurface().catch(() => null);
    surface?.setGrid(header, buffer, offset);
    this.status.size = { width: header.columns, height: header.rows };
    this.finishFrame(header, received, performance.now());
  }

  /** Most never open the tab of surfaces, so its modules are loaded with it. */
  async wantSurface() {
    if (!this.surface) {
      const { Surface } = await import('./surface.js');
      this.surface ??= new Surface(find('surface'));
    }
    return this.surface;
  }

  // From the user

  /** @param {string} name @param {any} value */
  change(name, value) {
    this.history.note(name);
    this.settings.set(name, value);
    this.presets.clear();
    this.sendSettings(true);
    this.show();
  }

  /**
   * Take over settings of a tool; all others have their defaults.
   * @param {Record<string, any>} values with the name of the tool if it is another one
   * @param {string[]} kept what stays as it is
   */
  adopt(values, kept = OF_THE_MACHINE) {
    const { tool } = this.settings;
    this.history.note();
    if (values.tool) this.settings.pickTool(values.tool);
    this.settings.reset(kept);
    this.settings.adopt(values);
    if (this.settings.tool !== tool) this.buildTool();
    this.sendSettings();
    this.show();
  }

  reset() {
    this.adopt({});
    this.presets.clear();
    tell('All settings were reset; Ctrl+Z brings them back.', 'status');
  }

  /** Bring settings back. @param {any} snapshot */
  restore(snapshot) {
    const { tool } = this.settings;
    this.settings.restore(snapshot);
    this.presets.clear();
    if (this.settings.tool !== tool) this.buildTool();
    this.sendSettings();
    this.show();
  }

  /** Give up what is being computed: the settings before it are those of the image that is shown. */
  cancel() {
    if (this.busy.isRest) {
      this.link.send('cancel', { number: this.sent, rest: true });
      this.busy.stop();
      if (this.isSketch) this.stage.notice('A preview at the resolution of the screen: the exact image was not computed.');
      return;
    }
    this.link.send('cancel', { number: this.sent });
    this.busy.stop();
    if (!this.history.undo()) this.sendSettings();
  }

  followAddress() {
    const { source, ...values } = readAddress();
    this.adopt({ tool: this.settings.tools[0].name, ...values }, []);
    if (source && source !== this.source) this.open(source);
  }

  /** @param {boolean} isMeasured whether the time to its frame counts as that of a slider */
  sendSettings(isMeasured = false) {
    this.sent += 1;
    if (!isMeasured) this.status.answered = this.sent;
    if (this.source) this.busy.start('Computing…', this.drawn > 0);
    this.link.send('settings', { number: this.sent, time: performance.now(), settings: this.settings.complete() });
    this.address.update();
  }

  /** @param {string} source such as "sample:bunny" or "camera:" */
  async open(source) {
    if (!source) return;
    const isCamera = source.startsWith('camera');
    const turn = (this.turn += 1);
    if (isCamera) {
      try {
        if (!this.camera.isOn) await this.camera.start();
      } catch (error) {
        if (turn !== this.turn) return;
        tell(error.message);
        this.sources.mark(this.source);
        return;
      }
      // people answer slowly whether a page may have their camera, and may have picked something else
      if (turn !== this.turn) return;
    } else {
      this.camera.stop();
    }
    // black and white of another source say nothing about this one
    if (this.opened && this.opened !== source && this.settings.value('display_window')) {
      this.settings.set('display_window', '');
      this.sendSettings();
    }
    this.source = isCamera ? 'camera:' : source;
    this.large.begin();
    this.busy.start('Opening…', false);
    this.sources.mark(this.source);
    this.status.clear();
    this.link.send('open', { source: formatSource(this.source) });
    find('webcam').setAttribute('aria-pressed', String(isCamera));
    this.address.update();
    if (isCamera) {
      this.showSource({ title: 'Camera', kind: 'film' });
      this.pauseCamera(false);
    }
  }

  pauseCamera(isPaused) {
    this.camera.paused = isPaused;
    if (!isPaused) this.camera.next();
  }

  pickTool(name) {
    if (name === this.settings.tool.name) return;
    this.history.note();
    this.settings.pickTool(name);
    this.buildTool();
    this.sendSettings();
  }

  describe() {
    const isSurface = this.settings.tool.name === 'surface';
    return {
      title: isSurface ? 'The surface' : (this.info.title ?? 'The image'),
      endings: this.settings.tool.endings ?? this.info.endings,
      source: formatSource(this.source),
      settings: this.settings.complete(),
      count: isSurface ? 1 : this.info.count,
      kind: isSurface ? 'surface' : this.info.kind,
      part: !isSurface && this.transport.hasPart ? this.describePart() : null,
      page: this.page,
    };
  }

  /** First and last frame of the part that is played. */
  describePart() {
    const [start, stop] = this.transport.part;
    return [start, stop ?? Math.max(start, this.transport.count - 1)];
  }

  screenshot() {
    const share = find('divider').hidden ? null : this.frames.locate(this.divider.split);
    const title = (this.info.title ?? 'image').replace(/\.\w+$/, '').replace(/[^\w-]+/g, '-');
    const view = this.settings.value('view') ?? this.settings.tool.name;
    saveScreenshot(share, `subband-${title}-${view}.png`).catch((error) => tell(error.message));
  }

  // On the screen

  buildTool() {
    const { tool } = this.settings;
    this.markTab(tool.name);
    const view = this.settings.control('view');
    this.views = view ? makeSegments(view, (value) => this.change('view', value)) : null;
    find('views').replaceChildren(...(this.views ? [this.views.element] : []));
    this.panel.build(['view']);
    const isSurface = tool.name === 'surface';
    this.stage.arrange(isSurface, Boolean(this.settings.control('bands')));
    if (isSurface) this.wantSurface().catch((error) => tell(`The surface cannot be drawn: ${error.message}`));
    this.showTitle();
    this.show();
  }

  show() {
    this.panel.update();
    this.views?.update(this.settings.value('view'));
    this.histogram.setLevels(this.settings.levels());
    this.histogram.request();
  }

  takeSource({ source, info = {} }) {
    // not what was asked for last: that may be on its way, and fail
    this.opened = source ? nameSource(source) : this.source;
    this.measures.begin();
    this.showSource(info);
  }

  showSource(info) {
    this.info = info;
    this.settings.scale = info.scale ?? 1;
    setUnit(info.unit);
    this.settings.kind = info.kind ?? '';
    this.panel.update();
    const isLive = this.source.startsWith('camera');
    this.transport.open(info, isLive);
    this.planes.open(info);
    this.record.show(isLive);
    find('image').classList.toggle('clear', info.channels === 2 || info.channels === 4);
    this.showTitle();
    if (isLive) this.camera.next();
  }

  showTitle() {
    this.stage.showTitle(this.info, this.settings.tool.name === 'surface');
  }

  #listen() {
    find('webcam').addEventListener('click', () => this.open(this.camera.isOn ? this.sources.first() : 'camera:'));
    find('screenshot').addEventListener('click', () => this.screenshot());
    find('help-open').addEventListener('click', () => find('help').showModal());
    find('reset').addEventListener('click', () => this.reset());
    document.addEventListener('visibilitychange', () => {
      this.link.send(document.hidden ? 'pause' : 'play', { hidden: true });
      if (this.camera.isOn) this.pauseCamera(document.hidden || !this.transport.playing);
      if (!document.hidden) this.link.retry();
    });
    listenForWindowing(() => this.measures.last, (window) => this.change('display_window', window));
    listenForShortcuts(this);
  }
}
