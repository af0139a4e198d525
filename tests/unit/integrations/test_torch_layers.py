"""Layers of several levels, packets and learnt wavelets; what `torch.func` does with the operators."""

from __future__ import annotations

import numpy as np
import pytest

import subband as sb
from subband.errors import ArgumentError, ArgumentTypeError, CoefficientsError, ShapeError

torch = pytest.importorskip("torch")

from subband.integrations import torch as st  # noqa: E402


def draw(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def flat_dwt2(x):
    low, details = st.dwt2(x, "db2", "symmetric")
    return (low, *details)


@pytest.mark.parametrize(("wavelet", "mode"), [("db2", "symmetric"), ("cdf97", "whole"), ("bior2.2", "periodization")])
@pytest.mark.parametrize("shape", [(2, 3, 40, 48), (43, 47)])
def test_levels_are_those_of_wavedec2(wavelet, mode, shape):
    x = draw(*shape)
    found, expected = st.WaveDec2(2, wavelet, mode)(x), sb.wavedec2(x.numpy(), wavelet, mode, 2)
    torch.testing.assert_close(found[0].numpy(), expected[0], rtol=0, atol=1e-12)
    for ours, theirs in zip(found[1:], expected[1:], strict=True):
        for own, their in zip(ours, theirs, strict=True):
            torch.testing.assert_close(own.numpy(), their, rtol=0, atol=1e-12)
    back = st.WaveRec2(wavelet, mode)(found)
    torch.testing.assert_close(back[..., : shape[-2], : shape[-1]], x, rtol=0, atol=1e-10)


def test_the_inverse_of_more_levels_than_are_useful_has_a_gradient():
    x = torch.rand((2, 20, 24), dtype=torch.float64, requires_grad=True)
    back = st.WaveRec2("bior4.4", "symmetric")(st.WaveDec2(3, "bior4.4", "symmetric")(x))
    (gradient,) = torch.autograd.grad(back, x, torch.ones_like(back))
    torch.testing.assert_close(gradient, torch.ones_like(x))


def test_packets_are_those_of_subband():
    x = draw(2, 17, 24)
    layer = st.WaveletPackets2(2, "db2", "reflect")
    found = layer(x)
    for image, packets in zip(x, found, strict=True):
        tree = sb.WaveletPacket2D(image.numpy(), "db2", "reflect", 2)
        for path, band in zip(layer.paths, packets, strict=True):
            np.testing.assert_allclose(band.numpy(), tree[path].data, atol=1e-12)
    assert torch.autograd.gradcheck(st.WaveletPackets2(1), draw(4, 4).requires_grad_())


@pytest.mark.parametrize("wavelet", ["haar", "cdf53", "cdf97", "db3", "bior3.1"])
@pytest.mark.parametrize("shape", [(1, 8), (5, 7), (2, 16, 9)])
def test_learnt_wavelets_reconstruct_whatever_they_have_learnt(wavelet, shape):
    net = st.LearnedWavelet(wavelet, level=2).double()
    with torch.no_grad():
        for number, taps in enumerate(net.taps):
            taps += 0.3 * draw(*taps.shape, seed=number)
        net.log_scale += 0.2
    x = draw(*shape)
    torch.testing.assert_close(net.inverse(net(x)), x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [(16, 24), (9, 15), (3, 4)])
def test_learnt_wavelets_begin_as_what_they_are_told(shape):
    x = draw(*shape)
    pyramid = sb.decompose(x.numpy(), "cdf97", 1, "whole")
    found = st.LearnedWavelet("cdf97").double()(x)
    for own, (_, _, theirs) in zip(found, pyramid.bands(), strict=True):
        np.testing.assert_allclose(own.detach().numpy(), theirs, atol=1e-6)


def test_learnt_wavelets_are_exported():
    net = st.LearnedWavelet("db2").double()
    with torch.no_grad():
        net.taps[1] += 0.1
    wavelet = net.export("mine")
    x = np.random.default_rng(0).normal(size=64)
    np.testing.assert_allclose(sb.idwt(*sb.dwt(x, wavelet), wavelet), x, atol=1e-9)
    # away from the border both compute the same
    found = net(torch.from_numpy(x)[None].repeat(4, 1))
    low, _ = sb.dwt(sb.dwt(np.tile(x, (4, 1)), wavelet, axis=0)[0], wavelet)
    columns = found[0].detach().numpy()
    shifts = [np.abs(low[1, k : k + 24] - columns[1, 4:28]).max() for k in range(8)]
    assert min(shifts) < 1e-6


def test_learnt_wavelets_learn():
    """To predict a slanted line by one tap from the left takes a tap of 1, and not haar's."""
    net = st.LearnedWavelet("cdf53", ndim=1).double()
    x = torch.linspace(0, 1, 64, dtype=torch.float64).square()[None]
    optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        low, high = net(x)
        loss = high.square().sum() / low.square().sum()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    torch.testing.assert_close(net.inverse(net(x)), x)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # Torch's own
def test_torch_func():
    x = draw(3, 6, 7)
    for value, tangent in zip(*torch.func.jvp(flat_dwt2, (x,), (2 * x,)), strict=True):
        torch.testing.assert_close(tangent, 2 * value)
    mapped = torch.func.vmap(flat_dwt2, in_dims=2)(x)
    torch.testing.assert_close(mapped[0], flat_dwt2(x.movedim(2, 0))[0])
    bands = flat_dwt2(x)

    def back(low, *details):
        return st.idwt2((low, details), "db2")

    expected = st.idwt2((bands[0], bands[1:]), "db2")
    torch.testing.assert_close(torch.func.vmap(back)(*bands), expected)
    shared = torch.func.vmap(back, in_dims=(0, None, None, None))(bands[0], *(band[0] for band in bands[1:]))
    torch.testing.assert_close(shared[0], expected[0])
    forwards = torch.func.jacfwd(lambda x: flat_dwt2(x)[3])(x[0])
    backwards = torch.func.jacrev(lambda x: flat_dwt2(x)[3])(x[0])
    torch.testing.assert_close(forwards, backwards)
    curvature = torch.func.hessian(lambda x: sum(band.pow(3).sum() for band in flat_dwt2(x)))(x[0, :2, :2])
    torch.testing.assert_close(curvature.flatten(0, 1).flatten(1), curvature.flatten(0, 1).flatten(1).T)
    assert torch.autograd.gradcheck(flat_dwt2, (x[0].clone().requires_grad_(),), check_forward_ad=True)


def test_refusals():
    x = torch.ones(8, 8)
    with pytest.raises(ArgumentError, match="level=0 transforms nothing"):
        st.WaveDec2(0)
    with pytest.raises(ArgumentTypeError, match="level='db2' is no whole number; levels come first"):
        st.WaveDec2("db2", 2)
    with pytest.raises(ArgumentError, match="mode='whole' gives bands of different shapes"):
        st.WaveletPackets2(1, "cdf97", "whole")
    with pytest.raises(CoefficientsError, match=r"not of the form \[cA, \(cH, cV, cD\), …\]"):
        st.WaveRec2()([x, (x, x)])
    with pytest.raises(CoefficientsError, match="coeffs has no details"):
        st.WaveRec2()([x])
    with pytest.raises(ArgumentError, match="level=0 and ndim=2 transform nothing"):
        st.LearnedWavelet(level=0)
    with pytest.raises(ShapeError, match="at least 2 dimensions"):
        st.LearnedWavelet()(x[0])
    with pytest.raises(CoefficientsError, match="there are 2 bands; 1 levels have 4"):
        st.LearnedWavelet().inverse([x, x])
