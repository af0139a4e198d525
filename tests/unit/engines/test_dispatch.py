"""Arrays of a device stay there: a device of the tests' own, with an engine that counts what is moved."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType

import numpy as np
import pytest

import subband as sb
from subband.arrays import KINDS, Kind, map_arrays
from subband.engines import ENGINES, Engine, get_engine, registry, set_engine
from subband.engines.reference import ReferenceEngine
from subband.errors import ArgumentError, ArgumentTypeError


class Remote:
    """An array on a device: it can be cut, cast and copied there, and nothing turns it into one of NumPy."""

    def __init__(self, hidden, place="fake:0"):
        self.hidden = np.asarray(hidden)
        self.where = place

    def __array__(self, *args, **kwargs):
        raise AssertionError("a device array was copied to the host")

    @property
    def shape(self):
        return self.hidden.shape

    @property
    def ndim(self):
        return self.hidden.ndim

    @property
    def size(self):
        return self.hidden.size

    @property
    def dtype(self):
        return self.hidden.dtype

    def copy(self):
        return Remote(self.hidden.copy())

    def astype(self, dtype):
        return Remote(self.hidden.astype(dtype))

    def __getitem__(self, place):
        return Remote(self.hidden[place])

    def __add__(self, other):
        return Remote(self.hidden + other.hidden)


class RemoteKind(Kind):
    name = "fake.Remote"
    module = "fake_device"
    is_native = True

    def is_mine(self, x):
        return isinstance(x, Remote)

    def device_of(self, x):
        return x.where


class Tensor:
    """What a framework wraps around arrays of the device."""

    def __init__(self, remote):
        self.remote = remote

    shape = property(lambda self: self.remote.shape)
    ndim = property(lambda self: self.remote.ndim)
    dtype = property(lambda self: self.remote.dtype)


class TensorKind(Kind):
    name = "fake.Tensor"
    module = "fake_device"

    def __init__(self):
        self.log = []

    def is_mine(self, x):
        return isinstance(x, Tensor)

    def device_of(self, x):
        return x.remote.where

    def to_native(self, x, name):
        assert self.log[-1] == "enter", "conversion happens on the stream of the caller"
        return x.remote

    def from_native(self, array, like):
        assert self.log[-1] == "enter"
        return Tensor(array)

    @contextmanager
    def enter(self, x):
        self.log.append("enter")
        yield
        self.log.append("leave")


class FakeDevice:
    def __init__(self):
        self.uploads = self.downloads = 0

    def upload(self, x):
        assert type(x) is np.ndarray
        self.uploads += 1
        return Remote(x)

    def download(self, x):
        self.downloads += 1
        return x.hidden


class FakeEngine(Engine):
    """The reference engine, for arrays of the device only."""

    name = "fake"

    def __init__(self, device=None):
        self.device = FakeDevice()
        self.number = device
        self.judge = ReferenceEngine()

    def forward(self, plan, x):
        return {key: Remote(band) for key, band in self.judge.forward(plan, x.hidden).items()}

    def inverse(self, plan, bands):
        return Remote(self.judge.inverse(plan, {key: band.hidden for key, band in bands.items()}))

    def stationary_forward(self, plan, x):
        return {key: Remote(band) for key, band in self.judge.stationary_forward(plan, x.hidden).items()}

    def stationary_inverse(self, plan, bands):
        return Remote(self.judge.stationary_inverse(plan, {key: band.hidden for key, band in bands.items()}))


@pytest.fixture
def tensors(monkeypatch, own_engines):
    """Add the device, its engine and a framework; return the framework's kind."""
    module = ModuleType("fake_device")
    module.FakeEngine = FakeEngine
    kind = TensorKind()
    monkeypatch.setitem(sys.modules, "fake_device", module)
    monkeypatch.setitem(ENGINES, "fake", "fake_device:FakeEngine")
    monkeypatch.setitem(registry._LIBRARIES, "fake", ("numpy", "fake"))
    monkeypatch.setattr("subband.arrays.kinds.KINDS", KINDS)
    monkeypatch.setattr("subband.arrays.kinds._KNOWN", {})
    KINDS.extend([RemoteKind(), kind])
    yield kind
    del KINDS[-2:]
    set_engine(None)


#: Transforms of an array of 8 × 8, there and back.
CALLS = {
    "dwt": lambda x: sb.dwt(x, "db2"),
    "idwt": lambda x: sb.idwt(*sb.dwt(x, "db2"), "db2"),
    "dwt2": lambda x: sb.dwt2(x, "cdf97", "whole"),
    "idwt2": lambda x: sb.idwt2(sb.dwt2(x, "db2"), "db2"),
    "dwtn": lambda x: sb.dwtn(x, "haar"),
    "idwtn": lambda x: sb.idwtn(sb.dwtn(x, "haar"), "haar"),
    "wavedec": lambda x: sb.wavedec(x, "haar", level=2),
    "waverec": lambda x: sb.waverec(sb.wavedec(x, "haar", level=2), "haar"),
    "wavedec2": lambda x: sb.wavedec2(x, "haar", level=2),
    "waverec2": lambda x: sb.waverec2(sb.wavedec2(x, "db2", level=1), "db2"),
    "wavedecn": lambda x: sb.wavedecn(x, "haar", level=2),
    "waverecn": lambda x: sb.waverecn(sb.wavedecn(x, "haar", level=2), "haar"),
    "swt": lambda x: sb.swt(x, "haar", level=2),
    "iswt": lambda x: sb.iswt(sb.swt(x, "haar", level=2), "haar"),
    "swt2": lambda x: sb.swt2(x, "haar", level=2),
    "iswt2": lambda x: sb.iswt2(sb.swt2(x, "haar", level=2), "haar"),
    "swtn": lambda x: sb.swtn(x, "haar", level=1),
    "iswtn": lambda x: sb.iswtn(sb.swtn(x, "haar", level=1), "haar"),
    "mra": lambda x: sb.mra(x, "haar", level=1),
    "imra": lambda x: sb.imra(sb.mra(x, "haar", level=1)),
    "decompose": lambda x: sb.decompose(x, level=2),
    "reconstruct": lambda x: sb.reconstruct(sb.decompose(x, level=2)),
    "stationary": lambda x: sb.reconstruct(sb.decompose(x, "haar", 2, "periodic", stationary=True)),
    "packets": lambda x: sb.WaveletPacket2D(x, "haar")["ad"].data,
    "packets, back": lambda x: split_and_merge(sb.WaveletPacket2D(x, "haar")),
}


def split_and_merge(tree):
    assert len(tree.get_level(2)) == 16
    return tree.reconstruct(update=False)


def list_arrays(result):
    arrays = []

    def collect(x):
        arrays.append(x)
        return x

    map_arrays(result, collect)
    return arrays


@pytest.fixture
def x():
    return np.random.default_rng(3).normal(size=(8, 8))


@pytest.mark.parametrize("name", CALLS)
def test_device_arrays_stay_on_their_device(name, tensors, x):
    """Nothing is uploaded or downloaded, and `Remote.__array__` would have told of a hidden copy."""
    set_engine("reference")
    expected = list_arrays(CALLS[name](x))
    for wrap, unwrap in ((Remote, lambda y: y.hidden), (lambda a: Tensor(Remote(a)), lambda y: y.remote.hidden)):
        given = wrap(x)
        result = list_arrays(CALLS[name](given))
        assert {type(y) for y in result} == {type(given)}
        for y, wanted in zip(result, expected, strict=True):
            np.testing.assert_allclose(unwrap(y), wanted, atol=1e-12)
    device = get_engine("fake:0").device
    assert (device.uploads, device.downloads) == (0, 0)
    assert tensors.log.count("enter") == tensors.log.count("leave") > 0


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"imra"}))
def test_host_arrays_go_to_the_engine_that_is_set_and_come_back(name, tensors, x):
    set_engine("reference")
    expected = list_arrays(CALLS[name](x))
    set_engine("fake")
    result = list_arrays(CALLS[name](x))
    assert get_engine().device.uploads > 0
    for y, wanted in zip(result, expected, strict=True):
        assert type(y) is np.ndarray
        np.testing.assert_allclose(y, wanted, atol=1e-12)


def test_a_call_uploads_and_downloads_each_array_once(tensors, x):
    pyramid = sb.decompose(x, "haar", level=3, engine="fake")
    device = get_engine("fake").device
    assert (device.uploads, device.downloads) == (1, 10)
    sb.reconstruct(pyramid, engine="fake")
    assert (device.uploads, device.downloads) == (11, 11)


def test_pieces_of_the_device_are_not_uploaded_by_functions_that_need_no_engine(tensors, x):
    set_engine("fake")
    sb.threshold(x, 0.5)
    sb.pad(x, 2, "symmetric")
    sb.ravel_coeffs(sb.wavedec2(x, "haar", level=1))
    assert get_engine().device.uploads == 1, "only the transform's"


def test_the_device_of_the_array_decides_which_engine(tensors, x):
    sb.dwt(Remote(x, "fake:1"), "haar")
    assert get_engine("fake:1").number == "1"
    set_engine("reference")
    assert type(sb.dwt(Remote(x), "haar")[0]) is Remote, "whatever is set"
    set_engine("fake")
    assert type(sb.decompose(x, level=1, engine="reference").approximation) is np.ndarray


def test_engines_that_do_not_reach_an_array_are_refused(tensors, x):
    for engine in ("cpu", "reference", get_engine("cpu")):
        with pytest.raises(ArgumentError, match=r"engine=.*does not reach an array on fake:0; leave engine out"):
            sb.decompose(Remote(x), level=1, engine=engine)
    with pytest.raises(ArgumentError, match="engine='fake:1' does not reach an array on fake:0"):
        sb.decompose(Remote(x), level=1, engine="fake:1")
    for engine in ("auto", None, "fake", "fake:0", get_engine("fake:0")):
        assert type(sb.decompose(Remote(x), level=1, engine=engine).approximation) is Remote
    with pytest.raises(ArgumentError, match="does not reach"):
        sb.reconstruct(sb.decompose(Remote(x), level=1), engine="cpu")


def test_an_engine_of_ones_own_takes_what_it_likes(tensors, x):
    class Own(FakeEngine):
        name = "own"

    assert type(sb.decompose(Remote(x), level=1, engine=Own()).approximation) is Remote


def test_mixed_arrays_are_refused(tensors, x):
    with pytest.raises(ArgumentTypeError, match=r"cD is a fake\.Remote and cA a numpy\.ndarray; give all"):
        sb.idwt(x, Remote(x), "haar")
    with pytest.raises(ArgumentTypeError, match=r"coeffs\[1\]\[2\] is a numpy\.ndarray and coeffs\[0\] a fake\.Remote"):
        sb.waverec2([Remote(x), (Remote(x), None, x)], "haar")
    with pytest.raises(ArgumentTypeError, match=r"cD is on fake:1 and cA on fake:0; move all arrays to one device"):
        sb.idwt(Remote(x), Remote(x, "fake:1"), "haar")
    with pytest.raises(ArgumentTypeError, match=r"value is a numpy\.ndarray and data a fake\.Remote"):
        sb.threshold(Remote(x), x)


def test_numbers_of_16_bits_stay_what_they_are_on_a_device(tensors, x):
    seen = []

    class Spy(FakeEngine):
        name = "spy"

        def forward(self, plan, x):
            seen.append(x.dtype.name)
            return super().forward(plan, x)

    for dtype in ("float16", "float32", "uint8", "bool", "complex64"):
        sb.decompose(Remote(x.astype(dtype)), level=1, engine=Spy())
    assert seen == ["float16", "float32", "float64", "float64", "complex64"]


def test_cwt_says_that_it_computes_on_the_host(tensors, x):
    with pytest.raises(ArgumentTypeError, match="data is on fake:0, and cwt computes on the host"):
        sb.cwt(Remote(x), [1, 2], "morl")
    with pytest.raises(ArgumentTypeError, match="coefs is on fake:0, and icwt computes on the host"):
        sb.icwt(Remote(x), [1, 2], "morl")


def test_errors_leave_the_stream_of_the_caller(tensors, x):
    with pytest.raises(sb.errors.AxesError):
        sb.dwt(Remote(x), "haar", axis=5)
