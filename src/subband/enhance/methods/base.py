"""The contract of a denoising method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from subband.engines.filters import Filters
from subband.engines.filters.groups import Groups
from subband.settings import check_settings, format_name
from subband.typing import Array

__all__ = ["Band", "DecidingMethod", "Method", "Part"]


@dataclass(frozen=True)
class Band:
    """A band of coefficients, with all that a method may ask about it.

    Attributes
    ----------
    values : array
        Planes × space.
    noise : numbers
        Standard deviation of the noise in each plane of the image, uploaded by the filters.
    gain : float
        What noise of standard deviation one has in this band, times the strength of the stage and the level's weight.
    mode : str
        How coefficients shrink under one threshold for the band.
    count : int
        Samples of a plane of the whole image.
    dimensions : int
        How many axes were transformed.
    step : int
        How far coefficients with independent noise are apart along each axis: more than 1 without decimation.
    parent : array or None
        The band of the same orientation one level coarser, not shrunk.
    parent_gain : float
        As `gain`, for the parent.
    shift, scale : int
        The parent of coefficient k stands at ``(k + shift) // scale`` along each axis.
    """

    values: Any
    noise: Any
    gain: float
    mode: str = "soft"
    count: int = 1
    dimensions: int = 2
    step: int = 1
    parent: Any = None
    parent_gain: float = 1.0
    shift: int = 0
    scale: int = 1


@dataclass(frozen=True)
class Part:
    """Where a part of a band lies in the whole.

    Attributes
    ----------
    count : int
        Coefficients of a plane of the whole band.
    dimensions : int
        Number of axes of space.
    inner : tuple of slice
        Where the part is among the values, which may have some more around it.
    row : int
        Number of the first row of the values in the whole.
    """

    count: int
    dimensions: int
    inner: tuple[slice, ...] = ()
    row: int = 0


@dataclass(frozen=True)
class Method(ABC):
    """A way to find out how far each coefficient shrinks.

    A method with settings of its own is a frozen dataclass, with a field made by `subband.settings.setting` for each.

    Attributes
    ----------
    name : str
        By which it is asked for, the name of its file.
    title : str
        As papers and the studio call it.
    looks_at, advice : str
        For the tables of the documentation: what it looks at, and when it is the right choice.
    form : {"decimated", "spun", "undecimated", "dual-tree"}
        The form of the transform that suits it best.
    rank : int
        Its position in lists; the default method comes first.
    takes_mode : bool
        Whether it has one threshold for each band, under which coefficients shrink by a mode.
    takes_parent : bool
        Whether the next coarser level has a say.
    is_in_place : bool
        Whether `shrink` may modify the coefficients that it is given.
    is_guide : bool
        Whether its result guides a second filter: passes over groups of similar patches, if it lists any, else an
        empirical Wiener filter over the undecimated Haar transform.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    looks_at: ClassVar[str]
    advice: ClassVar[str] = ""
    form: ClassVar[str] = "decimated"
    rank: ClassVar[int] = 100
    takes_mode: ClassVar[bool] = False
    takes_parent: ClassVar[bool] = False
    is_in_place: ClassVar[bool] = True
    is_guide: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self)

    def __str__(self) -> str:
        return format_name(self)

    @abstractmethod
    def shrink(self, filters: Filters, band: Band) -> Any:
        """Return the coefficients of a whole band, shrunk."""

    def shrink_bands(self, filters: Filters, bands: Sequence[Band]) -> list[Any]:
        """Return the coefficients of several bands of an image, shrunk: in one go, if the method has a way to do that.

        Parameters
        ----------
        filters : Filters
            The engine that computes.
        bands : sequence of Band
            Of several levels, from fine to coarse, all with the same `noise`: that of the planes of the image, which
            bands may have several times, one time after the other.
        """
        repeated: dict[int, Any] = {}
        shrunk = []
        for band in bands:
            times = band.values.shape[0] // band.noise.shape[0]
            if times not in repeated:
                repeated[times] = filters.repeat_numbers(band.noise, times, band.values)
            shrunk.append(self.shrink(filters, replace(band, noise=repeated[times])))
        return shrunk

    def measure_window(self, dimensions: int) -> int:  # noqa: ARG002 - for methods that look around
        """Return how many samples along each axis have a say in what happens to the middle one; odd."""
        return 1

    def list_passes(self, dimensions: int) -> tuple[Groups, ...]:  # noqa: ARG002 - for methods that work on samples
        """Return passes over groups of similar patches that its result guides, each guided by the one before."""
        return ()

    def find_threshold(self, filters: Filters, band: Band) -> Any:  # noqa: ARG002 - for methods that have one
        """Return the threshold of each plane of a band, if the method has such a thing."""
        return None

    def compensate_part(self, whole: int, part: int) -> float:  # noqa: ARG002 - for methods that count samples
        """Return what the strength is multiplied by for a part of `part` of the `whole` samples of an image."""
        return 1.0


class DecidingMethod(Method):
    """A method that decides by all coefficients of a band, and can gather what it has to know in pieces.

    `tally` looks at a part of a band, the tallies of all parts are added, `decide` draws the conclusion for the whole
    band, and `follow` shrinks a part by it. The result is that of `shrink` for the whole band, to the rounding of sums.

    Attributes
    ----------
    needs_noise : bool
        Whether `tally` and `decide` have to know the noise; it is None for them otherwise.
    """

    needs_noise: ClassVar[bool] = True

    def find_obstacle(self, form: str) -> str:  # noqa: ARG002 - for methods that cannot gather in all forms
        """Say why a form of the transform does not allow to gather in pieces; nothing if it does."""
        return ""

    @abstractmethod
    def tally(self, filters: Filters, values: Any, noise: Array | None, part: Part) -> Array:
        """Return what has to be known of a part of a band, planes first, to be added to that of the other parts.

        Parameters
        ----------
        filters : Filters
            The engine that computes.
        values : array
            Planes × space: the part, with half a window around it.
        noise : ndarray or None
            Standard deviation of the noise in this band, of each plane.
        part : Part
            Where it lies.
        """

    @abstractmethod
    def decide(self, tally: Array, noise: Array | None, part: Part) -> Array:
        """Return what follows from the tallies of all parts of a band, for each plane: what `follow` has to know."""

    @abstractmethod
    def follow(self, filters: Filters, band: Band, decision: Array) -> Any:
        """Return a part of a band, shrunk by what was decided for the whole."""
