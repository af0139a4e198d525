"""A tab: image fusion, one image of several of the same scene."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from shlex import quote

from subband.edit import Fuser, Fusion
from subband.settings import format_call, format_options
from subband.studio.controls import Control, Scalar, Settings, give_source, make_controls, read_settings, switch
from subband.studio.equivalents import name_result
from subband.studio.tools.base import Equivalent, Inputs
from subband.studio.tools.enhance_controls import list_working_controls
from subband.studio.tools.images import (
    VIEW,
    ImageTool,
    fit_image,
    format_reading,
    format_script,
    name_source,
)
from subband.typing import Array

__all__ = ["Fuse"]


class Fuse(ImageTool):
    """Fusion of images of different focus or exposure."""

    name = "fuse"
    title = "Fuse"
    inputs = 3
    result = "fused"

    @cached_property
    def controls(self) -> tuple[Control, ...]:
        """All settings, in the order of the page."""
        return (
            VIEW,
            give_source("second", "With", "sample:far", group="Fusion"),
            switch("has_third", "A third image", group="Fusion"),
            give_source("third", "And with", "sample:bright", group="Fusion", shown={"has_third": (True,)}),
            *make_controls(Fusion, "rule strength window consistency", group="Fusion"),
            *make_controls(Fusion, "wavelet level", {"level": 4}, group="Transform"),
            *list_working_controls(),
        )

    def correct(self, settings: dict[str, Scalar], shape: tuple[int, ...] | None) -> Iterator[str]:
        """Make widths odd, which an address may not have."""
        yield from super().correct(settings, shape)
        for name in ("window", "consistency"):
            settings[name] = int(settings[name]) | 1

    def make(self, settings: Settings, inputs: Inputs) -> Callable[[Array], Array]:
        """Return what makes an image of a frame."""
        names = ("second", "third") if settings["has_third"] else ("second",)
        others = [fit_image(inputs.load(str(settings[name])), inputs.shape) for name in names]
        fuser = Fuser(_read_fusion(settings), engine=inputs.engine)
        return lambda pixels: fuser.apply([pixels, *others])

    def check_level(self, settings: Settings, shape: tuple[int, ...]) -> None:
        """Raise a LevelError if an image has fewer levels."""
        _read_fusion(settings).choose_level((shape[0], shape[1]))

    def format_equivalent(
        self,
        settings: Settings,
        name: str,
        scale: float = 1.0,  # noqa: ARG002 - settings of 8 bits, as frames are given to it
    ) -> Equivalent:
        """Return the command line and Python that do the same."""
        target = name_result(name, self.result)
        names = [name, name_source(settings["second"], "second.png")]
        if settings["has_third"]:
            names.append(name_source(settings["third"], "third.png"))
        fusion = _read_fusion(settings)
        return Equivalent(
            f"subband fuse {' '.join(map(quote, names))} {quote(target)}{format_options(fusion)}",
            format_script(
                "from subband.edit import Fuser, Fusion\nfrom subband.media import open_source\n",
                f"fuser = Fuser({format_call(fusion)})\nothers = [{', '.join(map(format_reading, names[1:]))}]\n",
                "fuser.apply([image, *others])",
                name,
                target,
            ),
        )


def _read_fusion(settings: Settings) -> Fusion:
    fusion: Fusion = read_settings(Fusion, settings)
    return fusion
