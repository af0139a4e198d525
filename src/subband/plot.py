"""Plots of pyramids, wavelets and signals, with matplotlib.

Each function draws over axes of matplotlib, those of a new figure if none are given, and returns them:
``plot.mosaic(pyramid).figure.savefig("bands.png")``. They need the extra ``plot``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subband.arrays import to_host
from subband.errors import ArgumentTypeError, MissingExtraError, ShapeError
from subband.pyramid import Pyramid
from subband.transforms import cwt
from subband.typing import Array
from subband.wavelets import ContinuousWavelet, Wavelet, WaveletLike, as_wavelet, wavelist

__all__ = ["energies", "mosaic", "scalogram", "wavelet"]


def mosaic(pyramid: Pyramid, ax: Any = None, *, gain: float = 2.0) -> Any:
    """Draw the bands of a pyramid: those of an image side by side, those of a signal one below the other.

    Parameters
    ----------
    pyramid : Pyramid
        Of an image, or of a signal along its only axis.
    ax : matplotlib Axes, optional
        Where; those of a new figure if left out.
    gain : float
        How much details of an image are amplified.

    Returns
    -------
    matplotlib Axes
        Which were drawn over.

    Raises
    ------
    ShapeError
        If the array that was transformed has more than two axes.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import subband
    >>> pyramid = subband.decompose(subband.data.camera(), level=2)
    >>> subband.plot.mosaic(pyramid).get_title()
    "2 levels of 'cdf97'"
    """
    _check_pyramid(pyramid)
    axes = _take_axes(ax)
    names = ", ".join(dict.fromkeys(repr(each.name) for each in pyramid.plan.wavelets))
    axes.set_title(f"{pyramid.level} level{'' if pyramid.level == 1 else 's'} of {names}")
    if len(pyramid.shape) == 2 == len(pyramid.axes):
        axes.imshow(pyramid.picture(gain), cmap="gray", vmin=0, vmax=255)
        axes.set_axis_off()
    elif len(pyramid.shape) == 1:
        _draw_signals(pyramid, axes)
    else:
        raise ShapeError(f"pyramid of an array of shape {pyramid.shape} cannot be drawn; take a plane or a line of it")
    return axes


def energies(pyramid: Pyramid, ax: Any = None) -> Any:
    """Draw how the energy of the details is spread over levels and bands, as bars on a logarithmic scale.

    Parameters
    ----------
    pyramid : Pyramid
        Of any number of axes.
    ax : matplotlib Axes, optional
        Where; those of a new figure if left out.

    Returns
    -------
    matplotlib Axes
        Which were drawn over.

    Examples
    --------
    >>> import subband
    >>> pyramid = subband.decompose(subband.data.camera(), level=2)
    >>> len(subband.plot.energies(pyramid).patches)
    6
    """
    _check_pyramid(pyramid)
    axes = _take_axes(ax)
    details = [(level, key, to_host(band)) for level, key, band in pyramid.bands() if "d" in key]
    keys = list(dict.fromkeys(key for _, key, _ in details))
    width = 0.8 / max(len(keys), 1)
    for number, key in enumerate(keys):
        chosen = [(level, float(np.sum(np.abs(band) ** 2))) for level, each, band in details if each == key]
        positions = [level - 0.4 + width * (number + 0.5) for level, _ in chosen]
        axes.bar(positions, [energy for _, energy in chosen], width, label=key)
    axes.set(xlabel="level, 1 being the finest", ylabel="energy", yscale="log", xticks=range(1, pyramid.level + 1))
    axes.legend()
    return axes


def wavelet(wavelet: WaveletLike | ContinuousWavelet, ax: Any = None, *, level: int = 8) -> Any:
    """Draw a wavelet, and its scaling function if it is discrete.

    Parameters
    ----------
    wavelet : str, Wavelet or ContinuousWavelet
        Of a biorthogonal wavelet, the functions of the synthesis are drawn, of which an array is put together.
    ax : matplotlib Axes, optional
        Where; those of a new figure if left out.
    level : int
        How finely, as of `Wavelet.wavefun`.

    Returns
    -------
    matplotlib Axes
        Which were drawn over.

    Examples
    --------
    >>> import subband
    >>> [line.get_label() for line in subband.plot.wavelet("db4").get_lines()]
    ['scaling function', 'wavelet']
    """
    axes = _take_axes(ax)
    if isinstance(wavelet, str) and wavelet in wavelist(kind="continuous"):
        wavelet = ContinuousWavelet(wavelet)
    if isinstance(wavelet, ContinuousWavelet):
        psi, x = wavelet.wavefun(level)
        curves = (
            [("wavelet", psi)] if psi.dtype.kind != "c" else [("real part", psi.real), ("imaginary part", psi.imag)]
        )
        name = wavelet.name
    else:
        bank: Wavelet = as_wavelet(wavelet)
        *functions, x = bank.wavefun(level)
        curves = [("scaling function", functions[-2]), ("wavelet", functions[-1])]
        name = bank.name
    for label, y in curves:
        axes.plot(x, y, label=label)
    axes.set_title(name)
    axes.legend()
    return axes


def scalogram(
    data: Any,
    scales: Any = None,
    wavelet: str | ContinuousWavelet = "cmor1.5-1.0",
    sampling_period: float = 1.0,
    ax: Any = None,
) -> Any:
    """Draw the magnitude of the continuous transform of a signal over time and frequency.

    Parameters
    ----------
    data : array_like of one dimension
        The signal.
    scales : array_like of positive numbers, optional
        As of `cwt`; those that grow by equal factors are drawn best. Left out, twelve an octave, from 2 to a quarter of
        the length.
    wavelet, sampling_period
        As of `cwt`.
    ax : matplotlib Axes, optional
        Where; those of a new figure if left out.

    Returns
    -------
    matplotlib Axes
        Which were drawn over.

    Raises
    ------
    ShapeError
        If `data` has another number of dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> import subband
    >>> chirp = np.sin(np.linspace(0, 20, 400) ** 2)
    >>> subband.plot.scalogram(chirp, np.geomspace(2, 64, 32)).get_ylabel()
    'frequency'
    >>> lowest, highest = subband.plot.scalogram(chirp, sampling_period=0.01).get_ylim()
    >>> bool(lowest < 1 < 50 < highest)
    True
    """
    signal = to_host(data)
    if signal.ndim != 1:
        raise ShapeError(f"data has shape {signal.shape}; a scalogram is of one dimension")
    if scales is None:
        scales = _spread_scales(signal.size)
    coefficients, frequencies = cwt(signal, scales, wavelet, sampling_period)
    axes = _take_axes(ax)
    times = np.arange(signal.size) * sampling_period
    axes.pcolormesh(times, frequencies, np.abs(coefficients), shading="nearest")
    axes.set(xlabel="time", ylabel="frequency", yscale="log")
    return axes


def _spread_scales(length: int) -> Array:
    """Return scales that grow by equal factors, from the finest that is of use to one that fits a signal."""
    coarsest = max(length / 4, 4.0)
    return np.geomspace(2.0, coarsest, 1 + round(12 * np.log2(coarsest / 2)))


def _draw_signals(pyramid: Pyramid, axes: Any) -> None:
    """Draw the bands of a signal, each stretched over its whole length and scaled to its own range."""
    bands = [(f"{key}{level}", to_host(band).real) for level, key, band in pyramid.bands()]
    for number, (_, band) in enumerate(bands):
        positions = (np.arange(band.size) + 0.5) * (pyramid.shape[0] / max(band.size, 1))
        middle = band.mean() if number == 0 else 0
        largest = np.abs(band - middle).max(initial=0) or 1
        axes.plot(positions, (band - middle) / largest * 0.45 - number, drawstyle="steps-mid")
    axes.set_yticks(-np.arange(len(bands)), [name for name, _ in bands])
    axes.set_xlabel("sample")


def _check_pyramid(pyramid: Any) -> None:
    if not isinstance(pyramid, Pyramid):
        raise ArgumentTypeError(
            f"pyramid is a {type(pyramid).__name__}; give what subband.decompose returns, or Pyramid.from_pywavelets"
        )


def _take_axes(ax: Any) -> Any:
    """Return the axes that are given, or those of a new figure."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise MissingExtraError("plotting", "plot") from None
    if ax is not None and not hasattr(ax, "plot"):
        raise ArgumentTypeError(f"ax={ax!r} are not axes of matplotlib; leave them out for a new figure")
    return plt.subplots(layout="constrained")[1] if ax is None else ax
