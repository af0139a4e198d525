"""A real server in a process of its own, and pages in a real Chromium, some of them in Firefox, too."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from time import monotonic
from urllib.parse import urlencode

import numpy as np
import pytest

#: Where pictures of the page for the README go.
OUT = Path(__file__).parents[2] / "out"

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
]

#: Milliseconds that anything may take on a busy machine.
PATIENCE = 180_000

_READ_PIXELS = """role => {
    const {width, height, data} = window.studio.pixels(role);
    let text = '';
    for (let i = 0; i < data.length; i += 32768) text += String.fromCharCode(...data.subarray(i, i + 32768));
    return [width, height, btoa(text)];
}"""

#: Drops files of given names and contents.
_DROP = """files => {
    const transfer = new DataTransfer();
    for (const [name, text] of files) {
        const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
        transfer.items.add(new File([bytes], name));
    }
    window.dispatchEvent(new DragEvent('drop', {dataTransfer: transfer}));
}"""


class StudioPage:
    """A page of the studio as its user and its tests see it."""

    def __init__(self, page, address):
        self.page = page
        self.address = address
        self.errors = []
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.note(f"error: {error}"))
        page.on("console", lambda message: message.type == "error" and self.note(message.text))

    def note(self, error):
        """Note an error of the page; in Firefox, Playwright tries inline styles for screenshots, which are refused."""
        if "style-src-elem" not in error:
            self.errors.append(error)

    def open(self, source="sample:photograph", **settings):
        """Load the page with settings in its address, and wait for its first picture."""
        self.page.goto(f"{self.address}#{urlencode({'source': source, **settings})}")
        self.page.wait_for_function("() => window.studio !== undefined")
        self.page.evaluate("() => window.studio.ready")
        self.wait()
        return self

    def stats(self):
        return self.page.evaluate("() => window.studio.stats()")

    def settings(self):
        return self.page.evaluate("() => window.studio.settings()")

    def wait(self):
        """Wait until the newest settings are on the screen."""
        script = "() => { const {drawn, sent} = window.studio.stats(); return sent > 0 && drawn >= sent; }"
        self.page.wait_for_function(script)

    def wait_for(self, script, argument=None):
        self.page.wait_for_function(script, arg=argument)

    def rest(self):
        """Wait until half a second passes without a frame, and return how many there were."""
        end, frames = monotonic() + PATIENCE / 1000, -1
        while frames != (frames := self.stats()["frames"]):
            assert monotonic() < end, "frames come and come"
            self.page.wait_for_timeout(500)
        return frames

    def texts(self, selector):
        """Return what is written on all elements, asked in one go: Playwright loses Firefox over lists of elements."""
        script = "selector => [...document.querySelectorAll(selector)].map(element => element.textContent)"
        return self.page.evaluate(script, selector)

    def pixels(self, role="result"):
        """Read a canvas back: rows × columns × 4."""
        width, height, text = self.page.evaluate(_READ_PIXELS, role)
        return np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 4)

    def colours(self, role="result"):
        """Read a canvas back without its alpha, which has to be opaque."""
        pixels = self.pixels(role)
        assert (pixels[..., 3] == 255).all()
        return pixels[..., :3]

    def choose(self, label, title):
        """Choose an entry of a menu by what is written on it."""
        self.page.get_by_label(label, exact=True).select_option(label=title)
        self.wait()

    def view(self, title):
        self.press("View", title)

    def press(self, label, title):
        """Press one part of a switch of several."""
        self.page.get_by_role("radiogroup", name=label).get_by_text(title, exact=True).click()
        self.wait()

    def type(self, field, text):
        """Write into a field by the keyboard, so that every browser knows that a person has changed it."""
        field.press("ControlOrMeta+a")
        field.press_sequentially(str(text))
        field.press("Enter")
        self.wait()

    def drop(self, files):
        """Drop files, given as names and contents, and wait until what they hold is shown."""
        self.page.evaluate(_DROP, [[name, base64.b64encode(content).decode()] for name, content in files])
        self.wait_for("() => document.getElementById('source-select').value.startsWith('upload:')")
        # the address names no source that others cannot open
        self.wait_for("() => !location.hash.includes('source=') && document.getElementById('busy').hidden")
        self.wait()

    def switch_theme(self, scheme):
        """Choose light or dark by the button; Firefox cannot be told what its system prefers."""
        button = self.page.get_by_role("button", name="Theme")
        while button.get_attribute("aria-label") != f"Theme: {scheme}":
            button.click()

    def export(self, ending):
        """Export what is open, and return the path of the downloaded file."""
        self.page.get_by_role("button", name="Export", exact=True).click()
        self.page.get_by_label("File type").select_option(ending)
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name="Start").click()
        self.page.get_by_role("link", name="Download").wait_for()
        self.page.keyboard.press("Escape")
        assert download.value.suggested_filename.endswith(ending)
        return download.value.path()

    def find_violations(self):
        """Return what axe-core finds: serious and critical."""
        axe = pytest.importorskip(
            "axe_playwright_python.sync_playwright", reason="not installed: pip install axe-playwright-python"
        )
        found = axe.Axe().run(self.page).response["violations"]
        grave = [each for each in found if each["impact"] in ("serious", "critical")]
        return [(each["id"], each["nodes"][0]["html"][:200]) for each in grave]

    def slider(self, label):
        return self.page.locator(f'input[type=range][aria-label^="{label}"]')


def _find_chromium():
    named = os.environ.get("SUBBAND_CHROMIUM")
    return named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


#: Preferences of Firefox: nothing of its own is fetched, and its camera is a pattern that needs no leave.
PREFERENCES = {
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "browser.safebrowsing.update.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.getAddons.cache.enabled": False,
    "media.navigator.permission.disabled": True,
    "media.navigator.streams.fake": True,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
}


def pytest_generate_tests(metafunc):
    """Run tests that are marked so in Firefox, too; ``firefox(False)`` takes one out of its module."""
    marker = metafunc.definition.get_closest_marker("firefox")
    if marker is not None and marker.args != (False,):
        metafunc.parametrize("browser", ["chromium", "firefox"], indirect=True, scope="module")


def _launch_firefox(playwright, folder):
    """Start the Firefox of the system, through what answers for it where Playwright asks for too much."""
    pytest.importorskip("websockets", reason="not installed: pip install 'subband[studio]'")
    if not (os.environ.get("SUBBAND_FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")):
        pytest.skip("there is no Firefox here: apt-get install firefox-esr, or name one in SUBBAND_FIREFOX")
    program = folder / "firefox"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).with_name("firefox.py")}" "$@"\n')
    program.chmod(0o755)
    return playwright.firefox.launch(
        channel="moz-firefox", executable_path=program, firefox_user_prefs=PREFERENCES, timeout=PATIENCE
    )


@pytest.fixture(scope="module")
def browser(request, tmp_path_factory):
    try:
        from playwright.sync_api import Error, expect, sync_playwright
    except ImportError:
        pytest.skip("playwright is not installed: pip install playwright")
    expect.set_options(timeout=PATIENCE)
    kind = getattr(request, "param", "chromium")
    with sync_playwright() as playwright:
        try:
            if kind == "firefox":
                started = _launch_firefox(playwright, tmp_path_factory.mktemp("firefox"))
            else:
                started = playwright.chromium.launch(executable_path=_find_chromium(), headless=True, args=FLAGS)
        except Error as error:
            pytest.skip(f"no {kind} can be started: {str(error).splitlines()[0]}")
        yield started
        started.close()


@contextlib.contextmanager
def _run_server(*options):
    """Run the command in a process of its own, and give its address."""
    pytest.importorskip("uvicorn", reason="the server of the studio is not installed: pip install 'subband[studio]'")
    command = [sys.executable, "-u", "-m", "subband", "studio", "--no-browser", "--port", "0", *map(str, options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        name, _, address = process.stdout.readline().strip().partition(": ")
        assert name == "subband studio", f"the server did not start: {name}"
        yield address
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@pytest.fixture(scope="session")
def run_server():
    """Return what runs a further server for a block, with options and files of the command line."""
    return _run_server


@pytest.fixture(scope="session")
def write_series():
    """Return what writes a volume of Hounsfield units as the slices of a series."""
    pytest.importorskip("pydicom", reason="pydicom is not installed: pip install 'subband[volumes]'")
    return _write_series


def _write_series(folder, volume, spacing=(0.5, 0.5), depth=2, window=None):
    import pydicom
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, generate_uid

    uid, files = generate_uid(), []
    for number, pixels in enumerate(volume):
        meta = FileMetaDataset()
        meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = CTImageStorage, generate_uid()
        meta.TransferSyntaxUID = ExplicitVRLittleEndian
        slab = FileDataset(None, {}, file_meta=meta, preamble=b"\0" * 128)
        slab.SOPClassUID, slab.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
        slab.SeriesInstanceUID, slab.Modality, slab.InstanceNumber = uid, "CT", number
        slab.Rows, slab.Columns, slab.PixelSpacing, slab.SliceThickness = *pixels.shape, list(spacing), depth
        slab.ImagePositionPatient, slab.ImageOrientationPatient = [0, 0, depth * number], [1, 0, 0, 0, 1, 0]
        slab.SamplesPerPixel, slab.PhotometricInterpretation = 1, "MONOCHROME2"
        slab.BitsAllocated = slab.BitsStored = 16
        slab.HighBit, slab.PixelRepresentation = 15, 0
        slab.RescaleSlope, slab.RescaleIntercept = 1, -1024
        if window is not None:
            slab.WindowCenter, slab.WindowWidth = window
        slab.PixelData = (pixels + 1024).astype(np.uint16).tobytes()
        files.append(folder / f"slice{number}.dcm")
        pydicom.dcmwrite(files[-1], slab)
    return files


@pytest.fixture(scope="session")
def server():
    with _run_server("--no-token") as address:
        yield address


@pytest.fixture
def open_page(browser, server):
    """Return what opens pages, each in a browser profile of its own; errors in any of their consoles fail the test."""
    contexts, pages = [], []

    def make(width=1280, height=800, address=None, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        pages.append(StudioPage(context.new_page(), address or server))
        return pages[-1]

    yield make
    for context in contexts:
        context.close()
    errors = [error for page in pages for error in page.errors]
    assert not errors, "\n".join(errors)


@pytest.fixture
def studio(open_page):
    return open_page()


@pytest.fixture
def out(browser):
    """Return where pictures of the page go; those of the documentation are Chromium's."""
    name = browser.browser_type.name
    folder = OUT if name == "chromium" else OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
