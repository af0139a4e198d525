"""Arrays to test with: numbers that show mistakes, in every layout that NumPy has."""

from __future__ import annotations

from typing import Literal

import numpy as np

from subband.boundary import MODES
from subband.typing import Array
from subband.wavelets import Wavelet, as_wavelet, wavelist

__all__ = ["LAYOUTS", "Pattern", "all_wavelets", "allowed_modes", "as_layout", "draw_samples"]

Pattern = Literal["noise", "ramp", "impulse", "constant", "alternating"]

#: Names of the layouts that `as_layout` makes.
LAYOUTS = ("contiguous", "fortran", "reversed", "strided", "readonly", "unaligned", "broadcast")


def all_wavelets() -> tuple[Wavelet, ...]:
    """Return every discrete wavelet of the catalogue, ``cdf53`` and ``cdf97`` included.

    Examples
    --------
    >>> len(all_wavelets())
    108
    """
    return tuple(map(as_wavelet, wavelist(kind="discrete")))


def allowed_modes(wavelet: Wavelet) -> tuple[str, ...]:
    """Return the boundary modes that a wavelet can take: all, but ``whole`` only with symmetric odd filters.

    Examples
    --------
    >>> "whole" in allowed_modes(Wavelet("cdf97")), "whole" in allowed_modes(Wavelet("db2"))
    (True, False)
    """
    return tuple(mode for mode in MODES if mode != "whole" or wavelet.is_whole_sample_symmetric)


def draw_samples(
    shape: tuple[int, ...],
    dtype: np.dtype[np.generic] | type[np.generic] | str = "float64",
    seed: int = 0,
    pattern: Pattern = "noise",
) -> Array:
    """Return a deterministic array of test samples.

    Real numbers are such that float32 holds them exactly, so that arrays of both precisions are equal; integers are
    of 16 bits.

    Examples
    --------
    >>> draw_samples((2, 3), "complex64").dtype
    dtype('complex64')
    >>> draw_samples((4,), pattern="alternating")
    array([ 1., -1.,  1., -1.])
    """
    dtype = np.dtype(dtype)
    generator = np.random.default_rng(seed)
    count = int(np.prod(shape))
    index = np.arange(count)
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" else -(1 << 15)
        return generator.integers(low, 1 << 15, shape).astype(dtype)
    flat: Array
    if pattern == "noise":
        flat = generator.standard_normal(count).astype(np.float32)
    elif pattern == "ramp":
        flat = index - count // 2
    elif pattern == "impulse":
        flat = index == seed % max(count, 1)
    elif pattern == "constant":
        flat = np.ones(count)
    else:
        flat = 1 - 2 * (index % 2)
    x = flat.reshape(shape).astype(dtype)
    if dtype.kind == "c":
        x = (x + 1j * draw_samples(shape, "float32", seed + 1)).astype(dtype)
    return x


def as_layout(x: Array, layout: str) -> Array:
    """Return an array equal to `x` with another memory layout.

    ``broadcast`` repeats the first entry along the first axis without a copy, and so is equal to `x` only there.

    Examples
    --------
    >>> as_layout(np.arange(6.0).reshape(2, 3), "reversed").strides
    (-24, -8)
    """
    if layout == "contiguous":
        return np.ascontiguousarray(x)
    if layout == "fortran":
        return np.asfortranarray(x)
    if layout == "reversed":
        turned = (slice(None, None, -1),) * x.ndim
        return np.ascontiguousarray(x[turned])[turned]
    if layout == "strided":
        spread = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
        view = spread[(slice(1, None, 2),) * x.ndim]
        view[...] = x
        return view
    if layout == "readonly":
        copy = x.copy()
        copy.flags.writeable = False
        return copy
    if layout == "unaligned":
        room = np.zeros(x.nbytes + 1, np.uint8)
        view = room[1:].view(x.dtype).reshape(x.shape)
        view[...] = x
        return view
    if layout == "broadcast":
        return np.broadcast_to(x[:1], x.shape)
    raise ValueError(f"layout={layout!r} is not known; use one of {', '.join(LAYOUTS)}")
