"""Arrays on a real GPU: they stay there, and work is queued on the stream of their owner."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

import subband as sb
from subband.arrays import device_of, map_arrays, to_host
from subband.errors import ArgumentError, ArgumentTypeError

pytestmark = pytest.mark.gpu

CALLS = {
    "dwt": lambda x: sb.dwt(x, "db2"),
    "idwt": lambda x: sb.idwt(x, None, "haar"),
    "idwt2": lambda x: sb.idwt2(sb.dwt2(x, "bior2.2"), "bior2.2"),
    "idwtn": lambda x: sb.idwtn(sb.dwtn(x, "haar", axes=(0,)), "haar", axes=(0,)),
    "wavedec": lambda x: sb.wavedec(x, "db2", level=2),
    "waverec2": lambda x: sb.waverec2(sb.wavedec2(x, "db2", level=2), "db2"),
    "waverecn": lambda x: sb.waverecn(sb.wavedecn(x, "db2", level=1), "db2"),
    "iswt": lambda x: sb.iswt(sb.swt(x, "haar", level=1), "haar"),
    "swt2": lambda x: sb.swt2(x, "db2", level=2),
    "mra": lambda x: sb.mra(x, "haar", level=2),
    "imra2": lambda x: sb.imra2(sb.mra2(x, "haar", level=2)),
    "fswaverecn": lambda x: sb.fswaverecn(sb.fswavedecn(x, "haar")),
    "dtcwt": lambda x: sb.dtcwt(x, level=2),
    "idtcwt": lambda x: sb.idtcwt(sb.dtcwt(x[:31], "near_sym_b", "qshift_b", level=3)),
    "downcoef": lambda x: sb.downcoef("d", x[0], "db2", level=2),
    "upcoef": lambda x: sb.upcoef("d", x[0], "db2", level=2),
    "decompose": lambda x: sb.decompose(x, level=2),
    "decompose, stationary": lambda x: sb.reconstruct(sb.decompose(x, "db2", 1, "smooth", stationary=True)),
    "reconstruct": lambda x: sb.reconstruct(sb.decompose(x, level=2)),
    "adjoint": lambda x: sb.decompose_adjoint(sb.decompose(x, "db3", 1, "antireflect")),
    "adjoint, whole": lambda x: sb.reconstruct_adjoint(x, sb.decompose(x, level=2).plan),
    "mosaic": lambda x: sb.decompose(x, level=1).mosaic(),
    "threshold": lambda x: sb.threshold(x, 0.5, "soft"),
    "threshold, garrote": lambda x: sb.threshold(x, 0.5, "garrote"),
    "threshold, hard": lambda x: sb.threshold(x, x * 0 + 1, "hard"),
    "threshold_firm": lambda x: sb.threshold_firm(x, 0.5, 1.0),
    "pad": lambda x: sb.pad(x, 3, "smooth"),
    "coeffs_to_array": lambda x: sb.coeffs_to_array(sb.wavedec2(x, "haar", level=2))[0],
    "array_to_coeffs": lambda x: sb.array_to_coeffs(*sb.coeffs_to_array(sb.wavedec2(x, "haar", level=2))),
    "ravel_coeffs": lambda x: sb.unravel_coeffs(*sb.ravel_coeffs(sb.wavedec2(x, "db2", level=1))),
    "WaveletPacket": lambda x: [node.data for node in sb.WaveletPacket(x, "haar").get_level(2)],
}


def list_arrays(result):
    arrays = []

    def collect(x):
        arrays.append(x)
        return x

    map_arrays(result, collect)
    return arrays


def make_torch(x):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this Torch has no CUDA")
    return torch.from_numpy(np.ascontiguousarray(x)).cuda()


def make_jax(x):
    jax = pytest.importorskip("jax")
    try:
        device = jax.devices("gpu")[0]
    except RuntimeError:
        pytest.skip("this JAX has no GPU")
    return jax.device_put(x, device)


MAKERS = {"cupy": cupy.asarray, "torch": make_torch, "jax": make_jax}


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


@pytest.fixture
def x():
    return np.random.default_rng(5).normal(size=(32, 44)).astype(np.float32)


@pytest.mark.parametrize("name", CALLS)
def test_the_same_kind_comes_back_on_the_same_device(name, make, x):
    given = make(x)
    expected = list_arrays(CALLS[name](x))
    result = list_arrays(CALLS[name](given))
    for y, wanted in zip(result, expected, strict=True):
        assert isinstance(y, type(given))
        assert device_of(y) == device_of(given) == "cuda:0"
        np.testing.assert_allclose(to_host(y), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events:UserWarning")
@pytest.mark.parametrize("name", ["waverec2", "iswt", "reconstruct", "adjoint, whole", "imra2"])
def test_nothing_is_copied_to_the_host_or_from_it(name, make, x):
    """Torch's profiler sees the copies of the whole process, whichever library makes them."""
    torch = pytest.importorskip("torch")
    given = make(x)
    for _ in range(2):  # tables are uploaded once
        CALLS[name](given)
    cupy.cuda.Device().synchronize()
    for _ in range(2):  # the first profile of a process may miss what happens while it starts
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            CALLS[name](given)
            cupy.cuda.Device().synchronize()
    names = [event.name for event in profile.events()]
    assert names, "the profiler sees nothing"
    assert [name for name in names if "HtoD" in name or "DtoH" in name] == []


def test_transfers_are_none_for_device_arrays_and_one_each_for_those_of_the_host(x, monkeypatch):
    device = sb.get_engine("cuda:0").device
    given = cupy.asarray(x)
    sb.wavedec2(given, "db2", level=2)
    counts = {"upload": 0, "download": 0}

    def count(name):
        original = getattr(device, name)

        def counted(y):
            counts[name] += 1
            return original(y)

        monkeypatch.setattr(device, name, counted)

    count("upload")
    count("download")
    sb.wavedec2(given, "db2", level=2)
    assert counts == {"upload": 0, "download": 0}
    sb.decompose(x, "db2", 2, "symmetric", engine="cuda:0")
    assert counts == {"upload": 1, "download": 7}


def test_host_arrays_of_a_chosen_engine(x):
    expected = sb.wavedec2(x, "db2", level=2)
    sb.set_engine("cuda")
    try:
        result = sb.wavedec2(x, "db2", level=2)
    finally:
        sb.set_engine(None)
    for y, wanted in zip(list_arrays(result), list_arrays(expected), strict=True):
        assert type(y) is np.ndarray
        np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-4)


def test_engines_of_the_host_do_not_reach_the_device(make, x):
    for engine in ("cpu", "reference"):
        with pytest.raises(ArgumentError, match=f"engine='{engine}' does not reach an array on cuda:0"):
            sb.decompose(make(x), level=1, engine=engine)
    assert device_of(sb.decompose(make(x), level=1, engine="cuda").approximation) == "cuda:0"


def test_mixed_places_are_refused(make, x):
    with pytest.raises(ArgumentTypeError, match=r"cD is a numpy\.ndarray and cA a"):
        sb.idwt(make(x), x, "haar")


def test_integers(make, x):
    counts = (x * 100).astype(np.int16)
    y = sb.reconstruct(sb.decompose(make(counts), "cdf53", reversible=True))
    np.testing.assert_array_equal(to_host(y), counts)


def test_torchs_current_stream_is_used(x):
    torch = pytest.importorskip("torch")
    make_torch(x)
    data = torch.zeros(1 << 16, device="cuda")
    sb.dwt(data, "haar")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)  # whoever does not wait for it reads zeros
        data.fill_(1.0)
        low, _ = sb.dwt(data, "haar")
        total = low.sum()
    stream.synchronize()
    assert total.item() == pytest.approx(2**0.5 * (1 << 15), rel=1e-4)


def test_cupys_current_stream_is_used():
    torch = pytest.importorskip("torch")
    data = cupy.zeros(1 << 16, np.float32)
    sb.dwt(data, "haar")
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream, torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
        torch.cuda._sleep(200_000_000)
        data.fill(1.0)
        low, _ = sb.dwt(data, "haar")
        total = low.sum()
    stream.synchronize()
    assert float(total) == pytest.approx(2**0.5 * (1 << 15), rel=1e-4)


def test_numbers_of_16_bits_stay_what_they_are(x):
    torch = pytest.importorskip("torch")
    expected = sb.dwt2(x, "haar")[0]
    for dtype, atol in ((torch.float16, 0.01), (torch.bfloat16, 0.1)):
        low, _ = sb.dwt2(make_torch(x).to(dtype), "haar")
        assert low.dtype == dtype
        np.testing.assert_allclose(low.float().cpu().numpy(), expected, atol=atol)
    low, _ = sb.dwt2(cupy.asarray(x.astype(np.float16)), "haar")
    assert low.dtype == np.float16


@pytest.mark.parametrize("mode", ["symmetric", "periodization", "whole", "smooth"])
def test_gradients(mode):
    torch = pytest.importorskip("torch")
    make_torch(np.zeros(1))
    from subband.integrations import torch as st

    wavelet = "cdf53" if mode == "whole" else "db2"
    x = torch.randn(5, 6, dtype=torch.float64, device="cuda", requires_grad=True)

    def there_and_back(x):
        pyramid = st.decompose(x, wavelet, 1, mode)
        return st.reconstruct(pyramid.map(lambda band, level, key: band * 2 if "d" in key else band))

    assert torch.autograd.gradcheck(there_and_back, (x,))
    assert torch.autograd.gradgradcheck(there_and_back, (x,))


def test_gradients_in_half_precision():
    torch = pytest.importorskip("torch")
    make_torch(np.zeros(1))
    from subband.integrations import torch as st

    net = st.WaveletDenoise(level=2).cuda()
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.randn(2, 3, 33, 47, device="cuda").to(dtype).requires_grad_()
        y = net(x)
        assert y.dtype == dtype
        y.float().square().sum().backward()
        assert x.grad.dtype == dtype
        assert x.grad.isfinite().all()
