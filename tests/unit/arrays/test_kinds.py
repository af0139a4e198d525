"""Arrays of other libraries on the host: the same kind comes back, with the same numbers."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import subband as sb
from subband.arrays import device_of, find_kind, is_array, map_arrays
from subband.errors import ArgumentTypeError

CALLS = {
    "dwt": lambda x: sb.dwt(x, "db2"),
    "idwt": lambda x: sb.idwt(x, None, "haar"),
    "dwt2, idwt2": lambda x: sb.idwt2(sb.dwt2(x, "bior2.2"), "bior2.2"),
    "dwtn, idwtn": lambda x: sb.idwtn(sb.dwtn(x, "haar", axes=(0,)), "haar", axes=(0,)),
    "wavedec": lambda x: sb.wavedec(x, "db2", level=2),
    "waverec2": lambda x: sb.waverec2(sb.wavedec2(x, "db2", level=1), "db2"),
    "wavedecn, 0 levels": lambda x: sb.wavedecn(x, "db2", level=0),
    "waverecn": lambda x: sb.waverecn(sb.wavedecn(x, "db2", level=1), "db2"),
    "swt": lambda x: sb.iswt(sb.swt(x, "haar", level=1), "haar"),
    "swt2": lambda x: sb.iswt2(sb.swt2(x, "haar", level=2), "haar"),
    "swtn": lambda x: sb.iswtn(sb.swtn(x, "haar", level=1), "haar"),
    "dtcwt": lambda x: sb.dtcwt(x, level=2),
    "idtcwt": lambda x: sb.idtcwt(sb.dtcwt(x[:7], "near_sym_b", "qshift_b", level=3)),
    "mra": lambda x: sb.mra(x, "haar", level=2),
    "imra2": lambda x: sb.imra2(sb.mra2(x, "haar", level=2)),
    "imran": lambda x: sb.imran(sb.mran(x, "haar", level=2, transform="dwtn")),
    "fswavedecn": lambda x: sb.fswavedecn(x, "haar").approx,
    "fswaverecn": lambda x: sb.fswaverecn(sb.fswavedecn(x, "haar")),
    "downcoef": lambda x: sb.downcoef("d", x[0], "db2", level=2),
    "upcoef": lambda x: sb.upcoef("d", x[0], "db2", level=2),
    "decompose": lambda x: sb.decompose(x, level=1),
    "decompose, stationary": lambda x: sb.reconstruct(sb.decompose(x, "db2", 1, stationary=True)),
    "reconstruct": lambda x: sb.reconstruct(sb.decompose(x, level=1)),
    "mosaic": lambda x: sb.decompose(x, level=1).mosaic(),
    "map": lambda x: sb.decompose(x, level=1).map(lambda band, level, key: band * 2),
    "threshold": lambda x: sb.threshold(x, 0.5, "garrote"),
    "threshold by an array": lambda x: sb.threshold(x, x * 0 + 1, "hard"),
    "threshold_firm": lambda x: sb.threshold_firm(x, 0.5, 1.0),
    "pad": lambda x: sb.pad(x, 3, "smooth"),
    "coeffs_to_array": lambda x: sb.coeffs_to_array(sb.wavedec2(x, "haar", level=2))[0],
    "array_to_coeffs": lambda x: sb.array_to_coeffs(*sb.coeffs_to_array(sb.wavedec2(x, "haar", level=2))),
    "ravel_coeffs": lambda x: sb.unravel_coeffs(*sb.ravel_coeffs(sb.wavedec2(x, "db2", level=1))),
    "cwt": lambda x: sb.cwt(x, [1, 2], "morl")[0],
    "icwt": lambda x: sb.icwt(sb.cwt(x, [2, 4], "morl")[0], [2, 4], "morl"),
    "WaveletPacket": lambda x: [node.data for node in sb.WaveletPacket(x, "haar").get_level(2)],
    "WaveletPacket, back": lambda x: fill(sb.WaveletPacket(None, "haar"), x).reconstruct(),
}


def fill(tree, x):
    tree["a"], tree["d"] = x, x * 2
    return tree


def list_arrays(result):
    arrays = []

    def collect(x):
        arrays.append(x)
        return x

    map_arrays(result, collect)
    return arrays


@pytest.fixture(params=["torch", "jax"])
def library(request):
    """Return the type of a library's arrays, and what makes one of NumPy's."""
    module = pytest.importorskip(request.param)
    if request.param == "torch":
        return module.Tensor, module.tensor
    return module.Array, module.numpy.asarray


@pytest.fixture
def x():
    return np.random.default_rng(5).normal(size=(8, 12)).astype(np.float32)


@pytest.mark.parametrize("name", CALLS)
def test_the_same_kind_comes_back(name, library, x):
    kind, make = library
    expected = list_arrays(CALLS[name](x))
    result = list_arrays(CALLS[name](make(x)))
    for y, wanted in zip(result, expected, strict=True):
        assert isinstance(y, kind)
        assert str(y.dtype).rpartition(".")[2] == wanted.dtype.name
        np.testing.assert_array_equal(np.asarray(y), wanted)


def test_pyramids_of_other_arrays(library, x, tmp_path):
    kind, make = library
    pyramid = sb.decompose(make(x), "cdf53", level=2)
    wanted = sb.decompose(x, "cdf53", level=2)
    assert repr(pyramid) == repr(wanted)
    assert isinstance(pyramid[1][0], kind)
    np.testing.assert_array_equal(pyramid.picture(), wanted.picture())
    pyramid.save(tmp_path / "bands.npz")
    np.testing.assert_array_equal(sb.reconstruct(sb.Pyramid.load(tmp_path / "bands.npz")), sb.reconstruct(wanted))
    again = sb.Pyramid(pyramid.plan, pyramid.approximation, pyramid.details)
    assert again.dtype == np.float32


def test_integers_come_back_as_they_were(library, x):
    _, make = library
    counts = (x * 100).astype(np.int16)
    y = sb.reconstruct(sb.decompose(make(counts), "cdf53", reversible=True))
    assert str(y.dtype).endswith("int16")
    np.testing.assert_array_equal(np.asarray(y), counts)


def test_mixed_libraries_are_refused(library, x):
    _, make = library
    with pytest.raises(ArgumentTypeError, match=r"cD is a numpy\.ndarray and cA a (torch\.Tensor|jax\.Array)"):
        sb.idwt(make(x), x, "haar")
    with pytest.raises(ArgumentTypeError, match=r"coeffs\['d'\] is a (torch\.Tensor|jax\.Array) and coeffs\['a'\]"):
        sb.idwtn({"a": x, "d": make(x)}, "haar", axes=(0,))


def test_errors_are_those_of_numpy_arrays(library, x):
    _, make = library
    with pytest.raises(sb.errors.AxesError, match="axis=2 is out of range"):
        sb.dwt(make(x), "haar", axis=2)
    with pytest.raises(sb.errors.CoefficientsError, match=r"do not|does not belong"):
        sb.idwt(make(x), make(x[:5]), "haar", axis=0)


def test_arrays_are_told_from_other_things():
    assert not is_array([1, 2])
    assert not is_array(np.float64(1))
    assert find_kind(np.ma.masked_array([1.0])).name == "numpy.ndarray"
    assert device_of([1, 2]) == device_of(np.ones(2)) == "cpu"


def test_lists_of_arrays_are_data_too(library, x):
    _, make = library
    low, _ = sb.dwt([make(x[0]), make(x[1])], "haar")
    np.testing.assert_array_equal(np.asarray(low), sb.dwt(x[:2], "haar")[0])


class TestTorch:
    @pytest.fixture(autouse=True)
    def _import(self):
        self.torch = pytest.importorskip("torch")

    def test_tensors_that_require_grad_pass_it_on(self):
        x = self.torch.ones(8, requires_grad=True)
        assert sb.dwt(x, "haar")[0].requires_grad
        assert not sb.dwt(x.detach(), "haar")[0].requires_grad
        with self.torch.no_grad():
            assert not sb.dwt(x, "haar")[0].requires_grad

    def test_numbers_of_16_bits_are_computed_in_single_precision(self):
        for dtype in (self.torch.bfloat16, self.torch.float16):
            x = self.torch.arange(8).to(dtype)
            low, high = sb.dwt(x, "db2")
            assert low.dtype == high.dtype == self.torch.float32
            np.testing.assert_array_equal(low.numpy(), sb.dwt(x.float().numpy(), "db2")[0])
            assert sb.decompose(x, level=1).dtype == np.float32

    def test_views_and_conjugates(self):
        x = self.torch.randn(8, 6, dtype=self.torch.complex64).T.conj()
        low, _ = sb.dwt(x, "haar", axis=0)
        np.testing.assert_allclose(low.numpy(), sb.dwt(x.resolve_conj().numpy(), "haar", axis=0)[0])

    def test_tensors_without_numbers_are_refused(self):
        with pytest.raises(ArgumentTypeError, match=r"device 'meta'.*use \.cpu\(\)"):
            sb.dwt(self.torch.ones(8, device="meta"), "haar")
        with pytest.raises(ArgumentTypeError, match=r"layout torch\.sparse_coo; give data\.to_dense\(\)"):
            sb.dwt(self.torch.ones(8).to_sparse(), "haar")

    def test_the_memory_of_a_tensor_is_not_copied(self, monkeypatch):
        x = self.torch.ones(64, 64)
        seen = []
        engine = sb.get_engine("reference")
        monkeypatch.setattr(engine, "forward", lambda plan, x: seen.append(x) or {"a": x, "d": x})
        sb.set_engine("reference")
        try:
            low, _ = sb.dwt(x, "haar")
        finally:
            sb.set_engine(None)
        assert seen[0].__array_interface__["data"][0] == x.data_ptr() == low.data_ptr()

    def test_a_library_that_is_not_loaded_is_not_asked(self, monkeypatch):
        x = self.torch.ones(8)
        monkeypatch.setitem(sys.modules, "torch", None)
        assert find_kind(x) is None


class TestOpenCL:
    pytestmark = pytest.mark.opencl

    def test_thresholds_on_the_device(self):
        cl = pytest.importorskip("pyopencl")
        arrays = pytest.importorskip("pyopencl.array")
        try:
            device = cl.get_platforms()[0].get_devices()[0]
        except (cl.Error, IndexError):
            pytest.skip("OpenCL has no device")
        x = np.array([-3.0, -1.0, 0.0, 0.5, 2.0, 4.0], np.float32)
        y = arrays.to_device(cl.CommandQueue(cl.Context([device])), x)
        assert device_of(y) == "opencl:0"
        assert find_kind(y).name == "pyopencl.array.Array"
        for mode in ("soft", "hard", "garrote", "greater", "less"):
            for value, substitute in ((2, 0), (0, 0), (1, 7)):
                result = sb.threshold(y, value, mode, substitute)
                np.testing.assert_allclose(result.get(), sb.threshold(x, value, mode, substitute), rtol=1e-6)
        with pytest.raises(ArgumentTypeError, match=r"one threshold.*data\.get\(\)"):
            sb.threshold(y, y)
        with pytest.raises(ArgumentTypeError, match=r"pad|extending an array.*x\.get\(\)"):
            sb.pad(y, 2, "symmetric")
