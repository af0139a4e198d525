"""Two images, videos or volumes compared frame by frame: PSNR, SSIM and the largest difference."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import zip_longest
from math import inf, log10
from time import perf_counter
from typing import Any

import numpy as np

from subband.errors import ShapeError
from subband.media.base import Frame, Source, SourceInfo
from subband.pipeline.relay import Observe, Progress
from subband.quality import measure_ssim
from subband.typing import Array

__all__ = ["Comparison", "FrameDifference", "compare_sources", "join_images"]

# Rows and columns that SSIM needs, the size of its window.
_LEAST = 11
_GAP = 8
# What a difference is shown multiplied by, around mid-grey.
_AMPLIFIED = 4.0


@dataclass(frozen=True)
class FrameDifference:
    """What was measured of one frame.

    Attributes
    ----------
    error : float
        Mean square of the differences, as a part of white.
    ssim : float or None
        If it was measured, and the frame is large enough.
    largest : float
        Of the differences, in the units of the first file.
    """

    error: float
    ssim: float | None
    largest: float

    @property
    def psnr(self) -> float:
        """Decibels; infinite for two that are the same."""
        return inf if self.error == 0 else -10 * log10(self.error)


@dataclass(frozen=True)
class Comparison:
    """What was measured of two files.

    Attributes
    ----------
    frames : tuple of FrameDifference
        One for each.
    worst : tuple of (int, ndarray, ndarray)
        Number and pixels of the frame that differs most.
    peak : float
        What white is in them.
    remark : str
        What has to be said about the files.
    is_same_elsewhere : bool
        Whether they are equal in what is not measured: their opacity, and pixels that are NaN or infinite.

    Examples
    --------
    >>> frames = (FrameDifference(0.01, 0.9, 3.0), FrameDifference(0.03, 0.7, 9.0))
    >>> comparison = Comparison(frames, (1, np.zeros((2, 2)), np.ones((2, 2))))
    >>> round(comparison.psnr, 2), comparison.largest
    (16.99, 9.0)
    """

    frames: tuple[FrameDifference, ...]
    worst: tuple[int, Array, Array]
    peak: float = 1.0
    remark: str = ""
    is_same_elsewhere: bool = True

    @property
    def psnr(self) -> float:
        """Of all frames together, from their mean square error."""
        return FrameDifference(float(np.mean([frame.error for frame in self.frames])), None, 0.0).psnr

    @property
    def ssim(self) -> float | None:
        """The mean of all frames."""
        known = [frame.ssim for frame in self.frames if frame.ssim is not None]
        return float(np.mean(known)) if known else None

    @property
    def largest(self) -> float:
        """Of all differences."""
        return max(frame.largest for frame in self.frames)

    @property
    def is_identical(self) -> bool:
        """Whether there is no difference."""
        return self.largest == 0 and self.is_same_elsewhere

    def to_dict(self) -> dict[str, Any]:
        """Return everything as what JSON can hold; PSNR is null for frames that are the same."""
        entries = [{"psnr": _finite(frame.psnr), "ssim": frame.ssim, "largest": frame.largest} for frame in self.frames]
        mean = {"psnr": _finite(self.psnr), "ssim": self.ssim, "largest": self.largest}
        return {"identical": self.is_identical, **mean, "remark": self.remark, "frames": entries}


def compare_sources(
    open_first: Callable[[], AbstractContextManager[Source]],
    open_second: Callable[[], AbstractContextManager[Source]],
    *,
    ssim: bool = True,
    on_progress: Observe | None = None,
) -> Comparison:
    """Compare two files frame by frame.

    Parameters
    ----------
    open_first, open_second : callable
        Open the files; the first is read twice if it is a volume without a white.
    ssim : bool
        Whether to measure SSIM.
    on_progress : callable, optional
        Called after each frame.

    Raises
    ------
    ShapeError
        If they differ in size, or one is in colour and the other is not.
    """
    with open_first() as first, open_second() as second:
        one, other = first.info, second.info
        _check_sizes(one, other)
        peak = _find_peak(one, open_first)
        # two depths of the same image are the same image; voxels are what they are
        other_peak = peak if "volume" in (one.kind, other.kind) else _find_peak(other, open_second)
        frames: list[FrameDifference] = []
        worst: tuple[int, Array, Array] | None = None
        remarks: list[str] = []
        start, left_out, is_same, is_as_opaque = perf_counter(), 0, True, True
        for frame, beside in zip_longest(first, second):
            if frame is None or beside is None:
                shorter, longer = (one, other) if frame is None else (other, one)
                remarks.append(
                    f"{_name_source(longer)} goes on after the {len(frames)} frames of {_name_source(shorter)}"
                )
                break
            a, b = frame.pixels.astype(np.float64), beside.pixels.astype(np.float64) * (peak / other_peak)
            known = np.isfinite(a) & np.isfinite(b)
            left_out += known.size - int(known.sum())
            is_same &= np.array_equal(a[~known], b[~known], equal_nan=True)
            is_as_opaque &= _is_as_opaque(frame, beside)
            frames.append(_measure(a, b, known, peak, ssim=ssim))
            if worst is None or frames[-1].error > frames[worst[0]].error:
                worst = len(frames) - 1, a, b
            if on_progress is not None:
                on_progress(Progress(len(frames), one.count, perf_counter() - start))
        if worst is None:
            raise ShapeError(
                f"{_name_source(one)} or {_name_source(other)} holds no frame, so that there is nothing to compare"
            )
        if left_out:
            remarks.append(f"left out, because they are NaN or infinite: {left_out} samples")
        if not is_as_opaque:
            remarks.append("their opacity differs, which is not in these figures")
        return Comparison(tuple(frames), worst, peak, "; ".join(remarks), is_same and is_as_opaque)


def join_images(comparison: Comparison) -> Array:
    """Put the frame that differs most, of both files, beside their difference, amplified around mid-grey."""
    _, one, other = comparison.worst
    with np.errstate(invalid="ignore"):
        difference = 0.5 * comparison.peak + _AMPLIFIED * (other - one)
    gap = np.full((one.shape[0], _GAP, *one.shape[2:]), comparison.peak)
    joined = np.nan_to_num(np.concatenate([one, gap, other, gap, difference], axis=1) * (255 / comparison.peak))
    return np.asarray(np.clip(np.rint(joined), 0, 255).astype(np.uint8))


def _measure(one: Array, other: Array, known: Array, peak: float, *, ssim: bool) -> FrameDifference:
    is_whole = bool(known.all())
    likeness = measure_ssim(other, one, peak) if ssim and is_whole and min(one.shape[:2]) >= _LEAST else None
    difference = one - other if is_whole else one[known] - other[known]
    if not difference.size:
        return FrameDifference(0.0, None, 0.0)
    error = float(np.mean(np.square(difference))) / peak**2
    return FrameDifference(error, likeness, float(np.abs(difference).max()))


def _is_as_opaque(one: Frame, other: Frame) -> bool:
    """Tell whether two frames have the same opacity, whatever their depths."""
    first, second = (
        1.0 if alpha is None else alpha / (np.iinfo(alpha.dtype).max if alpha.dtype.kind in "iu" else 1.0)
        for alpha in (one.alpha, other.alpha)
    )
    return bool(np.allclose(first, second, rtol=0, atol=1e-6))


def _find_peak(info: SourceInfo, open_again: Callable[[], AbstractContextManager[Source]]) -> float:
    """Return what counts as white; for a volume, the range of its values."""
    if info.kind != "volume" or info.dtype in (np.uint8, np.uint16):
        return info.peak
    with open_again() as source:
        known = [frame.pixels[np.isfinite(frame.pixels)] for frame in source]
        ends = [(float(values.min()), float(values.max())) for values in known if values.size]
    return (max(high for _, high in ends) - min(low for low, _ in ends) if ends else 0.0) or 1.0


def _check_sizes(one: SourceInfo, other: SourceInfo) -> None:
    if one.shape[:2] != other.shape[:2]:
        sizes = [f"{_name_source(info)} has {info.shape[1]} × {info.shape[0]} pixels" for info in (one, other)]
        raise ShapeError(f"{sizes[0]} and {sizes[1]}; scale or cut one of them to the size of the other")
    if one.is_colour != other.is_colour:
        grey, colour = (other, one) if one.is_colour else (one, other)
        raise ShapeError(f"{_name_source(grey)} is grey and {_name_source(colour)} is in colour; convert one of them")


def _name_source(info: SourceInfo) -> str:
    return repr(str(info.origin)) if info.origin is not None else f"the {info.kind}"


def _finite(number: float) -> float | None:
    return None if number == inf else number
