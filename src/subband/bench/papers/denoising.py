"""VisuShrink with two wavelets and three levels: the table of a paper, computed anew.

The paper adds white noise to the photograph Lena, and denoises it by one threshold for all bands. Lena is not bundled;
the nearest image that is, a portrait with fine texture, stands in for her, so that it is the course of the figures
that can be compared and not each of them.

References
----------
H. M. Bantikyan, Image denoising using wavelet transform and CUDA, 2014, Table 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from subband import data
from subband.bench.figures import BarChart, Figure, draw_bars
from subband.bench.tables import Goal, Report, Sheet
from subband.engines import Engine, get_engine
from subband.engines.measuring.harness import open_harness, plan_array
from subband.engines.measuring.judging import WrongResultError, check_transform
from subband.enhance import Denoise, Enhancer, estimate_noise
from subband.enhance.colour import TO_YCBCR
from subband.quality import measure_psnr
from subband.transforms import decompose
from subband.typing import Array

__all__ = ["LEVELS", "MODES", "PAPER", "VARIANCES", "WAVELETS", "Trial", "load_images", "measure_trials", "report"]

WAVELETS = ("haar", "db2")
LEVELS = (1, 2, 3)
MODES = ("soft", "hard")

#: Of the noise, for images between 0 and 1.
VARIANCES = (0.01, 0.04)

#: The paper's figures by wavelet and level, one for each variance.
PAPER = {
    ("haar", 1): (23.1161, 20.2064),
    ("haar", 2): (22.9204, 23.7507),
    ("haar", 3): (21.8677, 22.8585),
    ("db2", 1): (22.5815, 19.7278),
    ("db2", 2): (23.3683, 23.8697),
    ("db2", 3): (21.5698, 23.4152),
}

#: What the paper says of the noisy images.
PAPER_NOISY = (18.0, 14.0)

#: The image that is nearest to the paper's.
PORTRAIT = "photograph"

_SEED = 0

# Rows and columns of what is compared with the reference engine, and how far images between 0 and 1 may differ: by
# what float32 loses, on average.
_JUDGED, _NEAR = 128, 1e-4


@dataclass(frozen=True)
class Trial:
    """One image under noise of one strength, denoised in every way of the table.

    Attributes
    ----------
    noisy : float
        PSNR before.
    denoised : mapping
        PSNR after, by wavelet, level and mode.
    """

    noisy: float
    denoised: Mapping[tuple[str, int, str], float]

    def find_best(self, wavelet: str, mode: str) -> int:
        """Return the level with the highest PSNR.

        Examples
        --------
        >>> Trial(14.0, {("haar", 1, "soft"): 20.2, ("haar", 2, "soft"): 23.8}).find_best("haar", "soft")
        2
        """
        levels = {level: psnr for (name, level, how), psnr in self.denoised.items() if (name, how) == (wavelet, mode)}
        return max(levels, key=levels.__getitem__)


def load_images() -> dict[str, Array]:
    """Return the bundled images of 512 × 512 pixels in grey, between 0 and 1; the portrait first.

    Examples
    --------
    >>> {name: image.shape for name, image in load_images().items()}
    {'photograph': (512, 512), 'ascent': (512, 512), 'aero': (512, 512), 'camera': (512, 512)}
    """
    portrait = data.photograph() @ TO_YCBCR[0]
    return {PORTRAIT: portrait / 255} | {
        name: getattr(data, name)().astype(np.float64) / 255 for name in ("ascent", "aero", "camera")
    }


def measure_trials(
    image: Array, *, clip: bool = False, seed: int = _SEED, engine: str | Engine | None = None
) -> dict[float, Trial]:
    """Add noise of each variance to an image between 0 and 1, and denoise it in every way of the table.

    As in the paper, the threshold is σ √(2 ln N) for all bands, with N the number of pixels and σ from the median of
    the finest diagonal band, and the image is continued periodically.

    Parameters
    ----------
    picture : ndarray of float64
        Rows × columns.
    clip : bool
        Whether the noisy image is cut off at black and white, as MATLAB's ``imnoise`` does.
    seed : int
        Another one gives other noise.
    engine : str, optional
        The engine that computes.
    """
    trials = {}
    for variance in VARIANCES:
        noisy = image + np.random.default_rng(seed).normal(0, sqrt(variance), image.shape)
        if clip:
            noisy = np.clip(noisy, 0, 1)
        denoised = {
            (wavelet, level, mode): measure_psnr(_denoise(noisy, wavelet, level, mode, engine), image, 1.0)
            for wavelet in WAVELETS
            for level in LEVELS
            for mode in MODES
        }
        trials[variance] = Trial(measure_psnr(noisy, image, 1.0), denoised)
    return trials


def _denoise(noisy: Array, wavelet: str, level: int, mode: str, engine: str | Engine | None) -> Array:
    stage = Denoise("visu", wavelet, level, mode, form="decimated", boundary="periodization")
    # the paper's measure of noise, and not ours
    sigma = float(np.squeeze(estimate_noise(decompose(noisy, wavelet, 1, "periodization"))))
    return np.asarray(Enhancer((stage,), sigma=sigma).apply(noisy, engine=engine))


def check_engine(engine: str | Engine) -> None:
    """Compare an engine with the reference engine: every band of the wavelets, and images that are denoised.

    A threshold that follows the noise would hide bands that are all too large, so that both are compared.

    Raises
    ------
    WrongResultError
        If something differs.
    """
    bench = open_harness(engine)
    noisy = np.random.default_rng(_SEED).normal(0.5, 0.2, (_JUDGED, _JUDGED))
    for wavelet in WAVELETS:
        check_transform(bench, plan_array(noisy.shape, wavelet, max(LEVELS)), bench.draw(noisy.shape), wavelet)
        for mode in MODES:
            found, expected = (_denoise(noisy, wavelet, max(LEVELS), mode, who) for who in (engine, "reference"))
            deviation = float(np.sqrt(np.mean((found - expected) ** 2)))
            if not deviation <= _NEAR:
                raise WrongResultError(f"VisuShrink, {wavelet}, {mode}: {deviation:.3g} away from the reference engine")


def report(images: Mapping[str, Array] | None = None, engine: str | Engine | None = None) -> Report:
    """Compute the table, and beside it which level is the best for other images.

    Parameters
    ----------
    images : mapping of str to ndarray, optional
        The first one is compared with the paper; those of `load_images` if left out.
    engine : str, optional
        The engine that computes.

    Raises
    ------
    WrongResultError
        If the engine's results are not those of the reference engine.
    """
    check_engine(get_engine(engine))
    images = load_images() if images is None else images
    trials = {
        (name, clip): measure_trials(image, clip=clip, engine=engine)
        for name, image in images.items()
        for clip in (False, True)
    }
    first = next(iter(images))
    found = trials[first, False]
    strong = VARIANCES[-1]
    goals = []
    for mode in MODES:
        for wavelet in WAVELETS:
            best = found[strong].find_best(wavelet, mode)
            text = f"level 2 is the best at variance {strong:g}, as in the paper: {wavelet}, {mode} threshold"
            goals.append(Goal(text, f"level {best} on {first}", best == 2))
    figures = {
        "paper": [{"wavelet": wavelet, "level": level, "psnr": list(psnr)} for (wavelet, level), psnr in PAPER.items()],
        "variances": list(VARIANCES),
        "trials": [
            {
                "picture": name,
                "clipped": clip,
                "variance": variance,
                "noisy": trial.noisy,
                "denoised": [
                    {"wavelet": wavelet, "level": level, "mode": mode, "psnr": psnr}
                    for (wavelet, level, mode), psnr in trial.denoised.items()
                ],
            }
            for (name, clip), each in trials.items()
            for variance, trial in each.items()
        ],
    }
    drawings = {"VisuShrink": _draw(first, found)}
    return Report([_compare(first, found), _list_best(trials)], goals, figures, drawings=drawings)


def _draw(name: str, trials: Mapping[float, Trial]) -> Figure:
    """Draw the PSNR by level, theirs and ours."""
    charts = []
    for index, variance in enumerate(VARIANCES):
        series = {"paper: Lena": [psnr[index] for psnr in PAPER.values()]}
        for mode in MODES:
            own = trials[variance].denoised
            series[f"ours: {name}, {mode}"] = [own[wavelet, level, mode] for wavelet, level in PAPER]
        labels = [f"{wavelet}, level {level}" for wavelet, level in PAPER]
        charts.append(BarChart(f"noise of variance {variance:g}", "PSNR in dB", labels, series))
    return draw_bars("VisuShrink", *charts)


def _compare(name: str, trials: Mapping[float, Trial]) -> Sheet:
    """Put our figures beside the paper's."""
    columns = ["wavelet", "level"]
    columns += [f"{what}, {variance:g}" for variance in VARIANCES for what in ("paper", *MODES)]
    noisy = ["noisy", ""]
    for index, variance in enumerate(VARIANCES):
        noisy += [f"{PAPER_NOISY[index]:.0f}", *[f"{trials[variance].noisy:.2f}"] * len(MODES)]
    rows = [noisy]
    for (wavelet, level), paper in PAPER.items():
        row = [wavelet, str(level)]
        for index, variance in enumerate(VARIANCES):
            own = trials[variance].denoised
            row += [f"{paper[index]:.2f}", *(f"{own[wavelet, level, mode]:.2f}" for mode in MODES)]
        rows.append(row)
    note = (
        "PSNR in decibels, by the variance of the noise; paper: Lena, and whether its threshold is soft or hard is not "
        f"said; soft, hard: ours, {name} in grey. An image between 0 and 1 under noise of variance v has a PSNR of "
        "-10 log10 v: 20 and 14. Clipping to black and white adds up to 0.6 and 1.1 to that, so the paper's 18 is "
        "neither."
    )
    return Sheet(f"VisuShrink: Table 4 of the paper, and ours on {name}", columns, rows, note)


def _list_best(trials: Mapping[tuple[str, bool], Mapping[float, Trial]]) -> Sheet:
    """List which level is the best for each image."""
    ways = [(mode, wavelet) for mode in MODES for wavelet in WAVELETS]
    columns = ["image", "noise"]
    columns += [f"{wavelet} {mode}, {variance:g}" for variance in VARIANCES for mode, wavelet in ways]
    rows = []
    for (name, clip), each in trials.items():
        best = [str(each[variance].find_best(wavelet, mode)) for variance in VARIANCES for mode, wavelet in ways]
        rows.append([name, "clipped" if clip else "as it is", *best])
    note = "Clipped: the noisy image is cut off at black and white. In the paper: haar 1, db2 2 at 0.01, and 2 at 0.04."
    return Sheet("The best level, by image and variance", columns, rows, note, texts=2)
