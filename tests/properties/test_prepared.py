"""The short way of a call gives what the long way gives, bit for bit, and refuses what that refuses."""

from __future__ import annotations

import warnings
from functools import partial, reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subband
from subband import release_memory
from subband.engines import registry, set_engine
from subband.engines.recording import recordings
from subband.errors import SubbandError
from subband.testing import draw_samples
from subband.testing.samples import LAYOUTS, as_layout
from subband.transforms import packing, ravelling

WAVELETS = ("haar", "db2", "db4", "db12", "bior2.2", "bior4.4", "cdf97", "dmey", subband.Wavelet("sym5"))
MODES = ("symmetric", "zero", "periodization", "smooth", "antireflect", "periodic", 1)
DTYPES = ("float64", "float32", "int16", "complex64", ">f8", ">f4", "float16")

#: Functions with everything that they are given besides the array and the wavelet.
FORWARD = (
    subband.dwt,
    partial(subband.dwt, axis=0),
    subband.dwtn,
    subband.wavedec,
    partial(subband.wavedec, level=2),
    partial(subband.wavedec, axis=0, level=1),
    subband.wavedecn,
    partial(subband.wavedecn, level=1),
)
FORWARD_2D = (subband.dwt2, partial(subband.dwt2, axes=(1, 0)), subband.wavedec2, partial(subband.wavedec2, level=1))
INVERSE = {"dwtn": subband.idwtn, "wavedec": subband.waverec, "wavedecn": subband.waverecn}
INVERSE_2D = {"dwt2": subband.idwt2, "wavedec2": subband.waverec2}


def call_slowly(function, *args):
    """Call a function as if something were being recorded already: then nothing is looked up."""

    class Ignored:
        def __getattr__(self, name):
            return lambda *args: None

    recordings.current = Ignored()
    try:
        return function(*args)
    finally:
        recordings.current = None


def assert_same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
        return
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


def collect(result):
    """Return all arrays of a result."""
    if isinstance(result, dict):
        result = list(result.values())
    return [x for part in result for x in collect(part)] if isinstance(result, list | tuple) else [result]


def check(function, *args):
    """Compare both ways, several times, and with results that share no memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of levels that are too high
        expected = call_slowly(function, *args)
        results = [function(*args) for _ in range(3)]
    for found in results:
        assert_same(found, expected)
    # without a level, the data come back as they are
    given = [x for x in collect(list(args)) if isinstance(x, np.ndarray)]
    own = [x for x in collect(results[1]) if not any(np.shares_memory(x, other) for other in given)]
    assert all(x.flags.writeable for x in own)
    assert not any(np.shares_memory(x, other) for x in own for other in collect(results[2]))
    return results[-1]


@st.composite
def arrays(draw, least=1):
    """Arrays of all kinds: as the kernels take them, or not."""
    shape = tuple(draw(st.lists(st.integers(3, 24), min_size=least, max_size=3)))
    x = (50 * draw_samples(shape)).astype(draw(st.sampled_from(DTYPES)))
    if draw(st.booleans()):
        return x
    return draw(st.sampled_from([partial(as_layout, layout=layout) for layout in LAYOUTS] + [as_memmap]))(x)


def as_memmap(x):
    return x.view(np.memmap)


@given(arrays(), st.sampled_from(FORWARD), st.sampled_from(WAVELETS), st.sampled_from(MODES))
def test_forward_and_back(x, function, wavelet, mode):
    result = check(function, x, wavelet, mode)
    name = getattr(function, "func", function).__name__
    options = {key: value for key, value in getattr(function, "keywords", {}).items() if key == "axis"}
    if name == "dwt":
        check(partial(subband.idwt, **options), *result, wavelet, mode)
        check(partial(subband.idwt, **options), result[0], None, wavelet, mode)
    else:
        check(partial(INVERSE[name], **options), result, wavelet, mode)


@given(arrays(least=2), st.sampled_from(FORWARD_2D), st.sampled_from(WAVELETS), st.sampled_from(MODES))
def test_images(x, function, wavelet, mode):
    result = check(function, x, wavelet, mode)
    name = getattr(function, "func", function).__name__
    options = {key: value for key, value in getattr(function, "keywords", {}).items() if key == "axes"}
    check(partial(INVERSE_2D[name], **options), result, wavelet, mode)


@given(
    arrays(),
    st.sampled_from(WAVELETS),
    st.sampled_from((None, "symmetric", "periodization")),
    st.sampled_from((None, 0, 1)),
)
def test_pyramids(x, wavelet, mode, level):
    def take(pyramid):
        """Return what a pyramid holds, as lists that are compared."""
        return [pyramid.approximation, *pyramid.details]

    pyramid = subband.decompose(x, wavelet, level, mode)
    check(lambda x: take(subband.decompose(x, wavelet, level, mode)), x)
    again = subband.decompose(x, wavelet, level, mode)
    assert (again.plan, again.dtype) == (pyramid.plan, pyramid.dtype)
    check(lambda bands: subband.reconstruct(subband.Pyramid(pyramid.plan, bands[0], bands[1:])), take(pyramid))


@given(arrays(), st.sampled_from(WAVELETS), st.booleans(), st.integers(1, 2))
def test_stationary(x, wavelet, trim, level):
    x = np.repeat(x, 4, axis=-1)
    result = check(partial(subband.swt, trim_approx=trim), x, wavelet, level)
    check(subband.iswt, result, wavelet)
    signal = x.reshape(-1)
    for part in "ad":
        check(subband.downcoef, part, signal, wavelet, "symmetric", level)
        check(subband.upcoef, part, signal, wavelet, level)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=9), st.sampled_from(WAVELETS))
def test_lists_and_numbers(values, wavelet):
    check(subband.dwt, values, wavelet)
    check(subband.wavedec, values, wavelet)


@given(arrays(), st.sampled_from(WAVELETS), st.sampled_from(MODES), st.integers(1, 2), st.booleans())
def test_packets(x, wavelet, mode, level, is_partial):
    tree = subband.WaveletPacketND(x, wavelet, mode, maxlevel=level)
    tree.get_leaf_nodes(decompose=True)
    if is_partial:
        del tree["d" * x.ndim]
    check(tree.reconstruct, False)


@given(arrays(), st.sampled_from(("db2", "bior2.2")), st.sampled_from(MODES))
def test_separable(x, wavelet, mode):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of levels that are too high
        result = subband.fswavedecn(x, wavelet, mode, levels=1)
    check(subband.fswaverecn, result)


@given(arrays(), st.integers(1, 5), st.booleans())
def test_sums(x, count, is_alike):
    """The sum of parts is that of NumPy, whatever their dtype and strides."""
    parts = [x * number for number in range(count)]
    parts[-1] = parts[-1] if is_alike else parts[-1].astype("complex128")
    expected = reduce(add, map(np.asarray, parts))
    assert_same(np.asarray(subband.imra(parts)), expected)
    nested = [parts[0], *((part, part, part) for part in parts[1:])]
    expected = reduce(add, map(np.asarray, [parts[0], *(part for part in parts[1:] for _ in range(3))]))
    assert_same(np.asarray(subband.imra2(nested)), expected)
    assert_same(np.asarray(subband.imran([parts[0], *({"a": p, "b": p, "c": p} for p in parts[1:])])), expected)


@given(arrays(), st.sampled_from(("db2", "bior2.2")), st.sampled_from(MODES))
def test_packed_bands_are_taken_out(x, wavelet, mode):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of levels that are too high
        bands = subband.wavedecn(x, wavelet, mode, level=2)
    formats = ["wavedecn", *(["wavedec"] if x.ndim == 1 else ["wavedec2"] if x.ndim == 2 else [])]
    for name in formats:
        packed, flat = subband.coeffs_to_array(bands), subband.ravel_coeffs(bands)
        expected = packing._cut_carefully(*packed, name)
        assert_same(subband.array_to_coeffs(*packed, name), expected)
        assert_same(ravelling._unravel_carefully(*flat, name), expected)
        assert_same(subband.unravel_coeffs(*flat, name), expected)


def test_short_calls_are_prepared():
    x = draw_samples((40,))
    release_memory()
    for function in (subband.dwt, subband.wavedec, subband.dwtn, subband.swt):
        args = (x, "db2", 2) if function is subband.swt else (x, "db2")
        before = len(registry.prepared)
        function(*args)
        assert len(registry.prepared) == before + 1
        key = list(registry.prepared._kept)[-1]
        assert registry.prepared.look(key), function.__name__
    release_memory()
    assert len(registry.prepared) == 0


def test_another_engine_is_asked():
    x = draw_samples((40,), "float32")
    assert subband.dwt(x, "db2")[0].dtype == np.float32
    assert subband.dwt(x, "db2")[0].dtype == np.float32
    set_engine("reference")
    try:
        assert subband.dwt(x, "db2")[0].dtype == np.float64
        assert subband.dwt(x, "db2")[0].dtype == np.float64
    finally:
        set_engine(None)
    assert subband.dwt(x, "db2")[0].dtype == np.float32


@pytest.mark.parametrize(("good", "bad"), [({"axis": 0}, {"axis": 0.0}), ({"level": 1}, {"level": 1.0})])
def test_equal_arguments_of_other_types_are_refused(good, bad):
    x = draw_samples((40,))
    for _ in range(2):
        subband.wavedec(x, "db2", **good)
        with pytest.raises(TypeError):
            subband.wavedec(x, "db2", **bad)
    subband.dwt2(np.ones((8, 8)), "haar", axes=(0, 1))
    with pytest.raises(TypeError):
        subband.dwt2(np.ones((8, 8)), "haar", axes=(0.0, 1.0))


def test_what_warns_warns_each_time():
    x = draw_samples((16,))
    for _ in range(3):
        with pytest.warns(UserWarning, match="level=9 is too high"):
            subband.wavedec(x, "db2", level=9)
        with pytest.warns(DeprecationWarning, match="old name"):
            subband.dwt(x, "db2", "zpd")


def test_bands_that_are_one_array_do_not_stay_one():
    low, high = draw_samples((2, 12))
    assert_same(subband.idwt(low, low, "db2"), call_slowly(subband.idwt, low, low, "db2"))
    assert_same(subband.idwt(low, high, "db2"), call_slowly(subband.idwt, low, high, "db2"))
    assert_same(subband.idwt(low, low, "db2"), call_slowly(subband.idwt, low, low, "db2"))


def test_wrong_arguments_are_refused_after_right_ones():
    x = draw_samples((16,))
    subband.dwt(x, "db2")
    for wrong in ((x, "db2", "nope"), (x, "nope"), (x, "db2", "zero", 3), (x.astype(str), "db2")):
        for _ in range(2):
            with pytest.raises(SubbandError):
                subband.dwt(*wrong)
