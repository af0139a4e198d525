"""Scans as people have them, in real browsers: a CT series, ultrasound of 12 bits in 16, a stack of floats.

Each is opened by its name on the command line and by dropping it, and is shown between a black and a white that are
numbers of the data, which is what a radiologist looks at first.
"""

from __future__ import annotations

import numpy as np
import pytest
import tifffile
from scipy import ndimage

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.firefox]

av = pytest.importorskip("av", reason="films are read with PyAV: pip install 'subband[video]'")

RANDOM = np.random.default_rng(22)
#: Millimetres between the rows, and between the slices, of the series.
SPACING, DEPTH = 1.5, 6.0


def make_chest(slices=20, rows=160, columns=200):
    """Return Hounsfield units of a chest: fat, muscle, lungs, a heart with contrast medium, ribs and a spine."""
    y, x = np.mgrid[-1 : 1 : rows * 1j, -1 : 1 : columns * 1j]

    def lies(across, down, wide, high):
        return ((x - across) / wide) ** 2 + ((y - down) / high) ** 2 < 1

    volume = np.full((slices, rows, columns), -1000.0)
    for number, plane in enumerate(volume):
        size = 0.6 + 0.4 * np.sin(np.pi * (number + 0.5) / slices)
        plane[lies(0, 0, 0.9, 0.75)] = -100
        plane[lies(0, 0, 0.82, 0.66)] = 50
        for side in (-0.4, 0.4):
            plane[lies(side, -0.03, 0.28 * size, 0.48 * size)] = -820
        plane[lies(0.08, -0.1, 0.2, 0.24)] = 45
        plane[lies(0.1, -0.06, 0.09, 0.11)] = 180
        plane[lies(0, 0.42, 0.1, 0.12)] = 650
        for angle in np.linspace(0, 2 * np.pi, 14, endpoint=False) + 0.03 * number:
            plane[lies(0.78 * np.cos(angle), 0.62 * np.sin(angle), 0.05, 0.035)] = 500
    return np.rint(np.clip(volume + RANDOM.normal(0, 22, volume.shape), -1024, 3000)).astype(np.int16)


def make_echo(frames=12, rows=180, columns=240):
    """Return ultrasound of a beating chamber after its logarithm: speckle in a sector, of 12 bits."""
    y, x = np.mgrid[:rows, :columns]
    reach, angle = np.hypot(y + 20, x - columns / 2), np.arctan2(x - columns / 2, y + 20)
    sector = (reach > 30) & (reach < rows + 10) & (np.abs(angle) < 0.65)
    video = []
    for number in range(frames):
        away = np.hypot(x - columns / 2, 1.2 * (y - 100)) - 30 - 4 * np.sin(number / 3)
        strength = np.where(away < 0, 0.02, np.where(away < 4, 0.9, 0.25))
        field = [ndimage.gaussian_filter(RANDOM.normal(size=(rows, columns)), (1, 1.6)) for _ in range(2)]
        decibels = 20 * np.log10(np.maximum(4 * np.hypot(*field) * np.sqrt(strength), 1e-4))
        video.append(np.where(sector, np.clip((decibels + 45) / 55, 0, 1) * 4095, 0).astype(np.uint16))
    return np.stack(video)


def make_cells(slices=9, rows=150, columns=200):
    """Return photons of a fluorescence microscope: cells of different brightness over a dim ground, as floats."""
    volume = np.zeros((slices, rows, columns))
    for place in RANDOM.uniform(0, 1, (60, 3)) * volume.shape:
        volume[tuple(place.astype(int))] = RANDOM.uniform(2e4, 2e5)
    volume = ndimage.gaussian_filter(volume, (1.5, 4, 4)) + 20
    return (RANDOM.poisson(volume) + RANDOM.normal(0, 3, volume.shape)).astype(np.float32)


CHEST, ECHO, CELLS = make_chest(), make_echo(), make_cells()


@pytest.fixture(scope="module")
def scans(tmp_path_factory, write_series):
    """Return where the three lie."""
    folder = tmp_path_factory.mktemp("scans")
    (folder / "chest").mkdir()
    write_series(folder / "chest", CHEST, (SPACING, SPACING), DEPTH, window=(40, 400))
    tifffile.imwrite(folder / "cells.tif", CELLS, imagej=True, metadata={"axes": "ZYX"})
    with av.open(str(folder / "echo.mkv"), "w") as film:
        stream = film.add_stream("ffv1", rate=25)
        stream.height, stream.width = ECHO.shape[1:]
        stream.pix_fmt = "gray16le"
        for pixels in ECHO:
            film.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="gray16le")))
        film.mux(stream.encode(None))
    return folder


@pytest.fixture(scope="module")
def scan_server(run_server, scans):
    with run_server("--no-token", *(scans / name for name in ("chest", "echo.mkv", "cells.tif"))) as address:
        yield address


@pytest.fixture(params=["named", "dropped"])
def bring(request, open_page, scan_server, scans):
    """Return what opens one of the three, by its name on the command line or by dropping it."""

    def open_scan(name, **settings):
        if request.param == "named":
            return open_page(1440, 900, address=scan_server).open(f"media:{name}", format="raw", **settings)
        studio = open_page(1440, 900).open("sample:camera", format="raw", **settings)
        path = scans / name
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        studio.drop([(each.name, each.read_bytes()) for each in files])
        return studio

    open_scan.way = request.param
    return open_scan


def read_window(studio):
    """Return the numbers that are black and white, as they stand in the panel."""
    fields = [studio.page.get_by_label(f"{each}, in units of the data") for each in ("Black", "White")]
    fields[0].scroll_into_view_if_needed()
    studio.page.wait_for_timeout(500)
    studio.wait_for("() => document.querySelector('.window input').value !== ''")
    return [float(field.input_value()) for field in fields]


def show(values, low, high):
    return np.rint(np.clip((values.astype(float) - low) / (high - low), 0, 1) * 255)


def is_near(studio, expected):
    """Tell whether the canvas has these shades; a number half-way between two may become either."""
    return np.abs(studio.colours()[..., 0] - expected).max() <= 1


def test_a_series_opens_in_the_window_of_its_file_in_hounsfield_units(bring, out):
    studio = bring("chest", filter="none")
    middle = CHEST[len(CHEST) // 2]
    assert read_window(studio) == [-160, 240]
    assert is_near(studio, show(middle, -160, 240))
    # muscle and contrast medium are told apart, which percentiles of all that air would not do
    assert studio.colours()[..., 0][middle == 180].mean() > studio.colours()[..., 0][middle == 45].mean() + 60
    about = studio.page.locator(".window .hint")
    expect(about).to_contain_text("Level 40, width 400 HU")
    box = studio.page.locator("#viewport").bounding_box()
    studio.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    studio.wait_for("() => document.getElementById('readout').textContent.endsWith('HU')")
    words = studio.page.locator("#readout").inner_text().replace(",", "").split()
    assert float(words[5]) == middle[int(words[3]), int(words[1])]
    expect(studio.page.locator("#status-noise")).to_contain_text("HU")
    studio.page.get_by_role("button", name="Lung").click()
    studio.wait()
    assert read_window(studio) == [-1350, 150]
    assert is_near(studio, show(middle, -1350, 150))
    studio.page.screenshot(path=out / f"scan-lung-{bring.way}.png")
    # the right button over the image: across for contrast, down for brightness
    studio.page.mouse.move(box["x"] + 300, box["y"] + 300)
    studio.page.mouse.down(button="right")
    studio.page.mouse.move(box["x"] + 500, box["y"] + 400, steps=5)
    studio.page.mouse.up(button="right")
    studio.wait()
    low, high = (float(each) for each in studio.settings()["display_window"].split(":"))
    assert abs(high - low - 3000) < 2
    assert abs((low + high) / 2 - (-600 + 375)) < 2
    studio.page.get_by_role("button", name="As opened").click()
    studio.wait()
    assert is_near(studio, show(middle, -160, 240))


ARE_SHAPED = """shape => [document.getElementById('image'), document.querySelectorAll('.plane')[1]].every((each) => {
    const {width, height} = each.getBoundingClientRect();
    return Math.abs(width / height - shape) < 0.05;
})"""


def test_planes_of_a_series_have_the_shape_of_the_body(bring, out):
    studio = bring("chest", filter="none")
    studio.press("Plane", "XZ")
    studio.wait_for("count => window.studio.pixels().height === count", len(CHEST))
    assert is_near(studio, show(CHEST[::-1, CHEST.shape[1] // 2], -160, 240))
    shape = CHEST.shape[2] * SPACING / (CHEST.shape[0] * DEPTH)
    # planes are laid out once their first images are there
    studio.wait_for(ARE_SHAPED, shape)
    # the pixel under the pointer is found in a stretched image, too
    box = studio.page.locator("#image").bounding_box()
    studio.page.mouse.move(box["x"] + 0.5 * box["width"] + 1, box["y"] + 0.025 * box["height"])
    studio.wait_for("() => document.getElementById('readout').textContent.startsWith('x 100, y 0 ')")
    studio.page.screenshot(path=out / f"scan-planes-{bring.way}.png")


def test_ultrasound_of_12_bits_plays_in_its_own_depth(bring, out):
    studio = bring("echo.mkv", filter="none")
    studio.wait_for("() => window.studio.stats().frames > 3")
    studio.page.locator("body").press("k")
    studio.wait_for("() => !window.studio.stats().playing")
    studio.page.get_by_label("Position in the video").fill("5")
    studio.wait_for("() => window.studio.stats().position === 5")
    for _ in range(60):
        low, high = read_window(studio)
        if high > 255:  # else the panel still tells of the image that was open before
            break
    assert low == 0
    assert 3500 < high <= 4095
    expected = np.percentile(ECHO[0], (0.2, 99.8))
    assert is_near(studio, show(ECHO[5], *expected))
    assert len(np.unique(studio.colours()[..., 0])) > 200
    studio.choose("Filter", "Speckle of ultrasound")
    studio.view("Before and after")
    sharp, smooth = (studio.colours(role)[80:110, 60:90, 0].std() for role in ("before", "result"))
    assert smooth < 0.8 * sharp
    studio.page.screenshot(path=out / f"scan-ultrasound-{bring.way}.png")


def test_a_stack_of_floats_is_shown_in_its_photons(bring, out):
    studio = bring("cells.tif", filter="none")
    expect(studio.page.locator("#position")).to_have_text("slice 5/9")
    expected = np.percentile(CELLS[4], (0.2, 99.8))
    found = read_window(studio)
    assert np.abs(found - expected).max() < 1e-3 * np.ptp(expected)
    assert is_near(studio, show(CELLS[4], *expected))
    low, high = (studio.page.get_by_label(f"{each}, in units of the data") for each in ("Black", "White"))
    studio.type(low, 10)
    studio.type(high, 250)
    assert is_near(studio, show(CELLS[4], 10, 250))
    studio.choose("Filter", "Bivariate shrinkage")
    studio.view("Before and after")
    studio.page.screenshot(path=out / f"scan-cells-{bring.way}.png")
    studio.page.keyboard.press(".")
    studio.wait_for("() => document.getElementById('position').textContent === 'slice 6/9'")
    assert is_near_before(studio, show(CELLS[5], 10, 250))


def is_near_before(studio, expected):
    return np.abs(studio.colours("before")[..., 0] - expected).max() <= 1
