"""Edges of images and volumes at several scales: where the modulus of the wavelet transform is largest.

The undecimated bands of a wavelet that is the derivative of a smooth bump are the gradient of the image, smoothed
more at each level. At an edge its modulus is largest across the edge. Edges show at several scales at the same position
and with the same height, and noise does neither, so maxima are joined to chains across scales, and a chain counts if
it stands out from the noise somewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log, sqrt
from typing import Any

import numpy as np

from subband.arrays import is_foreign
from subband.edit.edge_chains import chain_scales, keep_connected
from subband.edit.edge_scales import check_wavelet, measure_scales
from subband.edit.settings import check_colour, check_number, check_white, make_settings
from subband.engines import Engine
from subband.enhance.colour import TO_YCBCR
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError, LevelError, ShapeError
from subband.settings import check_settings, setting
from subband.typing import Array
from subband.wavelets import WaveletLike, as_wavelet

__all__ = ["EdgeFinder", "Edges", "find_edges"]

_BRIGHTNESS = TO_YCBCR[0].astype(np.float32)

#: Scales that even the smallest image, and the smallest volume, may have.
_LEAST_LEVELS = {2: 6, 3: 3}

#: Magnitudes, and differences between them, whose squares single precision can hold.
_LARGEST, _SMALLEST = 1e18, 1e-18


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges, and what is known about them.

    An edge is between two samples; the mask has the first of them. All arrays have the shape of the image or
    volume, less the channels.

    Attributes
    ----------
    mask : ndarray of bool
        Where edges are.
    modulus : ndarray of float32
        How steep it is there and everywhere, at the finest scale looked at: the height of a straight step that would
        look so.
    gradient : ndarray of float32
        Which way it goes up, one array for each dimension.
    scales : ndarray of uint8
        Through how many scales the chain of a maximum goes; 0 where there is none.
    noise : float
        Standard deviation of the noise, given or measured.
    deviations : tuple of float
        Standard deviation that the noise has in each part of the gradient, for each scale, the finest first.
    """

    mask: Array
    modulus: Array
    gradient: Array
    scales: Array
    noise: float
    deviations: tuple[float, ...]

    @property
    def angle(self) -> Array:
        """Direction of the gradient of an image, in radians: 0 to the right, π / 2 down.

        Raises
        ------
        ShapeError
            If it is a volume, whose `gradient` has three parts.
        """
        if len(self.gradient) != 2:
            raise ShapeError(f"the gradient of a volume has {len(self.gradient)} parts and no angle; use `gradient`")
        return np.asarray(np.arctan2(self.gradient[0], self.gradient[1]))

    def overlay(
        self, picture: Any, colour: Sequence[float] = (255, 40, 0), opacity: float = 1.0, fade: float = 0.0
    ) -> Array:
        """Return a colour image with the edges drawn over it.

        Parameters
        ----------
        picture : ndarray
            Rows × columns, or × 1, 3 or 4 channels, of the shape that the edges were found in.
        colour : three numbers
            Red, green and blue of edges, out of 255 whatever the depth.
        opacity : float
            Of the edges, from 0 to 1.
        fade : float
            How much of the image itself is taken away towards white, from 0 to 1.

        Raises
        ------
        ShapeError
            If the image has another shape.
        DtypeError
            If it holds integers of 64 bits.
        ArgumentError
            If a colour or a share is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from subband.edit import find_edges
        >>> image = np.zeros((8, 8), np.uint16)
        >>> image[:, 4:] = 50000
        >>> find_edges(image, level=1).overlay(image)[2, 3]
        array([65535, 10280,     0], dtype=uint16)
        """
        pixels = np.asarray(picture)
        if self.mask.ndim != 2 or pixels.shape[:2] != self.mask.shape or not _is_image(pixels.shape):
            raise ShapeError(
                f"picture has the shape {pixels.shape}, and the edges {self.mask.shape}; draw edges over the image "
                "that they were found in, and slices of a volume one by one"
            )
        if pixels.dtype.kind in "iu" and pixels.dtype.itemsize > 4:
            raise DtypeError(f"picture holds {pixels.dtype}, which does not say what white is; give uint8 or uint16")
        if pixels.ndim == 2 or pixels.shape[2] == 1:
            pixels = np.repeat(pixels.reshape(*pixels.shape[:2], 1), 3, axis=2)
        if pixels.shape[2] == 4:
            coloured = self.overlay(pixels[..., :3], colour, opacity, fade)
            return np.concatenate([coloured, pixels[..., 3:]], axis=2)
        for name, share in (("opacity", opacity), ("fade", fade)):
            check_number(name, share, 0, 1, "use a number from 0 to 1")
        white = _find_white(pixels.dtype)
        # single precision has not all integers of 32 bits, white among them
        is_short = pixels.dtype.itemsize <= 2 or pixels.dtype == np.float32
        precision: np.dtype[Any] = np.dtype(np.float32 if is_short else np.float64)
        ink = (np.asarray(check_colour("colour", colour)) * (white / 255)).astype(precision)
        is_whole = pixels.dtype.kind != "f"
        if fade:
            faded = pixels.astype(precision) * (1 - fade) + fade * white
            pixels = (np.rint(faded) if is_whole else faded).astype(pixels.dtype)
        result = pixels.copy()
        marked = np.nonzero(self.mask)
        mixed = opacity * ink + (1 - opacity) * pixels[marked].astype(precision)
        result[marked] = np.rint(mixed) if is_whole else mixed
        return result


@dataclass(frozen=True)
class EdgeFinder:
    """Settings that edges are found by.

    Parameters
    ----------
    wavelet : str or Wavelet
        One whose filters are symmetric and of even length and whose high-pass filter is a first derivative:
        ``'rbio3.1'``, which smoothes by quadratic splines, ``'haar'`` and a few others.
    level : int
        The number of scales, each twice as coarse as the one before.
    finest : int, optional
        The scale at which edges are drawn: 1 is sharpest, 2 steadier where there is much noise. If left out, the finest
        at which the noise leaves half of the edges well visible.
    threshold : float
        What an edge must stand out by at one of its scales, in standard deviations of the noise there; in volumes, by
        a little more, which noise reaches as seldom.
    weak : float
        Edges go on, from positions that reach the threshold, through touching ones that reach this part of it.
    contrast : float
        The least height of an edge, in the units of the image, whatever the noise.
    sigma : float, optional
        Standard deviation of the noise, in the units of the image; measured if left out.
    persistence : int, optional
        Through how many scales an edge must be seen; through all of them if left out.
    shortest : int
        Groups of fewer touching pixels are left out.
    channels : {"brightness", "strongest"}
        Whether colour images are looked at by their brightness, or each pixel by its steepest channel.
    colour, opacity, fade
        How `apply` draws; see `Edges.overlay`.
    white : float, optional
        What `contrast` and `sigma` count white as: with 255 they mean the same for images of 8 and 16 bits and of
        floating point. If left out they are in the units of the image.

    Raises
    ------
    ArgumentError, LevelError
        If a setting cannot be used.

    Examples
    --------
    >>> from subband import data
    >>> from subband.edit import EdgeFinder
    >>> EdgeFinder(threshold=6.0).apply(data.camera()[:64, :64]).shape
    (64, 64, 3)
    """

    wavelet: WaveletLike = setting(
        "rbio3.1", "One that is a first derivative.", choices=lambda: {"rbio3.1": "rbio3.1", "haar": "haar"}
    )
    level: int = setting(3, "Number of scales.", label="Scales", least=1, slider=(1, 6, 1))
    finest: int | None = setting(
        None,
        "The scale that edges are drawn at; by the noise if left out.",
        label="Finest scale",
        least=1,
        slider=(1, 6, 1),
    )
    threshold: float = setting(5.0, "Standard deviations of the noise to stand out by.", least=0, slider=(1, 30, 0.5))
    weak: float = setting(0.8, "Edges go on through pixels that reach this part of the threshold.", least=0, most=1)
    contrast: float = setting(
        0.0,
        "The least height of an edge, where white is 255; in a volume's units.",
        label="Least contrast",
        unit="of 255",
        least=0,
        slider=(0, 128, 1),
    )
    sigma: float | None = setting(
        None,
        "Standard deviation of the noise, where white is 255; in a volume's units. Measured if left out.",
        label="Noise",
        unit="of 255",
        least=0,
        slider=(0, 100, 0.5),
    )
    persistence: int | None = setting(None, "Through how many scales an edge must be seen; all by default.", least=1)
    shortest: int = setting(4, "Groups of fewer touching pixels are left out.", unit="pixels", least=1)
    channels: str = setting(
        "brightness",
        "Whether colours are looked at by their brightness, or each pixel by its steepest channel.",
        label="Look at",
        choices={"brightness": "The brightness", "strongest": "The steepest channel"},
    )
    colour: tuple[float, float, float] = (255.0, 40.0, 0.0)
    opacity: float = setting(1.0, "Of the edges, from 0 to 1.", least=0, most=1)
    fade: float = setting(
        0.0,
        "How much of the image is taken away towards white.",
        label="Fade the image",
        least=0,
        most=1,
        slider=(0, 1, 0.05),
    )
    white: float | None = None

    def __post_init__(self) -> None:
        check_wavelet(as_wavelet(self.wavelet))
        for name in ("level", "finest", "shortest", "persistence"):
            if getattr(self, name) is not None or name in ("level", "shortest"):
                _check_count(name, getattr(self, name))
        if (self.finest or 1) > self.level:
            raise LevelError(f"finest={self.finest} is beyond level={self.level}; use 1 to {self.level}")
        scales = self.level - (self.finest or 1) + 1
        if (self.persistence or 1) > scales:
            raise LevelError(f"persistence={self.persistence} is more than the {scales} scales; use 1 to {scales}")
        check_settings(self)
        check_white(self.white)
        object.__setattr__(self, "colour", check_colour("colour", self.colour))

    def find(self, x: Any, *, volume: bool | None = None, engine: str | Engine | None = None) -> Edges:
        """Find the edges of an image or a volume.

        Parameters
        ----------
        x : array_like
            Rows × columns, rows × columns × 1, 3 or 4 channels, of which the fourth is not looked at, or slices ×
            rows × columns; of any real numbers that are finite.
        volume : bool, optional
            Whether three axes are those of a volume. If left out they are, unless the last has length 1, 3 or 4.
        engine : str, optional
            Who transforms; see `subband.set_engine`.

        Raises
        ------
        ShapeError
            If `x` is neither an image nor a volume.
        LevelError
            If the coarsest scale is larger than a quarter of it, and beyond 6 in an image or 3 in a volume.
        ArgumentError
            If `x` holds NaN, infinities, or numbers too large or too small for single precision.

        Notes
        -----
        Besides the mask, four arrays of the size of the image are kept for each scale, in single precision.

        Examples
        --------
        A step of height 80 under noise:

        >>> import numpy as np
        >>> from subband.edit import EdgeFinder
        >>> image = np.random.default_rng(0).normal(0, 10, (64, 64))
        >>> image[:, 30:] += 80
        >>> edges = EdgeFinder(sigma=10).find(image)
        >>> np.unique(np.nonzero(edges.mask)[1])
        array([29])
        """
        values, count = _read_values(x, volume, self.channels)
        shape = values[0].shape
        # margins and searches grow with the scale, and would take all memory
        most = max(_LEAST_LEVELS[count], max(shape).bit_length() - 3)
        if self.level > most:
            raise LevelError(f"level={self.level} is too coarse for {' × '.join(map(str, shape))}; use 1 to {most}")
        wavelet = as_wavelet(self.wavelet)
        unit = 1.0 if self.white is None else _find_white(np.asarray(x).dtype) / self.white
        sigma = None if self.sigma is None else self.sigma * unit
        scales, noise = measure_scales(values, wavelet, self.level, self.finest or 1, sigma, engine)
        high = float(self.threshold)
        if count == 3:
            # three parts of noise are longer than two; this is as seldom reached by them
            high = sqrt(high * high + 2 * log(max(0.8 * high, 1.0)))
        # where there is no noise, a step of a millionth of the largest is still one of rounding
        least = max(self.contrast * unit, 1e-5 * float(scales[-1].modulus.max(initial=0)))
        lengths, evidence, finest = chain_scales(scales, self.weak * high, least, None if self.finest else high)
        scales = scales[scales.index(finest) :]
        is_long = lengths >= min(self.persistence or len(scales), len(scales))
        marks = np.zeros(lengths.shape, np.uint8)
        marks[is_long] = 1
        marks[is_long & (evidence >= high)] = 2
        keep_connected(marks, self.shortest)
        shape = shape[-count:]
        return Edges(
            marks.view(bool).reshape(shape),
            finest.modulus.reshape(shape),
            finest.gradient.reshape(count, *shape),
            lengths.reshape(shape),
            noise,
            tuple(scale.deviation for scale in scales),
        )

    def apply(self, picture: Any, *, engine: str | Engine | None = None) -> Array:
        """Return a colour image of the same depth with its edges drawn over it.

        Parameters
        ----------
        picture : ndarray
            Rows × columns, or rows × columns × 1, 3 or 4 channels; a fourth one is kept.
        engine : str, optional
            Who transforms; see `subband.set_engine`.
        """
        return self.find(picture, volume=False, engine=engine).overlay(picture, self.colour, self.opacity, self.fade)


def find_edges(x: Any, *, volume: bool | None = None, engine: str | Engine | None = None, **settings: Any) -> Edges:
    """Find the edges of an image or a volume.

    Parameters
    ----------
    x : array_like
        Rows × columns, rows × columns × 1, 3 or 4 channels, or slices × rows × columns.
    volume : bool, optional
        Whether three axes are those of a volume. If left out they are, unless the last has length 1, 3 or 4.
    engine : str, optional
        Who transforms; see `subband.set_engine`.
    **settings
        Those of `EdgeFinder`.

    References
    ----------
    S. Mallat and S. Zhong, Characterization of signals from multiscale edges, IEEE Transactions on Pattern Analysis
    and Machine Intelligence 14, 1992, doi:10.1109/34.142909.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.edit import find_edges
    >>> square = np.zeros((32, 32))
    >>> square[8:24, 8:24] = 1
    >>> edges = find_edges(square, level=2)
    >>> int(edges.mask.sum()), float(edges.modulus[7, 16].round(3))
    (64, 1.0)
    """
    return make_settings(EdgeFinder, None, settings).find(x, volume=volume, engine=engine)


def _read_values(x: Any, volume: bool | None, channels: str) -> tuple[list[Array], int]:
    """Return the channels to look at, as float32, and the number of dimensions."""
    if is_foreign(x):
        raise ArgumentTypeError(
            f"x is a {type(x).__module__}.{type(x).__name__}, and edges are found in arrays of NumPy; convert it, "
            "as with x.cpu().numpy() or x.get()"
        )
    array = np.asarray(x)
    if array.dtype.kind not in "iufb":
        raise DtypeError(f"x holds {array.dtype}; edges are found in real numbers")
    has_channels = array.ndim == 3 and _is_image(array.shape)
    if volume is None:
        volume = array.ndim == 3 and not has_channels
    count = 3 if volume else 2
    if array.ndim != count and not (has_channels and not volume):
        wanted = "slices × rows × columns" if volume else "rows × columns, or rows × columns × 1, 3 or 4"
        raise ShapeError(f"x has the shape {array.shape}, and is to be {wanted}")
    if not volume and has_channels:
        array = array[..., 0] if array.shape[2] == 1 else array[..., :3]
    if 0 in array.shape:
        raise ShapeError(f"x of shape {array.shape} is empty; it needs at least 1 sample along each axis")
    if array.dtype.kind == "f":
        _check_range(array)
    if array.ndim == count:
        return [array.astype(np.float32, copy=False)], count
    if channels == "brightness":
        return [array.astype(np.float32, copy=False) @ _BRIGHTNESS], count
    return [np.ascontiguousarray(array[..., channel], np.float32) for channel in range(3)], count


def _check_range(array: Array) -> None:
    """Refuse what is not finite, or what single precision cannot square."""
    low, high = float(array.min()), float(array.max())
    if not (isfinite(low) and isfinite(high)):
        bad = np.argwhere(~np.isfinite(array))
        raise ArgumentError(
            f"x holds {len(bad)} values that are not finite, the first at {tuple(bad[0].tolist())}; "
            "replace them, for instance with np.nan_to_num"
        )
    if max(-low, high) > _LARGEST or 0 < high - low < _SMALLEST:
        raise ArgumentError(f"x goes from {low:g} to {high:g}; scale it, so that it lies between 0 and 1 or 0 and 255")


def _is_image(shape: tuple[int, ...]) -> bool:
    return len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3, 4))


def _find_white(dtype: np.dtype[Any]) -> float:
    return float(np.iinfo(dtype).max) if dtype.kind in "iu" else 1.0


def _check_count(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        error = LevelError if name in ("level", "finest") else ArgumentError
        raise error(f"{name}={value!r} is not a count; use 1 or more")
