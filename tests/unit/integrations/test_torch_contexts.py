"""Layers where training puts them: under autocast, between layers of short numbers, and as replicas in threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch", reason="Torch is not installed")

from subband.integrations.torch import WaveDec2, WaveRec2  # noqa: E402 - after the check


class Shrink(torch.nn.Module):
    """A network that halves the details of what a convolution finds."""

    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.Conv2d(4, 3, 3, padding=1)
        self.split, self.merge = WaveDec2(2, "bior4.4"), WaveRec2("bior4.4")

    def forward(self, x):
        low, *details = self.split(self.first(x))
        return self.last(self.merge([low, *(tuple(0.5 * band for band in level) for level in details)]))


def make_network():
    torch.manual_seed(0)
    return Shrink(), torch.rand(2, 3, 40, 36)


@pytest.mark.parametrize(("dtype", "near"), [(torch.bfloat16, 2e-2), (torch.float16, 2e-3)])
def test_under_autocast_numbers_stay_short_and_gradients_near(dtype, near):
    network, x = make_network()
    expected = network(x)
    gradients = torch.autograd.grad(expected.square().mean(), network.parameters())
    with torch.autocast("cpu", dtype):
        found = network(x)
        assert all(band.dtype == dtype for band in network.split(network.first(x))[1])
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), expected, rtol=0, atol=near)
    shorter = torch.autograd.grad(found.float().square().mean(), network.parameters())
    for own, other in zip(shorter, gradients, strict=True):
        torch.testing.assert_close(own, other, rtol=0, atol=near * float(other.abs().max()) + near)


def test_replicas_in_threads_find_the_same():
    network, x = make_network()
    expected = network(x)
    batches = [x[:1], x[1:]] * 8

    def run(batch):
        output = network(batch)
        (gradient,) = torch.autograd.grad(output.square().mean(), network.first.weight)
        return output.detach(), gradient

    alone = [run(batch) for batch in batches[:2]]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, batches))
    for number, (output, gradient) in enumerate(found):
        torch.testing.assert_close(output, alone[number % 2][0])
        torch.testing.assert_close(gradient, alone[number % 2][1])
    torch.testing.assert_close(torch.cat([found[0][0], found[1][0]]), expected.detach())
