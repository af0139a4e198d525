"""Record the animation of the README in a real browser: before and after, zoom, a preset, the equaliser, bands.

    python docs/draw_animation.py

It needs playwright and a Chromium, as the tests of the studio do, and writes ``docs/images/studio.webp``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent / "images"
SIZE = {"width": 1120, "height": 700}
#: Frames per second, and of the whole animation.
RATE = 4
SECONDS = 20
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--force-color-profile=srgb"]


def drag(page: Any, start: tuple[float, float], end: tuple[float, float], count: int) -> Iterator[None]:
    """Drag from a point to another in so many frames."""
    page.mouse.move(*start)
    page.mouse.down()
    for step in range(1, count + 1):
        page.mouse.move(*(a + (b - a) * step / count for a, b in zip(start, end, strict=True)), steps=2)
        yield
    page.mouse.up()


def play(page: Any) -> Iterator[None]:
    """Show what the studio does, and stop for each frame of the animation."""
    box = page.locator("#viewport").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    grip = (middle[0], middle[1] + 100)
    # the divider goes left, right and back
    for start, end in ((0, -180), (-180, 180), (180, -60)):
        yield from drag(page, (grip[0] + start, grip[1]), (grip[0] + end, grip[1]), 6)
    page.mouse.move(middle[0] - 40, middle[1] - 90)
    for _ in range(8):
        page.mouse.wheel(0, -120)
        yield
    page.get_by_label("Preset", exact=True).select_option(label="Low-light photo")
    yield from wait(page, 6)
    page.keyboard.press("0")
    yield from wait(page, 3)
    meter = page.locator('.meter[data-band="dd1"]')
    meter.scroll_into_view_if_needed()
    yield from wait(page, 3)
    page.keyboard.press("1")
    for name in ("dd1", "ad1", "da1"):
        meter = page.locator(f'.meter[data-band="{name}"]').bounding_box()
        at = (meter["x"] + 30, meter["y"] + 10)
        yield from drag(page, at, (at[0] + 12, at[1]), 4)
    cell = page.get_by_role("slider", name="Level 2, all bands").bounding_box()
    at = (cell["x"] + 8, cell["y"] + 8)
    yield from drag(page, at, (at[0], at[1] - 40), 5)
    page.keyboard.press("4")
    yield from wait(page, 6)
    page.keyboard.press("5")
    yield from wait(page, 5)
    page.keyboard.press("2")
    while True:
        yield


def wait(page: Any, frames: int) -> Iterator[None]:
    """Let what is shown be looked at."""
    for _ in range(frames):
        page.wait_for_timeout(60)
        yield


def record(page: Any, show: Callable[[Any], Iterator[None]]) -> list[Image.Image]:
    """Return an image of the page for each step."""
    images = []
    for _, _ in zip(range(RATE * SECONDS), show(page), strict=False):
        page.wait_for_function(
            "() => { const {drawn, sent} = window.studio.stats(); return sent > 0 && drawn >= sent; }"
        )
        images.append(Image.open(BytesIO(page.screenshot())).convert("RGB"))
    return images


def main() -> None:
    """Record the animation."""
    command = [sys.executable, "-u", "-m", "subband", "studio", "--no-browser", "--no-token", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip().partition(": ")[2]
        found = os.environ.get("SUBBAND_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
            page = browser.new_page(viewport=SIZE)
            page.goto(f"{address}#source=sample:noisy&filter=bivariate&view=split")
            page.wait_for_function("() => window.studio !== undefined")
            page.evaluate("() => window.studio.ready")
            page.wait_for_timeout(1500)
            images = record(page, play)
            browser.close()
    finally:
        server.terminate()
        server.wait()
    target = IMAGES / "studio.webp"
    images[0].save(target, save_all=True, append_images=images[1:], duration=1000 // RATE, loop=0, quality=55, method=4)
    print(f"{target}: {target.stat().st_size / 2**20:.2f} MiB, {len(images) / RATE:g} s")


if __name__ == "__main__":
    main()
