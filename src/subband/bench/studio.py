"""The studio in a real browser: frames per second from file to screen, and the latency of a slider.

A server in a process of its own plays a video to a page in headless Chromium on the same machine; they share its cores.
Frames are counted where the page has drawn them. The time of a slider runs from its change to the moment at which the
browser is about to show the first frame computed under it, by the page's own clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from subband.bench.browsing import browse, move_slider, open_studio, serve
from subband.bench.figures import BarChart, draw_bars
from subband.bench.tables import Goal, Report, Sheet
from subband.bench.video import fit_video
from subband.data import clip_path

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["BAR", "CASES", "FULL", "FULL_CASES", "LATENCY", "Case", "Showing", "measure", "report"]

#: Frames per second of the smaller video, and seconds until a slider shows in it, that are required.
BAR, LATENCY = 24.0, 0.15

#: Rows and columns of the smaller video, which is judged, and of the larger one.
SMALL, LARGE = (360, 640), (720, 1280)

#: Those of a full screen, and the part of the engine's own rate that is required of it from file to screen.
FULL, SHARE = (1080, 1920), 0.8

# what a page needs to come up to speed: the choice of a format rests on some frames of each
_WARM_FRAMES = 30

# looks at the engine while frames are counted
_LOOKS = 8

_COUNT = """() => {
    const {frames, dropped, engineFps} = window.studio.stats();
    return [frames, performance.now(), dropped, engineFps];
}"""
_FORMAT = "() => window.studio.stats().format"


@dataclass(frozen=True)
class Case:
    """A video under a filter.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns of the video.
    filter, title : str
        By which the studio and people know the filter.
    label : str
        Of the slider that is moved.
    values : tuple of float
        Between which it is moved.
    """

    shape: tuple[int, int]
    filter: str
    title: str
    label: str
    values: tuple[float, float]

    @property
    def name(self) -> str:
        """The name of the row in a table."""
        return f"{self.shape[1]} × {self.shape[0]}, {self.title}"


#: The second filter is what `subband denoise` takes by default.
_FILTERS = (
    ("soft", "soft threshold", "Threshold", (8.0, 40.0)),
    ("bivariate", "bivariate shrinkage", "Strength", (0.5, 2.0)),
)

#: What is measured, and besides it what is judged by the engine's own rate.
CASES = tuple(Case(shape, *rest) for shape in (SMALL, LARGE) for rest in _FILTERS)
FULL_CASES = tuple(Case(FULL, *rest) for rest in _FILTERS)


@dataclass(frozen=True)
class Showing:
    """The measurements of a case.

    Attributes
    ----------
    case : Case
        Which.
    rate, free_rate : float
        Frames per second that the page has drawn, at the pace of the video and as fast as all of it goes.
    engine_rate : float
        Frames per second that the engine alone would compute.
    dropped : int
        Frames that were left out at the pace of the video.
    latencies : tuple of float
        Seconds from a change of a slider to its image, at the pace of the video.
    format : str
        As what frames were sent last.

    Examples
    --------
    >>> showing = Showing(CASES[0], 25.0, 60.0, 300.0, 0, (0.04, 0.06, 0.05), "jpeg")
    >>> showing.middle, round(showing.slow, 3)
    (0.05, 0.058)
    """

    case: Case
    rate: float
    free_rate: float
    engine_rate: float
    dropped: int
    latencies: tuple[float, ...]
    format: str

    @property
    def middle(self) -> float:
        """The median of the latencies."""
        return median(self.latencies)

    @property
    def slow(self) -> float:
        """The latency that nine of ten stay under."""
        return float(np.percentile(self.latencies, 90))


def measure(
    cases: Sequence[Case] = CASES, engine: str | None = None, *, seconds: float = 5.0, changes: int = 20
) -> Iterator[Showing]:
    """Play each video in a browser, and move a slider meanwhile.

    Parameters
    ----------
    cases : sequence of Case
        What is played.
    engine : str, optional
        The engine that computes.
    seconds : float
        For which frames are counted.
    changes : int
        Of the slider.

    Raises
    ------
    MissingExtraError
        If Playwright is not installed.
    DeviceError
        If no Chromium, or no studio, can be started.
    """
    with TemporaryDirectory(prefix="subband-") as folder, browse() as browser:
        shapes = dict.fromkeys(case.shape for case in cases)
        videos = {shape: fit_video(clip_path(), Path(folder, f"video-{shape[0]}.mp4"), shape) for shape in shapes}
        with serve(list(videos.values()), engine) as server:
            for case in cases:
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                try:
                    yield _measure_case(page, server.address, case, videos[case.shape], seconds, changes)
                finally:
                    page.close()


def report(showings: Sequence[Showing], engine_name: str) -> Report:
    """Write everything measured as tables, with what is expected of the smaller video."""
    judged = [showing for showing in showings if showing.case.shape == SMALL]
    goals = [
        Goal(
            f"{showing.case.name}: at least {BAR:g} fps from file to screen",
            f"{showing.rate:.1f} of the video's 25, {showing.free_rate:.1f} without its pace",
            showing.rate >= BAR,
        )
        for showing in judged
    ]
    goals += [
        Goal(
            f"{showing.case.name}: a slider shows within {1e3 * LATENCY:g} ms, median",
            f"{1e3 * showing.middle:.0f} ms",
            showing.middle < LATENCY,
        )
        for showing in judged
    ]
    goals += [
        Goal(
            f"{showing.case.name}: at least {SHARE:g} of the engine's own rate from file to screen",
            f"{showing.free_rate:.1f} of {showing.engine_rate:.1f} fps",
            showing.free_rate >= SHARE * showing.engine_rate,
        )
        for showing in showings
        if showing.case.shape == FULL
    ]
    rows = [
        (
            showing.case.name,
            f"{showing.rate:.1f}",
            f"{showing.free_rate:.1f}",
            f"{showing.engine_rate:.1f}",
            str(showing.dropped),
            f"{1e3 * showing.middle:.0f}",
            f"{1e3 * showing.slow:.0f}",
        )
        for showing in showings
    ]
    sheet = Sheet(
        f"Video in the studio, from file to screen, engine {engine_name}",
        ("video", "fps", "as fast as it goes", "engine alone", "left out", "slider ms, median", "90 %"),
        rows,
        "Server and headless Chromium on the same machine; the video has 25 fps. Left out: frames that came "
        "too late for that pace. Slider: from its change to the image that shows it, while the video plays.",
    )
    figures = {
        "engine": engine_name,
        "showings": [{**asdict(each), "median": each.middle, "percentile_90": each.slow} for each in showings],
    }
    names = [showing.case.name for showing in showings]
    rates = {
        "at the video's pace": [showing.rate for showing in showings],
        "as fast as it goes": [showing.free_rate for showing in showings],
        "engine alone": [showing.engine_rate for showing in showings],
    }
    waits = {
        "median": [1e3 * showing.middle for showing in showings],
        "90 %": [1e3 * showing.slow for showing in showings],
    }
    drawing = draw_bars(
        "The studio in a browser",
        BarChart("from file to screen", "fps", names, rates, mark=BAR),
        BarChart("from a slider to its image", "milliseconds", names, waits, mark=1e3 * LATENCY),
    )
    return Report([sheet], goals, figures, drawings={"The studio in a browser": drawing})


def _measure_case(page: Page, address: str, case: Case, video: Path, seconds: float, changes: int) -> Showing:
    def open_video(pace: str) -> None:
        open_studio(page, address, source=f"media:{video.name}", filter=case.filter, pace=pace)
        page.wait_for_function("count => window.studio.stats().frames >= count", arg=_WARM_FRAMES)

    open_video("fast")
    free_rate, _, _ = _count_frames(page, seconds / 2)
    open_video("film")
    rate, dropped, engine_rate = _count_frames(page, seconds)
    latencies = move_slider(page, case.label, case.values, changes)
    return Showing(case, rate, free_rate, engine_rate, dropped, latencies, page.evaluate(_FORMAT))


def _count_frames(page: Page, seconds: float) -> tuple[float, int, float]:
    """Return frames per second drawn by a page, how many were left out, and the rate of the engine alone."""
    looks: list[list[float]] = [page.evaluate(_COUNT)]
    for _ in range(_LOOKS):
        page.wait_for_timeout(1000 * seconds / _LOOKS)
        looks.append(page.evaluate(_COUNT))
    (first, begin, before, _), (last, end, after, _) = looks[0], looks[-1]
    return 1000 * (last - first) / (end - begin), int(after - before), median(look[3] for look in looks[1:])
