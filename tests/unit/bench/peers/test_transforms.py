"""Other libraries are called as their users call them; here stand-ins that write down how."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from subband.bench.cases import Case
from subband.bench.device_cases import DeviceCase
from subband.bench.peers import DEVICE_PEERS, TRANSFORM_PEERS, Peer, find_peers
from subband.bench.peers.cases import PeerCase

PREPARE = {peer.name: peer.prepare for peer in TRANSFORM_PEERS}
IMAGE = np.zeros((32, 48), np.float32)


def test_missing_and_broken_libraries_are_told(tmp_path, monkeypatch):
    (tmp_path / "broken_peer.py").write_text("raise OSError('libcuda is not what it was')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found, remarks = find_peers(
        (
            Peer("numpy", "numpy", None),
            Peer("broken", "broken_peer", None),
            Peer("gone", "no_such_peer", None, "pip install gone"),
        )
    )
    assert [(peer.name, module.__name__) for peer, module in found] == [("numpy", "numpy")]
    assert "broken is not measured: libcuda" in remarks[0]
    assert remarks[1] == "gone is not measured: No module named 'no_such_peer'; install it with: pip install gone"


def test_every_peer_says_how_to_install_it():
    assert all(peer.install and peer.distribution for peer in TRANSFORM_PEERS)


class Wavelets:
    def __init__(self, image, wavelet, level):
        self.made = (image.shape, wavelet, level)
        self.calls = []

    def forward(self):
        self.calls.append("forward")

    def inverse(self):
        self.calls.append("inverse")

    coeffs = ("approximation", "fine", "coarse")
    image = "picture"


def test_pdwt_is_asked_to_go_there_before_it_comes_back():
    contender = PREPARE["PDWT"](
        SimpleNamespace(Wavelets=Wavelets), DeviceCase(IMAGE.shape, "cdf97", "whole", 2, inverse=True), IMAGE
    )
    contender.call()
    contender.discount()
    transform = contender.discount.__self__
    assert transform.made == ((32, 48), "bior4.4", 2)
    assert transform.calls == ["forward", "inverse", "forward"]
    assert contender.read(None) == "picture"
    assert contender.mode == "periodization"


def test_pdwt_forward_has_no_discount():
    contender = PREPARE["PDWT"](SimpleNamespace(Wavelets=Wavelets), DeviceCase(IMAGE.shape, "haar"), IMAGE)
    assert contender.discount is None
    assert contender.read(None) == ["approximation", "coarse", "fine"]


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize(
    ("shape", "axes", "suffix", "given"),
    [
        ((32, 48), None, "2", (1, 32, 48)),
        ((3, 32, 48), (1, 2), "2", (3, 32, 48)),
        ((8, 8, 8), None, "3", (1, 8, 8, 8)),
    ],
)
def test_ptwt(shape, axes, suffix, given, inverse):
    pytest.importorskip("torch")
    calls = []

    def there(tensor, wavelet, mode, level):
        calls.append((tuple(tensor.shape), wavelet, mode, level))
        return "coefficients"

    def back(coefficients, wavelet):
        calls.append((coefficients, wavelet))

    module = SimpleNamespace(**{f"wavedec{suffix}": there, f"waverec{suffix}": back})
    case = DeviceCase(shape, "cdf97", "whole", 2, inverse=inverse, axes=axes)
    PREPARE["ptwt"](module, case, np.zeros(shape, np.float32)).call()
    assert calls == [(given, "bior4.4", "periodic", 2), ("coefficients", "bior4.4")][: 1 + inverse]


class Module:
    def __init__(self, calls, **settings):
        self.calls, self.settings = calls, settings

    def to(self, device):
        return self

    def __call__(self, x):
        self.calls.append((self.settings, getattr(x, "shape", x)))
        return "coefficients"


@pytest.mark.parametrize("inverse", [False, True])
def test_pytorch_wavelets(inverse):
    pytest.importorskip("torch")
    calls = []
    module = SimpleNamespace(
        DWTForward=lambda **settings: Module(calls, **settings), DWTInverse=lambda **settings: Module(calls, **settings)
    )
    case = DeviceCase((3, 32, 48), "db5", "periodization", 2, inverse=inverse, axes=(1, 2))
    PREPARE["pytorch_wavelets"](module, case, np.zeros(case.shape, np.float32)).call()
    assert calls[0] == ({"J": 2, "wave": "db5", "mode": "periodization"}, (1, 3, 32, 48))
    assert calls[1:] == [({"wave": "db5", "mode": "periodization"}, "coefficients")][: int(inverse)]


def test_pytorch_wavelets_in_one_dimension_and_in_order():
    torch = pytest.importorskip("torch")

    class Forward:
        def __init__(self, **settings):
            assert settings == {"J": 2, "wave": "db4", "mode": "symmetric"}

        def to(self, device):
            return self

        def __call__(self, x):
            assert x.shape == (1, 1, 64)
            return torch.zeros(1, 1, 3), [torch.ones(1, 1, 9), torch.full((1, 1, 5), 2.0)]

    contender = PREPARE["pytorch_wavelets"](
        SimpleNamespace(DWT1DForward=Forward), Case((64,), "db4", "symmetric", 2), np.zeros(64, np.float32)
    )
    assert [band.shape for band in contender.read(contender.call())] == [(3,), (5,), (9,)]


def test_bands_of_pytorch_wavelets_are_told_apart():
    torch = pytest.importorskip("torch")
    bands = torch.arange(3.0).reshape(1, 1, 3, 1, 1).expand(1, 1, 3, 4, 4)
    module = SimpleNamespace(DWTForward=lambda **_: SimpleNamespace(to=lambda _: lambda x: (x[..., :4, :4], [bands])))
    contender = PREPARE["pytorch_wavelets"](module, Case((8, 8), "haar", "symmetric"), np.zeros((8, 8), np.float32))
    _, details = contender.read(contender.call())
    assert [band.shape for band in details] == [(4, 4)] * 3
    assert [float(band[0, 0]) for band in details] == [0, 1, 2]


class Jax:
    """JAX in as much as is used: it counts what is compiled and what is waited for."""

    def __init__(self):
        self.numpy = SimpleNamespace(asarray=np.asarray)
        self.compiled, self.waited = 0, 0
        self.default_backend = lambda: "cpu"

    def jit(self, function):
        self.compiled += 1
        return function

    def block_until_ready(self, result):
        self.waited += 1
        return result


@pytest.mark.parametrize("inverse", [False, True])
def test_jaxwt_is_compiled_and_waited_for(inverse, monkeypatch):
    jax = Jax()
    monkeypatch.setitem(sys.modules, "jax", jax)
    pywt = pytest.importorskip("pywt")
    module = SimpleNamespace(wavedec2=pywt.wavedec2, waverec2=pywt.waverec2)
    case = Case((16, 16), "db2", "symmetric", 2, inverse=inverse)
    samples = case.make_samples()
    contender = PREPARE["jaxwt"](module, case, samples)
    result = contender.read(contender.call())
    assert jax.compiled == 2
    assert jax.waited == 1
    if inverse:
        np.testing.assert_allclose(result, samples, atol=1e-6)
    else:
        assert [np.shape(part) for part in result[1:]] == [(3, 6, 6), (3, 9, 9)]


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (PeerCase((64,), "db2", "stationary", 2, inverse=True), "for each sample"),
        (PeerCase((16, 16, 16), "db2", "symmetric", 1, inverse=True), "on a CPU"),
    ],
)
def test_what_takes_jaxwt_minutes_is_refused(case, why, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", Jax())
    with pytest.raises(NotImplementedError, match=why):
        PREPARE["jaxwt"](None, case, case.make_samples())


@pytest.mark.parametrize("name", ["ptwt", "jaxwt"])
def test_stationary_pictures_are_not_theirs(name):
    assert PREPARE[name](None, PeerCase((32, 32), "db2", "stationary", 2), IMAGE) is None


@pytest.mark.parametrize("name", [peer.name for peer in DEVICE_PEERS])
def test_interleaved_channels_are_nobodys(name):
    case = DeviceCase((32, 48, 3), "haar", axes=(0, 1))
    assert PREPARE[name](None, case, np.zeros(case.shape, np.float32)) is None
