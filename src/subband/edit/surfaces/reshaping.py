"""Surfaces reshaped in the wavelet domain: the arrays of x, y and z transformed, and each band scaled by a gain.

Fine bands hold wrinkles and noses, coarse ones the shape of a face, so a whole scale changes at once, and nobody has to
move a control point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from subband.boundary import is_expansive
from subband.edit.surfaces.gains import BANDS, BandGains, read_gain, read_gains
from subband.edit.surfaces.grids import Mesh, Surface, check_surface, make_mesh
from subband.edit.surfaces.nurbs import evaluate
from subband.engines import Engine
from subband.errors import ArgumentError
from subband.pyramid import Pyramid
from subband.transforms import decompose, reconstruct
from subband.transforms.arguments import useful_levels
from subband.typing import Array
from subband.wavelets import WaveletLike, as_wavelet

__all__ = ["Reshaper", "reshape"]

#: Levels that are made if nobody says how many.
_MOST_LEVELS = 5


class Reshaper:
    """A surface that is transformed already, so that new gains take a millisecond.

    Parameters
    ----------
    surface : Surface
        Of heights, only z is transformed.
    wavelet : str or Wavelet
        The default is the CDF 9/7 of JPEG 2000.
    level : int, optional
        Number of levels; up to 5 if left out, while there are 4 rows and columns left.
    mode : str, or one for rows' and one for columns' numbers, optional
        How the surface goes on outside its borders. If left out, closed directions go on with their other end
        (``'periodization'``) and open ones symmetrically, in the wavelet's own mode.
    engine : str, optional
        The engine that computes; see `subband.set_engine`.

    Attributes
    ----------
    surface : Surface
        As it was given.
    level : int
        Number of levels.
    pyramid : Pyramid
        The bands; its first axis is that of x, y and z.

    Raises
    ------
    LevelError
        If there are more levels than make sense.
    ModeError
        If a mode is unknown or the wavelet cannot take it.

    Examples
    --------
    A slider that makes the features of a head stronger:

    >>> from subband.edit import Reshaper
    >>> from subband.edit.surfaces import shapes
    >>> reshaper = Reshaper(shapes.head((64, 64)))
    >>> mesh = reshaper.make_mesh({2: 1.8, 3: (1.5, 1.0, 1.0)})
    >>> mesh.vertices.shape, mesh.vertices.dtype
    ((64, 64, 3), dtype('float32'))
    """

    def __init__(
        self,
        surface: Surface,
        wavelet: WaveletLike = "cdf97",
        level: int | None = None,
        mode: str | Sequence[str] | None = None,
        engine: str | Engine | None = None,
    ) -> None:
        check_surface(surface)
        chosen = as_wavelet(wavelet)
        modes = _choose_modes(mode, chosen.default_mode, surface)
        if level is None:
            level = _choose_level(surface.shape, chosen.dec_len, modes)
        self.surface = surface
        self._engine = engine
        chosen_axes = surface.points[..., 2:] if surface.is_heights else surface.points
        arrays = np.array(np.moveaxis(chosen_axes, -1, 0), order="C")
        # away from the middle, so that the gain of the approximation makes the surface larger and does not move it
        self._middle = arrays.mean(axis=(1, 2), dtype=np.float64).astype(arrays.dtype)
        arrays -= self._middle[:, None, None]
        self.pyramid: Pyramid = decompose(arrays, chosen, level, modes, (1, 2), engine)
        self.level = self.pyramid.level

    def reshape(self, gains: BandGains = 1.0, approximation: float = 1.0) -> Surface:
        """Return the surface with its bands scaled.

        Parameters
        ----------
        gains : float, mapping, sequence or matrix
            One number for all details; by level, as in ``{1: 1.5, 3: (0, 1, 1)}``; or levels × 3, the finest level
            first, for horizontal, vertical and diagonal details. Horizontal are those along rows' numbers.
        approximation : float
            Of the coarsest band, around the middle of the surface.

        Raises
        ------
        LevelError
            If a level is named that is not there.
        ArgumentError
            If a gain is beyond 1000.

        Examples
        --------
        >>> import numpy as np
        >>> from subband.edit import Reshaper
        >>> from subband.edit.surfaces import shapes
        >>> head = shapes.head((32, 32))
        >>> np.abs(Reshaper(head).reshape(1.0).points - head.points).max() < 1e-12
        np.True_
        """
        return self.surface.replace_points(self._move_points(gains, approximation))

    def make_mesh(
        self, gains: BandGains = 1.0, approximation: float = 1.0, points: tuple[int, int] | None = None
    ) -> Mesh:
        """Return the mesh of the reshaped surface, for drawing.

        Parameters
        ----------
        gains, approximation
            As `reshape` takes them.
        points : pair of int, optional
            Rows and columns of points of a NURBS surface; as many as control points if left out.
        """
        surface = self.surface.replace_points(self._move_points(gains, approximation).astype(np.float32))
        return make_mesh(evaluate(surface, points), surface.closed, surface.poles)

    def _move_points(self, gains: BandGains, approximation: float) -> Array:
        matrix, approximation = read_gains(gains, self.level), read_gain(approximation, "approximation")

        def scale(band: Any, level: int, key: str) -> Any:
            gain = matrix[level - 1, BANDS.index(key)] if "d" in key else approximation
            return band if gain == 1 else band * band.dtype.type(gain)

        surface = self.surface
        values = np.asarray(reconstruct(self.pyramid.map(scale), engine=self._engine))
        points = np.empty(surface.points.shape, surface.points.dtype)
        first = 2 if surface.is_heights else 0
        points[..., :first] = surface.points[..., :first]
        for axis, value in enumerate(values):
            np.add(value, self._middle[axis], out=points[..., first + axis], casting="same_kind")
        for row, is_pole in zip((0, -1), surface.poles, strict=True):
            if is_pole:
                points[row] = points[row].mean(axis=0)
        return points


def reshape(
    surface: Surface,
    gains: BandGains = 1.0,
    *,
    approximation: float = 1.0,
    wavelet: WaveletLike = "cdf97",
    level: int | None = None,
    mode: str | Sequence[str] | None = None,
    engine: str | Engine | None = None,
) -> Surface:
    """Scale the bands of a surface; see `Reshaper` for what the arguments mean.

    Examples
    --------
    >>> from subband.edit import reshape
    >>> from subband.edit.surfaces import shapes
    >>> smooth = reshape(shapes.terrain((64, 64)), {1: 0, 2: 0.5})
    >>> smooth.shape
    (64, 64)
    """
    return Reshaper(surface, wavelet, level, mode, engine).reshape(gains, approximation)


def _choose_modes(mode: str | Sequence[str] | None, own: str, surface: Surface) -> tuple[str, str]:
    """Return how rows' and columns' numbers go on outside."""
    if mode is None:
        first, second = ("periodization" if closed else own for closed in surface.closed)
        return first, second
    given = tuple(mode) if isinstance(mode, Sequence) and not isinstance(mode, str) else (mode, mode)
    if len(given) != 2:
        raise ArgumentError(f"mode={mode!r} names {len(given)} modes; give one, or one for rows and one for columns")
    return given[0], given[1]


def _choose_level(shape: tuple[int, int], taps: int, modes: tuple[str, str]) -> int:
    level = max(1, min(_MOST_LEVELS, (min(shape) // 4).bit_length() - 1))
    if any(is_expansive(name) for name in modes):
        level = min(level, max(1, min(useful_levels(count, taps) for count in shape)))
    return level
