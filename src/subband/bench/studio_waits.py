"""How long a page of the studio waits, in a real browser: the first frame, sliders of stills, seeks, several pages.

What is measured is checked: the image on the screen is compared with what the library computes, and the frame that was
sought with the frame of the file. Times are those of the page's own clock, from the change to the frame of the screen
that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from subband import data
from subband.bench.browsing import Server, browse, move_slider, open_studio, read_pixels, serve
from subband.bench.studio import FULL, SMALL
from subband.bench.tables import Goal, Report, Sheet
from subband.enhance import Denoise, Enhancer
from subband.errors import ArgumentError, FormatError
from subband.media import Frame, SourceInfo, Still, open_sink, open_source, write_still
from subband.media.video import FilmSource
from subband.typing import Array

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

__all__ = ["GROWTH", "Effort", "Wait", "measure_waits", "report"]

#: How many times as much memory the server may take at the end as at the beginning.
GROWTH = 1.05

#: Rows and columns of stills, and the milliseconds until a slider shows in them that are required.
_STILLS = {(360, 640): 60.0, (1080, 1920): 150.0, (4000, 6000): 150.0}
#: Milliseconds that a seek may take.
_SEEK = 300.0
_RATE = 25
_PAGES = 4
_SCREEN: ViewportSize = {"width": 1280, "height": 800}
#: The part of the time before memory is looked at, and how often it is then.
_WARM_UP, _LOOKS = 0.1, 60
#: Levels of the filter, and how far rounding may move a shade.
_LEVEL, _STEP = 4, 1

_TIME_SEEK = """([id, value, position]) => new Promise((resolve) => {
    const element = document.getElementById(id);
    const begin = performance.now();
    if (id === 'seek') {
        element.value = value;
        element.dispatchEvent(new Event('input', {bubbles: true}));
    } else {
        element.click();
    }
    const look = () => (window.studio.stats().position === position
        ? resolve(performance.now() - begin) : requestAnimationFrame(look));
    look();
})"""
_WAIT_ALL = "() => { const s = window.studio.stats(); return s.left === 0 && s.sent > 0 && s.drawn >= s.sent; }"
_FRAMES = "() => [window.studio.stats().frames, performance.now()]"
_HIDE = """() => {
    Object.defineProperty(document, 'hidden', {value: true, configurable: true});
    document.dispatchEvent(new Event('visibilitychange'));
}"""


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes
    ----------
    stills : sequence of (int, int)
        Rows and columns of stills.
    changes, seeks, loads : int
        Of a slider, to a frame, and of the page.
    frames : int
        Of the video that is sought in.
    seconds, flat_seconds : float
        For which frames of several pages are counted, and memory is watched.
    """

    stills: Sequence[tuple[int, int]] = tuple(_STILLS)
    changes: int = 20
    seeks: int = 12
    loads: int = 4
    frames: int = 3 * 60 * _RATE
    seconds: float = 8.0
    flat_seconds: float = 600.0


#: A glance, for tests and the impatient.
QUICK = Effort(((360, 640),), 8, 4, 2, 10 * _RATE, 2.0, 4.0)


@dataclass(frozen=True)
class Wait:
    """Something that was measured several times.

    Attributes
    ----------
    name : str
        What.
    unit : str
        Of the numbers.
    numbers : tuple of float
        All of them.
    bar : float or None
        What their median may be at most, if that is required.

    Examples
    --------
    >>> Wait("seek", "ms", (100.0, 300.0, 200.0), 250.0).middle
    200.0
    """

    name: str
    unit: str
    numbers: tuple[float, ...]
    bar: float | None = None

    @property
    def middle(self) -> float:
        """The median."""
        return median(self.numbers)


def measure_waits(engine: str | None = None, effort: Effort | None = None) -> Iterator[Wait]:
    """Measure one thing after the other.

    Raises
    ------
    MissingExtraError, DeviceError
        If there is no Playwright, no Chromium or no studio.
    ArgumentError
        If something else is on the screen than what the library computes.
    """
    effort = effort or Effort()
    with TemporaryDirectory(prefix="subband-") as name, browse() as browser:
        folder = Path(name)
        stills = {shape: make_still(folder / f"still-{shape[0]}.png", shape) for shape in effort.stills}
        small = make_video(folder / "small.mp4", SMALL, 4 * _RATE)
        full = folder / "seek.mp4"
        with serve([*stills.values(), small], engine) as server:
            page = browser.new_page(viewport=_SCREEN)
            yield _measure_first(page, server.address, small, effort.loads)
            for shape, still in stills.items():
                yield _measure_slider(page, server.address, shape, still, effort.changes)
            page.close()
            yield from _measure_pages(browser, server, small, effort, partial(make_video, full, FULL, effort.frames))
        with serve([full], engine) as server:
            page = browser.new_page(viewport=_SCREEN)
            yield from _measure_seeks(page, server.address, full, effort)
            page.close()


def make_still(path: Path, shape: tuple[int, int]) -> Path:
    """Write a photograph of some size, made of a small one."""
    image = data.photograph()
    times = [-(-length // side) for length, side in zip(shape, image.shape, strict=False)]
    write_still(path, Still(np.ascontiguousarray(np.tile(image, (*times, 1))[: shape[0], : shape[1]])))
    return path


def make_video(path: Path, shape: tuple[int, int], count: int) -> Path:
    """Write a video in which each frame differs from those near it."""
    image = data.photograph()
    times = [-(-length // side) + 1 for length, side in zip(shape, image.shape, strict=False)]
    wide = np.tile(image, (*times, 1))
    info = SourceInfo("film", (*shape, 3), np.dtype(np.uint8), rate=Fraction(_RATE), count=count)
    with open_sink(path, info, preset="ultrafast", quick=True) as sink:
        for number in range(count):
            row, column = number % 64, 3 * number % 128
            part = np.ascontiguousarray(wide[row : row + shape[0], column : column + shape[1]])
            sink.write(Frame(part, number, number / _RATE))
    return path


def report(waits: Sequence[Wait], engine_name: str) -> Report:
    """Write everything as a table, with what is required."""
    rows = [
        (
            each.name,
            f"{each.middle:.4g}",
            f"{max(each.numbers):.4g}",
            each.unit,
            "" if each.bar is None else f"{each.bar:g}",
        )
        for each in waits
    ]
    goals = [
        Goal(f"{each.name}: at most {each.bar:g} {each.unit}, median", f"{each.middle:.4g}", each.middle <= each.bar)
        for each in waits
        if each.bar is not None
    ]
    sheet = Sheet(
        f"What a page waits for, engine {engine_name}",
        ("what", "median", "most", "unit", "required"),
        rows,
        "Server and headless Chromium on the same machine. Sliders move over stills under bivariate shrinkage; of the "
        "largest, the whole is on the screen, at its resolution. What was shown was compared with the library's result "
        "then, pixel by pixel, and frames that were sought with those of the file.",
    )
    return Report([sheet], goals, {"engine": engine_name, "waits": [asdict(each) for each in waits]})


def _measure_first(page: Page, address: str, video: Path, loads: int) -> Wait:
    """Measure the time from a click on a link to the first frame, of a server that has served before."""
    times = []
    for _ in range(loads + 1):
        open_studio(page, address, source=f"media:{video.name}")
        times.append(page.evaluate("() => performance.now()"))
    return Wait("first frame of a page", "ms", tuple(times[1:]))


def _measure_slider(page: Page, address: str, shape: tuple[int, int], still: Path, changes: int) -> Wait:
    source = f"media:{still.name}"
    open_studio(page, address, source=source, filter="bivariate", level=_LEVEL)
    page.wait_for_function(_WAIT_ALL)
    times = move_slider(page, "Strength", (0.5, 2.0), changes)
    open_studio(page, address, source=source, filter="bivariate", level=_LEVEL, format="raw")
    page.wait_for_function(_WAIT_ALL)
    page.locator("#zoom").select_option("1")
    page.wait_for_timeout(300)
    page.wait_for_function(_WAIT_ALL)
    _compare(page, Enhancer(Denoise(level=_LEVEL)).apply(_read(still)), still.name)
    milliseconds = tuple(1e3 * each for each in times)
    return Wait(f"slider of a still of {shape[1]} × {shape[0]}", "ms", milliseconds, _STILLS.get(shape))


def _measure_seeks(page: Page, address: str, video: Path, effort: Effort) -> Iterator[Wait]:
    open_studio(page, address, source=f"media:{video.name}", filter="none", format="raw")
    page.locator("#play").click()
    page.wait_for_function("() => !window.studio.stats().playing")
    steps = np.random.default_rng(0).permutation(effort.seeks)
    forward, back = [], []
    with open_source(video, quick=True) as source:
        assert isinstance(source, FilmSource)
        for step in steps:
            position = int(10 + (effort.frames - 20) * (step + 0.37) / effort.seeks)
            forward.append(page.evaluate(_TIME_SEEK, ["seek", str(position), position]))
            _compare(page, _find_frame(source, position), f"frame {position}")
            back.append(page.evaluate(_TIME_SEEK, ["back", "", position - 1]))
            _compare(page, _find_frame(source, position - 1), f"frame {position - 1}")
    length = f"{effort.frames // _RATE} s of 1920 × 1080"
    yield Wait(f"seek in {length}", "ms", tuple(forward), _SEEK)
    yield Wait(f"one frame back in {length}", "ms", tuple(back), _SEEK)


def _measure_pages(
    browser: Browser, server: Server, video: Path, effort: Effort, prepare: Callable[[], object]
) -> Iterator[Wait]:
    """Measure the milliseconds from frame to frame in pages that play at once, and then memory while one is hidden.

    Nothing is timed while memory is watched, so that what comes next is prepared meanwhile.
    """
    pages = [browser.new_page(viewport=_SCREEN) for _ in range(_PAGES)]
    for page in pages:
        open_studio(page, server.address, source=f"media:{video.name}", filter="soft")
    before = [page.evaluate(_FRAMES) for page in pages]
    pages[0].wait_for_timeout(1000 * effort.seconds)
    after = [page.evaluate(_FRAMES) for page in pages]
    times = [(end - begin) / max(last - first, 1) for (first, begin), (last, end) in zip(before, after, strict=True)]
    yield Wait(f"from frame to frame in each of {_PAGES} pages of 640 × 360", "ms", tuple(times))
    pages[-1].evaluate(_HIDE)
    with ThreadPoolExecutor(1) as pool:
        prepared = pool.submit(prepare)
        yield _watch_memory(pages[0], server.process, effort.flat_seconds)
        prepared.result()
    for page in pages:
        page.close()


def _watch_memory(page: Page, process: int, seconds: float) -> Wait:
    """Measure the memory of the server at the end of some time, over that at its beginning."""
    page.wait_for_timeout(1000 * _WARM_UP * seconds)
    sizes, end = [], perf_counter() + (1 - _WARM_UP) * seconds
    while perf_counter() < end:
        sizes.append(_read_memory(process))
        page.wait_for_timeout(1000 * seconds / _LOOKS)
    third = max(1, len(sizes) // 3)
    growth = median(sizes[-third:]) / median(sizes[:third])
    return Wait(f"memory after {seconds:g} s with a hidden page, over that before", "times", (growth,), GROWTH)


def _read_memory(process: int) -> float:
    """Return the bytes that a process has in memory."""
    status = Path(f"/proc/{process}/status").read_text()
    return 1024.0 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def _read(still: Path) -> Array:
    with open_source(still) as source:
        return next(iter(source)).pixels


def _find_frame(source: FilmSource, position: int) -> Array:
    if not source.go_to(position):
        raise FormatError(f"frame {position} of a video that was made here cannot be sought")
    return next(iter(source)).pixels


def _compare(page: Page, whole: Array, name: str) -> None:
    """Refuse what is not what the library computes: all of an image, or the part of it that is seen."""
    shown = read_pixels(page)
    left, top, right, bottom = page.evaluate("() => window.studio.stats().extent") or (0, 0, *whole.shape[1::-1])
    expected = whole[top:bottom, left:right]
    if shown.shape != expected.shape or np.abs(shown.astype(int) - expected).max() > _STEP:
        raise ArgumentError(f"{name}: the page does not show what the library computes, and its times say nothing")
