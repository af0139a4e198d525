"""A real browser and a real server for benches of the studio."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

import numpy as np

from subband.errors import DeviceError, MissingExtraError
from subband.typing import Array

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["Server", "browse", "move_slider", "open_studio", "read_pixels", "serve"]

_PATIENCE = 300_000
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

_CHANGE = """([label, value]) => {
    const slider = document.querySelector(`input[type=range][aria-label^="${label}"]`);
    slider.value = value;
    slider.dispatchEvent(new Event('input', {bubbles: true}));
}"""

_READ = """() => {
    const {width, height, data} = window.studio.pixels('result');
    let text = '';
    for (let i = 0; i < data.length; i += 32768) text += String.fromCharCode(...data.subarray(i, i + 32768));
    return [width, height, btoa(text)];
}"""


class Server(NamedTuple):
    """A studio that runs in a process of its own."""

    address: str
    process: int


def open_studio(page: Page, address: str, **settings: str | float) -> None:
    """Load the page anew with settings in its address, and wait for its first image."""
    page.set_default_timeout(_PATIENCE)
    page.goto("about:blank")
    page.goto(f"{address}#{urlencode(settings)}")
    page.wait_for_function("() => window.studio !== undefined")
    page.evaluate("() => window.studio.ready")


def read_pixels(page: Page) -> Array:
    """Return what is drawn: rows × columns × 3."""
    width, height, text = page.evaluate(_READ)
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 4)[..., :3]


def move_slider(page: Page, label: str, values: tuple[float, float], changes: int) -> tuple[float, ...]:
    """Return the latency of each change of a slider, in seconds, by the page's own clock."""
    page.evaluate("() => { window.studio.before = window.studio.stats().latency.length; }")
    for number, value in enumerate(np.linspace(*values, changes)):
        page.evaluate(_CHANGE, [label, f"{value:.2f}"])
        page.wait_for_function(
            "count => window.studio.stats().latency.length >= window.studio.before + count", arg=number + 1
        )
        # not in step with the frames of the video
        page.wait_for_timeout(40 + 13 * (number % 5))
    found: list[float] = page.evaluate("() => window.studio.stats().latency.slice(window.studio.before)")
    return tuple(milliseconds / 1000 for milliseconds in found)


@contextmanager
def browse() -> Iterator[Browser]:
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
def serve(media: Sequence[Path], engine: str | None) -> Iterator[Server]:
    """Start a studio in a process of its own, as users do."""
    command = [sys.executable, "-u", "-m", "subband", "studio", "--no-browser", "--no-token", "--port", "0"]
    command += map(str, media)
    command += [] if engine is None else ["--engine", engine]
    # what it says when it is ended belongs to nobody
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        name, _, address = process.stdout.readline().strip().partition(": ")
        if name != "subband studio":
            raise DeviceError("the studio did not start; try subband studio --no-browser, which says why")
        yield Server(address, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
