"""Sizes are met, and at equal sizes the error is not larger than OpenJPEG's."""

import io
from statistics import mean

import numpy as np
import pytest

from subband import data
from subband.bench.jpeg2000 import measure_quality
from subband.codecs.jpeg2000 import encode, imread

PHOTOGRAPH = data.photograph()[:256, :256]
GREY = data.camera()[:256, :256]


def measure_psnr(a, b, peak=255):
    return 10 * np.log10(peak**2 / np.mean((a.astype(float) - b) ** 2))


def test_as_good_as_openjpeg():
    pytest.importorskip("PIL.Jpeg2KImagePlugin")
    found = list(measure_quality({"colour": PHOTOGRAPH, "grey": GREY}, (0.25, 0.5, 1.0, 2.0)))
    assert mean(each.ours - each.theirs for each in found) > -0.1
    assert all(0.99 <= each.length / each.asked <= 1 for each in found)


@pytest.mark.parametrize("rate", [0.25, 0.5, 1.0, 2.0, 6.0])
@pytest.mark.parametrize("picture", [PHOTOGRAPH, GREY], ids=["colour", "grey"])
def test_rate_is_met(picture, rate):
    length = len(encode(picture, rate=rate))
    asked = rate * 256 * 256 / 8
    # what is lossless before it is that large cannot be larger
    if rate < 6 or picture.ndim == 3:
        assert 0.99 * asked <= length <= asked


@pytest.mark.parametrize("psnr", [30, 36, 42, 48])
@pytest.mark.parametrize("picture", [PHOTOGRAPH, GREY], ids=["colour", "grey"])
def test_psnr_is_met(picture, psnr):
    decoded = imread(io.BytesIO(encode(picture, psnr=psnr)))
    assert psnr - 0.01 <= measure_psnr(decoded, picture) <= psnr + 0.15


@pytest.mark.parametrize("options", [{}, {"tile": (100, 90)}, {"progression": "RPCL", "precincts": [(64, 64)]}])
def test_layers_get_better(options):
    rates = [0.25, 0.5, 1.0, 2.0]
    file = encode(PHOTOGRAPH, rate=rates, **options)
    found = [measure_psnr(imread(io.BytesIO(file), layers=count), PHOTOGRAPH) for count in (1, 2, 3, 4)]
    single = [measure_psnr(imread(io.BytesIO(encode(PHOTOGRAPH, rate=rate, **options))), PHOTOGRAPH) for rate in rates]
    assert found == sorted(found)
    # layers cost headers, and little else
    assert all(ours > alone - 0.8 for ours, alone in zip(found, single, strict=True))


def test_a_lossless_file_in_layers_ends_lossless():
    file = encode(GREY, layers=4)
    errors = [np.abs(imread(io.BytesIO(file), layers=count).astype(int) - GREY).mean() for count in (1, 2, 3, 4)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == 0


def test_lossless_wavelet_to_a_size():
    file = encode(GREY, lossless=True, rate=1.0)
    assert 0.99 * 8192 <= len(file) <= 8192
    assert measure_psnr(imread(io.BytesIO(file)), GREY) > 33


def test_deep_pictures_to_a_rate():
    deep = (GREY.astype(np.uint16) << 8) + np.arange(256, dtype=np.uint16)
    file = encode(deep, rate=1.0)
    assert 0.99 * 8192 <= len(file) <= 8192
    assert measure_psnr(imread(io.BytesIO(file)), deep, 65535) > 33


def test_a_rate_below_the_headers_gives_the_least_there_is():
    assert len(encode(GREY, rate=0.001)) < 300
