import numpy as np
import pytest

from subband.arrays import as_computable, computed_dtype
from subband.errors import DtypeError, ShapeError, SubbandError


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_ready_arrays_are_not_copied(dtype):
    x = np.ones((3, 4), dtype)[::2, ::-1]
    assert as_computable(x) is x


@pytest.mark.parametrize(
    ("given", "computed"),
    [
        ("float16", "float32"),
        ("longdouble", "float64"),
        ("clongdouble", "complex128"),
        ("bool", "float64"),
        ("uint8", "float64"),
        ("int64", "float64"),
        (">f4", "float32"),
        (">f8", "float64"),
        (">c8", "complex64"),
        (">i2", "float64"),
    ],
)
def test_other_numbers_are_converted(given, computed):
    x = np.array([0, 1, 1]).astype(given)
    converted = as_computable(x)
    assert converted.dtype == np.dtype(computed)
    assert converted.dtype.isnative
    np.testing.assert_array_equal(converted, [0, 1, 1])


def test_read_only_arrays_pass():
    x = np.ones(4)
    x.flags.writeable = False
    assert as_computable(x) is x


def test_subclasses_become_plain_arrays():
    assert type(as_computable(np.ma.masked_array([1.0, 2.0]))) is np.ndarray


def test_bfloat16_is_computed_in_single_precision():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert computed_dtype(np.dtype(ml_dtypes.bfloat16)) == np.float32


@pytest.mark.parametrize(
    ("x", "error"),
    [
        (np.array([1, None], object), TypeError),
        (np.array(["a", "b"]), ValueError),
        (b"abc", ValueError),
        (np.array(["2020-01-01"], "M8[D]"), TypeError),
        (np.zeros(3, "V2"), TypeError),
        (np.zeros(3, [("a", "f8")]), TypeError),
        (None, TypeError),
        ({}, TypeError),
    ],
)
def test_what_holds_no_numbers_is_refused(x, error):
    with pytest.raises(error, match="image has dtype") as caught:
        as_computable(x, "image")
    assert isinstance(caught.value, DtypeError)
    assert isinstance(caught.value, SubbandError)


def test_ragged_lists_are_refused():
    with pytest.raises(ShapeError, match="same length"):
        as_computable([[1], [1, 2]])
