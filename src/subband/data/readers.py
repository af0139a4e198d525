"""The recordings, images and video that come with subband; ``NOTICE.md`` beside them says where each is from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["aero", "ascent", "camera", "clip_path", "ecg", "nino", "photograph"]

_FOLDER = Path(__file__).parent


def _load_arrays(name: str, *keys: str) -> tuple[NDArray[np.generic], ...]:
    """Read arrays from one of the files of this folder."""
    with np.load(_FOLDER / name) as archive:
        return tuple(archive[key] for key in keys)


def aero() -> NDArray[np.uint8]:
    """Read an aerial photograph in grey.

    Returns
    -------
    ndarray of uint8, shape (512, 512)
        A new array at each call.

    Examples
    --------
    >>> from subband.data import aero
    >>> aero().shape
    (512, 512)
    """
    return _load_arrays("aero.npz", "image")[0].astype(np.uint8, copy=False)


def ascent() -> NDArray[np.uint8]:
    """Read a photograph of people who climb a stairway, in grey: fine regular texture and smooth parts.

    Returns
    -------
    ndarray of uint8, shape (512, 512)
        A new array at each call.

    Examples
    --------
    >>> from subband.data import ascent
    >>> int(ascent().max())
    255
    """
    return _load_arrays("ascent.npz", "image")[0].astype(np.uint8, copy=False)


def camera() -> NDArray[np.uint8]:
    """Read a photograph of a man with a camera, in grey: strong edges before a soft background.

    Returns
    -------
    ndarray of uint8, shape (512, 512)
        A new array at each call.

    Examples
    --------
    >>> from subband.data import camera
    >>> camera()[:2, :2].tolist()
    [[200, 200], [200, 199]]
    """
    return _load_arrays("camera.npz", "image")[0].astype(np.uint8, copy=False)


def clip_path() -> Path:
    """Return the path of a short video: 60 frames of Big Buck Bunny, 640 × 360, with sound.

    Returns
    -------
    Path
        An MP4 file, to be read with `subband.media.open_source`; © Blender Foundation, CC BY 3.0.

    Examples
    --------
    >>> from subband.data import clip_path
    >>> clip_path().name
    'bunny.mp4'
    """
    return _FOLDER / "bunny.mp4"


def ecg() -> NDArray[np.int32]:
    """Read an electrocardiogram of a few heart beats.

    Returns
    -------
    ndarray of int32, shape (1024,)
        A new array at each call.

    Examples
    --------
    >>> from subband.data import ecg
    >>> ecg()[:3].tolist()
    [-86, -87, -87]
    """
    return _load_arrays("ecg.npz", "signal")[0].astype(np.int32)


def nino() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read the surface temperature of the equatorial Pacific, region Niño 3, one mean for each quarter.

    Returns
    -------
    time : ndarray of float64, shape (264,)
        The year with its fraction, from 1950.0 to 2015.75.
    sst : ndarray of float64, shape (264,)
        The temperature, shifted and scaled to zero mean and unit standard deviation.

    Examples
    --------
    >>> from subband.data import nino
    >>> time, sst = nino()
    >>> float(time[0]), float(time[-1]), sst.shape
    (1950.0, 2015.75, (264,))
    """
    time, temperature = _load_arrays("nino.npz", "time", "temperature")
    return time.astype(np.float64, copy=False), temperature.astype(np.float64, copy=False)


def photograph() -> NDArray[np.uint8]:
    """Read a colour photograph: a portrait of the astronaut Eileen Collins.

    Returns
    -------
    ndarray of uint8, shape (512, 512, 3)
        Red, green and blue; a new array at each call.

    Examples
    --------
    >>> from subband.data import photograph
    >>> photograph().shape
    (512, 512, 3)
    """
    from PIL import Image

    with Image.open(_FOLDER / "photograph.jpg") as image:
        return np.array(image.convert("RGB"))
