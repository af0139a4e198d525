"""The first tab: any picture through a filter, a denoiser or gains of bands."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any, Literal

from subband.enhance.views import draw_bands
from subband.pipeline import enhance_file
from subband.pipeline.files import choose_colours
from subband.studio.chains import correct_settings, make_enhancer, make_view_enhancer
from subband.studio.controls import Control, Scalar, Settings
from subband.studio.equivalents import spell_enhancer
from subband.studio.histogram import measure_histogram
from subband.studio.noise import add_noise, measure_psnr
from subband.studio.tools.base import Equivalent, Export, Inputs, Shown, Tool, Work
from subband.studio.tools.enhance_controls import list_controls
from subband.typing import Array

__all__ = ["Enhance"]


class Enhance(Tool):
    """Filters, denoisers and gains of bands."""

    name = "enhance"
    title = "Enhance"

    @property
    def controls(self) -> tuple[Control, ...]:
        """All settings, in the order of the page."""
        return list_controls()

    def correct(self, settings: dict[str, Scalar], shape: tuple[int, ...] | None) -> Iterator[str]:
        """Change settings that do not go together, and say so."""
        return correct_settings(settings, shape)

    def prepare(self, settings: Settings, inputs: Inputs) -> Work:
        """Return what is done to each frame."""
        view = str(settings["view"])
        kind, sigma = str(settings["added_noise"]), float(settings["added_sigma"])
        is_mosaic = view in ("analysis", "filtered-analysis")
        enhancer = make_view_enhancer(settings) if is_mosaic else make_enhancer(settings)

        def work(pixels: Array, number: int) -> Shown:
            start = perf_counter()
            noisy = add_noise(pixels, kind, sigma, number)
            added = perf_counter()
            if is_mosaic:
                mosaic, regions = draw_bands(enhancer, noisy, view, inputs.engine)
                seconds = {"noise": added - start, "filter": perf_counter() - added}
                return Shown((("analysis", mosaic),), tuple(regions), seconds)
            result = enhancer.apply(noisy, engine=inputs.engine) if enhancer.stages else noisy
            filtered = perf_counter()
            psnr = before = None
            if noisy is not pixels:
                psnr, before = measure_psnr(result, pixels), measure_psnr(noisy, pixels)
            seconds = {"noise": added - start + perf_counter() - filtered, "filter": filtered - added}
            pictures = (("result", result), ("before", noisy)) if view == "split" else (("result", result),)
            return Shown(pictures, (), seconds, psnr, before)

        return work

    def measure_band(self, settings: Settings, pixels: Array, number: int, band: str) -> dict[str, Any] | None:
        """Return the histogram of a band of a frame, before it is filtered."""
        noisy = add_noise(pixels, str(settings["added_noise"]), float(settings["added_sigma"]), number)
        return measure_histogram(settings, noisy, band)

    def spell(self, settings: Settings, name: str) -> Equivalent:
        """Return how to do the same without the studio."""
        view = str(settings["view"])
        is_mosaic = view in ("analysis", "filtered-analysis")
        enhancer = make_view_enhancer(settings) if is_mosaic else make_enhancer(settings)
        return spell_enhancer(enhancer, name, view if is_mosaic else "synthesis", str(settings["engine"]))

    def choose_colours(self, settings: Settings) -> Literal["rgb", "ycbcr"]:
        """Return the planes of the film itself, where noise is measured in them."""
        return "rgb" if _is_mosaic(settings) else choose_colours(make_enhancer(settings))

    def export(self, settings: Settings, export: Export) -> None:
        """Make a file of a whole source, in its own depth and without added noise."""
        assert export.source is not None
        view = str(settings["view"])
        is_mosaic = _is_mosaic(settings)
        enhancer = make_view_enhancer(settings) if is_mosaic else make_enhancer(settings)
        enhance_file(
            export.source,
            export.target,
            enhancer,
            engine=export.engine,
            view=view if is_mosaic else "synthesis",
            on_progress=export.on_progress,
            cancelled=export.cancelled,
        )


def _is_mosaic(settings: Settings) -> bool:
    return str(settings["view"]) in ("analysis", "filtered-analysis")
