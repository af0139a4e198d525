"""A tab: texture transfer from one image to another, or to a video."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from shlex import quote

from subband.edit import Style, Stylist
from subband.settings import format_call, format_options
from subband.studio.controls import Control, Settings, give_source, make_controls, read_settings
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

__all__ = ["Stylise"]


class Stylise(ImageTool):
    """Textures transferred to images."""

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
            *make_controls(Style, "rule strength fit colour", group="Style"),
            *make_controls(Style, "wavelet level", {"level": 4}, group="Transform"),
            *list_working_controls(),
        )

    def make(self, settings: Settings, inputs: Inputs) -> Callable[[Array], Array]:
        """Return what makes an image of a frame."""
        style = _read_style(settings)
        return Stylist(inputs.load(str(settings["texture"])), style, engine=inputs.engine).apply

    def check_level(self, settings: Settings, shape: tuple[int, ...]) -> None:
        """Raise a LevelError if an image has fewer levels."""
        _read_style(settings).plan((1, *shape[:2]))

    def format_equivalent(
        self,
        settings: Settings,
        name: str,
        scale: float = 1.0,  # noqa: ARG002 - settings of 8 bits, as frames are given to it
    ) -> Equivalent:
        """Return the command line and Python that do the same."""
        texture, target = name_source(settings["texture"], "texture.png"), name_result(name, self.result)
        style = _read_style(settings)
        return Equivalent(
            f"subband stylise {quote(name)} {quote(texture)} {quote(target)}{format_options(style)}",
            format_script(
                "from subband.edit import Style, Stylist\nfrom subband.media import open_source\n",
                f"stylist = Stylist({format_reading(texture)}, {format_call(style)})\n",
                "stylist.apply(image)",
                name,
                target,
            ),
        )


def _read_style(settings: Settings) -> Style:
    style: Style = read_settings(Style, settings)
    return style
