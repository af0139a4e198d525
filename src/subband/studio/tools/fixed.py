"""A tab: the transform in fixed point, with coefficients of 8 to 16 bits as in a frame buffer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from shlex import quote
from typing import Any

from subband.enhance import FixedPoint, Shrink
from subband.enhance.fixed import draw_bands
from subband.studio.controls import Control, Settings, choose, make_controls, slide
from subband.studio.equivalents import name_result
from subband.studio.tools.base import Equivalent, Inputs
from subband.studio.tools.enhance_controls import list_wavelet_control, list_working_controls
from subband.studio.tools.images import VIEW, ImageTool, format_script
from subband.transforms.decomposition import make_plan
from subband.typing import Array

__all__ = ["Fixed"]


class Fixed(ImageTool):
    """What is left of images whose coefficients have a few bits, or these coefficients."""

    name = "fixed"
    title = "Fixed point"
    result = "fixed"

    @cached_property
    def controls(self) -> tuple[Control, ...]:
        """All settings, in the order of the page."""
        return (
            VIEW,
            choose(
                "drawn", "Draw", "image", (("image", "The image that comes back"), ("bands", "Bands as they are held")),
                group="Fixed point",
            ),
            slide(
                "bits", "Bits of a coefficient", 8, 8, 16, 1, group="Fixed point",
                help="With 8 as many as pixels have, and some are lost; 16 bring images of 8 bits back exactly.",
            ),
            list_wavelet_control(),
            *make_controls(Shrink, "level", {"level": 4}, group="Transform"),
            *list_working_controls(),
        )  # fmt: skip

    def make(self, settings: Settings, inputs: Inputs) -> Callable[[Array], Array]:
        """Return what makes an image of a frame."""
        fixed, level, engine = _read_fixed(settings), int(settings["level"]), inputs.engine
        if settings["drawn"] == "bands":
            return lambda pixels: draw_bands(fixed.forward(pixels, level, (0, 1), engine))
        return lambda pixels: fixed.inverse(fixed.forward(pixels, level, (0, 1), engine), engine)

    def check_level(self, settings: Settings, shape: tuple[int, ...]) -> None:
        """Raise a LevelError if an image has fewer levels."""
        make_plan(shape[:2], str(settings["wavelet"]), int(settings["level"]), None, None, False, False)

    def format_equivalent(
        self,
        settings: Settings,
        name: str,
        scale: float = 1.0,  # noqa: ARG002 - frames are given to it in 8 bits
    ) -> Equivalent:
        """Return the command line and Python that do the same."""
        target, fixed, level = name_result(name, self.result), _read_fixed(settings), int(settings["level"])
        options = f" --wavelet {fixed.wavelet} --level {level} --bits {fixed.bits}"
        call = f"fixed.forward(image, {level}, (0, 1))"
        imports = "from subband.enhance.fixed import FixedPoint, draw_bands\n"
        if settings["drawn"] == "bands":
            call = f"draw_bands({call})"
        else:
            call, options = f"fixed.inverse({call})", f"{options} --back"
            imports = "from subband.enhance import FixedPoint\n"
        return Equivalent(
            f"subband decompose {quote(name)} -o {quote(target)}{options}",
            format_script(
                imports,
                f"fixed = FixedPoint({fixed.wavelet!r}, {fixed.bits})\n",
                call,
                name,
                target,
            ),
        )


def _read_fixed(settings: Settings) -> FixedPoint:
    wavelet: Any = settings["wavelet"]
    return FixedPoint(wavelet, int(settings["bits"]))
