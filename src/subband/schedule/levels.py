"""Level after level: the approximation of one is what the next transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from subband.plan import LevelPlan
from subband.stationary import StationaryPlan
from subband.typing import Array, Bands

__all__ = ["merge_levels", "split_levels"]

P = TypeVar("P", bound=LevelPlan | StationaryPlan)


def split_levels(levels: Sequence[P], x: Array, split: Callable[[P, Array], Bands]) -> tuple[Array, list[Bands]]:
    """Transform all levels, finest first; return the approximation, and the details from coarse to fine."""
    details: list[Bands] = []
    for level in levels:
        bands = split(level, x)
        x = bands.pop("a" * len(level.axes))
        details.insert(0, bands)
    return (x if levels else x.copy()), details


def merge_levels(
    levels: Sequence[P], approximation: Array, details: Sequence[Bands], merge: Callable[[P, Bands], Array]
) -> Array:
    """Undo `split_levels`."""
    x = approximation
    for level, bands in zip(reversed(levels), details, strict=True):
        x = merge(level, {"a" * len(level.axes): x, **bands})
    return x if levels else x.copy()
