"""PSNR, SSIM and seconds of a denoised volume: the default and the best method, beside those of other libraries.

The volume is the head phantom of computed tomography, ten ellipsoids of constant density, under white noise of a known
strength, from fixed seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from subband.bench.libraries import load_library
from subband.bench.photographs import PEER, Contender, Result, bind, compare, judge_non_local, measure_all
from subband.bench.tables import Report
from subband.enhance import Denoise
from subband.typing import Array

__all__ = ["BM4D", "SIGMAS", "SIZE", "list_peers", "make_head", "measure_volume", "report"]

#: Standard deviations of the noise, of 255: a twentieth, a tenth and a fifth of white.
SIGMAS = (12.75, 25.5, 51.0)

#: Samples along each axis.
SIZE = 48

BM4D, OURS = "BM4D", "best"

#: Decibels that ours may be behind BM4D, and how many times as fast it has to be.
BEHIND, FASTER = 0.5, 50

#: Centre and half axes along columns, rows and slices, degrees about the slices' axis, and density.
_ELLIPSOIDS = (
    (0.0, 0.0, 0.0, 0.69, 0.92, 0.81, 0.0, 1.0),
    (0.0, -0.0184, 0.0, 0.6624, 0.874, 0.78, 0.0, -0.8),
    (0.22, 0.0, 0.0, 0.11, 0.31, 0.22, -18.0, -0.2),
    (-0.22, 0.0, 0.0, 0.16, 0.41, 0.28, 18.0, -0.2),
    (0.0, 0.35, -0.15, 0.21, 0.25, 0.41, 0.0, 0.1),
    (0.0, 0.1, 0.25, 0.046, 0.046, 0.05, 0.0, 0.1),
    (0.0, -0.1, 0.25, 0.046, 0.046, 0.05, 0.0, 0.1),
    (-0.08, -0.605, 0.0, 0.046, 0.023, 0.05, 0.0, 0.1),
    (0.0, -0.606, 0.0, 0.023, 0.023, 0.02, 0.0, 0.1),
    (0.06, -0.605, 0.0, 0.023, 0.046, 0.02, 0.0, 0.1),
)


def make_head(size: int = SIZE) -> Array:
    """Make the head phantom of Shepp and Logan in three dimensions, between 0 and 255.

    References
    ----------
    A. C. Kak and M. Slaney, Principles of Computerized Tomographic Imaging, IEEE Press, 1988, chapter 3; with the
    densities of P. A. Toft, The Radon Transform, Technical University of Denmark, 1996.

    Examples
    --------
    >>> head = make_head(16)
    >>> head.shape, float(head.min()), float(head.max())
    ((16, 16, 16), 0.0, 255.0)
    """
    z, y, x = (np.indices((size,) * 3) + 0.5) * (2 / size) - 1
    volume = np.zeros((size,) * 3)
    for right, down, deep, width, height, depth, angle, density in _ELLIPSOIDS:
        cos, sin = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
        along, across = (x - right) * cos + (y - down) * sin, (y - down) * cos - (x - right) * sin
        volume[(along / width) ** 2 + (across / height) ** 2 + ((z - deep) / depth) ** 2 <= 1] += density
    # sums of tenths leave a few units in the last place
    return 255 * np.round(volume, 6).clip(0, 1)


def list_peers() -> dict[str, Contender]:
    """Return what other libraries have for volumes; BM4D is the package ``bm4d``, free for non-commercial use."""
    restoration = load_library("scikit-image").restoration
    found: dict[str, Contender] = {
        PEER: lambda y, sigma: np.asarray(restoration.denoise_wavelet(y, sigma=sigma, wavelet="db2", mode="soft"))
    }
    if find_spec("bm4d"):
        found[BM4D] = lambda y, sigma: np.asarray(import_module("bm4d").bm4d(y, sigma))
    return found


def measure_volume(size: int = SIZE, sigmas: Sequence[float] = SIGMAS, engine: str = "cpu") -> list[Result]:
    """Denoise the phantom by our methods and by those of other libraries."""
    ours = {name: bind(Denoise(name), engine=engine) for name in ("bivariate", "wiener", OURS)}
    return list(measure_all({"head": make_head(size)}, sigmas, ours, list_peers()))


def report(results: Sequence[Result], *, is_whole: bool = True) -> Report:
    """Make a report of results; targets are judged if they are of all strengths of noise."""
    sheet = compare(results, "A volume: PSNR by sigma, means of the similarity of slices, and of seconds")
    goals = judge_non_local(results, OURS, BM4D, "in a volume", FASTER, BEHIND) if is_whole else []
    return Report([sheet], goals, {"volumes": list(map(asdict, results))})
