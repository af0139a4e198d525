"""Combining and reshaping images and surfaces in the wavelet domain."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subband.edit.edges import EdgeFinder, Edges, find_edges
    from subband.edit.fusion import Fuser, Fusion, fuse
    from subband.edit.lighting import Decoupled, Lighting, Relighter, decouple, recombine, relight
    from subband.edit.styles import Style, Stylist, stylise
    from subband.edit.surfaces import Reshaper, Surface, read_surface, reshape

__all__ = [
    "Decoupled",
    "EdgeFinder",
    "Edges",
    "Fuser",
    "Fusion",
    "Lighting",
    "Relighter",
    "Reshaper",
    "Style",
    "Stylist",
    "Surface",
    "decouple",
    "find_edges",
    "fuse",
    "read_surface",
    "recombine",
    "relight",
    "reshape",
    "stylise",
]

#: Where each name is, imported when somebody asks for it: one tool does not need the others.
_MODULES = {
    **dict.fromkeys(("EdgeFinder", "Edges", "find_edges"), "edges"),
    **dict.fromkeys(("Fuser", "Fusion", "fuse"), "fusion"),
    **dict.fromkeys(("Decoupled", "Lighting", "Relighter", "decouple", "recombine", "relight"), "lighting"),
    **dict.fromkeys(("Style", "Stylist", "stylise"), "styles"),
    **dict.fromkeys(("Reshaper", "Surface", "read_surface", "reshape"), "surfaces"),
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
