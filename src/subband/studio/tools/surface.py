"""A tab: surfaces in space whose bands are scaled, as the three heads of a caricature."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from shlex import quote
from typing import Any

import numpy as np

from subband.edit.surfaces import Reshaper, make_shape, write_surface
from subband.edit.surfaces.shapes import SHAPES
from subband.engines import Engine
from subband.errors import ArgumentError
from subband.studio.bands import read_gains
from subband.studio.controls import Control, Scalar, Settings, choose, give_bands, lower_level, slide
from subband.studio.tools.base import Equivalent, Export, Inputs, Tool, Work
from subband.studio.tools.enhance_controls import list_engine_control, list_wavelet_control

__all__ = ["SurfaceTool"]

_LETTERS = {"ad": "v", "da": "h", "dd": "d"}


class SurfaceTool(Tool):
    """Gains for the bands of a surface."""

    name = "surface"
    title = "Surface"
    inputs = 0
    needs_source = False
    result = "reshaped"
    endings = (".obj", ".ply", ".json")

    @cached_property
    def controls(self) -> tuple[Control, ...]:
        """All settings, in the order of the page."""
        return (
            choose(
                "shape", "Surface", "head", tuple((name, name.capitalize()) for name in sorted(SHAPES)), group="Surface"
            ),
            give_bands(
                "bands", "Gains of bands", group="Bands", help="Fine levels hold wrinkles, coarse ones the form."
            ),
            slide("approximation", "Gain of the form", 1, 0, 2, 0.05, group="Bands"),
            list_wavelet_control(),
            slide("level", "Levels", 4, 1, 5, 1, group="Transform"),
            slide("points", "Points", 160, 32, 384, 32, group="Surface", help="Rows and columns that are drawn."),
            list_engine_control(),
        )

    def correct(self, settings: dict[str, Scalar], shape: tuple[int, ...] | None) -> Iterator[str]:  # noqa: ARG002
        """Change settings that do not go together, and say so."""
        try:
            read_gains(str(settings["bands"]), int(settings["level"]))
        except ArgumentError as error:
            settings["bands"] = ""
            yield f"{error}; all gains are 1."
        name, wavelet, wanted = str(settings["shape"]), str(settings["wavelet"]), int(settings["level"])
        level = lower_level(wanted, lambda each: _prepare(name, wavelet, each, "cpu"))
        if level != wanted:
            settings["level"] = level
            yield f"The surface has {level} levels at most with {settings['wavelet']}."

    def prepare(self, settings: Settings, inputs: Inputs) -> Work:  # noqa: ARG002
        """Refuse frames, which this tool does not take."""
        raise ArgumentError("surfaces are made without frames")

    def compose(self, settings: Settings, engine: Engine) -> tuple[dict[str, Any], list[bytes]]:
        """Return the surface as the page draws it: positions, then normals."""
        reshaper = _prepare(str(settings["shape"]), str(settings["wavelet"]), int(settings["level"]), engine.name)
        count = int(settings["points"])
        points = (count, count) if reshaper.surface.is_net else None
        mesh = reshaper.make_mesh(_order_gains(settings), float(settings["approximation"]), points)
        header = {
            "type": "surface",
            "rows": mesh.vertices.shape[0],
            "columns": mesh.vertices.shape[1],
            "closed": list(reshaper.surface.closed),
            "levels": reshaper.level,
        }
        return header, [np.ascontiguousarray(each, "<f4").tobytes() for each in (mesh.vertices, mesh.normals)]

    def format_equivalent(
        self,
        settings: Settings,
        name: str,  # noqa: ARG002 - there is no source
        scale: float = 1.0,  # noqa: ARG002
    ) -> Equivalent:
        """Return the command line and Python that do the same."""
        shape, level, wavelet = str(settings["shape"]), int(settings["level"]), str(settings["wavelet"])
        target = f"{shape}-{self.result}.obj"
        gains = read_gains(str(settings["bands"]), level)
        words = []
        for number, row in enumerate(gains or (), 1):
            pairs = zip(("ad", "da", "dd"), row, strict=True)
            words += [f"{number}{_LETTERS[band]}:{gain:g}" for band, gain in pairs if gain != 1]
        if settings["approximation"] != 1:
            words.append(f"a:{settings['approximation']}")
        option = f" --band-gains {','.join(words)}" if words else ""
        return Equivalent(
            f"subband reshape {quote(shape)} {quote(target)}{option} --wavelet {wavelet} --level {level}",
            "from subband.edit.surfaces import make_shape, reshape, write_surface\n\n"
            f"surface = reshape(make_shape({shape!r}), {_order_gains(settings)!r}, "
            f"approximation={float(settings['approximation'])}, wavelet={wavelet!r}, level={level})\n"
            f"write_surface({target!r}, surface)",
        )

    def export(self, settings: Settings, export: Export) -> None:
        """Write the surface as a mesh."""
        reshaper = _prepare(
            str(settings["shape"]), str(settings["wavelet"]), int(settings["level"]), export.engine.name
        )
        surface = reshaper.reshape(_order_gains(settings), float(settings["approximation"]))
        count = int(settings["points"])
        write_surface(export.target, surface, points=(count, count) if surface.is_net else None)


@lru_cache(maxsize=4)
def _prepare(shape: str, wavelet: str, level: int, engine: str) -> Reshaper:
    """Return a surface that is transformed already, so that a slider takes a millisecond."""
    return Reshaper(make_shape(shape), wavelet, level, engine=engine)


def _order_gains(settings: Settings) -> list[tuple[float, ...]] | float:
    """Return gains as surfaces take them: da, ad and dd of each level."""
    gains = read_gains(str(settings["bands"]), int(settings["level"]))
    return 1.0 if gains is None else [(across, down, both) for down, across, both in gains]
