"""Engines and pictures that all editing tools are tried with."""

import numpy as np
import pytest

from subband import data
from subband.engines import get_engine
from subband.errors import MissingExtraError, NoDeviceError

PHOTOGRAPH = data.photograph()[100:171, 120:217]


@pytest.fixture(params=["reference", "cpu", pytest.param("opencl", marks=pytest.mark.opencl)])
def engine(request):
    """Give the name of each engine of this machine."""
    try:
        get_engine(request.param)
    except (MissingExtraError, NoDeviceError) as missing:
        pytest.skip(str(missing))
    return request.param


def _make_pictures():
    grey = np.ascontiguousarray(PHOTOGRAPH[..., 1])
    alpha = np.linspace(0, 255, grey.size).reshape(grey.shape).astype(np.uint8)
    return {
        "grey": grey,
        "colour": PHOTOGRAPH,
        "alpha": np.dstack([PHOTOGRAPH, alpha]),
        "single channel": grey[..., np.newaxis],
        "16 bits": PHOTOGRAPH.astype(np.uint16) * 257,
        "float32": PHOTOGRAPH.astype(np.float32) / 255,
        "float64": PHOTOGRAPH.astype(np.float64) / 255,
        "float16": (PHOTOGRAPH / 255).astype(np.float16),
        "int32": PHOTOGRAPH.astype(np.int32) << 20,
        "view": PHOTOGRAPH[::-1, ::2],
        "row": PHOTOGRAPH[:1],
        "column": PHOTOGRAPH[:, :1],
        "pixel": PHOTOGRAPH[:1, :1],
        "two": PHOTOGRAPH[:2, :3],
    }


@pytest.fixture(params=list(_make_pictures()))
def picture(request):
    """Give a picture of each kind."""
    return _make_pictures()[request.param]


def rounding(picture):
    """Return how far a result may be from what it should be."""
    if picture.dtype.kind in "iu":
        return 0 if picture.dtype.itemsize < 4 else 1 << 10
    return {2: 1e-3, 4: 2e-6, 8: 1e-12}[picture.dtype.itemsize]


@pytest.fixture
def assert_same(picture):
    """Return what fails unless a result is the picture, up to rounding."""

    def check(result):
        assert result.shape == picture.shape
        assert result.dtype == picture.dtype
        np.testing.assert_allclose(result.astype(float), picture.astype(float), atol=rounding(picture), rtol=0)

    return check
