"""Filters of the dual-tree complex wavelet transform, each pair of trees as one `Wavelet`.

The second tree is the first one seen in a mirror, so that one bank describes both: `subband.transforms.dual_tree` runs
it over the samples and, as their continuation, over their mirror image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Any

import numpy as np

from subband.errors import ArgumentError, ArgumentTypeError, UnknownWaveletError
from subband.wavelets.catalogue import known_names
from subband.wavelets.lookup import WaveletLike, as_wavelet
from subband.wavelets.wavelet import Wavelet

__all__ = ["BIORTS", "QSHIFTS", "DualTreeFilters", "find_biort", "find_qshift"]

#: Filters of the first level: symmetric, of odd length.
BIORTS = ("antonini", "legall", "near_sym_a", "near_sym_b")

#: Filters of the other levels: orthogonal, with a delay of a quarter of a sample.
QSHIFTS = ("qshift_06", "qshift_a", "qshift_b", "qshift_c", "qshift_d")


@dataclass(frozen=True)
class DualTreeFilters:
    """The filters of a dual-tree transform along one axis.

    Attributes
    ----------
    biort : Wavelet
        Those of the first level, as `find_biort` returns them.
    qshift : Wavelet
        Those of the others, as `find_qshift` returns them.
    """

    biort: Wavelet
    qshift: Wavelet

    @property
    def dec_len(self) -> int:
        """The length of the longer ones."""
        return max(self.biort.dec_len, self.qshift.dec_len)


def find_biort(biort: WaveletLike, gain: float = 1.0) -> Wavelet:
    """Return the filters of the first level, low-pass in step with even samples and high-pass with odd ones.

    Parameters
    ----------
    biort : str or Wavelet
        A name of `BIORTS`, or a wavelet with symmetric filters of odd length, such as ``'cdf97'`` or ``'bior2.2'``.
    gain : float
        The sum of the low-pass filter: 1 as published. √2 is that of most wavelets, in whose bands noise is about as
        strong as before.

    Raises
    ------
    UnknownWaveletError
        If nothing has that name.
    ArgumentError
        If a wavelet has other filters than symmetric ones of odd length.

    Examples
    --------
    >>> find_biort("near_sym_a").dec_lo
    [0.0, 0.0, -0.05, 0.25, 0.6, 0.25, -0.05, 0.0]
    >>> np.allclose(find_biort("antonini").filter_bank, find_biort("cdf97").filter_bank)
    True
    """
    name = biort.lower() if isinstance(biort, str) else ""
    if name in BIORTS:
        return _read_biort(name, gain)
    if isinstance(biort, str) and name not in known_names():
        raise UnknownWaveletError(
            f"biort={biort!r} is not known; use one of {', '.join(BIORTS)}, or a wavelet such as 'cdf97' or 'bior2.2'"
        )
    wavelet = as_wavelet(biort)
    if not wavelet.is_whole_sample_symmetric:
        raise ArgumentError(
            f"biort={wavelet.name!r} has no symmetric filters of odd length, which the first level needs; use one of "
            f"{', '.join(BIORTS)}, or a wavelet such as 'cdf97' or 'bior2.2'"
        )
    return _centre_filters(wavelet.name, wavelet.filter_bank, gain * sqrt(0.5), sqrt(2) / gain)


def find_qshift(qshift: WaveletLike) -> Wavelet:
    """Return the filters of all levels but the first: those of the tree that has the even samples.

    Parameters
    ----------
    qshift : str or Wavelet
        A name of `QSHIFTS`, or filters of your own: those of that tree, orthogonal, with a delay of a quarter of a
        sample against their middle. Others reconstruct as well, but make no complex wavelet.

    Raises
    ------
    UnknownWaveletError
        If nothing has that name.
    ArgumentTypeError
        If it is neither a name nor a wavelet.

    Examples
    --------
    >>> find_qshift("qshift_a").dec_len
    10
    """
    if isinstance(qshift, Wavelet):
        return qshift
    if not isinstance(qshift, str):
        raise ArgumentTypeError(f"qshift={qshift!r} is neither a name nor a Wavelet; use one of {', '.join(QSHIFTS)}")
    if qshift.lower() not in QSHIFTS:
        raise UnknownWaveletError(f"qshift={qshift!r} is not known; use one of {', '.join(QSHIFTS)}")
    return _read_qshift(qshift.lower())


@cache
def _read_table() -> dict[str, tuple[float, ...]]:
    from importlib.resources import files

    text = files(__package__).joinpath("dual_tree.txt").read_text(encoding="ascii")
    lines = [line.partition(":") for line in text.splitlines() if line and not line.startswith("#")]
    return {name: tuple(map(float, taps.split())) for name, _, taps in lines}


@cache
def _read_biort(name: str, gain: float) -> Wavelet:
    low, dual = (np.array(_read_table()[f"{name} {key}"]) for key in ("h0", "g0"))
    # both low-pass filters sum to 1, so that the two trees together reconstruct; here each tree does
    return _centre_filters(name, (low, _alternate(dual), dual, _alternate(low)), gain, 2 / gain)


@cache
def _read_qshift(name: str) -> Wavelet:
    low = np.array(_read_table()[f"{name} h0a"])
    signs = np.where(np.arange(low.size) % 2, -1.0, 1.0)
    high = (low[::-1] * signs)[::-1]
    # the tree of the even samples has the reversed filters of the table
    wavelet = Wavelet(name, filter_bank=(low[::-1], high, low, high[::-1]))
    wavelet.orthogonal = wavelet.biorthogonal = True
    return wavelet


def _centre_filters(name: str, bank: Sequence[Any], analysis: float, synthesis: float) -> Wavelet:
    """Lay symmetric filters out so that ``periodization`` has them in step with even (low) and odd (high) samples."""
    used = [np.trim_zeros(np.asarray(taps, np.float64)) for taps in bank]
    half = max(taps.size // 2 for taps in used) + 1
    placed = []
    # coefficient n reads the sample 2 n under tap `half` of the analysis, and adds to it under the tap before
    for taps, centre, scale in zip(
        used, (half, half - 1, half - 1, half), (analysis, analysis, synthesis, synthesis), strict=True
    ):
        before = centre - taps.size // 2
        placed.append(np.pad(taps * scale, (before, 2 * half - before - taps.size)))
    wavelet = Wavelet(name, filter_bank=placed)
    wavelet.biorthogonal = True
    return wavelet


def _alternate(taps: Any) -> Any:
    """Change every second sign of a filter of odd length, but not that of its middle."""
    return taps * np.where((np.arange(taps.size) - taps.size // 2) % 2, -1.0, 1.0)
