"""Other libraries are called as their users call them; here stand-ins that write down how."""

from types import SimpleNamespace

import numpy as np
import pytest

from subband.bench.device_cases import DeviceCase
from subband.bench.peers import DEVICE_PEERS, Peer, find_peers

PREPARE = {peer.name: peer.prepare for peer in DEVICE_PEERS}
IMAGE = np.zeros((32, 48), np.float32)


def test_missing_and_broken_libraries_are_told(tmp_path, monkeypatch):
    (tmp_path / "broken_peer.py").write_text("raise OSError('libcuda is not what it was')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found, remarks = find_peers(
        (Peer("numpy", "numpy", None), Peer("broken", "broken_peer", None), Peer("gone", "no_such_peer", None))
    )
    assert [(peer.name, module.__name__) for peer, module in found] == [("numpy", "numpy")]
    assert "broken is not measured: libcuda" in remarks[0]
    assert "gone is not measured" in remarks[1]


class Wavelets:
    def __init__(self, image, wavelet, level):
        self.made = (image.shape, wavelet, level)
        self.calls = []

    def forward(self):
        self.calls.append("forward")

    def inverse(self):
        self.calls.append("inverse")


def test_pdwt_is_asked_to_go_there_before_it_comes_back():
    contender = PREPARE["PDWT"](
        SimpleNamespace(Wavelets=Wavelets), DeviceCase(IMAGE.shape, "cdf97", "whole", 2, inverse=True), IMAGE
    )
    contender.call()
    contender.discount()
    transform = contender.discount.__self__
    assert transform.made == ((32, 48), "bior4.4", 2)
    assert transform.calls == ["forward", "inverse", "forward"]


def test_pdwt_forward_has_no_discount():
    contender = PREPARE["PDWT"](SimpleNamespace(Wavelets=Wavelets), DeviceCase(IMAGE.shape, "haar"), IMAGE)
    assert contender.discount is None


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


@pytest.mark.parametrize("name", list(PREPARE))
def test_interleaved_channels_are_nobodys(name):
    case = DeviceCase((32, 48, 3), "haar", axes=(0, 1))
    assert PREPARE[name](None, case, np.zeros(case.shape, np.float32)) is None
