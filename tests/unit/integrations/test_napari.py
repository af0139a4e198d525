"""The plugin of napari, without a window: its manifest, its reader, and its widgets beside napari's own viewer.

What is tested is napari's model of a viewer with its layers, which needs no Qt and no screen; ipywidgets draws the
widgets.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import subband
from subband.integrations import napari as plugin
from subband.media.formats import list_formats

components = pytest.importorskip("napari.components")
magicgui = pytest.importorskip("magicgui")
yaml = pytest.importorskip("yaml")

MANIFEST = Path(plugin.__file__).with_name("napari.yaml")

VOLUME = np.random.default_rng(0).normal(100, 10, (6, 32, 40)).astype(np.float32)
NOISY = (subband.data.camera()[:64, :96] + np.random.default_rng(0).normal(0, 15, (64, 96))).astype(np.float32)


@pytest.fixture
def viewer():
    return components.ViewerModel()


@pytest.fixture
def widgets():
    """The widgets, drawn by ipywidgets instead of Qt, which needs a screen."""
    magicgui.use_app("ipynb")
    from subband.integrations.napari import widgets

    return widgets


def test_the_manifest_is_valid():
    # in a process of its own, because it warns of its own use of libraries
    command = [sys.executable, "-m", "npe2", "validate", str(MANIFEST), "--imports"]
    environment = {**os.environ, "PYTHONPATH": str(Path(subband.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_reader_is_offered_for_what_is_read():
    (reader,) = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))["contributions"]["readers"]
    forms = [form for form in list_formats("volume") if form.open_volume]
    forms += [form for form in list_formats("still") if form.name.startswith("JPEG 2000")]
    assert reader["filename_patterns"] == [f"*{ending}" for form in forms for ending in form.endings]


def test_files_become_layers(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    nibabel.save(nibabel.Nifti1Image(VOLUME.T, np.diag([0.5, 1, 2, 1])), tmp_path / "scan.nii")
    np.save(tmp_path / "times.npy", np.stack([VOLUME] * 2))
    subband.imwrite(tmp_path / "photo.jp2", subband.data.photograph()[:32, :48], quality=100)
    found = {}
    for path in tmp_path.iterdir():
        ((pixels, settings, kind),) = plugin.get_reader(str(path))(str(path))
        found[settings["name"]] = pixels.shape, settings["rgb"], tuple(settings.get("scale", ())), kind
    assert found == {
        "scan": ((6, 32, 40), False, (2.0, 1.0, 0.5), "image"),
        "times": ((2, 6, 32, 40), False, (), "image"),
        "photo": ((32, 48, 3), True, (), "image"),
    }
    assert plugin.get_reader("notes.txt") is plugin.get_reader("video.mp4") is plugin.get_reader(["a.nii"]) is None


def test_denoising_is_shown_while_settings_change(viewer, widgets):
    widget = widgets.DenoiseWidget(viewer)
    assert widget.layer.value is None
    viewer.add_image(NOISY, name="camera", scale=(2, 3))
    result = viewer.layers["camera denoised"]
    np.testing.assert_allclose(result.data, subband.denoise(NOISY), atol=1e-3)
    assert tuple(result.scale) == (2, 3)
    widget.controls["strength"].value = 2.0
    widget.controls["method"].value = "bayes"
    np.testing.assert_allclose(result.data, subband.denoise(NOISY, method="bayes", strength=2), atol=1e-3)
    widget.live.value = False
    before = result.data
    widget.controls["wavelet"].value = "haar"
    assert result.data is before
    widget.button.changed.emit(True)
    np.testing.assert_allclose(
        result.data, subband.denoise(NOISY, method="bayes", strength=2, wavelet="haar"), atol=1e-3
    )
    assert len(viewer.layers) == 2


def test_what_cannot_be_is_said(viewer, widgets):
    viewer.add_image(NOISY[:20, :20], name="small")
    widget = widgets.DenoiseWidget(viewer)
    widget.controls["level"].value = 8
    assert "level=8 is too large" in widget.message.value
    widget.controls["level"].value = 1
    assert widget.message.value == ""


def test_planes_volumes_and_colours(viewer, widgets):
    stack = viewer.add_image(VOLUME, name="stack")
    widget = widgets.DenoiseWidget(viewer)
    result = viewer.layers["stack denoised"]
    np.testing.assert_allclose(result.data[2], subband.denoise(VOLUME[2]), atol=1e-3)
    widget.volume.value = True
    np.testing.assert_allclose(result.data, subband.denoise(VOLUME), atol=1e-3)
    photo = viewer.add_image(subband.data.photograph()[:32, :48], name="photo", rgb=True)
    widget.volume.value = False
    widget.layer.value = photo
    np.testing.assert_array_equal(viewer.layers["photo denoised"].data, subband.denoise(photo.data))
    assert viewer.layers["photo denoised"].rgb
    assert stack in viewer.layers


def test_bands_lie_where_they_come_from(viewer, widgets):
    viewer.add_image(NOISY, name="camera", scale=(2, 3), translate=(10, 20))
    widget = widgets.BandsWidget(viewer)
    assert len(viewer.layers) == 1 + 7
    widget.controls["wavelet"].value = "haar"
    widget.controls["level"].value = 1
    pyramid = subband.decompose(NOISY, "haar", 1)
    for level, key, band in pyramid.bands():
        layer = viewer.layers[f"camera {level} {key}"]
        np.testing.assert_allclose(layer.data, band, atol=1e-4)
        # between the two samples of each pair
        assert (tuple(layer.scale), tuple(layer.translate)) == ((4, 6), (11, 21.5))
    # those of the second level are gone
    assert len(viewer.layers) == 1 + 4
