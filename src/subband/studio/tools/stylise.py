"""A tab: the bumps of one picture on another, or on a film."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from shlex import quote

from subband.edit import Style, Stylist
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

__all__ = ["Stylise"]

_OPTIONS = ("rule", "strength", "wavelet", "level", "colour", "fit")


class Stylise(PictureTool):
    """Textures carried onto pictures."""

    name = "stylise"
    title = "Stylise"
    inputs = 2
    result = "stylised"

    @cached_property
    def controls(self) -> tuple[Control, ...]:
        """All settings, in the order of the page."""
        return (
            VIEW,
            give_source("texture", "Texture", "sample:ascent", group="Style"),
            choose(
                "rule",
                "Rule",
                "max",
                (("max", "The larger coefficient"), ("add", "Their sum"), ("mix", "Some of each")),
                group="Style",
            ),
            slide("strength", "Strength", 1, 0, 3, 0.05, group="Style", help="0 leaves the picture as it is."),
            choose(
                "fit",
                "Texture of another size",
                "tile",
                (
                    ("tile", "Repeat"),
                    ("mirror", "Repeat mirrored"),
                    ("stretch", "Stretch"),
                    ("crop", "Take its middle"),
                ),
                group="Style",
            ),
            choose(
                "colour",
                "Where",
                "ycbcr",
                (("ycbcr", "Brightness Y'"), ("opponents", "Mean of the channels"), ("rgb", "Each channel")),
                group="Style",
            ),
            list_wavelet_control(),
            slide("level", "Levels", "auto", 1, 8, 1, group="Transform", more={"auto": True, "auto_value": 4}),
            *list_working_controls(),
        )

    def make(self, settings: Settings, inputs: Inputs) -> Callable[[Array], Array]:
        """Return what makes a picture of a frame."""
        style = _read_style(settings)
        return Stylist(inputs.load(str(settings["texture"])), style, engine=inputs.engine).apply

    def check_level(self, settings: Settings, shape: tuple[int, ...]) -> None:
        """Raise a LevelError if a picture has fewer levels."""
        _read_style(settings).plan((1, *shape[:2]))

    def spell(self, settings: Settings, name: str) -> Equivalent:
        """Return how to do the same without the studio."""
        texture, target = name_source(settings["texture"], "texture.png"), name_result(name, self.result)
        options = spell_options(settings, self.controls, _OPTIONS)
        return Equivalent(
            f"subband stylise {quote(name)} {quote(texture)} {quote(target)}{options}",
            spell_script(
                "from subband.edit import Style, Stylist\nfrom subband.media import open_source\n",
                f"stylist = Stylist({spell_reading(texture)}, {_read_style(settings)!r})\n",
                "stylist.apply(picture)",
                name,
                target,
            ),
        )


def _read_style(settings: Settings) -> Style:
    return Style(
        str(settings["rule"]),
        float(settings["strength"]),
        str(settings["wavelet"]),
        read_auto(settings["level"]),
        colour=str(settings["colour"]),
        fit=str(settings["fit"]),
    )
