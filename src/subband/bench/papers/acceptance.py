"""Frames of video one by one, 2012: the acceptance test of table 7.1, by filters and by lifting.

Four hundred different frames of 1920 × 1080 in colour, as planes of float32 in the memory of the host, are decomposed
by three levels of CDF 9/7, by filters and by lifting, and reconstructed by lifting; each call is timed, with transfers
where there are any. A frame is made, scaled and checked outside the clock, a few at a time.

References
----------
Wavelet transform for video coders using GPU, Aalborg University, 2012, chapter 7, table 7.1 and appendix C (GeForce GTX
680; 400 frames of Big Buck Bunny, in a thousand runs).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from subband import data
from subband.bench.figures import draw_histograms
from subband.bench.tables import Goal, Report, Sheet
from subband.bench.video import as_planes, time_frames
from subband.engines import get_engine
from subband.errors import MissingExtraError
from subband.typing import Array
from subband.wavelets import as_wavelet

__all__ = ["COUNT", "LIMIT", "QUICK_COUNT", "SHAPE", "THEIRS", "Method", "Passes", "make_frames", "measure", "report"]

#: Rows and columns of the frames.
SHAPE = (1080, 1920)

#: As many frames as theirs, and as many as are quick.
COUNT, QUICK_COUNT = 400, 40

#: Milliseconds that a frame may take: 25 of them in a second.
LIMIT = 40.0

_LEVELS = 3
# Pixels by which an image is moved when all images have been used, so that no two frames are the same.
_STEP = (7, 11)


@dataclass(frozen=True)
class Method:
    """A column of the table: milliseconds of a frame, and frames per second.

    Attributes
    ----------
    average, slowest, fastest : float
        Milliseconds.
    rate : float
        Frames per second on average.
    """

    average: float
    rate: float
    slowest: float
    fastest: float


#: Table 7.1.
THEIRS = {
    "filtering, decomposition": Method(20.91, 47.80, 24.35, 16.98),
    "lifting, decomposition": Method(16.42, 60.91, 20.06, 12.96),
    "lifting, reconstruction": Method(16.23, 61.63, 20.78, 12.72),
}


@dataclass(frozen=True)
class Passes:
    """All frames by all methods.

    Attributes
    ----------
    seconds : mapping of str to list of float
        Of each frame, by the names of `THEIRS`.
    remark : str
        What the frames were made of, where that is not video.
    """

    seconds: Mapping[str, Sequence[float]]
    remark: str = ""

    def summarise(self, name: str) -> Method:
        """Return the column of a method.

        Examples
        --------
        >>> Passes({"lifting": [0.010, 0.030]}).summarise("lifting")
        Method(average=20.0, rate=50.0, slowest=30.0, fastest=10.0)
        """
        times = 1e3 * np.asarray(self.seconds[name])
        average = float(times.mean())
        return Method(average, 1e3 / average, float(times.max()), float(times.min()))


def load_images() -> tuple[list[Array], str]:
    """Return the frames of the bundled video, or photographs where no library reads video, and a remark on that."""
    from subband.media import open_source

    try:
        with open_source(data.clip_path()) as source:
            return [frame.pixels for frame in source], ""
    except MissingExtraError as error:
        greys = [np.repeat(image[..., np.newaxis], 3, axis=2) for image in (data.ascent(), data.aero())]
        return [data.photograph(), *greys], f"frames are made of photographs, not video: {error}"


def make_frames(images: Sequence[Array], count: int, shape: tuple[int, int] = SHAPE) -> Iterator[Array]:
    """Yield frames as planes of float32, no two of them the same.

    Parameters
    ----------
    images : sequence of ndarray
        Rows × columns × 3; each is moved by some pixels whenever all have been used.
    count : int
        How many.
    shape : tuple of int
        Rows and columns, to which images are scaled.

    Examples
    --------
    >>> image = np.arange(32 * 32 * 3).reshape(32, 32, 3).astype(np.uint8)
    >>> frames = list(make_frames([image], 2, (8, 8)))
    >>> frames[0].shape, bool((frames[0] != frames[1]).any())
    ((3, 8, 8), True)
    """
    for number in range(count):
        turn, index = divmod(number, len(images))
        yield as_planes(np.roll(images[index], [turn * step for step in _STEP], axis=(0, 1)), shape)


def measure(
    engine: str,
    count: int = COUNT,
    shape: tuple[int, int] = SHAPE,
    images: Sequence[Array] | None = None,
) -> Passes:
    """Take every frame through all methods, and time each call.

    Raises
    ------
    WrongResultError
        If a band of the first frame is not that of the reference engine, by lifting or by filters, or a frame does not
        come back.
    """
    remark = ""
    if images is None:
        images, remark = load_images()
    lifted = as_wavelet("cdf97")
    ways = {"filtering": lifted.without_lifting(), "lifting": lifted}
    return Passes(time_frames(make_frames(images, count, shape), get_engine(engine), ways), remark)


def report(passes: Passes, engine: str) -> Report:
    """Write table 7.1, theirs and ours, with the histograms of appendix C."""
    rows, goals = [], []
    for name, theirs in THEIRS.items():
        ours = passes.summarise(name)
        cells = [
            f"{number:.2f}"
            for each in (theirs, ours)
            for number in (each.average, each.rate, each.slowest, each.fastest)
        ]
        rows.append([name, *cells])
        goals.append(
            Goal(
                f"{name} on {engine}: no frame of 1920 × 1080 in colour takes more than {LIMIT:g} ms",
                f"the slowest {ours.slowest:.1f} ms, {ours.average:.1f} on average; theirs {theirs.slowest:.1f} and "
                f"{theirs.average:.1f}",
                ours.slowest <= LIMIT,
            )
        )
    count = len(next(iter(passes.seconds.values())))
    parts = ("average ms", "fps", "slowest ms", "fastest ms")
    columns = ["method", *(f"theirs: {part}" for part in parts), *(f"ours: {part}" for part in parts)]
    note = (
        f"{count} different frames of 1920 × 1080 in colour, float32 in the memory of the host, {_LEVELS} levels of "
        "CDF 9/7, with transfers where there are any; theirs are 400 frames in a thousand runs on a GeForce GTX 680."
    )
    sheet = Sheet(f"Table 7.1: the acceptance test, engine {engine}", columns, rows, note)
    figures = {
        "engine": engine,
        "frames": count,
        "theirs": {name: vars(theirs) for name, theirs in THEIRS.items()},
        "seconds": {name: list(times) for name, times in passes.seconds.items()},
    }
    remarks = [passes.remark] if passes.remark else []
    # as appendix C does
    histograms = draw_histograms(f"How many frames took how long, engine {engine}", passes.seconds)
    # frames of another size, or few of them, say nothing about the requirement
    return Report(
        [sheet],
        goals if count >= QUICK_COUNT else (),
        figures,
        drawings={"Acceptance test": histograms},
        remarks=remarks,
    )
