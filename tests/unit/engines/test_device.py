"""What engines ask of any device, seen on one that only records."""

import numpy as np
import pytest

from subband.errors import KernelError
from subband.kernels.dialects import CUDA, DIALECTS, OPENCL
from subband.plan import level_plan
from subband.stationary import stationary_plan
from subband.testing import RecordingEngine, all_wavelets
from subband.wavelets import as_wavelet

#: The most groups that CUDA launches in three directions.
GRID = (2**31 - 1, 65_535, 65_535)


@pytest.fixture(params=DIALECTS)
def engine(request):
    return RecordingEngine(DIALECTS[request.param])


def plan_level(shape, axes, name="cdf97", mode="symmetric"):
    return level_plan(shape, axes, (as_wavelet(name),) * len(axes), (mode,) * len(axes))


def run_both(engine, plan, dtype=np.float32):
    engine.inverse(plan, engine.forward(plan, np.zeros(plan.shape, dtype)))


def test_a_level_of_an_image_is_one_launch(engine):
    run_both(engine, plan_level((64, 96), (0, 1)))
    assert len(engine.device.launches) == 2
    assert len(engine.device.sources) == 2


def test_kernels_are_made_once(engine):
    for shape in ((64, 96), (128, 96), (64, 96)):
        run_both(engine, plan_level(shape, (0, 1)))
    assert len(engine.device.sources) == 2
    for level in (1, 2):
        plan = stationary_plan((16, 16), (0, 1), (as_wavelet("db2"),) * 2, level)
        engine.stationary_forward(plan, np.zeros((16, 16), np.float32))
    # one along the rows, and one down the columns
    assert len(engine.device.sources) == 4


def test_a_kernel_that_does_not_compile_is_tried_again(engine, monkeypatch):
    plan = plan_level((8, 8), (0, 1))

    def refuse(source, local=0, resident=0):
        raise KernelError("the device does not compile a kernel", source, "no")

    with monkeypatch.context() as patch:
        patch.setattr(engine.device, "compile", refuse)
        with pytest.raises(KernelError):
            run_both(engine, plan)
    run_both(engine, plan)
    assert len(engine.device.sources) == 2


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((1_000_000, 4), (1,)),
        ((4_000_000, 2), (0,)),
        ((4_000_000, 2), (0, 1)),
        ((200_000, 2, 2), (1, 2)),
        ((200_000, 2, 2), (1,)),
        ((2, 4_000_000), (1,)),
        ((2, 2, 200_000), (0, 1)),
    ],
)
def test_launches_fit_into_a_grid(shape, axes):
    engine = RecordingEngine(CUDA)
    run_both(engine, plan_level(shape, axes, "haar"))
    for groups, block in engine.device.launches:
        assert all(1 <= count <= most for count, most in zip(groups, GRID, strict=True)), groups
        assert 1 <= block <= 32


def test_nothing_is_launched_for_nothing(engine):
    run_both(engine, plan_level((0, 8, 8), (1, 2)))
    assert all(0 not in groups for groups, _ in engine.device.launches)


def test_every_wavelet_leaves_a_strip_some_lanes(engine):
    for wavelet in all_wavelets():
        run_both(engine, plan_level((3, 300), (1,), wavelet.name))
        run_both(engine, plan_level((40, 300), (0, 1), wavelet.name))
    for source in engine.device.sources:
        useful = int(source.split("#define USEFUL ")[1].split()[0])
        assert 8 <= useful <= 32


def test_arrays_of_the_device_are_not_copied(engine, monkeypatch):
    plan = plan_level((8, 8), (0, 1))
    x = engine.device.upload(np.zeros((8, 8), np.float32))
    engine.forward(plan, x)
    monkeypatch.setattr(engine.device, "upload", None)
    monkeypatch.setattr(engine.device, "download", None)
    bands = engine.forward(plan, x)
    assert all(engine.device.owns(band) for band in bands.values())


def test_missing_bands_are_made_on_the_device(engine, monkeypatch):
    plan = plan_level((8, 8), (0, 1))
    low = engine.device.upload(np.zeros(plan.band_shapes["aa"], np.float32))
    engine.inverse(plan, {"aa": low})
    monkeypatch.setattr(engine.device, "upload", None)
    assert engine.inverse(plan, {"aa": low}).shape == (8, 8)


def test_opencl_asks_for_double_precision_only_where_it_needs_it():
    engine = RecordingEngine(OPENCL)
    plan = plan_level((8, 8), (0, 1))
    run_both(engine, plan)
    assert not any("cl_khr_fp64" in source for source in engine.device.sources)
    run_both(engine, plan, np.float64)
    assert sum("cl_khr_fp64" in source for source in engine.device.sources) == 2
