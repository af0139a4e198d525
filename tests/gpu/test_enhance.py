"""Enhancement on a GPU: what the CPU does, without a visit to the host."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

from subband import data
from subband.enhance import Blur, Denoise, Enhancer, PoissonGaussian, Sharpen, Shrink, Speckle
from subband.enhance.methods import list_methods

METHODS = [method.name for method in list_methods()]

pytestmark = pytest.mark.gpu

PICTURE = data.photograph()[100:228, 60:221]
NOISY = np.clip(PICTURE + np.random.default_rng(0).normal(0, 20, PICTURE.shape), 0, 255).astype(np.uint8)

CHAINS = {
    **{method: Enhancer(Denoise(method)) for method in METHODS},
    "undecimated": Enhancer(Denoise("bayes", "db2", 3, form="undecimated")),
    "dual-tree": Enhancer(Denoise(form="dual-tree")),
    "known": Enhancer(sigma=20.0),
    "chain": Enhancer([Blur(0.7), Shrink(threshold=10.0, filters=(Sharpen(0.1, at="between"),)), Sharpen(0.2)]),
    "soft": Enhancer(Shrink(threshold=12.0), colour="ycbcr"),
    "speckle": Enhancer(Denoise("wiener"), Speckle(9.0)),
    "counts": Enhancer(Denoise(), PoissonGaussian(2.0)),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_gpu_does_what_the_reference_does(name):
    there = CHAINS[name].apply(cupy.asarray(NOISY))
    assert isinstance(there, cupy.ndarray)
    assert there.dtype == np.uint8
    expected = CHAINS[name].apply(NOISY, engine="reference").astype(int)
    difference = np.abs(there.get().astype(int) - expected)
    assert difference.max() <= (3 if name in ("sure", "neigh") else 1)
    assert difference.mean() < 0.05


@pytest.mark.parametrize("name", ["bivariate", "wiener", "bayes", "soft"])
def test_frames_of_the_host_make_one_trip(name):
    np.testing.assert_array_equal(
        CHAINS[name].apply(NOISY, engine="cuda"), CHAINS[name].apply(cupy.asarray(NOISY)).get()
    )


@pytest.mark.parametrize("method", METHODS)
def test_nothing_visits_the_host(method, monkeypatch):
    enhancer, picture = Enhancer(Denoise(method)), cupy.asarray(NOISY)
    expected = enhancer.apply(picture).get()

    runtime = cupy.cuda.runtime

    def refuse_bus(original):
        def copy(goal, source, size, kind, *stream):
            assert kind == runtime.memcpyDeviceToDevice, "something was copied between host and GPU"
            return original(goal, source, size, kind, *stream)

        return copy

    # kernels and tables are there by now; from here on nothing may cross the bus
    with monkeypatch.context() as patch:
        for name in ("memcpy", "memcpyAsync"):
            patch.setattr(runtime, name, refuse_bus(getattr(runtime, name)))
        result = enhancer.apply(picture)
    np.testing.assert_array_equal(result.get(), expected)


class TestRecordedWork:
    FRAMES = tuple(np.roll(NOISY, 7 * number, axis=0) for number in range(6))

    def test_frames_do_not_see_each_other(self):
        for name in ("bivariate", "soft", "wiener", "sure"):
            expected = [CHAINS[name].apply(frame, engine="cpu").astype(int) for frame in self.FRAMES]
            results = [CHAINS[name].apply(cupy.asarray(frame)) for frame in self.FRAMES]
            for result, other in zip(results, expected, strict=True):
                assert np.abs(result.get().astype(int) - other).max() <= (3 if name == "sure" else 1)

    def test_two_streams(self):
        enhancer = Enhancer(sigma=20.0)
        frames = [cupy.asarray(frame) for frame in self.FRAMES] * 4
        expected = [enhancer.apply(frame).get() for frame in frames]
        streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
        cupy.cuda.Device().synchronize()
        results = []
        for number, frame in enumerate(frames):
            with streams[number % 2]:
                results.append(enhancer.apply(frame))
        cupy.cuda.Device().synchronize()
        for result, other in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result.get(), other)

    def test_memory_is_released(self):
        import subband

        enhancer = Enhancer(sigma=19.0)
        for _ in range(4):
            enhancer.apply(cupy.asarray(NOISY))
        subband.release_memory()
        np.testing.assert_array_equal(enhancer.apply(cupy.asarray(NOISY)).get(), enhancer.apply(NOISY, engine="cuda"))


def test_half_precision():
    picture = cupy.asarray(NOISY)
    half = Enhancer(sigma=20.0, precision="float16").apply(picture).get().astype(int)
    full = Enhancer(sigma=20.0).apply(picture).get().astype(int)
    assert 0 < np.abs(half - full).max() <= 3


def test_floats_and_volumes():
    volume = np.random.default_rng(0).normal(0, 1, (24, 40, 33)).astype(np.float32)
    for method in ("bivariate", "neigh", "bayes"):
        there = Enhancer(Denoise(method), sigma=1.0).apply(cupy.asarray(volume)).get()
        np.testing.assert_allclose(there, Enhancer(Denoise(method), sigma=1.0).apply(volume), atol=2e-2)


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("Torch sees no GPU")
    result = Enhancer().apply(torch.from_numpy(NOISY).cuda())
    assert result.is_cuda
    np.testing.assert_array_equal(result.cpu().numpy(), Enhancer().apply(cupy.asarray(NOISY)).get())
