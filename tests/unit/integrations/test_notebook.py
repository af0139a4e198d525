"""The panel for notebooks, driven as a hand would: by the values of its widgets."""

import io

import numpy as np
import pytest
from PIL import Image

import subband
from subband.errors import ShapeError

DenoisePanel = pytest.importorskip("subband.integrations.notebook", exc_type=ImportError).DenoisePanel

CLEAN = subband.data.camera()[:64, :96]
NOISY = np.clip(CLEAN + np.random.default_rng(0).normal(0, 20, CLEAN.shape), 0, 255).astype(np.uint8)


def show(widget):
    return np.array(Image.open(io.BytesIO(widget.value)))


def test_it_starts_with_the_defaults():
    panel = DenoisePanel(NOISY)
    np.testing.assert_array_equal(show(panel._before), NOISY)
    np.testing.assert_array_equal(show(panel._after), panel.result)
    np.testing.assert_array_equal(panel.result, subband.denoise(NOISY, subband.estimate_sigma(NOISY)))
    assert subband.psnr(panel.result, CLEAN) > subband.psnr(NOISY, CLEAN) + 3


def test_every_control_changes_the_result():
    panel = DenoisePanel(NOISY, sigma=20)
    values = {
        "sigma": 30,
        "wavelet": "haar",
        "level": 1,
        "strength": 0.5,
        "form": "decimated",
        "method": "visu",
        "mode": "hard",
    }
    assert panel.controls.keys() == values.keys()
    for name, value in values.items():
        before = panel.result
        panel.controls[name].value = value
        assert not np.array_equal(panel.result, before), name
        np.testing.assert_array_equal(show(panel._after), panel.result)
    expected = subband.denoise(NOISY, 30, "haar", 1, "hard", method="visu", strength=0.5, form="decimated")
    np.testing.assert_array_equal(panel.result, expected)
    np.testing.assert_array_equal(panel.enhancer.apply(NOISY), expected)


def test_what_cannot_be_is_said_and_the_result_stays():
    panel = DenoisePanel(NOISY[:20, :20], sigma=20)
    before = panel.result
    panel.controls["level"].value = 8
    assert "level=8 is too large" in panel._message.value
    assert panel.result is before
    panel.controls["level"].value = 1
    assert panel._message.value == ""


def test_other_ranges_and_gaps():
    image = NOISY / 255 * 4 - 1
    image[:4, :4] = np.nan
    panel = DenoisePanel(np.dstack([image] * 3))
    shown = show(panel._before)
    assert (shown.min(), shown.max(), shown.shape) == (0, 255, (64, 96, 3))
    assert np.isnan(panel.result[:4, :4]).all()
    with pytest.raises(ShapeError, match=r"image has the shape \(4,\)"):
        DenoisePanel(np.zeros(4))
