"""Images of 8, 12 in 16 and 16 bits and of floats: screen, export, printed command and printed Python are the same."""

from __future__ import annotations

import shlex
import subprocess
import sys

import numpy as np
import pytest
import tifffile
from typer.testing import CliRunner

from subband import data
from subband.cli import app

pytestmark = [pytest.mark.browser, pytest.mark.firefox]

NOISE = np.random.default_rng(5).normal(0, 1, (160, 176))
CAMERA = data.camera()[100:260, 150:326]
#: What each file holds, and the numbers that are made black and white.
IMAGES = {
    "eight.tif": (np.clip(CAMERA + 8 * NOISE, 0, 255).astype(np.uint8), (0, 255)),
    "twelve.tif": (np.clip(CAMERA * 14.0 + 200 + 60 * NOISE, 0, 4095).astype(np.uint16), (0, 4095)),
    "sixteen.tif": (np.clip(CAMERA * 240.0 + 1800 + 900 * NOISE, 0, 65535).astype(np.uint16), (0, 65535)),
    "float.tif": ((CAMERA * 8.0 - 1000 + 30 * NOISE).astype(np.float32), (-1000, 1000)),
}
FILTERS = {"soft": {"threshold": 18}, "bivariate": {"strength": 1.2}}


@pytest.fixture(scope="module")
def depths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("depths")
    for name, (pixels, _) in IMAGES.items():
        tifffile.imwrite(folder / name, pixels)
    return folder


@pytest.fixture(scope="module")
def depth_server(run_server, depths):
    with run_server("--no-token", depths) as address:
        yield address


def copy(studio, title):
    """Return what is copied by a button."""
    studio.page.get_by_role("button", name=title, exact=True).click()
    text = studio.page.get_by_role("textbox", name=title).input_value()
    studio.page.keyboard.press("Escape")
    return text


def run_command(text):
    """Run a printed command: here, or by a shell if it comes with a text to read."""
    if "<<" in text:
        shell = f'subband() {{ "{sys.executable}" -m subband "$@"; }}\n{text}\n'
        subprocess.run(["bash", "-ec", shell], check=True)
        return
    run = CliRunner().invoke(app, shlex.split(text)[1:])
    assert run.exit_code == 0, run.output


@pytest.mark.parametrize("filter_name", FILTERS)
@pytest.mark.parametrize("name", IMAGES)
def test_screen_export_command_and_python_have_the_same_pixels(
    open_page, depth_server, depths, monkeypatch, name, filter_name
):
    image, (low, high) = IMAGES[name]
    settings = {"filter": filter_name, "level": 3, "display_window": f"{low}:{high}", **FILTERS[filter_name]}
    studio = open_page(address=depth_server).open(f"media:{name}", format="raw", **settings)
    shown = studio.colours()[..., 0]
    exported = tifffile.imread(studio.export(".tif"))
    assert exported.dtype == image.dtype
    studio.page.get_by_text("The same outside the studio").click()
    command, program = copy(studio, "Command line"), copy(studio, "Python")
    monkeypatch.chdir(depths)
    target = depths / name.replace(".tif", "-enhanced.tif")
    results = {}
    for way in ("command", "python"):
        if way == "python":
            exec(program, {})
        else:
            run_command(command)
        results[way] = tifffile.imread(target)
        target.unlink()
    np.testing.assert_array_equal(results["python"], results["command"])
    if image.dtype == np.float32:
        # a process of its own may order additions otherwise
        np.testing.assert_allclose(exported, results["command"], rtol=0, atol=1e-5 * (high - low))
    else:
        np.testing.assert_array_equal(exported, results["command"])
    shades = np.rint(np.clip((exported.astype(float) - low) / (high - low), 0, 1) * 255)
    # the screen is computed from the data, and rounded once
    assert np.abs(shown - shades).max() <= 1
    assert (shown == shades).mean() > 0.98
    assert (exported != image).mean() > 0.3
    before = np.rint(np.clip((image.astype(float) - low) / (high - low), 0, 1) * 255)
    studio.view("Before and after")
    assert np.abs(studio.colours("before")[..., 0] - before).max() <= 1
