"""A simulated ultrasound scan: what is in the body is known, so what a filter makes of the scan can be measured.

The phantom is modelled after those that scanners are tested with: layers below the skin, cysts of several contrasts
and sizes, point targets and a curved boundary such as a diaphragm. Echoes of the many small scatterers of a
resolution cell add up with random phases, so each echo is multiplied by speckle, whose amplitude follows Rayleigh's
law. Scanners show the logarithm of the echoes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, pi, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from subband.errors import ArgumentError, ShapeError

__all__ = ["Phantom", "Region", "ultrasound"]

Image: TypeAlias = NDArray[np.float32]
Mask: TypeAlias = NDArray[np.bool_]

#: Echoes in decibels below the brightest, which is 0: tissue at the top, and how much it loses on the way down.
_TISSUE, _ATTENUATION = -26.0, -6.0
#: Top of each layer as a fraction of the depth, how far it undulates, and its echo against the tissue.
_LAYERS = ((0.0, 0.0, 9.0), (0.055, 0.006, -5.0), (0.12, 0.010, 0.0))
#: Depth, thickness and echo of the bright sheets between them.
_SHEETS = ((0.055, 0.006, 0.003, 14.0), (0.12, 0.010, 0.003, 10.0))
#: Row and column of the centre, radius, and echo against the tissue.
_CYSTS = (
    (0.26, 0.16, 0.075, -26.0),
    (0.26, 0.39, 0.075, -12.0),
    (0.26, 0.62, 0.075, -6.0),
    (0.26, 0.85, 0.075, -3.0),
    (0.50, 0.16, 0.075, 12.0),
    (0.50, 0.39, 0.075, 6.0),
    (0.50, 0.62, 0.075, 3.0),
    (0.445, 0.85, 0.035, -26.0),
    (0.555, 0.85, 0.035, 9.0),
    (0.68, 0.30, 0.025, -12.0),
    (0.68, 0.45, 0.025, 9.0),
    (0.68, 0.60, 0.015, -26.0),
    (0.68, 0.70, 0.015, 12.0),
)
#: Row and column of the wires, which are seen as points.
_POINTS = (*((0.38, 0.1 + 0.08 * number) for number in range(11)), (0.68, 0.14), (0.68, 0.17), (0.68, 0.185))
_POINT_WIDTH, _POINT_ECHO = 0.0025, 20.0
#: The boundary is an arc around a point below the image: row and column of the centre, radius, thickness, echo.
_ARC = (1.75, 0.45, 0.95, 0.006, 16.0)
_BELOW_ARC = -8.0
#: Cysts smaller than this tell nothing about contrast, and this much of the radius is left out at their edges.
_LEAST_RADIUS, _MARGIN = 0.03, 0.15


@dataclass(frozen=True, eq=False)
class Region:
    """A cyst, and the tissue around it that it is compared with.

    Attributes
    ----------
    contrast : float
        Echo of the cyst against that of the tissue, in decibels.
    inside, outside : ndarray of bool
        Masks of the cyst and of a ring around it; both keep away from its edge.
    """

    contrast: float
    inside: Mask
    outside: Mask

    def measure_contrast(self, picture: NDArray[np.generic]) -> float:
        """Return the contrast-to-noise ratio: the difference of the means over the root of the summed variances.

        Examples
        --------
        >>> region = Region(-6.0, np.array([True, True, False, False]), np.array([False, False, True, True]))
        >>> region.measure_contrast(np.array([0.0, 2.0, 4.0, 6.0])).__round__(3)
        2.828
        """
        inside, outside = (np.asarray(picture[mask], np.float64) for mask in (self.inside, self.outside))
        spread = sqrt(float(inside.var() + outside.var()))
        difference = abs(float(inside.mean() - outside.mean()))
        return difference / spread if spread else (float("inf") if difference else 0.0)


@dataclass(frozen=True, eq=False)
class Phantom:
    """What is in the body, and how a scanner shows it.

    Attributes
    ----------
    echoes : ndarray of float32
        Amplitude of the echoes without speckle; 1 is the brightest that a scan shows.
    regions : tuple of Region
        The cysts that are large enough to measure contrast in.
    """

    echoes: Image
    regions: tuple[Region, ...]

    def show(self, dynamic_range: float = 60.0) -> NDArray[np.uint8]:
        """Return the image of a scanner without speckle: what a perfect filter would make of `scan`.

        Parameters
        ----------
        dynamic_range : float
            Decibels between black and white.

        Examples
        --------
        >>> from subband.data import ultrasound
        >>> ultrasound((64, 64)).show().dtype
        dtype('uint8')
        """
        return _compress(self.echoes, dynamic_range)

    def scan(
        self, seed: int = 0, dynamic_range: float = 60.0, cell: tuple[float, float] = (0.0, 0.0)
    ) -> NDArray[np.uint8]:
        """Return the image of a scanner, speckled: the logarithm of `scan_echoes`, in 8 bits.

        Parameters
        ----------
        seed : int
            Another seed gives other speckle; the same one the same image.
        dynamic_range : float
            Decibels between black and white.
        cell : pair of float
            The resolution cell: standard deviation of the point spread function along rows and columns, in pixels.
            With 0 each pixel has speckle of its own.

        Notes
        -----
        In the logarithm the speckle is added, and as strong everywhere: π / √24 nepers, 5.57 decibels or 23.7 of 255
        steps at 60 decibels. It has a long tail towards black, and its mean is not 0: 1.46 decibels below.

        Examples
        --------
        >>> from subband.data import ultrasound
        >>> phantom = ultrasound((128, 128))
        >>> error = phantom.scan(dynamic_range=80) - phantom.show(dynamic_range=80).astype(float)
        >>> round(float(error.mean() * 80 / 255), 1), round(float(error.std() * 80 / 255), 1)
        (-1.5, 5.5)
        """
        return _compress(self.scan_echoes(seed, cell), dynamic_range)

    def scan_echoes(self, seed: int = 0, cell: tuple[float, float] = (0.0, 0.0)) -> Image:
        """Return the amplitude of the echoes with speckle of mean 1, before the logarithm.

        Examples
        --------
        >>> from subband.data import ultrasound
        >>> phantom = ultrasound((128, 128))
        >>> round(float((phantom.scan_echoes(seed=1) / phantom.echoes).mean()), 1)
        1.0
        """
        if not (len(cell) == 2 and all(isfinite(width) and width >= 0 for width in cell)):
            raise ArgumentError(f"cell={cell!r} is not a resolution cell; give two widths in pixels, 0 or more")
        parts = np.random.default_rng(seed).standard_normal((2, *self.echoes.shape))
        field = parts[0] + 1j * parts[1]
        if any(cell):
            field = _blur(field, cell)
        # the mean of Rayleigh's law is √(π / 2) times the standard deviation of either part
        speckle = np.abs(field) / sqrt(pi / 2)
        scanned: Image = (self.echoes * speckle).astype(np.float32)
        return scanned


def ultrasound(shape: tuple[int, int] = (512, 512)) -> Phantom:
    """Make the phantom of an ultrasound scan: layers, cysts, point targets and a curved boundary.

    Parameters
    ----------
    shape : pair of int
        Rows and columns, at least 32 of each. What is in the phantom keeps its position as a fraction of both.

    Returns
    -------
    Phantom
        With the images ``show()``, clean, and ``scan(seed)``, speckled.

    Raises
    ------
    ShapeError
        If the shape is not one of an image large enough to show anything.

    Examples
    --------
    >>> from subband.data import ultrasound
    >>> phantom = ultrasound()
    >>> phantom.scan().shape
    (512, 512)
    >>> [region.contrast for region in phantom.regions]
    [-26.0, -12.0, -6.0, -3.0, 12.0, 6.0, 3.0, -26.0, 9.0]
    """
    if len(shape) != 2 or min(shape) < 32:
        raise ShapeError(f"shape={shape!r} is not one of an image; give rows and columns, at least 32 of each")
    rows, columns = shape
    row, column = np.meshgrid((np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns, indexing="ij")
    size = min(shape)

    def measure(centre_row: float, centre_column: float) -> NDArray[np.float64]:
        """Give the distance to a point; circles stay round in images that are not square."""
        return np.hypot((row - centre_row) * rows, (column - centre_column) * columns) / size

    def paint(depth: NDArray[np.float64], echo: float | NDArray[np.float64]) -> None:
        """Mix in an echo where `depth`, the distance from an edge, is positive; edges are one pixel wide."""
        share = np.clip(depth * size + 0.5, 0, 1)
        decibels[:] = decibels * (1 - share) + echo * share

    tissue = _TISSUE + _ATTENUATION * row
    decibels = tissue.copy()
    _paint_layers(row, column, tissue, paint)
    centre_row, centre_column, radius, thickness, echo = _ARC
    depth = radius - measure(centre_row, centre_column)
    paint(depth, tissue + _BELOW_ARC)
    paint(thickness / 2 - np.abs(depth), tissue + echo)

    regions = []
    for centre_row, centre_column, radius, contrast in _CYSTS:
        distance = measure(centre_row, centre_column)
        paint(radius - distance, tissue + contrast)
        if radius >= _LEAST_RADIUS:
            ring = (distance > radius * (1 + _MARGIN)) & (distance < radius * 1.4)
            regions.append(Region(contrast, distance < radius * (1 - _MARGIN), ring))
    for centre in _POINTS:
        glow = np.exp(-0.5 * (measure(*centre) / _POINT_WIDTH) ** 2)
        decibels += _POINT_ECHO * glow
    return Phantom((10 ** (decibels / 20)).astype(np.float32), tuple(regions))


def _paint_layers(
    row: NDArray[np.float64],
    column: NDArray[np.float64],
    tissue: NDArray[np.float64],
    paint: Callable[[NDArray[np.float64], NDArray[np.float64]], None],
) -> None:
    """Paint the layers below the skin, which undulate along the columns, and then the sheets between them."""
    for top, swing, echo in _LAYERS:
        paint(row - top - swing * np.sin(2 * pi * 1.5 * column), tissue + echo)
    for top, swing, thickness, echo in _SHEETS:
        depth = row - top - swing * np.sin(2 * pi * 1.5 * column)
        paint(thickness / 2 - np.abs(depth), tissue + echo)


def _blur(field: NDArray[np.complex128], widths: tuple[float, float]) -> NDArray[np.complex128]:
    """Filter with a Gaussian that keeps the variance of white noise; the image is taken as periodic."""
    for axis, width in enumerate(widths):
        frequency = np.fft.fftfreq(field.shape[axis])
        response = np.exp(-2 * (pi * frequency * width) ** 2)
        response /= np.sqrt(np.mean(response**2))
        spectrum = np.fft.fft(field, axis=axis) * np.expand_dims(response, 1 - axis)
        field = np.fft.ifft(spectrum, axis=axis)
    return field


def _compress(echoes: Image, dynamic_range: float) -> NDArray[np.uint8]:
    """Show amplitudes as a scanner does: white is 1, black is `dynamic_range` decibels below."""
    if not (isfinite(dynamic_range) and dynamic_range > 0):
        raise ArgumentError(f"dynamic_range={dynamic_range!r} is not a number of decibels; use more than 0, such as 60")
    decibels = 20 * np.log10(np.maximum(echoes, 1e-30))
    return np.rint(np.clip(1 + decibels / dynamic_range, 0, 1) * 255).astype(np.uint8)
