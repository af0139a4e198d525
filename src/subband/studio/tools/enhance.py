"""The first tab: any image through a filter, a denoiser or gains of bands."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from subband.enhance import Enhancer
from subband.enhance.views import Region, draw_bands
from subband.pipeline import enhance_file
from subband.pipeline.sequence import Sequence
from subband.pipeline.units import WHITE, scale_enhancer
from subband.studio.chains import correct_settings, make_enhancer, make_view_enhancer
from subband.studio.controls import Control, Scalar, Settings
from subband.studio.energies import measure_energies
from subband.studio.equivalents import format_enhancer
from subband.studio.histogram import measure_histogram
from subband.studio.levels import PLAIN, Levels
from subband.studio.measures import show_difference
from subband.studio.noise import add_noise, measure_psnr
from subband.studio.player import Slab
from subband.studio.slabs import filter_slab
from subband.studio.tools.base import Cut, Equivalent, Export, Inputs, Shown, Tool, Work
from subband.studio.tools.enhance_controls import list_controls
from subband.typing import Array

__all__ = ["Enhance"]


class Enhance(Tool):
    """Filters, denoisers and gains of bands."""

    name = "enhance"
    title = "Enhance"
    is_deep = True

    @property
    def controls(self) -> tuple[Control, ...]:
        """All settings, in the order of the page."""
        return list_controls()

    def correct(self, settings: dict[str, Scalar], shape: tuple[int, ...] | None) -> Iterator[str]:
        """Change settings that do not go together, and say so."""
        return correct_settings(settings, shape)

    def prepare(self, settings: Settings, inputs: Inputs) -> Work:
        """Return what is done to each frame."""
        kind, sigma = str(settings["added_noise"]), float(settings["added_sigma"])
        chosen, view = _read_enhancer(settings)
        levels = inputs.levels
        enhancer = scale_enhancer(chosen, levels.scale)
        sequence = Sequence(enhancer, inputs.engine) if enhancer.temporal else None

        def work(given: Array | Slab, number: int) -> Shown:
            start = perf_counter()
            slab = given if isinstance(given, Slab) else None
            pixels = given.values if isinstance(given, Slab) else given
            noisy = add_noise(pixels, kind, sigma, number, levels.scale)
            added = perf_counter()
            if slab is not None and view == "synthesis":
                result = filter_slab(enhancer, noisy, inputs.engine) if enhancer.stages else noisy
                noisy, result, pixels = (each[slab.middle] for each in (noisy, result, pixels))
            elif slab is not None:
                noisy, pixels = noisy[slab.middle], pixels[slab.middle]
            if view != "synthesis":
                mosaic, regions = _draw_mosaic(chosen, noisy, view, inputs)
                seconds = {"noise": added - start, "filter": perf_counter() - added}
                return Shown((("analysis", mosaic),), tuple(regions), seconds, pair=(noisy, noisy))
            if slab is None and sequence is not None:
                result = sequence.apply(noisy, number)
            elif slab is None:
                result = enhancer.apply(noisy, engine=inputs.engine) if enhancer.stages else noisy
            filtered = perf_counter()
            psnr = before = None
            if kind != "none" and noisy is not pixels:
                psnr, before = (measure_psnr(each, pixels, levels.span) for each in (result, noisy))
            seconds = {"noise": added - start + perf_counter() - filtered, "filter": filtered - added}
            pair, removed = (noisy, result), None
            images = (("result", result), ("before", noisy)) if settings["view"] == "split" else (("result", result),)
            if settings["view"] == "removed":
                shades, removed = show_difference(noisy, result)
                images = (("removed", shades),)
            return Shown(images, (), seconds, psnr, before, pair, removed)

        return work

    def cut(self, settings: Settings, inputs: Inputs) -> Cut | None:
        """Return how a large image is computed in parts, in the views that show it."""
        chosen, _ = _read_enhancer(settings)
        if settings["view"] not in ("synthesis", "split") or chosen.temporal or settings["volumetric"]:
            return None
        kind, sigma, scale = str(settings["added_noise"]), float(settings["added_sigma"]), inputs.levels.scale
        return Cut(
            scale_enhancer(chosen, scale),
            lambda pixels, number: add_noise(pixels, kind, sigma, number, scale),
            (kind, 0.0 if kind == "none" else sigma),
            settings["view"] == "split",
        )

    def measure_band(
        self, settings: Settings, pixels: Array, number: int, band: str, levels: Levels
    ) -> dict[str, Any] | None:
        """Return the histogram of a band of a frame, before it is filtered."""
        kind, sigma = str(settings["added_noise"]), float(settings["added_sigma"])
        noisy = add_noise(pixels, kind, sigma, number, levels.scale)
        return measure_histogram(settings, noisy, band, levels.scale)

    def measure_bands(self, settings: Settings, pixels: Array, levels: Levels) -> dict[str, Any] | None:
        """Return how strong all bands of a frame are, and what the filter takes for noise in them."""
        return measure_energies(settings, pixels, levels.scale)

    def format_equivalent(self, settings: Settings, name: str, scale: float = 1.0) -> Equivalent:
        """Return the command line, Python and TOML that do the same."""
        enhancer, view = _read_enhancer(settings)
        return format_enhancer(scale_enhancer(enhancer, scale), name, view, str(settings["engine"]))

    def export(self, settings: Settings, export: Export) -> None:
        """Make a file of a whole source, in its own depth and without added noise."""
        assert export.open is not None
        enhancer, view = _read_enhancer(settings)
        enhance_file(
            export.open,
            export.target,
            scale_enhancer(enhancer, export.scale),
            engine=export.engine,
            view=view,
            on_progress=export.on_progress,
            cancelled=export.cancelled,
        )


def _draw_mosaic(enhancer: Enhancer, pixels: Array, view: str, inputs: Inputs) -> tuple[Array, list[Region]]:
    """Return the bands of a frame; numbers without a white are drawn as parts of what is from black to white."""
    levels = inputs.levels
    if levels == PLAIN:
        return draw_bands(enhancer, pixels, view, inputs.engine)
    parts = (pixels.astype(np.float32) - np.float32(levels.low)) / np.float32(levels.span)
    return draw_bands(scale_enhancer(enhancer, 1 / WHITE), parts, view, inputs.engine)


def _read_enhancer(settings: Settings) -> tuple[Enhancer, str]:
    """Return what is done to a frame, and which of its views is shown."""
    view = str(settings["view"])
    if view in ("analysis", "filtered-analysis"):
        return make_view_enhancer(settings), view
    return make_enhancer(settings), "synthesis"
