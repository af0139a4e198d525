"""Arrays that hold no numbers are refused; those that only look strange work."""

from __future__ import annotations

import numpy as np
import pytest

import subband as sb
from subband import errors
from subband.testing import LAYOUTS, as_layout, draw_samples

#: Every function that takes an array of samples.
TRANSFORMS = {
    "cwt": lambda x: sb.cwt(x, [1, 2], "morl"),
    "decompose": lambda x: sb.decompose(x, "db2"),
    "decompose, reversible": lambda x: sb.decompose(x, "haar", reversible=True),
    "decompose, stationary": lambda x: sb.decompose(x, "db2", stationary=True),
    "downcoef": lambda x: sb.downcoef("a", x, "db2"),
    "dwt": lambda x: sb.dwt(x, "db2"),
    "dwtn": lambda x: sb.dwtn(x, "db2"),
    "fswavedecn": lambda x: sb.fswavedecn(x, "db2"),
    "mra": lambda x: sb.mra(x, "db2", level=1),
    "pad": lambda x: sb.pad(x, 2, "symmetric"),
    "swt": lambda x: sb.swt(x, "db2", level=1),
    "swtn": lambda x: sb.swtn(x, "db2", level=1),
    "upcoef": lambda x: sb.upcoef("a", x, "db2"),
    "wavedec": lambda x: sb.wavedec(x, "db2", level=1),
    "wavedecn": lambda x: sb.wavedecn(x, "db2", level=1),
    "WaveletPacket": lambda x: sb.WaveletPacket(x, "db2", maxlevel=1)["a"].data,
}


@pytest.fixture(params=sorted(TRANSFORMS))
def transform(request):
    return TRANSFORMS[request.param]


@pytest.mark.parametrize(
    "x",
    [np.array([1, None, 3, 4], object), np.array(["2020-01-01"] * 4, "M8[D]"), np.zeros(4, [("a", "f8")])],
    ids=["objects", "dates", "records"],
)
def test_no_numbers(transform, x):
    with pytest.raises(TypeError, match=r"object|M8|datetime|void|V8|f8") as caught:
        transform(x)
    assert isinstance(caught.value, errors.DtypeError)


def test_text(transform):
    with pytest.raises(errors.DtypeError, match="U1"):
        transform(np.array(["1", "2", "3", "4"]))


def test_ragged_rows(transform):
    with pytest.raises(errors.SubbandError, match="same length"):
        transform([[1, 2], [3]])


@pytest.mark.parametrize("shape", [(0,), (4, 0)])
@pytest.mark.parametrize("name", sorted(TRANSFORMS.keys() - {"fswavedecn"}))  # it takes them, as in PyWavelets
def test_empty_axes(name, shape):
    with pytest.raises(errors.ShapeError, match=r"(?s)(empty|no samples|has shape).*(at least|nothing to extend)"):
        TRANSFORMS[name](np.zeros(shape, int))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", ">f4", ">f8", ">c8", ">i2", "float16", "uint8", "bool", "longdouble"])
def test_any_layout_and_byte_order_works(layout, dtype):
    x = as_layout(draw_samples((6, 8), "int16").astype(dtype), layout)
    before = x.copy()
    plain = np.ascontiguousarray(before.astype(before.dtype.newbyteorder("=")))
    for call in (
        lambda x: sb.dwt2(x, "db2")[0],
        lambda x: sb.dwt(x, "cdf97", "whole", axis=0)[1],
        lambda x: sb.wavedecn(x, "haar", level=1)[0],
        lambda x: sb.swt2(x, "db2", 1)[0][0],
        lambda x: sb.idwt(x, x, "haar"),
        lambda x: sb.waverec2([x, (x, None, x)], "haar"),
        lambda x: sb.decompose(x, level=1).approximation,
        lambda x: sb.reconstruct(sb.decompose(x, level=1)),
    ):
        result = call(x)
        assert result.dtype.isnative
        assert result.flags.writeable
        np.testing.assert_array_equal(result, call(plain))
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["int8", "uint16", ">i4", ">u2", "int64"])
def test_integers_of_any_layout_and_byte_order_are_exact(layout, dtype):
    x = as_layout(draw_samples((5, 7), "int16").astype(dtype), layout)
    y = sb.reconstruct(sb.decompose(x, "cdf53", reversible=True))
    assert y.dtype == x.dtype.newbyteorder("=")
    np.testing.assert_array_equal(y, x)
