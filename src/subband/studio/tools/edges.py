"""A tab: multiscale edge detection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from shlex import quote

import numpy as np

from subband.edit.edges import EdgeFinder
from subband.pipeline.units import WHITE
from subband.settings import format_call, format_options
from subband.studio.controls import Control, Scalar, Settings, choose, make_controls, read_settings
from subband.studio.equivalents import name_result
from subband.studio.tools.base import Equivalent, Inputs
from subband.studio.tools.enhance_controls import list_working_controls
from subband.studio.tools.images import VIEW, ImageTool, format_script, is_video
from subband.typing import Array

__all__ = ["Edges"]


class Edges(ImageTool):
    """Edges drawn over images, or by themselves."""

    name = "edges"
    title = "Edges"
    result = "edges"

    @cached_property
    def controls(self) -> tuple[Control, ...]:
        """All settings, in the order of the page."""
        return (
            VIEW,
            choose(
                "drawn", "Draw", "overlay", (("overlay", "Over the image"), ("mask", "White on black")),
                group="Edges",
            ),
            *make_controls(EdgeFinder, "threshold level finest contrast sigma", {"sigma": 10}, group="Edges"),
            *make_controls(EdgeFinder, "fade", group="Edges", shown={"drawn": ("overlay",)}),
            *make_controls(EdgeFinder, "channels", group="Edges"),
            *make_controls(EdgeFinder, "wavelet", group="Transform"),
            *list_working_controls(),
        )  # fmt: skip

    def correct(self, settings: dict[str, Scalar], shape: tuple[int, ...] | None) -> Iterator[str]:
        """Lower what goes beyond the number of scales."""
        yield from super().correct(settings, shape)
        finest, level = settings["finest"], int(settings["level"])
        if finest != "auto" and int(finest) > level:
            settings["finest"] = level
            yield f"There are {level} scales; edges are drawn at the coarsest."

    def make(self, settings: Settings, inputs: Inputs) -> Callable[[Array], Array]:
        """Return what makes an image of a frame."""
        finder = _read_finder(settings)
        if settings["drawn"] == "overlay":
            return lambda pixels: np.asarray(finder.apply(pixels, engine=inputs.engine))
        return lambda pixels: finder.find(pixels, volume=False, engine=inputs.engine).mask.astype(np.uint8) * 255

    def format_equivalent(
        self,
        settings: Settings,
        name: str,
        scale: float = 1.0,  # noqa: ARG002 - settings of 8 bits, as frames are given to it
    ) -> Equivalent:
        """Return the command line and Python that do the same."""
        target = name_result(name, self.result)
        finder = _read_finder(settings)
        options = format_options(finder, ("channels",))
        options += " --edges-only" * (settings["drawn"] == "mask") + " --colours" * (
            settings["channels"] == "strongest"
        )
        call = "apply(image)"
        if settings["drawn"] == "mask":
            call = "find(image, volume=False).mask.astype('uint8') * 255"
            if is_video(name):
                # the frames of a video have three channels
                call = call.replace(" * 255", "[..., None].repeat(3, 2) * 255")
        return Equivalent(
            f"subband edges {quote(name)} {quote(target)}{options}",
            format_script(
                "from subband.edit.edges import EdgeFinder\n",
                f"finder = {format_call(finder)}\n",
                f"finder.{call}",
                name,
                target,
            ),
        )


def _read_finder(settings: Settings) -> EdgeFinder:
    finder: EdgeFinder = read_settings(EdgeFinder, settings, white=WHITE)
    return finder
