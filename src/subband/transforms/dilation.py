"""A wavelet stretched to many scales: the filters of the continuous transform.

The wavelet is integrated once. At every scale the integral is sampled, and its differences are the filter that a
signal is convolved with: that way even a narrow wavelet has filters that add up to zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from subband.engines.recent import Recent
from subband.errors import ArgumentError
from subband.transforms.convolution import Kernel
from subband.typing import Array
from subband.wavelets import Wavelet, as_wavelet

if TYPE_CHECKING:
    from collections.abc import Hashable

    from subband.wavelets import ContinuousWavelet

__all__ = ["Shape", "find_admissibility", "find_shape", "sample_kernel"]

_PARAMETERS = ("dt", "lower_bound", "upper_bound", "center_frequency", "bandwidth_frequency", "fbsp_order")


class Shape(NamedTuple):
    """A wavelet ready to be stretched: its integral, where that is sampled, and the centre of its band.

    `key` is equal for equal wavelets.
    """

    integral: Array
    positions: Array
    frequency: float
    key: Hashable


#: The constants of wavelets used last.
_constants = Recent[float](64)

#: The wavelets used last; one is integrated again only if its parameters have been changed.
_shapes = Recent[Shape](64)


def find_shape(wavelet: Any, precision: int) -> Shape:
    """Return the integral of a wavelet, cached.

    Parameters
    ----------
    wavelet : ContinuousWavelet, Wavelet or str
        By name or as an object; continuous wavelets of PyWavelets will do as they are.
    precision : int
        The wavelet is sampled at ``2**precision`` points.

    Raises
    ------
    ArgumentError
        If the wavelet does not exist, or is not orthogonal.
    """
    resolved = _read_wavelet(wavelet)
    is_complex = getattr(resolved, "complex_cwt", False)
    # by what it consists of, because the parameters of an object can be changed
    key = (resolved if isinstance(resolved, Wavelet) else _list_parameters(resolved), is_complex, precision)
    return _shapes.find(key, lambda: _sample_shape(resolved, precision, key))


def _read_wavelet(wavelet: Any) -> ContinuousWavelet | Wavelet:
    """Take a name or a wavelet of either kind."""
    if isinstance(wavelet, str):
        from subband.wavelets import DiscreteContinuousWavelet

        return DiscreteContinuousWavelet(wavelet)
    if hasattr(wavelet, "complex_cwt"):
        continuous: ContinuousWavelet = wavelet
        return continuous
    return as_wavelet(wavelet)


def _list_parameters(wavelet: ContinuousWavelet) -> tuple[object, ...]:
    return (type(wavelet), wavelet.name, *(getattr(wavelet, name) for name in _PARAMETERS))


def _sample_shape(wavelet: ContinuousWavelet | Wavelet, precision: int, key: Hashable) -> Shape:
    from subband.wavelets import central_frequency, integrate_wavelet

    integral, *more, positions = integrate_wavelet(wavelet, precision=precision)
    if more:
        raise ArgumentError(
            f"wavelet={wavelet.name!r} is not orthogonal and has two wavelet functions; "
            "use a continuous wavelet such as 'morl', or an orthogonal one"
        )
    is_complex = getattr(wavelet, "complex_cwt", False)
    integral = np.conj(integral).astype(np.complex128) if is_complex else integral.real
    return Shape(integral, positions, central_frequency(wavelet, precision=precision), key)


def find_admissibility(shape: Shape, wavelet: Any) -> float:
    """Return the admissibility constant of a wavelet, of which `find_shape` has just given the shape, cached.

    Raises
    ------
    ArgumentError
        If the wavelet has none.
    """
    from subband.wavelets import admissibility_constant

    return _constants.find(shape.key, lambda: admissibility_constant(wavelet))


def sample_kernel(shape: Shape, scale: Any, dtype: np.dtype[Any], length: int) -> Kernel:
    """Stretch the wavelet, and leave out the taps that no sample of a signal of `length` meets.

    Parameters
    ----------
    shape : Shape
        The wavelet.
    scale : number
        How far to stretch it.
    dtype : dtype
        Of the real numbers of the signal, which taps are rounded to.
    length : int
        Of the signal.

    Raises
    ------
    ArgumentError
        If fewer than two samples of the wavelet are left.
    """
    # The positions are rounded to the precision of the data because PyWavelets does so, and then rounds down.
    start, second, stop = shape.positions[[0, 1, -1]].astype(dtype)
    indices = (np.arange(scale * (stop - start) + 1) / (scale * (second - start))).astype(np.intp)
    integral = shape.integral[indices[: np.searchsorted(indices, shape.integral.size)]]
    if integral.size < 2:
        raise ArgumentError(
            f"scales: {scale} is too small, the wavelet has fewer than 2 samples there; use a larger one"
        )
    taps = np.zeros(integral.size + 1, np.result_type(integral, dtype))
    taps[:-1] = integral[::-1]
    taps[1:] -= integral[::-1]
    centre = integral.size // 2
    first = max(0, centre - length + 1)
    taps = taps[first : centre + length]
    taps *= -np.sqrt(scale)
    precision = np.result_type(dtype, np.complex64) if taps.dtype.kind == "c" else dtype
    return Kernel(taps.astype(precision), centre - first)
