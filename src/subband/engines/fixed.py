"""Passes of fixed point as data: two filters along an axis of unsigned integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from subband.typing import Array, Direction

__all__ = ["FixedPass", "FixedPasses"]


@dataclass(frozen=True, eq=False)
class FixedPass:
    """One pass along an axis: ``sum_k taps[k] * u[2 n + k] + bias``, held in so many bits, for two rows of taps.

    Attributes
    ----------
    direction : {"forward", "inverse"}
        Samples to low and high coefficients, or back to even and odd samples.
    rows : pair of tuple of float
        Taps for integers as they are stored, rounded to float32.
    biases : pair of float
        In units of the last of `bits`, rounded to float32.
    sources : pair of int
        Which array even and odd taps read: low or high coefficients. Samples are one array.
    start : int
        The position of ``u[0]``; those of coefficients count low and high ones in turn.
    index : ndarray of int32
        Where each of `u` is read.
    count : int
        Pairs of outputs.
    lengths : tuple of int
        Of samples, low and high coefficients along the axis.
    bits, width : int
        Of an integer: those that are used, and all.
    blank : int
        What stands for a high coefficient where there is none.
    """

    direction: Direction
    rows: tuple[tuple[float, ...], tuple[float, ...]]
    biases: tuple[float, float]
    sources: tuple[int, int]
    start: int
    index: Array
    count: int
    lengths: tuple[int, int, int]
    bits: int
    width: int
    blank: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """What holds an integer."""
        return np.dtype(np.uint8 if self.width == 8 else np.uint16)


class FixedPasses(Protocol):
    """What runs passes where the arrays are."""

    def enter(self, samples: Any, bits: int, width: int) -> Any | None:
        """Return samples as integers; None if real ones are not all from 0 to 1."""

    def split(self, task: FixedPass, axis: int, whole: Any) -> list[Any]:
        """Return low and high coefficients of samples along an axis."""

    def merge(self, task: FixedPass, axis: int, low: Any, high: Any) -> Any:
        """Undo `split`."""

    def leave(self, band: Any, dtype: np.dtype[Any]) -> Any:
        """Return integers as samples of a dtype."""
