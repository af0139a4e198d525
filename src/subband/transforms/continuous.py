"""The continuous wavelet transform, which correlates a signal with a wavelet at many scales, and its inverse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from subband.arrays import as_computable, device_of, is_functional, is_on_device, namespace
from subband.engines.dispatch import takes_arrays
from subband.engines.memory import allocate
from subband.engines.recent import Recent
from subband.errors import ArgumentError, ArgumentTypeError, ShapeError
from subband.transforms.arguments import normalise_axis
from subband.typing import Array

if TYPE_CHECKING:
    from subband.transforms.convolution import Bank
    from subband.transforms.dilation import Shape
    from subband.wavelets import ContinuousWavelet, Wavelet

__all__ = ["cwt", "icwt"]

#: Filters, with their spectra, of the wavelets and scales used last: up to 32 MiB each.
_banks: Recent[Bank] = Recent(4)

#: How many times as large as the smallest stretch of a signal the largest may be before rounding errors of the one
#: would show in results of the other.
_RANGE = 1e6

#: Samples of such a stretch.
_STRETCH = 64

#: Numbers up to these can be multiplied and added up a million times.
_LARGEST = {dtype: float(np.sqrt(np.finfo(dtype).max)) for dtype in "fd"}


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
    """Continuous wavelet transform (CWT): correlate a signal with a wavelet stretched to each of `scales`.

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
        How to convolve. Both do it by Fourier transforms. ``fft`` computes in the precision of the data;
        ``conv`` in double precision, and tap by tap where a signal has values that are not finite or parts of
        very different size, so that these and their rounding errors stay local.
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
    # what only continuous transforms need is imported by the first of them
    from subband.transforms import convolution, dilation

    x = _take_array(data, "data", "cwt")
    # PyWavelets does not look at the axis of a signal that has only one, and callers rely on that.
    axis = normalise_axis(0 if x.ndim == 1 and isinstance(axis, int) else axis, x.ndim)
    if x.size == 0:
        raise ShapeError(f"data has shape {x.shape} and no samples; give at least one")
    if method not in ("conv", "fft"):
        raise ArgumentError(f"method={method!r} is not known; use 'conv' or 'fft'")
    steps = _read_scales(scales)
    shape = dilation.find_shape(wavelet, precision)
    is_complex = shape.integral.dtype.kind == "c" or x.dtype.kind == "c"
    dtype = np.result_type(x.dtype, np.complex64) if is_complex else x.dtype
    working = dtype if method == "fft" else np.result_type(dtype, np.float64)
    bank = _find_bank(shape, steps, x.shape[axis], x.real.dtype, working)
    frequencies = shape.frequency / steps / sampling_period

    if is_functional(x):
        found = convolution.convolve_functionally(bank.kernels, np.moveaxis(x, axis, -1))
        return np.moveaxis(found if is_complex else found.real, -1, axis + 1).astype(dtype), frequencies
    signals = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
    coefs = allocate((steps.size, *x.shape), dtype)
    # Both have the transformed axis last; `flat` is a copy where the other axes do not lie one behind the other.
    moved = np.moveaxis(coefs, axis + 1, -1)
    flat = moved.reshape(steps.size, *signals.shape)
    if method == "fft" or _is_even(signals):
        bank.convolve(signals.astype(np.result_type(signals, working.type(0).real), copy=False), flat)
    else:
        convolution.convolve_directly(bank.kernels, signals, flat)
    if not np.may_share_memory(flat, coefs):
        moved[...] = flat.reshape(moved.shape)
    return coefs, frequencies


@takes_arrays("coefs", transforms=False)
def icwt(
    coefs: Any,
    scales: Any,
    wavelet: ContinuousWavelet | Wavelet | str,
    axis: int = -1,
    *,
    precision: int = 12,
) -> Array:
    r"""Inverse continuous wavelet transform: reconstruct a signal from its CWT.

    Parameters
    ----------
    coefs : array_like
        What `cwt` returned: one array for each scale along the first axis.
    scales : sequence of float
        The scales that `cwt` was called with, at least two, in any order. They cover the band of the signal if
        `scale2frequency` of the largest is below its lowest frequency, and of the smallest above its highest one;
        `numpy.geomspace` spaces them as the integral likes it, ten or more for each factor of two.
    wavelet : ContinuousWavelet, Wavelet or str
        The wavelet that `cwt` was called with.
    axis : int
        The axis of the signal that was transformed, as in `cwt`: the first one of `coefs` is not counted.
    precision : int
        As in `cwt`.

    Returns
    -------
    ndarray
        The signal, of the shape of one scale. It is real unless the wavelet is real and the coefficients are
        complex: a complex wavelet sees positive frequencies alone, so that its signal is taken to be real.

    Raises
    ------
    ArgumentError
        If the wavelet is not admissible, because its mean is not zero; if fewer than two scales are left; or if
        the coefficients of a complex wavelet are real.
    ShapeError
        If there are not as many arrays as scales.

    See Also
    --------
    cwt : The transform itself. Its `sampling_period` changes frequencies alone, so that it is not needed here.

    Notes
    -----
    This is the double integral with the admissibility constant :math:`C_\psi` [1]_ [2]_:

    .. math::

        f(x) = \frac{2}{C_\psi} \operatorname{Re} \int_0^\infty \int_{-\infty}^\infty
        W(s, \tau)\, \psi_{s,\tau}(x)\, d\tau\, \frac{ds}{s^2},
        \qquad C_\psi = \int_{-\infty}^\infty \frac{|\hat\psi(\omega)|^2}{|\omega|}\, d\omega.

    Negative scales would repeat what positive ones say of a real signal; hence the factor of two. The integral over
    scales is a sum by the trapezoidal rule over their logarithms. Scales whose frequency is above half the sampling
    rate are left out, because such coefficients are those of other frequencies.

    No wavelet sees a mean, so that the signal has none where it is shorter than the largest wavelet: add it
    afterwards. Frequencies outside the scales' band are lost, and the ends are less exact than the middle.

    References
    ----------
    .. [1] I. Daubechies, Ten Lectures on Wavelets, SIAM, 1992, section 2.4, doi:10.1137/1.9781611970104.
    .. [2] S. Mallat, A Wavelet Tour of Signal Processing, 3rd ed., Academic Press, 2009, section 4.3,
       doi:10.1016/B978-0-12-374370-1.X0001-8.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import cwt, icwt
    >>> t = np.arange(1024)
    >>> pulse = np.sin(0.3 * t) * np.exp(-(((t - 500) / 120) ** 2))
    >>> scales = np.geomspace(2, 128, 80)
    >>> coefs, frequencies = cwt(pulse, scales, "morl")
    >>> bool(np.abs(icwt(coefs, scales, "morl") - pulse).max() < 0.002)
    True
    """
    from subband.transforms import convolution, dilation

    bands = _take_array(coefs, "coefs", "icwt")
    if bands.ndim < 2 or bands.size == 0:
        raise ShapeError(f"coefs has shape {bands.shape}; give what cwt returned, one array for each scale")
    steps = _read_scales(scales)
    if steps.size != len(bands):
        raise ShapeError(f"coefs has {len(bands)} arrays for {steps.size} scales; give those that cwt was called with")
    axis = normalise_axis(0 if bands.ndim == 2 and isinstance(axis, int) else axis, bands.ndim - 1)
    shape = dilation.find_shape(wavelet, precision)
    is_analytic = shape.integral.dtype.kind == "c"
    if is_analytic and bands.dtype.kind != "c":
        raise ArgumentError(f"coefs are real, and those of wavelet={wavelet!r} complex; give all that cwt returned")
    weights = _weigh_scales(shape, steps) * (2 / dilation.find_admissibility(shape, wavelet))
    working = np.result_type(bands.dtype, np.float64)
    bank = _find_bank(shape, steps, bands.shape[axis + 1], bands.real.dtype, working)

    rows = np.moveaxis(bands, axis + 1, -1)
    if is_functional(rows):
        signals = convolution.correlate_functionally(bank.kernels, rows, weights)
    else:
        signals = bank.correlate(rows.reshape(steps.size, -1, rows.shape[-1]), weights)
    dtype = bands.real.dtype if is_analytic else bands.dtype
    found = _undo_averages(signals.real if dtype.kind != "c" else signals)
    signal = np.moveaxis(found.reshape(rows.shape[1:]), -1, axis)
    contiguous: Array = namespace(signal, "icwt").ascontiguousarray(signal, dtype)
    return contiguous


def _weigh_scales(shape: Shape, steps: Array) -> Array:
    """Return what each scale counts in the integral over ds / s², by the trapezoidal rule over log s."""
    weights = np.zeros(steps.size)
    # coefficients of higher frequencies than the signal can have are those of others
    kept = np.flatnonzero(shape.frequency / steps <= 0.5)
    order = kept[np.argsort(steps[kept])]
    if order.size < 2 or steps[order[0]] == steps[order[-1]]:
        raise ArgumentError(
            f"scales has fewer than two different ones whose frequency is at most half the sampling rate; "
            f"add scales from {2 * shape.frequency:.3g} on"
        )
    gaps = np.diff(np.log(steps[order].astype(np.float64)))
    weights[order[:-1]] = gaps / 2
    weights[order[1:]] += gaps / 2
    return weights / steps


def _undo_averages(signals: Array) -> Array:
    """Make up for the filters of `cwt`, which average the wavelet from sample to sample, once there and once back."""
    size = 2 * signals.shape[-1]
    is_real = signals.dtype.kind != "c"
    forward, inverse = (np.fft.rfft, np.fft.irfft) if is_real else (np.fft.fft, np.fft.ifft)
    frequencies = np.fft.rfftfreq(size) if is_real else np.fft.fftfreq(size)
    sharpened: Array = inverse(forward(signals, size) / np.sinc(frequencies) ** 2, size)
    return sharpened[..., : signals.shape[-1]]


def _take_array(value: Any, name: str, function: str) -> Array:
    """Return an array of numbers that is on the host."""
    x = as_computable(value, name)
    if is_on_device(x) and not is_functional(x):
        raise ArgumentTypeError(
            f"{name} is on {device_of(value)}, and {function} computes on the host; give a copy there"
        )
    return x


def _read_scales(scales: Any) -> Array:
    steps = np.atleast_1d(scales)
    if steps.ndim > 1:
        raise ShapeError(f"scales has {steps.ndim} dimensions; give a number or a flat sequence of numbers")
    try:
        if steps.dtype.kind not in "biufO":
            raise TypeError
        is_positive = bool(np.all(steps > 0))
    except TypeError:
        raise ArgumentTypeError(
            f"scales={scales!r} are not numbers; give one such as 8, or a sequence of them"
        ) from None
    if not is_positive:
        raise ArgumentError(f"scales={scales} must all be positive")
    return steps


def _find_bank(shape: Shape, steps: Array, length: int, dtype: np.dtype[Any], working: np.dtype[Any]) -> Bank:
    """Return the filters of all scales for signals of a length and a dtype, cached."""

    def make() -> Bank:
        from subband.transforms.convolution import Bank
        from subband.transforms.dilation import sample_kernel

        return Bank([sample_kernel(shape, scale, dtype, length) for scale in steps], length, working)

    if steps.dtype.kind == "O":
        return make()
    return _banks.find((shape.key, steps.dtype.str, steps.tobytes(), length, dtype, working), make)


def _is_even(signals: Array) -> bool:
    """Tell whether all signals are finite, and all stretches of each about as large as each other."""
    sizes = np.abs(signals)
    # written so that NaN is refused, too; sums of larger numbers might not be finite
    if not sizes.max() <= _LARGEST[sizes.dtype.char]:
        return False
    starts = range(0, sizes.shape[1] - _STRETCH + 1, _STRETCH)
    if len(starts) < 2:
        return True
    stretches = np.maximum.reduceat(sizes, starts, axis=1)
    largest = stretches.max(axis=1, keepdims=True)
    return bool(np.all((stretches * _RANGE >= largest) | (stretches == 0)))
