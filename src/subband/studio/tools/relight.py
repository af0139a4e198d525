"""A tab: pictures and film without their light, or under another."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from shlex import quote

from subband.edit import Lighting, Relighter
from subband.studio.controls import Control, Settings, choose, give_source, slide
from subband.studio.equivalents import name_result
from subband.studio.tools.base import Equivalent, Inputs
from subband.studio.tools.enhance_controls import list_wavelet_control, list_working_controls
from subband.studio.tools.pictures import (
    VIEW,
    PictureTool,
    name_source,
    read_auto,
    spell_options,
    spell_reading,
    spell_script,
)
from subband.typing import Array

__all__ = ["Relight"]

_OPTIONS = ("strength", "wavelet", "level", "gamma", "colour", "exposure")


class Relight(PictureTool):
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
            slide("strength", "Strength", 1, 0, 1, 0.05, group="Light", help="How much of the light is taken away."),
            slide(
                "exposure",
                "Exposure",
                0.5,
                0.05,
                1,
                0.05,
                group="Light",
                shown={"output": ("decal",)},
                help="How bright the result is on the whole, as a part of white.",
            ),
            slide("gamma", "Gamma", 1, 0.5, 3, 0.1, group="Light", help="2.2 takes the mean of linear light."),
            choose("colour", "Light is", "ycbcr", (("ycbcr", "Grey"), ("rgb", "Of each channel")), group="Light"),
            list_wavelet_control(),
            slide("level", "Levels", "auto", 1, 8, 1, group="Transform", more={"auto": True, "auto_value": 5}),
            *list_working_controls(),
        )

    def make(self, settings: Settings, inputs: Inputs) -> Callable[[Array], Array]:
        """Return what makes a picture of a frame."""
        relighter = Relighter(_read_lighting(settings), engine=inputs.engine)
        if settings["output"] != "lit":
            return relighter.apply
        light = inputs.load(str(settings["light"]))
        return lambda pixels: relighter.relight(pixels, light)

    def check_level(self, settings: Settings, shape: tuple[int, ...]) -> None:
        """Raise a LevelError if a picture has fewer levels."""
        _read_lighting(settings).plan((1, *shape[:2]))

    def spell(self, settings: Settings, name: str) -> Equivalent:
        """Return how to do the same without the studio."""
        target, output = name_result(name, self.result), settings["output"]
        options = spell_options(settings, self.controls, _OPTIONS)
        words, call, setup = f"--{output} {quote(target)}", "relighter.apply(picture)", ""
        if output == "lit":
            light = name_source(settings["light"], "light.png")
            words += f" --under {quote(light)}"
            call, setup = "relighter.relight(picture, light)", f"light = {spell_reading(light)}\n"
        return Equivalent(
            f"subband relight {quote(name)} {words}{options}",
            spell_script(
                "from subband.edit import Lighting, Relighter\nfrom subband.media import open_source\n",
                f"relighter = Relighter({_read_lighting(settings)!r})\n{setup}",
                call,
                name,
                target,
            ),
        )


def _read_lighting(settings: Settings) -> Lighting:
    return Lighting(
        read_auto(settings["level"]),
        float(settings["strength"]),
        str(settings["wavelet"]),
        str(settings["colour"]),
        float(settings["gamma"]),
        exposure=float(settings["exposure"]),
        output="light" if settings["output"] == "light" else "decal",
    )
