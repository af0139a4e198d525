"""Torch's operators on a real GPU: gradients, streams, graphs, precisions."""

from __future__ import annotations

import numpy as np
import pytest

import subband as sb

pytestmark = pytest.mark.gpu

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("this build of Torch has no CUDA", allow_module_level=True)


def list_bands(coeffs):
    return [coeffs[0], *(band for level in coeffs[1:] for band in level)]


def take_gradient(x, layer, weights):
    (gradient,) = torch.autograd.grad(list_bands(layer(x)), x, weights)
    return gradient


def make_case(shape, wavelet="bior4.4", mode="symmetric", level=3, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(shape, generator=generator, dtype=torch.float64).to(dtype)
    layer = sb.torch.WaveDec2(level, wavelet, mode)
    weights = [
        torch.rand(band.shape, generator=generator, dtype=torch.float64).to(dtype) for band in list_bands(layer(x))
    ]
    return x, layer, weights


@pytest.mark.parametrize("mode", ["symmetric", "reflect", "periodization", "smooth", "whole"])
@pytest.mark.parametrize("shape", [(2, 3, 64, 65), (1, 1, 17, 301), (40, 23)])
def test_the_gpu_finds_the_gradient_of_the_cpu(shape, mode):
    x, layer, weights = make_case(shape, mode=mode, dtype=torch.float64, level=2)
    expected = take_gradient(x.requires_grad_(), layer, weights)
    found = take_gradient(x.detach().cuda().requires_grad_(), layer, [each.cuda() for each in weights])
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-10, atol=1e-10)


def test_gradients_of_gradients():
    layer = sb.torch.WaveDec2(2, "db2", "reflect")
    x = torch.rand((2, 9, 11), dtype=torch.float64, device="cuda", requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: tuple(list_bands(layer(x))), (x,))
    assert torch.autograd.gradgradcheck(lambda x: tuple(band.square() for band in list_bands(layer(x))), (x,))


def test_work_is_queued_on_the_current_stream():
    x, layer, weights = make_case((4, 3, 128, 128))
    x, weights = x.cuda(), [each.cuda() for each in weights]
    expected = take_gradient(x.requires_grad_(), layer, weights)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        # what comes before on the same stream is slow, and has to be waited for
        slow = torch.zeros_like(x)
        for _ in range(50):
            slow = (torch.rand((2048, 2048), device="cuda") @ torch.rand((2048, 2048), device="cuda"))[:1, :1] * 0 + x
        found = take_gradient(slow.detach().requires_grad_(), layer, weights)
    stream.synchronize()
    torch.testing.assert_close(found, expected)


def test_a_graph_repeats_transform_and_gradient():
    x, layer, weights = make_case((4, 3, 128, 96))
    x, weights = x.cuda().requires_grad_(), [each.cuda() for each in weights]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        take_gradient(x, layer, weights)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        low = layer(x.detach())[0]
        gradient = take_gradient(x, layer, weights)
    sb.release_memory()  # what the graph knows by its address stays
    with torch.no_grad():
        x.copy_(torch.rand_like(x))
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(low, layer(x.detach())[0])
    torch.testing.assert_close(gradient, take_gradient(x, layer, weights))


@pytest.mark.parametrize(("dtype", "near"), [(torch.float16, 4e-3), (torch.bfloat16, 3e-2)])
def test_short_numbers(dtype, near):
    x, layer, weights = make_case((2, 3, 64, 48), level=2)
    expected = take_gradient(x.requires_grad_(), layer, weights)
    found = take_gradient(
        x.detach().to("cuda", dtype).requires_grad_(), layer, [each.to("cuda", dtype) for each in weights]
    )
    assert found.dtype == dtype
    assert (found.float().cpu() - expected).abs().max() <= near * expected.abs().max()


def test_layers_undo_each_other_on_tensors_that_are_not_contiguous():
    x = torch.rand((3, 64, 80), device="cuda").transpose(1, 2).requires_grad_()
    back = sb.torch.WaveRec2("bior4.4", "symmetric")(sb.torch.WaveDec2(3, "bior4.4", "symmetric")(x))
    torch.testing.assert_close(back, x, rtol=1e-5, atol=1e-5)
    (gradient,) = torch.autograd.grad(back, x, torch.ones_like(back))
    np.testing.assert_allclose(gradient.cpu(), 1, atol=1e-4)


def test_compiled_code_has_the_same_gradient():
    x, layer, weights = make_case((2, 3, 64, 64), level=2)
    x, weights = x.cuda().requires_grad_(), [each.cuda() for each in weights]
    compiled = torch.compile(lambda x: list_bands(layer(x)), fullgraph=True, backend="aot_eager")
    (found,) = torch.autograd.grad(compiled(x), x, weights)
    torch.testing.assert_close(found, take_gradient(x, layer, weights))
