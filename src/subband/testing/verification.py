"""Comparing an engine with the reference engine, band by band.

A wrong transform with a matching inverse reconstructs perfectly, so the bands themselves are compared. Borders are
where engines go astray most easily, so each comparison is made twice: with all pixels, and without those near the
border.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from subband.engines import get_engine
from subband.engines.measuring.judging import TOLERANCE
from subband.pyramid import Pyramid
from subband.quality import measure_psnr
from subband.transforms import decompose, reconstruct
from subband.typing import Array

__all__ = ["Comparison", "Verification", "verify_engine"]


@dataclass(frozen=True)
class Comparison:
    """One array of an engine beside that of the reference engine.

    Attributes
    ----------
    name : str
        What was compared.
    level : int
        1 is the finest; 0 is the image itself.
    psnr, error : float
        Decibels, relative to the largest value of a pixel, and the largest difference.
    inner_psnr, inner_error : float or None
        The same without the border; None if nothing is left without it.
    is_within : bool
        Whether the largest difference is small enough.
    """

    name: str
    level: int
    psnr: float
    error: float
    inner_psnr: float | None
    inner_error: float | None
    is_within: bool


@dataclass(frozen=True)
class Verification:
    """All comparisons of one image."""

    engine: str
    wavelet: str
    mode: str
    level: int
    tolerance: float
    border: int
    comparisons: tuple[Comparison, ...]

    @property
    def is_within(self) -> bool:
        """Whether no difference is too large."""
        return all(comparison.is_within for comparison in self.comparisons)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as what JSON can hold; the infinite PSNR of equal arrays is null."""
        record = asdict(self)
        for comparison in record["comparisons"]:
            for key in ("psnr", "inner_psnr"):
                if comparison[key] is not None and not isfinite(comparison[key]):
                    comparison[key] = None
        return {**record, "is_within": self.is_within}


def verify_engine(
    pixels: Array,
    peak: float,
    wavelet: str = "cdf97",
    level: int = 3,
    mode: str | None = None,
    engine: str | None = None,
    *,
    tolerance: float | None = None,
    border: int = 5,
) -> Verification:
    """Transform an image with two engines, forward and inverse, and compare everything.

    Parameters
    ----------
    pixels : ndarray of float
        Rows × columns, perhaps × channels.
    peak : float
        The largest value of a pixel.
    wavelet, level, mode
        As `subband.decompose` takes them.
    engine : str, optional
        Which one is compared with the reference engine; that of all other calls if left out.
    tolerance : float, optional
        The largest difference allowed, as a fraction of the largest value in the band or of `peak`, whichever is
        larger; that of the benchmarks if left out.
    border : int
        Pixels on each side that the second comparison leaves out.

    Examples
    --------
    >>> pixels = np.random.default_rng(0).random((60, 40)).astype(np.float32)
    >>> verification = verify_engine(pixels, 1.0, level=2)
    >>> verification.is_within
    True
    >>> [comparison.name for comparison in verification.comparisons][:3]
    ['level 1', 'level 1 HL', 'level 1 LH']
    """
    chosen = get_engine(engine)
    tolerance = TOLERANCE if tolerance is None else tolerance
    ours, theirs = (decompose(pixels, wavelet, level, mode, axes=(0, 1), engine=each) for each in (chosen, "reference"))
    back, reference_back = reconstruct(ours, engine=chosen), reconstruct(theirs, engine="reference")

    def compare(name: str, number: int, pairs: list[tuple[Array, Array]], slack: float = 0.0) -> Comparison:
        limit = slack + tolerance * max(peak, *(_largest(reference) for _, reference in pairs))
        inner = [(_trim(a, border), _trim(b, border)) for a, b in pairs]
        psnr, error = _measure(pairs, peak)
        inner_psnr, inner_error = _measure(inner, peak) if all(a.size for a, _ in inner) else (None, None)
        # Written so that NaN, which is neither smaller nor larger, is refused too.
        return Comparison(name, number, psnr, error, inner_psnr, inner_error, bool(error <= limit))

    comparisons = []
    for number in range(1, level + 1):
        bands = list(_pair_bands(ours, theirs, number))
        comparisons.append(compare(f"level {number}", number, [pair for _, pair in bands]))
        comparisons.extend(compare(f"level {number} {name}", number, [pair]) for name, pair in bands)
    comparisons.append(compare("reconstruction", 0, [(back, reference_back)]))
    # Filters that do not form a perfect bank, as those of dmey, do not reconstruct better in any precision.
    imprecision = _largest(reference_back - pixels)
    comparisons.append(compare("reconstruction against the image", 0, [(back, pixels)], imprecision))
    modes = " and ".join(dict.fromkeys(ours.plan.modes))
    return Verification(chosen.name, wavelet, modes, level, tolerance, border, tuple(comparisons))


def _pair_bands(ours: Pyramid, theirs: Pyramid, number: int) -> Iterator[tuple[str, tuple[Array, Array]]]:
    """Yield the bands of a level in pairs: L and H, first for the direction along a row, as the papers call them."""
    for (level, key, band), (_, _, reference) in zip(ours.bands(), theirs.bands(), strict=True):
        if level == number:
            yield "".join("LH"[letter == "d"] for letter in reversed(key)), (band, reference)


def _measure(pairs: list[tuple[Array, Array]], peak: float) -> tuple[float, float]:
    """Return PSNR and largest difference over some arrays together; nothing differs where there is nothing."""
    ours, theirs = (np.concatenate([pair[side].ravel() for pair in pairs]) for side in (0, 1))
    if ours.size == 0:
        return inf, 0.0
    return measure_psnr(ours, theirs, peak), float(np.abs(ours - theirs).max())


def _trim(band: Array, border: int) -> Array:
    return band[border : max(band.shape[0] - border, border), border : max(band.shape[1] - border, border)]


def _largest(band: Array) -> float:
    return float(np.abs(band).max(initial=0.0))
