"""Quality of despeckling of a simulated ultrasound scan, beside common speckle filters.

Each of the others is tuned to the scan: of several settings the one with the best PSNR counts, measured against the
clean image. Ours has one setting for all scans of such a scanner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import numpy as np

from subband.bench.figures import BarChart, draw_bars
from subband.bench.libraries import load_library
from subband.bench.tables import Goal, Report, Sheet
from subband.data.phantom import Phantom
from subband.enhance import Denoise, Enhancer, LogSpeckle, Shrink
from subband.quality import measure_psnr, measure_ssim
from subband.typing import Array

__all__ = ["OURS", "PEERS", "Filtered", "Peer", "join_images", "make_enhancer", "measure_filters", "report"]

NOISY, OURS = "scan", "subband"

#: Decibels between black and white of the scan.
_RANGE = 60.0

#: What the speckle of one look looks like on the screen: standard deviation out of 1.
_SPREAD = LogSpeckle(_RANGE).stabilised_sigma / 255

#: The part of the phantom that the image shows, as fractions of rows and columns.
_WINDOW = ((0.17, 0.67), (0.45, 0.95))
_GAP = 8


@dataclass(frozen=True)
class Filtered:
    """The result of one filter, and its scores.

    Attributes
    ----------
    name, setting : str
        The filter, and what it was tuned to.
    image : ndarray
        Between 0 and 255.
    psnr, ssim : float
        Against the clean image.
    contrast : float
        Contrast-to-noise ratio, the mean over the regions of the phantom.
    restored : float
        PSNR after the mean of the speckle's logarithm, which lies below 0, has been taken off.
    """

    name: str
    setting: str
    image: Array
    psnr: float
    ssim: float
    contrast: float
    restored: float

    def is_better(self, other: Filtered) -> bool:
        """Tell whether this is better by each of PSNR, structural similarity and contrast."""
        return self.psnr > other.psnr and self.ssim > other.ssim and self.contrast > other.contrast


@dataclass(frozen=True)
class Peer:
    """A filter with a setting to tune.

    Attributes
    ----------
    name : str
        In the table.
    knob : str
        What is tuned.
    settings : tuple
        What is tried.
    apply : callable
        ``apply(image, setting)`` returns the filtered image; both are between 0 and 1.
    """

    name: str
    knob: str
    settings: tuple[Any, ...]
    apply: Callable[[Array, Any], Array]


def _median(image: Array, radius: int) -> Array:
    library = load_library("scikit-image")
    shape = library.morphology.disk(radius)
    # the filter works on bytes much faster than on numbers
    return np.asarray(library.filters.median(np.rint(image * 255).astype(np.uint8), shape, mode="reflect") / 255)


def _wiener(image: Array, size: int) -> Array:
    return np.asarray(load_library("SciPy").signal.wiener(image, size))


def _vary(image: Array, weight: float) -> Array:
    return np.asarray(load_library("scikit-image").restoration.denoise_tv_chambolle(image, weight))


def _vary_longer(image: Array, weight: float) -> Array:
    chambolle = load_library("scikit-image").restoration.denoise_tv_chambolle
    return np.asarray(chambolle(image, weight, eps=0, max_num_iter=1000))


def _shrink(image: Array, setting: tuple[str, float]) -> Array:
    wavelet, sigma = setting
    denoise = load_library("scikit-image").restoration.denoise_wavelet
    return np.asarray(denoise(image, sigma * _SPREAD, wavelet, method="BayesShrink", rescale_sigma=True))


#: What people use, with the settings that are tried.
PEERS = (
    Peer("median", "radius", tuple(range(1, 9)), _median),
    Peer("Wiener", "window", tuple(range(3, 22, 2)), _wiener),
    Peer("total variation", "weight", (0.1, 0.11, 0.12, 0.13, 0.14, 0.15, 0.17, 0.2, 0.25, 0.3), _vary),
    Peer("total variation, 1000 iterations", "weight", (0.1, 0.11, 0.115, 0.12, 0.125, 0.13, 0.15), _vary_longer),
    Peer(
        "BayesShrink",
        "wavelet, sigma",
        tuple(
            (wavelet, sigma) for wavelet in ("db1", "db2", "sym4", "sym8") for sigma in (0.8, 0.9, 1.0, 1.1, 1.2, 1.5)
        ),
        _shrink,
    ),
)


def make_enhancer() -> Enhancer:
    """Return the enhancer that removes speckle from an ultrasound scan.

    The last three stages take away what is left of the speckle: by then it is fainter than edges.

    Examples
    --------
    >>> len(make_enhancer().stages)
    4
    """
    polish = Shrink("haar", 5, "hard", 6.0, level_weights=(1.0, 1.4, 2.0, 2.8, 4.0), form="undecimated")
    denoise = Denoise("wiener", "haar", 5, strength=1.2, form="undecimated")
    return Enhancer((denoise, polish, polish, polish), noise=LogSpeckle(_RANGE))


def measure_filters(phantom: Phantom, peers: Iterable[Peer] = PEERS, seed: int = 0) -> Iterator[Filtered]:
    """Filter a scan in every way: as it is, by tuned peers, and by ours.

    Yields
    ------
    Filtered
        As soon as a filter is done; the last one is ours.
    """
    scan = phantom.scan(seed, _RANGE)
    pixels = scan.astype(np.float64)
    yield _score(phantom, NOISY, "", pixels)
    for peer in peers:
        tried = (
            _score(
                phantom, peer.name, f"{peer.knob} {_format_setting(setting)}", peer.apply(pixels / 255, setting) * 255
            )
            for setting in peer.settings
        )
        yield max(tried, key=lambda found: found.psnr)
    yield _score(phantom, OURS, "", make_enhancer().apply(pixels))


def _score(phantom: Phantom, name: str, setting: str, image: Array) -> Filtered:
    clean = phantom.show(_RANGE).astype(np.float64)
    shown = np.clip(image, 0, 255)
    # ours has had that back already
    restored = shown if name == OURS else np.clip(LogSpeckle(_RANGE).restore(image), 0, 255)
    return Filtered(
        name,
        setting,
        shown,
        measure_psnr(shown, clean, 255),
        measure_ssim(shown, clean, 255),
        mean(region.measure_contrast(shown) for region in phantom.regions),
        measure_psnr(restored, clean, 255),
    )


def _format_setting(setting: Any) -> str:
    return " ".join(map(str, setting)) if isinstance(setting, tuple) else str(setting)


def report(found: Sequence[Filtered], *, is_whole: bool = True) -> Report:
    """Make a report of results.

    Parameters
    ----------
    found : sequence of Filtered
        From `measure_filters`: the scan itself first, and ours last.
    is_whole : bool
        Whether the scan has its full size and every setting was tried, so that targets can be judged.
    """
    note = (
        "Contrast: contrast-to-noise ratio, the mean over the phantom's cysts. Restored: PSNR after the mean of the "
        "speckle's logarithm, which lies 1.46 decibels below 0, has been taken off, which the others do not do by "
        "themselves. Each of the others is tuned for PSNR."
    )
    columns = {
        "filter": "{.name}",
        "tuned to": "{.setting}",
        "PSNR": "{.psnr:.2f}",
        "SSIM": "{.ssim:.4f}",
        "contrast": "{.contrast:.2f}",
        "restored": "{.restored:.2f}",
    }
    sheet = Sheet.from_records("Speckle of a simulated ultrasound scan", found, columns, note, texts=2)
    ours = found[-1]
    goals = [
        Goal(
            f"better than {other.name} by PSNR, structural similarity and contrast",
            f"{ours.psnr - other.psnr:+.2f} dB, {ours.ssim - other.ssim:+.4f}, {ours.contrast - other.contrast:+.2f}",
            ours.is_better(other),
        )
        for other in found[1:-1]
    ]
    names = [each.name for each in found]
    drawing = draw_bars(
        "Speckle",
        BarChart("", "PSNR in dB", names, {"PSNR": [each.psnr for each in found]}),
        BarChart("", "contrast-to-noise ratio", names, {"contrast": [each.contrast for each in found]}),
    )
    numbers = [{name: value for name, value in vars(each).items() if name != "image"} for each in found]
    return Report([sheet], goals if is_whole else [], {"speckle": numbers}, drawings={"Speckle": drawing})


def join_images(phantom: Phantom, found: Sequence[Filtered]) -> Array:
    """Return a part of the clean image, the scan, the best of the peers and ours, side by side.

    The best is that with the highest PSNR once all have had the mean of the speckle taken off: a bias of a few grey
    levels is nothing that can be seen.

    Returns
    -------
    ndarray of uint8
        Rows × columns.
    """
    best = max(found[1:-1] or found[:1], key=lambda each: each.restored)
    images = (phantom.show(_RANGE), found[0].image, best.image, found[-1].image)
    parts = [
        slice(round(first * length), round(last * length))
        for (first, last), length in zip(_WINDOW, phantom.echoes.shape, strict=True)
    ]
    cut = [np.clip(np.rint(image[parts[0], parts[1]]), 0, 255).astype(np.uint8) for image in images]
    gap = np.full((len(cut[0]), _GAP), 255, np.uint8)
    pieces = [piece for image in cut for piece in (image, gap)]
    return np.hstack(pieces[:-1])
