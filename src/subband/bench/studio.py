"""The studio in a real browser: frames per second from file to screen, and the latency of a slider.

A server in a process of its own plays a video to a page in headless Chromium on the same machine; they share its cores.
Frames are counted where the page has drawn them. The time of a slider runs from its change to the moment at which the
browser is about to show the first frame computed under it, by the page's own clock.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np

from subband.bench.figures import BarChart, draw_bars
from subband.bench.tables import Goal, Report, Sheet
from subband.bench.video import fit_video
from subband.data import clip_path
from subband.errors import DeviceError, MissingExtraError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["BAR", "CASES", "LATENCY", "Case", "Showing", "measure", "report"]

#: Frames per second of the smaller video, and seconds until a slider shows in it, that are required.
BAR, LATENCY = 24.0, 0.15

#: Rows and columns of the smaller video, which is judged, and of the larger one.
SMALL, LARGE = (360, 640), (720, 1280)

_PATIENCE = 60_000
# what a page needs to come up to speed: the choice of a format rests on some frames of each
_WARM_FRAMES = 30
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# looks at the engine while frames are counted
_LOOKS = 8

_COUNT = """() => {
    const {frames, dropped, engineFps} = window.studio.stats();
    return [frames, performance.now(), dropped, engineFps];
}"""
_FORMAT = "() => window.studio.stats().format"
_CHANGE = """([label, value]) => {
    const slider = document.querySelector(`input[type=range][aria-label^="${label}"]`);
    slider.value = value;
    slider.dispatchEvent(new Event('input', {bubbles: true}));
}"""


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


#: What is measured; the second filter is what `subband denoise` takes by default.
CASES = tuple(
    Case(shape, *rest)
    for shape in (SMALL, LARGE)
    for rest in (
        ("soft", "soft threshold", "Threshold", (8.0, 40.0)),
        ("bivariate", "bivariate shrinkage", "Strength", (0.5, 2.0)),
    )
)


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
    cases: Sequence[Case] = CASES, engine: str | None = None, *, seconds: float = 8.0, changes: int = 30
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
    with TemporaryDirectory(prefix="subband-") as folder, _browse() as browser:
        shapes = dict.fromkeys(case.shape for case in cases)
        videos = {shape: fit_video(clip_path(), Path(folder, f"video-{shape[0]}.mp4"), shape) for shape in shapes}
        with _serve(list(videos.values()), engine) as address:
            for case in cases:
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                try:
                    yield _measure_case(page, address, case, videos[case.shape], seconds, changes)
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
    page.set_default_timeout(_PATIENCE)

    def open_video(pace: str) -> None:
        settings = {"source": f"media:{video.name}", "filter": case.filter, "pace": pace}
        page.goto("about:blank")
        page.goto(f"{address}#{urlencode(settings)}")
        page.wait_for_function("() => window.studio !== undefined")
        page.evaluate("() => window.studio.ready")
        page.wait_for_function("count => window.studio.stats().frames >= count", arg=_WARM_FRAMES)

    open_video("fast")
    free_rate, _, _ = _count_frames(page, seconds / 2)
    open_video("film")
    rate, dropped, engine_rate = _count_frames(page, seconds)
    latencies = _move_slider(page, case, changes)
    return Showing(case, rate, free_rate, engine_rate, dropped, latencies, page.evaluate(_FORMAT))


def _count_frames(page: Page, seconds: float) -> tuple[float, int, float]:
    """Return frames per second drawn by a page, how many were left out, and the rate of the engine alone."""
    looks: list[list[float]] = [page.evaluate(_COUNT)]
    for _ in range(_LOOKS):
        page.wait_for_timeout(1000 * seconds / _LOOKS)
        looks.append(page.evaluate(_COUNT))
    (first, begin, before, _), (last, end, after, _) = looks[0], looks[-1]
    return 1000 * (last - first) / (end - begin), int(after - before), median(look[3] for look in looks[1:])


def _move_slider(page: Page, case: Case, changes: int) -> tuple[float, ...]:
    """Return the latency of each change of a slider."""
    page.evaluate("() => { window.studio.before = window.studio.stats().latency.length; }")
    for number, value in enumerate(np.linspace(*case.values, changes)):
        page.evaluate(_CHANGE, [case.label, f"{value:.2f}"])
        page.wait_for_function(
            "count => window.studio.stats().latency.length >= window.studio.before + count", arg=number + 1
        )
        # not in step with the frames of the video
        page.wait_for_timeout(40 + 13 * (number % 5))
    found: list[float] = page.evaluate("() => window.studio.stats().latency.slice(window.studio.before)")
    return tuple(milliseconds / 1000 for milliseconds in found)


@contextmanager
def _browse() -> Iterator[Browser]:
    """Start a Chromium without a window."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        raise MissingExtraError("measuring the studio in a browser", "test") from error
    named = os.environ.get("SUBBAND_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, headless=True, args=list(_FLAGS))
        except Error as error:
            raise DeviceError(
                f"no Chromium can be started: {str(error).splitlines()[0]}; install chromium, or name one in "
                "SUBBAND_CHROMIUM"
            ) from None
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def _serve(videos: Sequence[Path], engine: str | None) -> Iterator[str]:
    """Start a studio in a process of its own, as users do, and give its address."""
    command = [sys.executable, "-u", "-m", "subband", "studio", "--no-browser", "--no-token", "--port", "0"]
    command += map(str, videos)
    process = subprocess.Popen(
        command if engine is None else [*command, "--engine", engine], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        name, _, address = process.stdout.readline().strip().partition(": ")
        if name != "subband studio":
            raise DeviceError("the studio did not start; try subband studio --no-browser, which says why")
        yield address
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
