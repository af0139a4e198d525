"""Image fusion: one image from several of the same scene, in focus or well exposed everywhere.

Where an image is sharp its details are strong. So of a stack of focus, for each pixel and scale the details are taken
from the image that is most active there. Each choice is checked against its neighbourhood and follows the majority,
so that no stray coefficient comes from elsewhere. Of a stack of exposures the details are a mean, in which each image
counts as much as it is well exposed at that pixel and scale. The transform is undecimated: what comes out does not
depend on how the scene lies on the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from subband.arrays import allocate_zeros
from subband.edit.images import Image, take_image
from subband.edit.settings import LEVEL, check_level, check_white, make_settings
from subband.engines import Engine
from subband.engines.dispatch import call_natively, engine_for
from subband.engines.filters import find_filters
from subband.enhance.colour import FROM_YCBCR, TO_YCBCR
from subband.enhance.stages import WAVELET
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError, LevelError, ShapeError
from subband.settings import check_settings, setting
from subband.stationary import StationaryPlan, stationary_plan
from subband.transforms.arguments import useful_levels
from subband.typing import Bands
from subband.wavelets import as_wavelet

__all__ = ["Fuser", "Fusion", "fuse"]

#: Levels if nothing is said: defocus of some pixels shows in four.
_MOST_LEVELS = 4

_WIDEST = 31
_WIDTHS = (1, _WIDEST, 2)

#: Samples over which weights are averaged, at most.
_WIDEST_MEAN = 127


@dataclass(frozen=True)
class Fusion:
    """How images become one.

    Parameters
    ----------
    rule : {"focus", "exposure"}
        What the images differ in. In a stack of focus each coefficient comes from the image that is most active at
        its pixel; in one of exposure it is a mean, and an image counts the more, the nearer to mid-grey and the more
        colourful it is there.
    wavelet : str
        The default is the CDF 9/7 of JPEG 2000.
    level : int, optional
        Number of levels; as many as are useful if left out, but at most 4 for focus and 5 for exposure.
    window : int
        Odd: the activity at a pixel is the energy of so many samples in each direction; for focus.
    consistency : int
        Odd: each choice follows the majority among so many in each direction; 1 leaves it as it is. Weights are
        averaged over as many, and over twice as many at each coarser level.
    strength : float
        1 is the fused image, 0 the first one, and in between is between.
    white : float, optional
        What white is in images of other than 8 or 16 bits; if left out, 1 for floating point and the largest
        number of integers; those of 64 bits cannot do without.

    Raises
    ------
    ArgumentError
        If something of that is not known.

    Examples
    --------
    >>> from subband.edit import Fusion
    >>> Fusion(rule="exposure").consistency
    7
    """

    rule: str = setting(
        "focus",
        "What the images differ in.",
        label="They differ in",
        choices={"focus": "Focus", "exposure": "Exposure"},
    )
    wavelet: str = setting("cdf97", **WAVELET)
    level: int | None = setting(None, **LEVEL)
    window: int = setting(
        5, "Odd: activity is measured over so many pixels in each direction.", unit="pixels", slider=_WIDTHS
    )
    consistency: int = setting(
        7,
        "Odd: a choice follows the majority among so many; 1 for no check.",
        label="Majority among",
        unit="pixels",
        slider=_WIDTHS,
    )
    strength: float = setting(
        1.0,
        "1 for the fused image, 0 for the first one.",
        least=0,
        most=1,
        slider=(0, 1, 0.05),
        advice="use 0 for the first image and 1 for the fused one",
    )
    white: float | None = None

    def __post_init__(self) -> None:
        as_wavelet(self.wavelet)
        check_level(self.level)
        check_settings(self)
        for name in ("window", "consistency"):
            value = getattr(self, name)
            is_odd = isinstance(value, int | np.integer) and not isinstance(value, bool) and value % 2 == 1
            if not is_odd or not 1 <= value <= _WIDEST:
                raise ArgumentError(f"{name}={value!r} is not an odd number from 1 to {_WIDEST}; use such as 5")
        check_white(self.white)

    def choose_level(self, size: tuple[int, int]) -> int:
        """Return the number of levels for images of so many rows and columns."""
        length = as_wavelet(self.wavelet).dec_len
        most = max(1, min((useful_levels(n, length) for n in size if n > 1), default=0))
        if self.level is None:
            return min(most, _MOST_LEVELS + (self.rule == "exposure"))
        if not 1 <= self.level <= most:
            raise LevelError(
                f"level={self.level} does not suit images of {size[0]} × {size[1]} pixels with {self.wavelet!r}; "
                f"use 1 to {most}"
            )
        return int(self.level)


class Fuser:
    """Fuses images into one, stack after stack.

    Parameters
    ----------
    fusion : Fusion, optional
        How.
    engine : str, optional
        The engine that computes; see `subband.set_engine`.
    settings
        What is to be other than in `fusion`.

    Examples
    --------
    >>> from subband import data
    >>> from subband.edit import Fuser
    >>> photo = data.photograph()[:90, :120]
    >>> bool((Fuser().apply([photo, photo]) == photo).all())
    True
    """

    def __init__(self, fusion: Fusion | None = None, *, engine: str | Engine | None = None, **settings: Any) -> None:
        self.fusion = make_settings(Fusion, fusion, settings)
        self.engine = engine

    def adjust(self, **settings: Any) -> Fuser:
        """Return one with other settings."""
        return Fuser(self.fusion, engine=self.engine, **settings)

    def apply(self, pictures: Sequence[Any]) -> Any:
        """Return one image of several, see `fuse`."""
        shape = tuple(getattr(pictures, "shape", ()))
        if len(shape) == 3 and shape[2] in (3, 4):
            raise ShapeError(f"pictures is one image of shape {shape}; give a list of two or more of the same scene")
        try:
            listed = list(pictures)
        except TypeError:
            raise ArgumentTypeError(f"pictures is a {type(pictures).__name__}; give a list of images") from None
        if len(listed) < 2:
            raise ArgumentError(f"pictures holds {len(listed)}; at least two of the same scene are needed to fuse them")
        result: Any = call_natively(self._apply, {0: "pictures"}, (listed,), {}, "cpu")
        return result

    def _apply(self, images: list[Any]) -> Any:
        taken = [take_image(x, f"pictures[{index}]", self.fusion.white) for index, x in enumerate(images)]
        first = taken[0]
        for index, other in enumerate(taken[1:], 1):
            _check_fit(first, other, index)
        if self.fusion.strength == 0 or first.size == (1, 1):
            return first.put_back(first.pixels + 0)
        names = {0: "pictures"}
        result = call_natively(self._run, names, ([each.pixels for each in taken], first.white), {}, self.engine)
        return first.put_back(result)

    def _run(self, stack: list[Any], white: float) -> Any:
        engine = engine_for(stack[0], self.engine)
        pixels = stack[0]
        there, back = (TO_YCBCR, FROM_YCBCR) if pixels.shape[2] == 3 else (None, None)
        filters = find_filters(engine)
        dtype = np.dtype(np.float64 if pixels.dtype == np.float64 else np.float32)
        size = (int(pixels.shape[0]), int(pixels.shape[1]))
        margins, levels = self._plan(size, int(pixels.shape[2]))
        lows = [filters.extend(filters.read_pixels(each, there, dtype), margins, margins) for each in stack]
        first = filters.take_part(lows[0], margins, size, 1.0) if self.fusion.strength < 1 else None
        fused: list[Bands] = []
        chosen: Any = None
        for number, level in enumerate(levels):
            if self.fusion.rule == "focus":
                chosen = self._choose(engine, level, lows)
                fused.append(_split_chosen(engine, level, lows, chosen))
            else:
                weights = self._weigh(engine, lows, white, number)
                fused.append(_split_weighted(engine, level, lows, weights))
        total = self._join_lows(engine, lows, chosen, white, len(levels))
        for level in reversed(levels):
            total = engine.stationary_inverse(level, {"aa": total, **fused.pop()})
        result = filters.take_part(total, margins, size, self.fusion.strength)
        if first is not None:
            result = filters.add_part(result, first, (0, 0), 1 - self.fusion.strength)
        return filters.write_pixels(result, back, pixels.dtype)

    def _plan(self, size: tuple[int, int], channels: int) -> tuple[tuple[int, int], list[StationaryPlan]]:
        """Return the margins that keep the periodic wrap away, and the levels between them."""
        wavelets = (as_wavelet(self.fusion.wavelet),) * 2
        count = self.fusion.choose_level(size)
        margin = (2**count - 1) * (wavelets[0].dec_len // 2)
        shape = (channels, size[0] + 2 * margin, size[1] + 2 * margin)
        return (margin, margin), [stationary_plan(shape, (1, 2), wavelets, level + 1) for level in range(count)]

    def _choose(self, engine: Engine, level: StationaryPlan, lows: list[Any]) -> Any:
        """Return one plane: the number of the image whose brightness is most active at each pixel."""
        filters = find_filters(engine)
        bright = StationaryPlan((1, *level.shape[1:]), level.axes, level.plans)
        best: Any = None
        for number, low in enumerate(lows):
            bands = engine.stationary_forward(bright, low[:1])
            rival = self._average(
                filters, filters.measure_activity([bands[key] for key in ("ad", "da", "dd")]), self.fusion.window
            )
            if best is None:
                best, chosen = rival, allocate_zeros(tuple(rival.shape), rival)
            else:
                filters.prefer(best, chosen, rival, number)
        if self.fusion.consistency == 1:
            return chosen
        votes: Any = None
        for number in range(len(lows)):
            rival = self._average(filters, filters.mark(chosen, number), self.fusion.consistency)
            if votes is None:
                votes, agreed = rival, allocate_zeros(tuple(rival.shape), rival)
            else:
                filters.prefer(votes, agreed, rival, number)
        return agreed

    def _weigh(self, engine: Engine, lows: list[Any], white: float, count: int) -> list[Any]:
        """Return one plane for each image: how well it is exposed at each pixel, as a part of all.

        After `count` levels the low band is as many times twice as large as brightness, and smoother; weights that
        changed more quickly than what they weigh would turn bright regions darker than those around them.
        """
        filters = find_filters(engine)
        window = min(self.fusion.consistency * 2**count, _WIDEST_MEAN) | 1
        weights = []
        for low in lows:
            weight = filters.judge_exposure(low, white * 2.0**count)
            weights.append(self._average(filters, weight, window))
        total = filters.take_part(weights[0], (0, 0), weights[0].shape[1:], 1.0)
        for weight in weights[1:]:
            total = filters.add_part(total, weight, (0, 0), 1.0)
        return [filters.divide(weight, total, 1.0) for weight in weights]

    def _join_lows(self, engine: Engine, lows: list[Any], chosen: Any, white: float, count: int) -> Any:
        """Return the coarsest band: that of the chosen image, or the mean by exposure."""
        filters = find_filters(engine)
        if self.fusion.rule == "focus":
            total = lows[0]
            for number, low in enumerate(lows[1:], 1):
                filters.take_over(total, low, chosen, number)
            return total
        total = allocate_zeros(tuple(lows[0].shape), lows[0])
        for low, weight in zip(lows, self._weigh(engine, lows, white, count), strict=True):
            filters.add_weighted(total, low, weight)
        return total

    @staticmethod
    def _average(filters: Any, plane: Any, window: int) -> Any:
        if window == 1:
            return plane
        for axis in (0, 1):
            plane = filters.convolve(plane, (1 / window,) * window, axis)
        return plane


def fuse(
    pictures: Sequence[Any], fusion: Fusion | None = None, *, engine: str | Engine | None = None, **settings: Any
) -> Any:
    """Fuse several images of the same scene into one.

    Parameters
    ----------
    pictures : sequence of array
        Two or more, all of one shape, dtype and kind, and aligned: rows × columns, with 3 channels or 3 and an alpha
        channel as the last axis. Of NumPy, CuPy, Torch, JAX or PyOpenCL.
    fusion : Fusion, optional
        How.
    engine : str, optional
        The engine that computes; see `subband.set_engine`.
    settings
        What is to be other than in `fusion`, such as ``rule="exposure"``.

    Returns
    -------
    array
        Of the kind, shape and dtype of the images; integers are rounded and clipped. The alpha channel is that of the
        first one.

    Raises
    ------
    ArgumentError
        If there are fewer than two images, or a setting is not known.
    ShapeError, DtypeError
        If they do not fit each other, or are a single image.

    Notes
    -----
    Choices are made in the brightness, and all channels follow. The memory taken is that of all images as floats, and
    of three bands for each level of one.

    References
    ----------
    H. Li, B. S. Manjunath and S. K. Mitra, Multisensor image fusion using the wavelet transform, Graphical Models and
    Image Processing 57, 1995, doi:10.1006/gmip.1995.1022.

    T. Mertens, J. Kautz and F. Van Reeth, Exposure fusion, Pacific Graphics, 2007, doi:10.1109/PG.2007.17.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import data
    >>> from subband.edit import fuse
    >>> from subband.enhance import Blur, Enhancer
    >>> sharp = data.camera()[:128, :128]
    >>> near, far = sharp.copy(), sharp.copy()
    >>> blurred = Enhancer(Blur(2.0)).apply(sharp)
    >>> near[:, 64:], far[:, :64] = blurred[:, 64:], blurred[:, :64]
    >>> error = fuse([near, far]).astype(float) - sharp
    >>> bool(np.sqrt(np.mean(error**2)) < 2)
    True
    """
    return Fuser(fusion, engine=engine, **settings).apply(pictures)


def _split_chosen(engine: Engine, level: StationaryPlan, lows: list[Any], chosen: Any) -> Bands:
    """Split the low band of every image, in place, and return the details of the chosen ones."""
    filters = find_filters(engine)
    fused: Bands = {}
    for number, low in enumerate(lows):
        bands = engine.stationary_forward(level, low)
        lows[number] = bands.pop("aa")
        if number == 0:
            fused = bands
            continue
        for key, band in bands.items():
            filters.take_over(fused[key], band, chosen, number)
    return fused


def _split_weighted(engine: Engine, level: StationaryPlan, lows: list[Any], weights: list[Any]) -> Bands:
    """Split the low band of every image, in place, and return the mean of the details."""
    filters = find_filters(engine)
    fused: Bands = {}
    for number, (low, weight) in enumerate(zip(lows, weights, strict=True)):
        bands = engine.stationary_forward(level, low)
        lows[number] = bands.pop("aa")
        for key, band in bands.items():
            if number == 0:
                fused[key] = filters.multiply(band, weight, 1.0)
            else:
                filters.add_weighted(fused[key], band, weight)
    return fused


def _check_fit(first: Image, other: Image, index: int) -> None:
    """Refuse an image that is not like the first one."""
    if tuple(other.pixels.shape) != tuple(first.pixels.shape):
        sizes = [
            f"{x.size[0]} × {x.size[1]} pixels in {'colour' if x.channels == 3 else 'grey'}" for x in (first, other)
        ]
        raise ShapeError(
            f"pictures[0] has {sizes[0]}, and pictures[{index}] has {sizes[1]}; crop or scale them to the same, aligned"
        )
    if other.pixels.dtype != first.pixels.dtype:
        raise DtypeError(
            f"pictures[0] holds {first.pixels.dtype}, and pictures[{index}] {other.pixels.dtype}; give all of one dtype"
        )
