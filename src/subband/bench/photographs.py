"""PSNR, SSIM and seconds of denoised photographs: every method, beside those of other libraries.

Noise is white and its strength is known to all contenders, so that methods are compared and not estimates of noise.
Images are those of scikit-image or of a folder, and each has noise from a seed of its own: all figures but seconds are
the same in every run. Contenders get samples of single precision, in which BM3D and BM4D compute whatever they get.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any

import numpy as np

from subband.bench.figures import BarChart, Figure, draw_bars
from subband.bench.libraries import load_library
from subband.bench.tables import Goal, Report, Sheet
from subband.enhance import Denoise, Enhancer
from subband.enhance.methods import list_methods
from subband.errors import ArgumentError, SubbandError
from subband.media import read_still
from subband.quality import measure_psnr, measure_ssim
from subband.transforms import dwtn_max_level
from subband.typing import Array

__all__ = [
    "BM3D",
    "COLOURS",
    "DEFAULT",
    "METHODS",
    "PEER",
    "SAME",
    "SIGMAS",
    "Contender",
    "Result",
    "bind",
    "compare",
    "denoise_as_peer",
    "join_crops",
    "judge_greys",
    "judge_non_local",
    "list_non_local",
    "load_colours",
    "load_folder",
    "load_greys",
    "measure_all",
    "measure_colours",
    "measure_greys",
    "report",
]

#: Standard deviations of the noise, of 255.
SIGMAS = (10, 25, 50)

#: Every method of `Denoise`, with its defaults; the first is the default itself.
METHODS = tuple(method.name for method in list_methods())
DEFAULT = METHODS[0]
COLOURS = ("rgb", "ycbcr", "opponents")

NOISY = "noisy"
#: BayesShrink of scikit-image, and ours with its settings.
PEER, SAME = "scikit-image", "same settings"

#: Non-local methods of other libraries, and ours.
BM3D, NON_LOCAL = "BM3D", "best"

#: How many times as fast as BM3D ours has to be, on a CPU and on a GPU.
FASTER, FASTER_ON_GPU = 5, 500

#: What is expected in decibels: how near the same settings are, how much the best and the default gain.
NEAR, BEST_GAIN, DEFAULT_GAIN = 0.05, 1.2, 0.8

#: Contenders run until so many seconds have passed, and the median of their runs counts.
_ENOUGH = 0.1

_COLOUR_SIGMA = 25
_SIZE = 512
#: Rows and columns of a photograph in colours: enough to compare, and few enough for BM3D to end within seconds.
_COLOUR_SIZE = 320
#: Rows and columns of crops that are looked at, and pixels between two of them.
_CROP, _GAP = 160, 4
_PEER_WAVELET = "db2"

#: ``contender(noisy, sigma)`` returns the denoised image.
Contender = Callable[[Array, float], Array]


@dataclass(frozen=True)
class Result:
    """One image under noise of one strength, with what every contender made of it.

    Attributes
    ----------
    picture : str
        Its name.
    sigma : float
        Standard deviation of the noise.
    psnr, ssim, seconds : mapping of str to float
        By contender.
    """

    picture: str
    sigma: float
    psnr: Mapping[str, float]
    ssim: Mapping[str, float]
    seconds: Mapping[str, float]


def load_greys(size: int | None = None) -> dict[str, Array]:
    """Return six photographs in grey, between 0 and 255.

    Parameters
    ----------
    size : int, optional
        At most so many rows and columns, from the middle.
    """
    library = load_library("scikit-image")
    images = {name: getattr(library.data, name)() for name in ("camera", "astronaut", "coffee", "moon", "coins")}
    images["retina"] = _take_middle(library.data.retina(), _SIZE)
    greys = {
        name: pixels.astype(np.float64) if pixels.ndim == 2 else library.color.rgb2gray(pixels) * 255
        for name, pixels in images.items()
    }
    return {name: _take_middle(pixels, size) for name, pixels in greys.items()}


def load_colours(size: int | None = None) -> dict[str, Array]:
    """Return three photographs in colours, between 0 and 255, of at most so many rows and columns."""
    library = load_library("scikit-image")
    images = {name: getattr(library.data, name)() for name in ("astronaut", "coffee")}
    images["retina"] = _take_middle(library.data.retina(), _SIZE)
    return {name: _take_middle(pixels.astype(np.float64), size or _COLOUR_SIZE) for name, pixels in images.items()}


def load_folder(folder: Path, size: int | None = None) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the images of a folder in grey, and those that have colours, between 0 and 255.

    Raises
    ------
    ArgumentError
        If there are none.
    """
    greys, colours = {}, {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            pixels = read_still(path).pixels
        except (SubbandError, OSError):
            # a folder may hold other files
            continue
        white = np.iinfo(pixels.dtype).max if pixels.dtype.kind == "u" else 1.0
        values = _take_middle(pixels * (255.0 / white), size)
        if values.ndim == 3:
            colours[path.stem] = values
            values = load_library("scikit-image").color.rgb2gray(values)
        greys[path.stem] = values
    if not greys:
        raise ArgumentError(f"{str(folder)!r} has no images; give a folder of PNG, TIFF or JPEG files")
    return greys, colours


def _take_middle(pixels: Array, size: int | None) -> Array:
    if size is None:
        return pixels
    rows, columns = (slice(max(0, (length - size) // 2), (length + size) // 2) for length in pixels.shape[:2])
    return pixels[rows, columns]


def measure_greys(
    images: Mapping[str, Array], sigmas: Sequence[float] = SIGMAS, engine: str = "cpu"
) -> Iterator[Result]:
    """Denoise images in grey by every method and by those of other libraries.

    Yields
    ------
    Result
        As soon as an image is done.
    """
    ours = {SAME: denoise_as_peer} | {method: bind(Denoise(method), engine=engine) for method in METHODS}
    yield from measure_all(images, sigmas, ours, {PEER: _bind_peer()} | list_non_local())


def measure_colours(
    images: Mapping[str, Array], sigmas: Sequence[float] = SIGMAS, engine: str = "cpu"
) -> Iterator[Result]:
    """Denoise images in colours by the default method in every space of colours, and by the best and other ones."""
    ours = {colour: bind(Denoise(), colour, engine) for colour in COLOURS}
    ours |= {f"{name}, {COLOURS[-1]}": bind(Denoise(name), COLOURS[-1], engine) for name in ("wiener", NON_LOCAL)}
    peers = {PEER: _bind_peer(convert2ycbcr=True, channel_axis=-1)} | list_non_local()
    yield from measure_all(images, sigmas, ours, peers)


def list_non_local() -> dict[str, Contender]:
    """Return the non-local methods of other libraries, those that are installed.

    BM3D is the package ``bm3d``, free for non-commercial use; OpenCV's non-local means takes bytes.

    Examples
    --------
    >>> list(list_non_local())[0]
    'scikit-image NLM'
    """
    found: dict[str, Contender] = {"scikit-image NLM": _denoise_with_scikit_image}
    if find_spec("cv2"):
        found["OpenCV NLM"] = _denoise_with_opencv
    if find_spec("bm3d"):
        found[BM3D] = _denoise_with_bm3d
    return found


def _denoise_with_scikit_image(y: Array, sigma: float) -> Array:
    # what its documentation has for known noise
    restoration = load_library("scikit-image").restoration
    settings = {"patch_size": 5, "patch_distance": 6, "fast_mode": True}
    channel_axis = None if y.ndim == 2 else -1
    result = restoration.denoise_nl_means(y, h=0.6 * sigma, sigma=sigma, channel_axis=channel_axis, **settings)
    return np.asarray(result)


def _denoise_with_opencv(y: Array, sigma: float) -> Array:
    cv2 = import_module("cv2")
    pixels = np.clip(np.rint(y), 0, 255).astype(np.uint8)
    if y.ndim == 2:
        return np.asarray(cv2.fastNlMeansDenoising(pixels, None, sigma, 7, 21), np.float64)
    return np.asarray(cv2.fastNlMeansDenoisingColored(pixels, None, sigma, sigma, 7, 21), np.float64)


def _denoise_with_bm3d(y: Array, sigma: float) -> Array:
    bm3d = import_module("bm3d")
    return np.asarray(bm3d.bm3d(y, sigma) if y.ndim == 2 else bm3d.bm3d_rgb(y, sigma))


def join_crops(clean: Array, sigma: float = _COLOUR_SIGMA, size: int = _CROP) -> Array:
    """Return crops of an image: clean, noisy, by scikit-image, our default and best, and by BM3D if it is installed.

    Returns
    -------
    ndarray of uint8
        Side by side, of the same rows and colours.
    """
    image = _take_middle(clean, size)
    noisy = image + np.random.default_rng(0).normal(0, sigma, image.shape)
    peer = _bind_peer() if image.ndim == 2 else _bind_peer(convert2ycbcr=True, channel_axis=-1)
    others = [denoise for name, denoise in list_non_local().items() if name == BM3D]
    contenders = [peer, bind(Denoise()), bind(Denoise(NON_LOCAL)), *others]
    crops = [image, noisy, *(denoise(noisy, sigma) for denoise in contenders)]
    gap = np.full((len(image), _GAP, *image.shape[2:]), 255.0)
    pieces = [piece for crop in crops for piece in (crop, gap)][:-1]
    return np.asarray(np.clip(np.rint(np.hstack(pieces)), 0, 255), np.uint8)


def _bind_peer(**options: Any) -> Contender:
    peer = load_library("scikit-image").restoration.denoise_wavelet
    options |= {"wavelet": _PEER_WAVELET, "method": "BayesShrink", "mode": "soft", "rescale_sigma": True}
    return lambda y, sigma: peer(y, sigma=sigma, **options)


def bind(stage: Denoise, colour: str = COLOURS[-1], engine: str = "cpu") -> Contender:
    """Return a stage as a contender, for images in grey or in colours, or for volumes."""
    return lambda y, sigma: np.asarray(Enhancer((stage,), sigma=sigma, colour=colour).apply(y, engine=engine))


def denoise_as_peer(y: Array, sigma: float) -> Array:
    """Denoise as scikit-image does: by its wavelet and border, and three levels fewer than there could be."""
    level = max(dwtn_max_level(y.shape, _PEER_WAVELET) - 3, 1)
    stage = Denoise("bayes", _PEER_WAVELET, level, form="decimated", boundary="symmetric")
    return np.asarray(Enhancer((stage,), sigma=sigma).apply(y))


def measure_all(
    images: Mapping[str, Array],
    sigmas: Sequence[float],
    ours: Mapping[str, Contender],
    peers: Mapping[str, Contender],
) -> Iterator[Result]:
    """Add noise to images or volumes, between 0 and 255, and let all contenders remove it.

    Yields
    ------
    Result
        As soon as an image is done.
    """
    for index, (name, clean) in enumerate(images.items()):
        # what is prepared once, such as kernels for images of this size, is not the time of an image
        for denoise in ours.values():
            denoise(clean.astype(np.float32), 1.0)
        for sigma in sigmas:
            rng = np.random.default_rng(1000 * index + int(sigma))
            noisy = (clean + rng.normal(0, sigma, clean.shape)).astype(np.float32)
            found, seconds = {NOISY: noisy}, {NOISY: 0.0}
            for who, denoise in {PEER: peers[PEER], **ours, **peers}.items():
                found[who], seconds[who] = _time(denoise, noisy, sigma)
            yield Result(
                name,
                sigma,
                {who: measure_psnr(image, clean, 255) for who, image in found.items()},
                {who: measure_ssim(image, clean, 255) for who, image in found.items()},
                seconds,
            )


def _time(denoise: Contender, noisy: Array, sigma: float) -> tuple[Array, float]:
    """Return the denoised image and the median seconds of a run."""
    seconds: list[float] = []
    while sum(seconds) < _ENOUGH:
        start = perf_counter()
        found = denoise(noisy, sigma)
        seconds.append(perf_counter() - start)
    return found, median(seconds)


def judge_greys(results: Sequence[Result], faster: float = FASTER) -> list[Goal]:
    """Judge the means over all results by their targets; `best` has to be so many times as fast as BM3D."""
    means = _average([result.psnr for result in results])
    best = max(METHODS, key=means.__getitem__)
    distance = max(abs(result.psnr[SAME] - result.psnr[PEER]) for result in results)
    best_gain, default_gain = means[best] - means[PEER], means[DEFAULT] - means[PEER]
    goals = [
        Goal(
            f"BayesShrink with the settings of scikit-image within {NEAR} dB of it, for every image",
            f"{distance:.4f} dB apart",
            distance <= NEAR,
        ),
        Goal(
            f"the best method at least {BEST_GAIN} dB better than scikit-image, on average",
            f"{best}, {best_gain:+.2f} dB",
            best_gain >= BEST_GAIN,
        ),
        Goal(
            f"the default at least {DEFAULT_GAIN} dB better than scikit-image, on average",
            f"{DEFAULT}, {default_gain:+.2f} dB",
            default_gain >= DEFAULT_GAIN,
        ),
    ]
    return goals + judge_non_local(results, NON_LOCAL, BM3D, "in grey", faster)


def judge_non_local(
    results: Sequence[Result], own: str, peer: str, where: str, faster: float, behind: float | None = None
) -> list[Goal]:
    """Judge ours by a peer, if that is installed: ahead of it, or so many decibels behind at most, and faster."""
    means, seconds = (_average([getattr(result, name) for result in results]) for name in ("psnr", "seconds"))
    if peer not in means:
        return []
    gain, ratio = means[own] - means[peer], seconds[peer] / seconds[own]
    near = f"ahead of {peer}" if behind is None else f"within {behind} dB of {peer}"
    text = f"{own} {near} on average {where}, at least {faster:g} times as fast"
    is_near = gain > 0 if behind is None else gain >= -behind
    return [Goal(text, f"{gain:+.2f} dB, {ratio:.1f} times", is_near and ratio >= faster)]


def report(
    greys: Sequence[Result], colours: Sequence[Result], *, is_whole: bool = True, is_gpu: bool = False
) -> Report:
    """Make a report of results.

    Parameters
    ----------
    greys, colours : sequence of Result
        From `measure_greys` and `measure_colours`.
    is_whole : bool
        Whether they are of all images and strengths of noise, so that targets can be judged.
    is_gpu : bool
        Whether ours were computed on a GPU.
    """
    sheets = [
        _tabulate(greys, "psnr", 2, "Photographs in grey, PSNR in decibels"),
        _tabulate(greys, "ssim", 3, "The same, structural similarity"),
        compare(greys, "Photographs in grey: means of PSNR by sigma, of SSIM, and of seconds"),
    ]
    if colours:
        # a folder may have none
        sheets.insert(2, _tabulate(colours, "psnr", 2, "Photographs in colours, PSNR in decibels"))
        sheets.append(compare(colours, "Photographs in colours: the same"))
    figures = {"greys": list(map(asdict, greys)), "colours": list(map(asdict, colours))}
    goals: list[Goal] = []
    if is_whole:
        faster = FASTER_ON_GPU if is_gpu else FASTER
        goals = judge_greys(greys, faster)
        if colours:
            goals += judge_non_local(colours, f"{NON_LOCAL}, {COLOURS[-1]}", BM3D, "in colours", faster)
    return Report(sheets, goals, figures, drawings={"Denoising": _draw(greys, colours)})


def compare(results: Sequence[Result], title: str) -> Sheet:
    """Make a table with a row for each contender, the best first: means of PSNR by sigma, of SSIM and of seconds."""
    sigmas = tuple(dict.fromkeys(result.sigma for result in results))
    by_sigma = [_average([result.psnr for result in results if result.sigma == sigma]) for sigma in sigmas]
    psnr, ssim, seconds = (
        _average([getattr(result, name) for result in results]) for name in ("psnr", "ssim", "seconds")
    )
    rows = [
        (who, *(f"{each[who]:.2f}" for each in by_sigma), f"{ssim[who]:.3f}", f"{seconds[who]:.3f}")
        for who in sorted(psnr, key=psnr.__getitem__, reverse=True)
    ]
    return Sheet(title, ("method", *(f"{sigma:g}" for sigma in sigmas), "SSIM", "seconds"), rows)


def _draw(greys: Sequence[Result], colours: Sequence[Result]) -> Figure:
    """Draw how many decibels each contender gains over the noisy image."""
    charts = []
    for title, results in (("photographs in grey", greys), ("photographs in colours", colours)):
        if not results:
            continue
        means = _average([result.psnr for result in results])
        names = [name for name in means if name != NOISY]
        gains = {"gain": [means[name] - means[NOISY] for name in names]}
        charts.append(BarChart(title, "dB above the noisy image, mean", names, gains))
    return draw_bars("Denoising", *charts)


def _tabulate(results: Sequence[Result], measure: str, digits: int, title: str) -> Sheet:
    """Make a table with a row for each image and strength of noise, and rows of means."""
    columns = tuple(getattr(results[0], measure))
    rows = [_write_row(result.picture, f"{result.sigma:g}", getattr(result, measure), digits) for result in results]
    sigmas = tuple(dict.fromkeys(result.sigma for result in results))
    for sigma in sigmas if len(sigmas) > 1 else ():
        own = [getattr(result, measure) for result in results if result.sigma == sigma]
        rows.append(_write_row("mean", f"{sigma:g}", _average(own), digits))
    rows.append(_write_row("mean", "all", _average([getattr(result, measure) for result in results]), digits))
    return Sheet(title, ("image", "sigma", *columns), rows)


def _write_row(name: str, sigma: str, values: Mapping[str, float], digits: int) -> tuple[str, ...]:
    return (name, sigma, *(f"{value:.{digits}f}" for value in values.values()))


def _average(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each contender."""
    return {who: mean(each[who] for each in values) for who in values[0]}
