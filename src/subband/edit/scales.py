"""Transforms of the editing tools: planes of an image, forward and inverse, along rows and columns."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from subband.arrays import allocate_zeros
from subband.engines import Engine
from subband.errors import ArgumentError
from subband.plan import TransformPlan, transform_plan
from subband.transforms.decomposition import choose_level, choose_modes
from subband.typing import Bands
from subband.wavelets import as_wavelet

__all__ = ["ORIENTATIONS", "invert_details", "plan_scales", "read_orientations"]

#: The details of a level by their letters: high along the rows' axis, along the columns' axis, along both.
ORIENTATIONS = {"h": "da", "v": "ad", "d": "dd"}

_AXES = (1, 2)


@lru_cache(maxsize=256)
def plan_scales(
    shape: tuple[int, ...], wavelet: Any, level: int | None, boundary: str | None, most: int | None = None
) -> TransformPlan:
    """Return the plan of planes of one shape.

    Parameters
    ----------
    shape : tuple of int
        Planes × rows × columns.
    wavelet : str or Wavelet
        For both axes.
    level : int, optional
        Number of levels; as many as are useful if left out, but no more than `most`.
    boundary : str, optional
        How the image goes on outside; the wavelet's own choice if left out.
    most : int, optional
        See `level`.

    Raises
    ------
    LevelError
        If there are more levels than make sense.
    """
    wavelets = (as_wavelet(wavelet),) * 2
    modes = choose_modes(boundary, wavelets, _AXES)
    number = choose_level(level, shape, _AXES, wavelets, modes, False)
    if level is None:
        number = max(number, 1) if most is None else min(max(number, 1), most)
        if max(shape[1:]) == 1:
            number = 0
    return transform_plan(shape, _AXES, wavelets, modes, number)


def invert_details(engine: Engine, plan: TransformPlan, details: list[Bands], like: Any) -> Any:
    """Return planes from details alone, coarse to fine; the approximation, and bands left out, count as zeros.

    Parameters
    ----------
    engine : Engine
        The engine that computes.
    plan : TransformPlan
        Of the planes.
    details : list of dict
        Of each level.
    like : array
        Of the library, the device and the dtype of the planes.
    """
    shape = plan.levels[-1].band_shapes["aa"]
    return engine.inverse_all(plan, allocate_zeros(shape, like), details)


def read_orientations(text: Any) -> tuple[str, ...]:
    """Return the keys of bands for letters.

    Examples
    --------
    >>> read_orientations("hv")
    ('da', 'ad')
    """
    if not isinstance(text, str) or not text or set(text) - set(ORIENTATIONS):
        raise ArgumentError(
            f"orientations={text!r} are not known; use letters of 'hvd': horizontal, vertical and diagonal details"
        )
    return tuple(ORIENTATIONS[letter] for letter in dict.fromkeys(text))
