// Where the page begins.

import { Studio } from './studio.js';

const studio = new Studio();

/** What tests and curious people look at. */
window.studio = {
  ready: studio.ready,
  stats: () => ({
    fps: studio.status.fps,
    engineFps: studio.status.stats.engine_fps ?? null,
    latency: [...studio.status.latencies],
    stages: { ...studio.status.stats.stages },
    psnr: studio.status.stats.psnr ?? null,
    psnrBefore: studio.status.stats.psnr_before ?? null,
    dropped: studio.status.stats.dropped ?? 0,
    frames: studio.status.frames,
    format: studio.status.format,
    sent: studio.sent,
    drawn: studio.drawn,
    left: studio.left,
    extent: studio.frames.extent,
    position: studio.transport.position,
    playing: studio.transport.playing,
    connected: studio.link.isOpen,
  }),
  pixels: (role) => (role === 'surface' ? studio.surface.pixels() : studio.frames.pixels(role)),
  settings: () => studio.settings.complete(),
};
