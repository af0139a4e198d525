"""The continuous wavelet transform: correlation of a signal with a wavelet at many scales.

The wavelet is integrated once. At every scale the integral is sampled, and its differences are the filter
that the signal is convolved with: that way even a narrow wavelet has filters that add up to zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from subband.arrays import as_computable, device_of, is_functional, is_on_device
from subband.engines.dispatch import takes_arrays
from subband.engines.memory import on_release
from subband.errors import ArgumentError, ArgumentTypeError, ShapeError
from subband.transforms.arguments import normalise_axis
from subband.typing import Array
from subband.wavelets import Wavelet, as_wavelet

if TYPE_CHECKING:
    from subband.wavelets import ContinuousWavelet

__all__ = ["cwt"]

#: Fourier transforms of several scales are computed at once as long as they have no more numbers than this.
_BATCH = 1 << 19


@takes_arrays("data", transforms=False)
def cwt(
    data: Any,
    scales: Any,
    wavelet: ContinuousWavelet | Wavelet | str,
    sampling_period: float = 1.0,
    method: str = "conv",
    axis: int = -1,
    *,
    precision: int = 12,
) -> tuple[Array, Array]:
    """Correlate a signal with a wavelet stretched to each of `scales`.

    Parameters
    ----------
    data : array_like
        Samples; all axes but `axis` are carried along.
    scales : float or sequence of float
        How far to stretch the wavelet, in samples; positive.
    wavelet : ContinuousWavelet, Wavelet or str
        A continuous wavelet such as ``"morl"`` or ``"cmor1.5-1.0"``; a discrete one must be orthogonal.
    sampling_period : float
        Time between samples, for the frequencies only.
    method : {"conv", "fft"}
        How to convolve. ``fft`` is faster for all but short signals and small scales; ``conv`` keeps rounding
        errors local, which matters where a signal has parts of very different size.
    axis : int
        The axis to transform; a one-dimensional signal is transformed whatever it is.
    precision : int
        The wavelet is sampled at ``2**precision`` points. Large scales need as many as that.

    Returns
    -------
    coefs : ndarray
        One array of the shape of `data` for each scale, along a new first axis; complex if the wavelet or the
        data are.
    frequencies : ndarray
        The frequency at the centre of the wavelet's band, for each scale.

    Raises
    ------
    ArgumentError
        If the wavelet does not exist or is not orthogonal, a scale is not positive or leaves too few samples
        of the wavelet, or the method is not known.
    DtypeError
        If `data` holds no numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import cwt
    >>> t = np.arange(512) / 100
    >>> coefs, frequencies = cwt(np.sin(2 * np.pi * 5 * t), [8, 16, 32], "morl", sampling_period=0.01)
    >>> coefs.shape, frequencies.round(2)
    ((3, 512), array([10.16,  5.08,  2.54]))
    >>> int(np.abs(coefs).max(axis=1).argmax())
    1
    """
    x = as_computable(data)
    if is_on_device(x) and not is_functional(x):
        raise ArgumentTypeError(f"data is on {device_of(data)}, and cwt computes on the host; give a copy there")
    # PyWavelets does not look at the axis of a signal that has only one, and callers rely on that.
    axis = normalise_axis(0 if x.ndim == 1 and isinstance(axis, int) else axis, x.ndim)
    if x.size == 0:
        raise ShapeError(f"data has shape {x.shape} and no samples; give at least one")
    if method not in ("conv", "fft"):
        raise ArgumentError(f"method={method!r} is not known; use 'conv' or 'fft'")
    steps = np.atleast_1d(scales)
    if steps.ndim > 1:
        raise ShapeError(f"scales has {steps.ndim} dimensions; give a number or a flat sequence of numbers")
    if not np.all(steps > 0):
        raise ArgumentError(f"scales={scales} must all be positive")
    shape = _sample_shape(_read_wavelet(wavelet), precision)
    kernels = [_sample_kernel(shape, scale, x.real.dtype, x.shape[axis]) for scale in steps]
    is_complex = shape.integral.dtype.kind == "c" or x.dtype.kind == "c"
    dtype = np.result_type(x.dtype, np.complex64) if is_complex else x.dtype
    frequencies = shape.frequency / steps / sampling_period

    if is_functional(x):
        return _convolve_functionally(x, kernels, dtype, axis), frequencies
    coefs = np.empty((steps.size, *x.shape), dtype)
    # Both views have the transformed axis last, so that results are written where the caller wants them.
    signals, results = np.moveaxis(x, axis, -1), np.moveaxis(coefs, axis + 1, -1)
    (_convolve_directly if method == "conv" else _convolve_by_fft)(signals, kernels, results)
    return coefs, frequencies


class _Shape(NamedTuple):
    """A wavelet ready to be stretched: its integral, where that is sampled, and the centre of its band."""

    integral: Array
    positions: Array
    frequency: float


class _Kernel(NamedTuple):
    """A filter, and the index of its centre tap, which meets the sample at the position of the result."""

    taps: Array
    centre: int


def _read_wavelet(wavelet: Any) -> ContinuousWavelet | Wavelet:
    """Take a name or a wavelet of either kind; continuous ones of PyWavelets will do as they are."""
    if isinstance(wavelet, str):
        from subband.wavelets import DiscreteContinuousWavelet

        return DiscreteContinuousWavelet(wavelet)
    if hasattr(wavelet, "complex_cwt"):
        continuous: ContinuousWavelet = wavelet
        return continuous
    return as_wavelet(wavelet)


#: The wavelets used last; one is integrated again only if its parameters have been changed.
_shapes: dict[object, _Shape] = {}

on_release(_shapes.clear)

_PARAMETERS = ("dt", "lower_bound", "upper_bound", "center_frequency", "bandwidth_frequency", "fbsp_order")


def _sample_shape(wavelet: ContinuousWavelet | Wavelet, precision: int) -> _Shape:
    """Return the integral of a wavelet, cached."""
    is_complex = getattr(wavelet, "complex_cwt", False)
    key = (wavelet if isinstance(wavelet, Wavelet) else _list_parameters(wavelet), is_complex, precision)
    known = _shapes.get(key)
    if known is not None:
        return known
    from subband.wavelets import central_frequency, integrate_wavelet

    integral, *more, positions = integrate_wavelet(wavelet, precision=precision)
    if more:
        raise ArgumentError(
            f"wavelet={wavelet.name!r} is not orthogonal and has two wavelet functions; "
            "use a continuous wavelet such as 'morl', or an orthogonal one"
        )
    integral = np.conj(integral).astype(np.complex128) if is_complex else integral.real
    if len(_shapes) >= 64:
        _shapes.clear()
    shape = _Shape(integral, positions, central_frequency(wavelet, precision=precision))
    _shapes[key] = shape
    return shape


def _list_parameters(wavelet: ContinuousWavelet) -> tuple[object, ...]:
    """Return a cache key of a continuous wavelet: its parameters, because they can be changed."""
    return (type(wavelet), wavelet.name, *(getattr(wavelet, name) for name in _PARAMETERS))


def _sample_kernel(shape: _Shape, scale: Any, dtype: np.dtype[Any], length: int) -> _Kernel:
    """Stretch the wavelet, and leave out the taps that no sample of a signal of `length` meets."""
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
    return _Kernel(taps.astype(precision), centre - first)


def _convolve_directly(signals: Array, kernels: Sequence[_Kernel], results: Array) -> None:
    """Write the convolution of every signal with every kernel into `results`."""
    length = signals.shape[-1]
    for index in np.ndindex(signals.shape[:-1]):
        signal = np.ascontiguousarray(signals[index])
        for kernel, result in zip(kernels, results, strict=True):
            result[index] = np.convolve(signal, kernel.taps)[kernel.centre : kernel.centre + length]


def _convolve_by_fft(signals: Array, kernels: Sequence[_Kernel], results: Array) -> None:
    """Do as `_convolve_directly`, with one Fourier transform of the signals and one of each kernel."""
    length = signals.shape[-1]
    size = _find_room(kernels, length)
    is_real = results.dtype.kind != "c"
    forward, inverse = (np.fft.rfft, np.fft.irfft) if is_real else (np.fft.fft, np.fft.ifft)
    spectrum = forward(signals, size)
    batch = max(1, _BATCH // max(size, spectrum.size))
    for first in range(0, len(kernels), batch):
        chosen = kernels[first : first + batch]
        products = forward(_roll_kernels(chosen, size)).reshape(len(chosen), *(1,) * (signals.ndim - 1), -1) * spectrum
        results[first : first + batch] = inverse(products, size)[..., :length]


def _convolve_functionally(x: Array, kernels: Sequence[_Kernel], dtype: np.dtype[Any], axis: int) -> Array:
    """Return what `_convolve_by_fft` writes, for arrays that nobody can write into."""
    signals = np.moveaxis(x, axis, -1)
    size = _find_room(kernels, signals.shape[-1])
    spectrum = np.fft.fft(signals.astype(np.result_type(dtype, np.complex64)), size)
    results = []
    for row in np.fft.fft(_roll_kernels(kernels, size)):
        result = np.fft.ifft(spectrum * row, size)[..., : signals.shape[-1]]
        results.append(np.moveaxis(result if dtype.kind == "c" else result.real, -1, axis))
    return np.stack(results)


def _find_room(kernels: Sequence[_Kernel], length: int) -> int:
    """Return how many numbers to transform, so that nothing wraps round to results that are kept."""
    # What wraps round may fall on results that are not kept, so that half the kernel is room enough.
    reach = max((max(kernel.centre, kernel.taps.size - 1 - kernel.centre) for kernel in kernels), default=0)
    return _fast_length(length + reach)


def _roll_kernels(kernels: Sequence[_Kernel], size: int) -> Array:
    """Return kernels in rows of `size` numbers, each with its centre in front."""
    rolled = np.zeros((len(kernels), size), np.result_type(*(kernel.taps for kernel in kernels)))
    for row, (taps, centre) in zip(rolled, kernels, strict=True):
        row[: taps.size - centre] = taps[centre:]
        row[size - centre :] = taps[:centre]
    return rolled


@lru_cache(maxsize=1024)
def _fast_length(least: int) -> int:
    """Return the next number that has no prime factors but 2, 3 and 5."""
    best = 1 << (least - 1).bit_length()
    power_of_five = 1
    while power_of_five < best:
        odd = power_of_five
        while odd < best:
            best = min(best, odd << (-(-least // odd) - 1).bit_length())
            odd *= 3
        power_of_five *= 5
    return best
