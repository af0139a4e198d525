"""Every transform of subband takes tensors that require gradients, and the gradients are right."""

from __future__ import annotations

import numpy as np
import pytest

import subband as sb
from subband.boundary import MODES
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError

torch = pytest.importorskip("torch")

WAVELETS = (
    "haar",
    "db2",
    "db4",
    "db7",
    "sym4",
    "sym5",
    "coif1",
    "coif2",
    "bior2.2",
    "bior3.1",
    "bior4.4",
    "rbio2.4",
)
#: Those of PyWavelets; `whole` is tried with wavelets that have it.
EXTENDED = tuple(mode for mode in MODES if mode != "whole")

LAST = (-2, -1)


def flatten(coeffs):
    """Return all tensors in what a transform returns."""
    if isinstance(coeffs, torch.Tensor):
        return (coeffs,)
    values = coeffs.values() if isinstance(coeffs, dict) else coeffs
    return tuple(tensor for value in values for tensor in flatten(value))


#: Of a batch of images: how each is transformed.
MULTILEVEL = {
    "dwt": sb.dwt,
    "idwt": lambda x, w, m: sb.idwt(x, x * x, w, m),
    "dwt2": sb.dwt2,
    "idwt2": lambda x, w, m: sb.idwt2((x, (x * x, None, 2 * x)), w, m),
    "dwtn": lambda x, w, m: sb.dwtn(x, w, m, axes=LAST),
    "idwtn": lambda x, w, m: sb.idwtn({"aa": x, "dd": x * x}, w, m, axes=LAST),
    "wavedec": lambda x, w, m: sb.wavedec(x, w, m, 2),
    "waverec": lambda x, w, m: sb.waverec(sb.wavedec(x * x, w, m, 2), w, m),
    "wavedec2": lambda x, w, m: sb.wavedec2(x, w, m, 2),
    "waverec2": lambda x, w, m: sb.waverec2(sb.wavedec2(x * x, w, m, 2), w, m),
    "waverecn": lambda x, w, m: sb.waverecn(sb.wavedecn(x * x, w, m, 1, axes=LAST), w, m, axes=LAST),
    "fswaverecn": lambda x, w, m: sb.fswaverecn(sb.fswavedecn(x * x, w, m, 1, axes=LAST)),
    "decompose": lambda x, w, m: sb.reconstruct(sb.decompose(x * x, w, 1, m, axes=LAST)),
    "packets": lambda x, w, m: [node.data for node in sb.WaveletPacket2D(x, w, m, 1, axes=LAST).get_level(1)],
    "adjoint": lambda x, w, m: sb.decompose_adjoint(sb.decompose(x * x, w, 1, m, axes=LAST)),
}

#: Those that have no mode.
STATIONARY = {
    "swt": lambda x, w: sb.swt(x, w, 2),
    "iswt": lambda x, w: sb.iswt([(x, x * x), (x, 2 * x)], w),
    "swt2": lambda x, w: sb.iswt2(sb.swt2(x * x, w, 1), w),
    "swtn": lambda x, w: sb.iswtn(sb.swtn(x * x, w, 1, axes=LAST), w, axes=LAST),
    "mra": lambda x, w: sb.mra(x[0, 0], w, 1),
    "mra2": lambda x, w: sb.imra2(sb.mra2(x[0] * x[0], w, 1)),
    "downcoef": lambda x, w: sb.downcoef("d", x[0, 0], w, level=2),
    "upcoef": lambda x, w: sb.upcoef("a", x[0, 0], w, level=2),
    "stationary": lambda x, w: sb.reconstruct(sb.decompose(x * x, w, 1, "reflect", LAST, stationary=True)),
}


def draw(*shape, seed=0):
    x = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return x.requires_grad_()


def check(function, x):
    results = function(x)
    assert all(tensor.requires_grad and tensor.dtype == x.dtype for tensor in results)
    assert torch.autograd.gradcheck(function, (x,), fast_mode=True)
    assert torch.autograd.gradgradcheck(function, (x,), fast_mode=True)


@pytest.mark.filterwarnings("ignore:level=:UserWarning")
@pytest.mark.parametrize("wavelet", WAVELETS)
@pytest.mark.parametrize("name", MULTILEVEL)
def test_gradients(name, wavelet):
    # the coefficients of a long filter are more than its samples
    shape = (1, 8, 9) if name.startswith("idwt") else (1, 5, 6)
    for mode in EXTENDED:
        check(lambda x, mode=mode: flatten(MULTILEVEL[name](x, wavelet, mode)), draw(*shape))


@pytest.mark.filterwarnings("ignore:level=:UserWarning")
@pytest.mark.parametrize("wavelet", ["cdf53", "cdf97"])
@pytest.mark.parametrize("name", MULTILEVEL)
def test_gradients_in_mode_whole(name, wavelet):
    if name == "idwt2":
        pytest.skip("bands of one shape belong to no image in this mode")
    shape = (1, 5, 6) if "idwt" not in name else (1, 6, 6)
    check(lambda x: flatten(MULTILEVEL[name](x, wavelet, "whole")), draw(*shape))


@pytest.mark.filterwarnings("ignore:level=:UserWarning", "ignore:norm=True:UserWarning")
@pytest.mark.parametrize("wavelet", WAVELETS)
@pytest.mark.parametrize("name", STATIONARY)
def test_gradients_without_a_mode(name, wavelet):
    check(lambda x: flatten(STATIONARY[name](x, wavelet)), draw(1, 8, 8))


@pytest.mark.parametrize("method", ["bayes", "visu", "sure", "bivariate", "neigh", "wiener"])
def test_denoising_has_gradients_and_is_the_same(method):
    image = torch.from_numpy(sb.data.camera()[200:264, 200:264] / 255.0)
    noisy = image + 0.1 * draw(64, 64).detach()
    expected = sb.denoise(noisy.numpy(), method=method)
    noisy.requires_grad_()
    result = sb.denoise(noisy, method=method)
    np.testing.assert_allclose(result.detach().numpy(), expected, atol=1e-9)
    (result - image).square().sum().backward()
    assert noisy.grad.isfinite().all()
    assert noisy.grad.abs().sum() > 0


def test_soft_thresholds_are_differentiated():
    check(lambda x: flatten(sb.threshold(x, 0.3, "soft")), draw(7))
    check(lambda x: flatten(sb.threshold(x, 0.3, "garrote")), draw(7))


@pytest.mark.filterwarnings("ignore:level=:UserWarning")
def test_values_are_those_without_gradients():
    x = draw(3, 53, 40)
    for wavelet in ("db4", "bior4.4"):
        for name, function in MULTILEVEL.items():
            with_gradients = flatten(function(x, wavelet, "symmetric")) if "idwt" not in name else ()
            without = flatten(function(x.detach(), wavelet, "symmetric")) if with_gradients else ()
            for own, other in zip(with_gradients, without, strict=True):
                torch.testing.assert_close(own.detach(), other, rtol=0, atol=1e-10)
                assert not other.requires_grad


def test_torch_func_maps_public_functions():
    x = draw(3, 8, 9).detach()
    mapped = torch.func.vmap(lambda image: flatten(sb.wavedec2(image, "db2", level=1)))(x)
    for own, other in zip(mapped, flatten(sb.wavedec2(x, "db2", level=1)), strict=True):
        torch.testing.assert_close(own, other)
    gradient = torch.func.grad(lambda image: sum(band.pow(3).sum() for band in flatten(sb.dwt2(image, "db2"))))
    each = torch.func.vmap(gradient)(x)
    torch.testing.assert_close(each[1], gradient(x[1]))


def test_refusals():
    x = draw(8, 8)
    with pytest.raises(DtypeError, match=r"reversible=True needs integers"):
        sb.decompose(x, "cdf53", reversible=True)
    with pytest.raises(ArgumentTypeError, match="reading numbers, as reversible transforms do"):
        torch.func.vmap(lambda image: sb.decompose(image, "cdf53", 1, reversible=True).approximation)(x.detach().long())
    with pytest.raises(ArgumentError, match=r"engine='cpu' has no gradients; leave engine out"):
        sb.decompose(x, "cdf53", engine="cpu")
