"""A tab: relighting, images and video without their light, or under another."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from shlex import quote

from subband.edit import Lighting, Relighter
from subband.settings import format_call, format_options
from subband.studio.controls import Control, Settings, choose, give_source, make_controls, read_settings
from subband.studio.equivalents import name_result
from subband.studio.tools.base import Equivalent, Inputs
from subband.studio.tools.enhance_controls import list_working_controls
from subband.studio.tools.images import (
    VIEW,
    ImageTool,
    format_reading,
    format_script,
    name_source,
)
from subband.typing import Array

__all__ = ["Relight"]


class Relight(ImageTool):
    """Light taken away, shown, or exchanged."""

    name = "relight"
    title = "Relight"
    inputs = 2
    result = "relit"

    @cached_property
    def controls(self) -> tuple[Control, ...]:
        """All settings, in the order of the page."""
        return (
            VIEW,
            choose(
                "output",
                "Show",
                "decal",
                (("decal", "Without its light"), ("light", "Its light"), ("lit", "Under another light")),
                group="Light",
            ),
            give_source("light", "Other light", "sample:camera", group="Light", shown={"output": ("lit",)}),
            *make_controls(Lighting, "strength", group="Light"),
            *make_controls(Lighting, "exposure", group="Light", shown={"output": ("decal",)}),
            *make_controls(Lighting, "gamma colour", group="Light"),
            *make_controls(Lighting, "wavelet level", {"level": 5}, group="Transform"),
            *list_working_controls(),
        )

    def make(self, settings: Settings, inputs: Inputs) -> Callable[[Array], Array]:
        """Return what makes an image of a frame."""
        relighter = Relighter(_read_lighting(settings), engine=inputs.engine)
        if settings["output"] != "lit":
            return relighter.apply
        light = inputs.load(str(settings["light"]))
        return lambda pixels: relighter.relight(pixels, light)

    def check_level(self, settings: Settings, shape: tuple[int, ...]) -> None:
        """Raise a LevelError if an image has fewer levels."""
        _read_lighting(settings).plan((1, *shape[:2]))

    def format_equivalent(
        self,
        settings: Settings,
        name: str,
        scale: float = 1.0,  # noqa: ARG002 - settings of 8 bits, as frames are given to it
    ) -> Equivalent:
        """Return the command line and Python that do the same."""
        target, output = name_result(name, self.result), settings["output"]
        lighting = _read_lighting(settings)
        words, call, setup = f"--{output} {quote(target)}", "relighter.apply(image)", ""
        if output == "lit":
            light = name_source(settings["light"], "light.png")
            words += f" --under {quote(light)}"
            call, setup = "relighter.relight(image, light)", f"light = {format_reading(light)}\n"
        return Equivalent(
            f"subband relight {quote(name)} {words}{format_options(lighting, ('output',))}",
            format_script(
                "from subband.edit import Lighting, Relighter\nfrom subband.media import open_source\n",
                f"relighter = Relighter({format_call(lighting)})\n{setup}",
                call,
                name,
                target,
            ),
        )


def _read_lighting(settings: Settings) -> Lighting:
    output = "light" if settings["output"] == "light" else "decal"
    lighting: Lighting = read_settings(Lighting, settings, output=output)
    return lighting
