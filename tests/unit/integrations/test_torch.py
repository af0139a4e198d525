"""Gradients of transforms, of any order, and what Torch does with them."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import time

import numpy as np
import pytest

import subband as sb
from subband.boundary import MODES
from subband.errors import ArgumentError, ArgumentTypeError, CoefficientsError, ShapeError
from subband.wavelets import Wavelet

torch = pytest.importorskip("torch")

from subband.integrations import torch as st  # noqa: E402

WAVELETS = ("haar", "db2", "bior2.2", "bior3.1")


def draw(*shape, dtype=None, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=dtype or torch.float64, generator=generator)


def flat_dwt2(wavelet, mode):
    def transform(x):
        low, details = st.dwt2(x, wavelet, mode)
        return (low, *details)

    return transform


def check_gradients(function, *inputs):
    inputs = tuple(x.clone().requires_grad_() for x in inputs)
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("wavelet", WAVELETS)
def test_gradients_of_dwt2_and_idwt2(wavelet, mode):
    if mode == "whole" and wavelet != "bior2.2":
        pytest.skip("the wavelet is not symmetric about a sample")
    x = draw(3, 4)
    check_gradients(flat_dwt2(wavelet, mode), x)
    low, details = st.dwt2(x, wavelet, mode)
    check_gradients(lambda a, h, v, d: st.idwt2((a, (h, v, d)), wavelet, mode), low, *details)


@pytest.mark.parametrize(
    ("wavelet", "mode", "shape", "ndim"),
    [
        ("db3", "symmetric", (9,), 1),
        ("cdf97", None, (1, 7), 2),
        ("cdf97", "reflect", (5,), 1),
        (["db2", "cdf53"], ["reflect", "whole"], (2, 5, 3), 2),
        ("sym3", "smooth", (3, 4, 5), 3),
        ("db2", "periodization", (5, 7), 2),
    ],
)
@pytest.mark.parametrize("stationary", [False, True])
def test_gradients_of_pyramids(wavelet, mode, shape, ndim, stationary):
    level = 1 if stationary else 2

    def double(x):
        pyramid = st.decompose(x, wavelet, level, mode, ndim, stationary=stationary)
        return st.reconstruct(pyramid.map(lambda band, level, key: band * (1 + level) if "d" in key else band))

    check_gradients(double, draw(*shape))


def test_gradients_of_complex_numbers():
    check_gradients(flat_dwt2("db2", "symmetric"), draw(5, 4, dtype=torch.complex128))


def test_gradients_of_dwtn():
    check_gradients(lambda x: tuple(st.dwtn(x, "db2", "antireflect", ndim=1).values()), draw(2, 5))
    check_gradients(lambda a, d: st.idwtn({"d": d, "a": a}, "db2", "zero"), draw(4), draw(4, seed=1))


def test_results_are_those_of_subband():
    x = draw(3, 9, 14)
    low, (horizontal, vertical, diagonal) = st.dwt2(x, "bior2.2", "reflect")
    expected = sb.dwt2(x, "bior2.2", "reflect")
    for ours, theirs in zip((low, horizontal, vertical, diagonal), (expected[0], *expected[1]), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
    bands, others = st.dwtn(x, ["db2", "haar", "cdf97"]), sb.dwtn(x, ["db2", "haar", "cdf97"])
    assert list(bands) == list(others)
    for key, band in bands.items():
        torch.testing.assert_close(band, others[key], rtol=0, atol=0)
    torch.testing.assert_close(st.idwtn(bands, ["db2", "haar", "cdf97"])[..., :9, :14][:3], x)
    pyramid, other = st.decompose(x, level=2), sb.decompose(x, level=2)
    assert repr(pyramid) == repr(other)
    for (_, _, band), (_, _, theirs) in zip(pyramid.bands(), other.bands(), strict=True):
        torch.testing.assert_close(band, theirs, rtol=0, atol=0)
    torch.testing.assert_close(st.reconstruct(pyramid), x)
    assert st.decompose(x, level=None, ndim=2).level == sb.decompose(x, axes=(1, 2)).level


def test_bands_that_nothing_depends_on():
    x = draw(6, 6).requires_grad_()
    _, (_, vertical, _) = st.dwt2(x, "db2")
    vertical.sum().backward()
    ones = sb.decompose(np.zeros((6, 6)), "db2", 1, "symmetric").map(
        lambda band, level, key: np.full(band.shape, float(key == "ad"))
    )
    np.testing.assert_allclose(x.grad.numpy(), sb.decompose_adjoint(ones), atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.complex64])
def test_dtypes_are_kept(dtype):
    x = draw(8, 8, dtype=torch.float32).to(dtype).requires_grad_()
    y = st.reconstruct(st.decompose(x, "cdf53", level=1))
    assert y.dtype == dtype
    y.abs().sum().backward()
    assert x.grad.dtype == dtype
    torch.testing.assert_close(y.detach(), x.detach(), atol=0.05 if dtype.itemsize == 2 else 1e-5, rtol=0.01)


def test_operators_keep_torchs_rules():
    from subband.integrations.torch.specs import find_number

    number = find_number("db2", "symmetric", 2, 2)
    x = draw(5, 6).requires_grad_()
    torch.library.opcheck(torch.ops.subband.decompose, (x, number))
    bands = [band.detach().requires_grad_() for band in torch.ops.subband.decompose(x, number)]
    torch.library.opcheck(torch.ops.subband.reconstruct, (bands, number, [5, 6]))
    torch.library.opcheck(torch.ops.subband.decompose_adjoint, (bands, number, [5, 6]))
    torch.library.opcheck(torch.ops.subband.reconstruct_adjoint, (x, number))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.split, self.merge = st.DWT2("db2"), st.IDWT2("db2")
        self.denoise = st.WaveletDenoise(level=1, wavelet="haar")

    def forward(self, x):
        low, details = self.split(torch.sin(x))
        return torch.cos(self.merge((self.denoise(low), details)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamic", [None, True])
def test_compiled_modules(dynamic):
    """Compiled in one piece: the transforms are operators, and nothing has to stop for them."""
    torch._dynamo.reset()
    net = Net()
    compiled = torch.compile(net, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for shape in ((2, 3, 8, 8), (1, 7, 12)):
        x, y = draw(*shape, dtype=torch.float32).requires_grad_(), draw(*shape, dtype=torch.float32).requires_grad_()
        first, second = net(x), compiled(y)
        torch.testing.assert_close(first, second)
        first.square().sum().backward()
        second.square().sum().backward()
        torch.testing.assert_close(x.grad, y.grad)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_compiled_functions():
    torch._dynamo.reset()

    def soften(x):
        low, (horizontal, vertical, diagonal) = st.dwt2(x * 2, "cdf97", "whole")
        low = st.idwtn(st.dwtn(low, "db2", "periodization", 2), "db2", "periodization")
        return st.idwt2((low, (horizontal, vertical, diagonal * 0)), "cdf97", "whole").sin()

    x = draw(8, 12)
    torch.testing.assert_close(torch.compile(soften, backend="aot_eager", fullgraph=True)(x), soften(x))

    def halve(x):
        pyramid = st.decompose(x, level=2)
        return st.reconstruct(pyramid.map(lambda band, level, key: band / 2)) + 1

    torch.testing.assert_close(torch.compile(halve, backend="aot_eager")(x), x / 2 + 1)


def test_modules():
    x = draw(2, 3, 9, 10)
    low, details = st.DWT2("db2", "reflect")(x)
    torch.testing.assert_close(low, st.dwt2(x, "db2", "reflect")[0])
    torch.testing.assert_close(st.IDWT2("db2", "reflect")((low, details))[..., :9, :], x)
    bands = st.DWTn(3, "cdf97", "whole")(x)
    torch.testing.assert_close(st.IDWTn(3, "cdf97", "whole")(bands), x)
    assert "'db2', reflect" in repr(st.DWT2("db2", "reflect"))
    assert "level=2, 'cdf97', whole" in repr(st.WaveletDenoise(2))
    own = Wavelet("own", filter_bank=Wavelet("db2").filter_bank)
    torch.testing.assert_close(st.DWT2(own, "reflect")(x)[0], low)


def test_modules_are_copied_and_saved():
    code = (
        "import pickle, sys, torch; from subband.integrations.torch import DWT2; DWT2('db7'); "
        "net = pickle.load(sys.stdin.buffer); print(float(net(torch.ones(4, 4))[0].sum()))"
    )
    net = st.DWT2("db2")
    expected = float(net(torch.ones(4, 4))[0].sum())
    assert float(copy.deepcopy(net)(torch.ones(4, 4))[0].sum()) == expected
    program = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"]
    other = subprocess.run(program, input=pickle.dumps(net), capture_output=True, check=True)
    assert float(other.stdout) == pytest.approx(expected)


def test_denoising_learns():
    torch.manual_seed(0)
    clean = torch.from_numpy(sb.data.camera()[:128, :128].astype(np.float32)) / 255
    noisy = clean + 0.1 * torch.randn_like(clean)
    net = st.WaveletDenoise(level=3, threshold=0.01)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.1)
    losses = []
    for _ in range(40):
        optimiser.zero_grad()
        loss = (net(noisy) - clean).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    assert (net.thresholds > 0.01).all()
    assert net.state_dict()["log_thresholds"].shape == (3,)


def test_denoising_shrinks_as_threshold_does():
    x = draw(9, 14)
    wanted = sb.decompose(x.numpy(), level=2)
    shrunk = wanted.map(lambda band, level, key: sb.threshold(band, 0.3) if "d" in key else band)
    net = st.WaveletDenoise(level=2, threshold=0.3).double()
    torch.testing.assert_close(net(x).detach().numpy(), sb.reconstruct(shrunk), rtol=0, atol=1e-7)
    x, logs = draw(4, 5), net.log_thresholds.detach()
    check_gradients(lambda x, logs: torch.func.functional_call(net, {"log_thresholds": logs}, (x,)), x, logs)


def test_denoising_complex_numbers():
    x = draw(8, 8, dtype=torch.complex64)
    assert st.WaveletDenoise(level=1, wavelet="haar", threshold=0.5)(x).abs().square().sum() < x.abs().square().sum()


def test_refusals():
    x = torch.ones(8, 8)
    with pytest.raises(ArgumentTypeError, match="x is a ndarray; give a tensor"):
        st.dwt2(np.ones((8, 8)), "haar")
    with pytest.raises(ArgumentTypeError, match=r"x has dtype torch\.int64, which has no gradient; give x\.float\(\)"):
        st.dwt2(x.long(), "haar")
    with pytest.raises(ShapeError, match=r"x has shape \(8,\); this takes at least 2 dimensions"):
        st.dwt2(x[0], "haar")
    with pytest.raises(CoefficientsError, match=r"form \(cA, \(cH, cV, cD\)\)"):
        st.idwt2((x, x), "haar")
    with pytest.raises(ArgumentTypeError, match="a band is a NoneType"):
        st.idwt2((x, (x, None, x)), "haar")
    with pytest.raises(CoefficientsError, match="does not belong with"):
        st.idwt2((x, (x, x[:5], x)), "haar")
    with pytest.raises(CoefficientsError, match=r"coeffs has the bands \['a'\]"):
        st.idwtn({"a": x}, "haar")
    with pytest.raises(CoefficientsError, match=r"coeffs has the bands \['a'\]; it needs a, d"):
        st.IDWTn(1)({"a": x})
    with pytest.raises(ArgumentError, match="ndim=0 leaves no axis"):
        st.dwtn(x, "haar", ndim=0)
    with pytest.raises(ArgumentError, match="threshold=0 is not positive"):
        st.WaveletDenoise(threshold=0)
    with pytest.raises(ArgumentError, match="level=0 has no details"):
        st.WaveletDenoise(level=0)
    with pytest.raises(ArgumentTypeError, match="pyramid is a list"):
        st.reconstruct([x])
    with pytest.raises(ArgumentError, match="reversible transform rounds"):
        st.reconstruct(sb.decompose(x.long(), "haar", reversible=True))
    with pytest.raises(sb.errors.UnknownWaveletError):
        st.DWT2("nothing")


def test_numbers_of_transforms_are_their_own_in_many_threads():
    """Two that are registered at once must not get the number of one."""
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier

    from subband.integrations.torch import specs as operators

    class Slow(list):
        """A list that lets others in between whenever somebody counts or adds."""

        def __len__(self):
            time.sleep(1e-4)
            return super().__len__()

        def append(self, spec):
            time.sleep(1e-4)
            super().append(spec)

    count, rounds = 8, 20
    meeting = Barrier(count, timeout=60.0)
    kept = operators._specs
    specs = [operators.make_spec("haar", "zero", 1, 1000 + number) for number in range(count * rounds)]

    def register(thread):
        found = []
        for turn in range(rounds):
            meeting.wait()
            spec = specs[turn * count + thread]
            found.append((operators.number_of(spec), spec))
        return found

    try:
        operators._specs = Slow(kept)
        with ThreadPoolExecutor(count) as pool:
            pairs = [pair for found in pool.map(register, range(count)) for pair in found]
        assert all(operators._specs[number] == spec for number, spec in pairs)
        assert len({number for number, _ in pairs}) == len(pairs)
    finally:
        kept[:] = list(operators._specs)
        operators._specs = kept
