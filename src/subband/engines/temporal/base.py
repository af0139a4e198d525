"""The contract of averages over time.

What is known of a scene from the frames before is moved to where it is now and averaged with the new frame, as a Kalman
filter does. Each sample has a variance: that of the prediction is what its noise has become, and what the new frame
shows it to be off by.

Arrays are of the kind that an implementation works on, and stay there; planes are C-contiguous, of float32. Nothing
that is handed over is changed. `tests/parity/test_temporal.py` compares implementations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

__all__ = ["Grid", "Past", "TemporalFilters"]


class Grid(NamedTuple):
    """Where the coefficients of a band are: their level, the samples from one to the next, the first, and how many."""

    level: int
    step: int
    begin: tuple[int, int]
    shape: tuple[int, int]


class Past(Protocol):
    """What is known after a frame: averages over time, and how noisy they are."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the planes: their number, rows and columns."""

    @property
    def planes(self) -> Any:
        """The averages, of float32."""

    @property
    def ratios(self) -> Any:
        """Variance of their noise over that of a frame, of float32 and the shape of a plane."""

    @property
    def noise(self) -> Any:
        """Standard deviation of the noise of a frame in each plane."""

    @property
    def motion(self) -> Any:
        """Where each block was before, for `TemporalFilters.average`; None if the host knows that nothing is of use."""


class TemporalFilters(ABC):
    """Averages frames along their motion, on one device; see the module for the contract."""

    @abstractmethod
    def begin(self, planes: Any, noise: Any) -> Past:
        """Return what is known after the first frame.

        Parameters
        ----------
        planes : array of float32, of shape (planes, rows, columns)
            The frame.
        noise : numbers
            Standard deviation of its noise in each plane.
        """

    @abstractmethod
    def find_motion(self, planes: Any, past: Any, noise: Any) -> Any:
        """Find where the blocks of a frame were before, by the first plane; see `subband.engines.temporal.motion`.

        Returns
        -------
        object
            For `average`; None if it is not to be found, as without noise in the first plane.
        """

    @abstractmethod
    def average(self, past: Any, planes: Any, noise: Any, motion: Any, steps: tuple[int, int]) -> Past:
        """Average a frame with what is known from those before it.

        Parameters
        ----------
        past : Past
            From the frame before, of planes of the same shape.
        planes, noise
            As in `begin`.
        motion : object
            From `find_motion`, or what a `Past` has: that of the brightness, for planes of chroma.
        steps : tuple of int
            Rows and columns of the brightness that share a sample of these planes.

        Returns
        -------
        Past
            If nothing of the past is of use, or the first plane has no noise, with the planes of the frame, and ratios
            of 1. Other planes without noise are those of the frame too.
        """

    @abstractmethod
    def halve(self, variances: Any, count: int) -> list[Any]:
        """Return the means of 2 × 2 samples of one plane, and of these again, so many times.

        Samples at an odd end are repeated.
        """

    @abstractmethod
    def draw(self, variances: Sequence[Any], grids: Sequence[Grid]) -> list[Any]:
        """Return the standard deviation at each coefficient of some bands, as one plane each.

        Parameters
        ----------
        variances : sequence of array
            From `halve`, and what that was given before them: number k has one for 2**k samples along each axis.
        grids : sequence of Grid
            Where the coefficients are.
        """

    @abstractmethod
    def measure_typical(self, variances: Any, planes: int) -> Any:
        """Return the square root of the mean of all variances, once for each of some planes."""
