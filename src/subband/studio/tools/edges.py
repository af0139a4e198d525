"""A tab: edges that are seen at several scales."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from shlex import quote

import numpy as np

from subband.edit.edges import EdgeFinder
from subband.pipeline.units import WHITE
from subband.studio.controls import Control, Scalar, Settings, choose, slide
from subband.studio.equivalents import name_result
from subband.studio.tools.base import Equivalent, Inputs
from subband.studio.tools.enhance_controls import list_working_controls
from subband.studio.tools.pictures import VIEW, PictureTool, is_video, read_auto, spell_options, spell_script
from subband.typing import Array

__all__ = ["Edges"]

_OPTIONS = ("threshold", "level", "finest", "contrast", "sigma", "wavelet", "fade")


class Edges(PictureTool):
    """Edges drawn over pictures, or by themselves."""

    name = "edges"
    title = "Edges"
    result = "edges"

    @cached_property
    def controls(self) -> tuple[Control, ...]:
        """All settings, in the order of the page."""
        return (
            VIEW,
            choose(
                "drawn", "Draw", "overlay", (("overlay", "Over the picture"), ("mask", "White on black")),
                group="Edges",
            ),
            slide(
                "threshold", "Threshold", 5, 1, 30, 0.5, group="Edges",
                help="What an edge must stand out by, in standard deviations of the noise.",
            ),
            slide("level", "Scales", 3, 1, 6, 1, group="Edges"),
            slide("finest", "Finest scale", "auto", 1, 6, 1, group="Edges", more={"auto": True, "auto_value": 1}),
            slide("contrast", "Least contrast", 0, 0, 128, 1, unit="of 255", group="Edges"),
            slide(
                "sigma", "Noise", "auto", 0, 100, 0.5, unit="of 255", group="Edges",
                more={"auto": True, "auto_value": 10},
            ),
            slide("fade", "Fade the picture", 0, 0, 1, 0.05, group="Edges", shown={"drawn": ("overlay",)}),
            choose(
                "channels", "Look at", "brightness",
                (("brightness", "The brightness"), ("strongest", "The steepest channel")), group="Edges",
            ),
            choose("wavelet", "Wavelet", "rbio3.1", (("rbio3.1", "rbio3.1"), ("haar", "haar")), group="Transform"),
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
        """Return what makes a picture of a frame."""
        finder = _read_finder(settings)
        if settings["drawn"] == "overlay":
            return lambda pixels: np.asarray(finder.apply(pixels, engine=inputs.engine))
        return lambda pixels: finder.find(pixels, volume=False, engine=inputs.engine).mask.astype(np.uint8) * 255

    def spell(self, settings: Settings, name: str) -> Equivalent:
        """Return how to do the same without the studio."""
        target = name_result(name, self.result)
        options = spell_options(settings, self.controls, _OPTIONS)
        options += " --edges-only" * (settings["drawn"] == "mask") + " --colours" * (
            settings["channels"] == "strongest"
        )
        call = "apply(picture)"
        if settings["drawn"] == "mask":
            call = "find(picture, volume=False).mask.astype('uint8') * 255"
            if is_video(name):
                # the frames of the film have three channels
                call = call.replace(" * 255", "[..., None].repeat(3, 2) * 255")
        return Equivalent(
            f"subband edges {quote(name)} {quote(target)}{options}",
            spell_script(
                "from subband.edit.edges import EdgeFinder\n",
                f"finder = {_read_finder(settings)!r}\n",
                f"finder.{call}",
                name,
                target,
            ),
        )


def _read_finder(settings: Settings) -> EdgeFinder:
    return EdgeFinder(
        str(settings["wavelet"]),
        int(settings["level"]),
        read_auto(settings["finest"]),
        float(settings["threshold"]),
        contrast=float(settings["contrast"]),
        sigma=read_auto(settings["sigma"]),
        channels=str(settings["channels"]),
        fade=float(settings["fade"]),
        white=WHITE,
    )
