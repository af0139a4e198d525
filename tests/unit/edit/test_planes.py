"""What works on planes gives on every engine what NumPy gives."""

import numpy as np
import pytest

from subband.edit.planes import RULES, PlanePainter, find_painter
from subband.edit.planes_device import TASKS, DevicePainter, SampleSpec, render_samples
from subband.engines import get_engine
from subband.kernels.dialects import CUDA, DIALECTS
from subband.testing import RecordingDevice

PLAIN = PlanePainter()
SHAPES = [(3, 37, 41), (1, 1, 5)]


def draw(shape, dtype, seed=0, low=-1.0):
    return np.random.default_rng(seed).uniform(low, 2, shape).astype(dtype)


def run_all(painter, shape, dtype, send=np.copy, fetch=np.asarray):
    """Return the result of everything, by name."""
    planes, other = (draw(shape, dtype, seed) for seed in (0, 1))
    one = (1, *shape[1:])
    plane, light = draw(one, dtype, 2), draw(one, dtype, 3, low=0.5)
    lights = draw(shape, dtype, 4, low=0.5)
    results = {}
    for rule in RULES:
        results[rule] = painter.differ(send(planes), send(other), rule, 0.7)
    results["add"] = painter.add(send(planes), send(plane))
    results["add all"] = painter.add(send(planes), send(other))
    for power in (1.0, 2.2):
        weights = (0.3, 0.5, 0.2)[: shape[0]]
        results[f"brightness {power}"] = painter.measure_brightness(send(planes), weights, power, 1.5)
        results[f"raised {power}"] = painter.raise_to(send(planes), power, 1.5)
        results[f"tempered {power}"] = painter.temper(send(plane), 1 / power, 1.5, 0.1, 0.7, 0.8)
    results["divided"] = painter.divide(send(planes), send(light), 0.4)
    results["divided by each"] = painter.divide(send(planes), send(lights), 0.4)
    results["multiplied"] = painter.multiply(send(planes), send(light), 0.4)
    results["spread"] = painter.spread(send(plane), 3)
    results["activity"] = painter.measure_activity([send(planes), send(other), send(lights)])
    best, chosen, rival = send(plane), send(np.zeros(one, dtype)), send(light)
    painter.prefer(best, chosen, rival, 2)
    results["best"], results["chosen"] = best, chosen
    results["marked"] = painter.mark(chosen, 2)
    total = send(planes)
    painter.take_over(total, send(other), chosen, 2)
    results["taken over"] = total
    results["exposure"] = painter.judge_exposure(send(planes), 1.5)
    total = send(planes)
    painter.add_weighted(total, send(other), send(plane))
    results["weighted"] = total
    return {name: fetch(result) for name, result in results.items()}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_engines_agree(engine, shape, dtype):
    painter = find_painter(get_engine(engine))
    copies = {}
    if isinstance(painter, DevicePainter):
        device = get_engine(engine).device
        copies = {"send": device.upload, "fetch": device.download}
    expected = run_all(PLAIN, shape, dtype)
    for name, result in run_all(painter, shape, dtype, **copies).items():
        assert result.dtype == dtype, name
        assert result.shape == expected[name].shape, name
        allowed = {"float32": 1e-5, "float64": 1e-13}[dtype]
        np.testing.assert_allclose(result, expected[name], atol=allowed, rtol=allowed, err_msg=name)


def test_large_planes_are_cut_between_threads():
    shape = (3, 300, 301)
    expected = run_all(PLAIN, shape, "float32")
    for name, result in run_all(find_painter(get_engine("cpu")), shape, "float32").items():
        np.testing.assert_allclose(result, expected[name], atol=1e-5, rtol=1e-5, err_msg=name)


def test_powers_of_single_precision():
    x = np.concatenate([[0.0, 1.0], np.geomspace(1e-6, 4, 100_000)]).astype(np.float32).reshape(1, 1, -1)
    for power in (2.2, 1 / 2.2, 0.1, 7.0):
        result = find_painter(get_engine("cpu")).raise_to(x, power, 1.0)[0, 0]
        expected = x[0, 0].astype(np.float64) ** power
        np.testing.assert_allclose(result, expected, rtol=2e-5, atol=1e-6)
        assert result[1] == 1


@pytest.mark.parametrize("storage", ["float32", "float64"])
def test_cuda_text_compiles(storage):
    core = pytest.importorskip("cuda.core", reason="NVRTC is not installed: pip install 'subband[kernels]'")
    device = RecordingDevice(CUDA)
    run_all(DevicePainter(device), (3, 4, 5), storage, device.upload, lambda x: x)
    sources = set(device.sources)
    assert len(sources) == len(TASKS)
    for source in sources:
        options = core.ProgramOptions(std="c++17", arch="sm_80")
        assert core.Program(source, "c++", options).compile("cubin").code


@pytest.mark.parametrize("task", TASKS)
def test_single_precision_needs_no_doubles(task):
    for dialect in DIALECTS.values():
        kernel = render_samples(SampleSpec(task, "float32", 3), dialect).split("KERNEL void sweep")[1]
        assert "double" not in kernel
        assert "." not in kernel
