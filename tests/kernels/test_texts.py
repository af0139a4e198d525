"""The kernels of the whole matrix compile: for two generations of NVIDIA's GPUs, with no GPU, and on PoCL.

The texts are those that an engine asks for, plan by plan, so they are what users get.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import numpy as np
import pytest

from subband.boundary import MODES
from subband.codecs import vc2
from subband.codecs.vc2.wavelets import WAVELETS as LIFTED
from subband.engines import get_engine
from subband.engines.fixed_device import DevicePasses
from subband.enhance.fixed import FixedPoint, plan_pass
from subband.errors import MissingExtraError, NoDeviceError
from subband.kernels.dialects import CUDA, OPENCL, OPENCL_NVIDIA
from subband.kernels.launch import Launch
from subband.plan import level_plan, transform_plan
from subband.stationary import stationary_plan
from subband.testing import RecordingEngine
from subband.wavelets import as_wavelet

#: One or two kernels for each axis and direction; several of them in each test.
WAVELETS = (
    "haar",
    "cdf53",
    "cdf97",
    "bior4.4",
    "rbio3.1",
    "db2",
    "db4",
    "db5",
    "sym8",
    "coif1",
    "db20",
    "db38",
    "dmey",
)

#: Modes that differ in more than the boundary map: samples as they are, mixtures of them, other phases.
FORMS = ("symmetric", "antireflect", "periodization", "whole")

STORAGES = ("float32", "float64", "float16", "bfloat16", "int16", "int32", "int64", "complex64")

#: Shapes with axes: aligned and not, rows or columns alone, interleaved, three axes, images too large for an int.
FRAMES = (
    ((64, 512), (0, 1)),
    ((63, 511), (0, 1)),
    ((64, 512), (1,)),
    ((64, 511), (1,)),
    ((64, 512), (0,)),
    ((63, 511), (0,)),
    ((64, 128, 3), (0, 1)),
    ((64, 127, 3), (0, 1)),
    ((64, 128, 4), (0, 1)),
    ((16, 32, 64), (0, 1, 2)),
)

LAUNCHES = (
    Launch(1, 0, 8, 1, False),
    Launch(1, 3, 8, 2, True),
    Launch(4, 2, 24, 8, True),
    Launch(4, 2, 24, 4, False),
)


def make_dtype(name):
    if name == "bfloat16":
        return np.dtype(pytest.importorskip("ml_dtypes", reason="NumPy alone has no bfloat16").bfloat16)
    return np.dtype(name)


def run_level(engine, shape, axes, name, mode, storage="float32"):
    dtype, wavelet = make_dtype(storage), as_wavelet(name)
    if mode == "whole" and dtype.kind != "i" and not wavelet.is_whole_sample_symmetric:
        return
    plan = level_plan(shape, axes, (wavelet,) * len(axes), (mode,) * len(axes), dtype.kind == "i")
    engine.inverse(plan, engine.forward(plan, np.zeros(shape, dtype)))


def collect_wavelet(engine, name):
    # the longest filters take a second for each kernel
    for mode in FORMS[: {"db38": 2, "dmey": 1}.get(name)]:
        run_level(engine, (64, 512), (0, 1), name, mode)
    plan = stationary_plan((8, 64), (0,), (as_wavelet(name),), 2)
    engine.stationary_inverse(plan, engine.stationary_forward(plan, np.zeros((8, 64), np.float32)))


def collect_storage(engine, storage):
    name = "cdf53" if storage.startswith("int") else "cdf97"
    # what differs is how a number is read and written, and how many a lane holds
    for shape, axes in FRAMES[: 3 if storage in ("float64", "bfloat16") else None]:
        run_level(engine, shape, axes, name, "whole", storage)
    if not storage.startswith("int"):
        run_level(engine, (64, 512), (0, 1), "db2", "smooth", storage)
        run_level(engine, (64, 128, 3), (0, 1), "db2", "antisymmetric", storage)
        plan = stationary_plan((8, 64), (1,), (as_wavelet("db2"),), 1)
        engine.stationary_inverse(plan, engine.stationary_forward(plan, np.zeros((8, 64), make_dtype(storage))))


def collect_launch(engine, launch):
    engine.launch_override = launch
    for place, mode in ((0, "whole"), (1, "antireflect"), (3, "smooth"), (4, "symmetric"), (6, "periodization")):
        run_level(engine, *FRAMES[place], "cdf97", mode)
    collect_adjoint(engine, "float64")


def collect_volume(engine, mode):
    """Rows that mirror themselves, or zeros outside of what lies in whole pieces and of what lies anyhow."""
    if mode == "whole":
        run_level(engine, (16, 32, 64), (0, 1, 2), "cdf97", mode)
        engine.device.local_memory = 227 << 10
        for dtype in ("float16", "float32"):
            run_level(engine, (16, 32, 128), (0, 1, 2), "cdf97", mode, dtype)
    else:
        run_level(engine, (16, 32, 64), (0, 1, 2), "db2", mode)
        run_level(engine, (17, 33, 65), (0, 1, 2), "db2", mode, "float16")


def collect_cascade(engine, storage):
    """Two levels at a time, of lanes that load one piece, two, or whole pixels; and one level of large halves."""
    engine.least_cascade = 1
    frames = [((64, 1024), (0, 1)), ((64, 512, 3), (0, 1)), ((8192, 8192), (0, 1))]
    for shape, axes in frames[: 3 if storage == "float16" else 2]:
        dtype = make_dtype(storage)
        plan = transform_plan(shape, axes, (as_wavelet("cdf97"),) * 2, ("whole",) * 2, 1 if shape[0] > 64 else 2)
        for direction in ("forward", "inverse"):
            chain = engine.find_chain(plan.levels, direction, dtype, True)
            assert ((0,) in chain.shapes) == (len(plan.levels) == 2 and (len(shape) == 2 or dtype.itemsize > 2))
    for pairs in (4, 8):
        engine.cascade_override = Launch(pairs, 2, 8, 4, False)
        plan = transform_plan((64, 1024), (0, 1), (as_wavelet("cdf53"),) * 2, ("whole",) * 2, 2)
        for direction in ("forward", "inverse"):
            engine.find_chain(plan.levels, direction, make_dtype(storage), True)


def collect_adjoint(engine, storage):
    """Mixtures of coefficients, and of samples, near the ends."""
    dtype = make_dtype(storage)
    for (shape, axes), mode in product(FRAMES[: 9 if storage == "float32" else 2], ("symmetric", "whole")):
        plan = level_plan(shape, axes, (as_wavelet("cdf97"),) * len(axes), (mode,) * len(axes))
        engine.forward_adjoint(plan, engine.inverse_adjoint(plan, np.zeros(shape, dtype)))


def collect_fixed(engine, bits):
    """Passes along both axes and back, and the conversion of every dtype."""
    passes, fixed = DevicePasses(engine.device), FixedPoint("bior2.2", bits, "reflect")
    for along in level_plan((63, 64), (0, 1), (as_wavelet("bior2.2"),) * 2, ("reflect",) * 2).plans:
        for axis in (0, 1):
            shape = (along.length, 64) if axis == 0 else (64, along.length)
            whole = engine.device.allocate(shape, fixed.dtype)
            halves = passes.split(plan_pass(fixed, "forward", along), axis, whole)
            passes.merge(plan_pass(fixed, "inverse", along), axis, *halves)
    for dtype in ("uint8", "uint16", "float16", "float32", "float64")[bits < 16 :]:
        samples = engine.device.allocate((8, 8), np.dtype(dtype))
        passes.leave(passes.enter(samples, bits, 8 * fixed.dtype.itemsize), samples.dtype)


def collect_lifted(engine, number):
    """Steps that repeat their own outermost sources, samples of video, and what is between bands and slices."""
    shapes = ((64, 128), (64, 64), (64, 64))
    wavelet = LIFTED[number]
    for depth, bits in ((1, 10), (1, 8)) if number == 1 else ((1, 10),):
        settings = vc2.Settings(wavelet=wavelet.name, depth=depth, depth_ho=int(number == 1))
        vc2.DeviceImage(shapes, (bits,) * 3, settings.make_parameters(shapes), engine)


#: What each test compiles.
CASES = {
    **{f"fixed {bits}": (collect_fixed, bits) for bits in (8, 12, 16)},
    **{f"lifted {LIFTED[number].name}": (collect_lifted, number) for number in (1, 2, 5, 6)},
    **{f"adjoint {storage}": (collect_adjoint, storage) for storage in STORAGES if not storage.startswith("int")},
    **{name: (collect_wavelet, name) for name in WAVELETS},
    **{storage: (collect_storage, storage) for storage in STORAGES},
    **{f"cascade {storage}": (collect_cascade, storage) for storage in ("float32", "float64", "float16", "bfloat16")},
    **{f"volume {mode}": (collect_volume, mode) for mode in ("whole", "zero")},
    **{f"launch {number}": (collect_launch, launch) for number, launch in enumerate(LAUNCHES)},
}


@cache
def collect_texts(dialect, case):
    engine = RecordingEngine(dialect)
    collect, what = CASES[case]
    collect(engine, what)
    assert engine.device.sources
    return tuple(engine.device.sources)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_cuda_text_compiles(architecture, case):
    core = pytest.importorskip("cuda.core", reason="NVRTC is not installed: pip install 'subband[kernels]'")
    for source in collect_texts(CUDA, case):
        options = core.ProgramOptions(std="c++17", arch=architecture)
        assert core.Program(source, "c++", options).compile("cubin").code


@pytest.mark.parametrize("mode", MODES)
def test_an_adjoint_is_one_sweep_a_level_and_what_it_mixes(mode):
    engine = RecordingEngine(CUDA)
    plan = transform_plan((3, 240, 321), (1, 2), (as_wavelet("cdf97"),) * 2, (mode,) * 2, 3)
    x = engine.device.upload(np.zeros(plan.shape, np.float32))
    low, details = engine.inverse_adjoint_all(plan, x)
    # only mode `whole` has coefficients outside that are not zeros or periods
    assert len(engine.device.launches) == (6 if mode == "whole" else 3)
    engine.device.launches.clear()
    engine.forward_adjoint_all(plan, low, details)
    assert len(engine.device.launches) == (3 if mode == "zero" else 6)


@pytest.mark.opencl
@pytest.mark.parametrize("case", ["db20", "bfloat16", "cascade float32", "complex64", "launch 0", "fixed 12"])
def test_opencl_text_compiles(case):
    try:
        device = get_engine("opencl").device
    except (MissingExtraError, NoDeviceError) as missing:
        pytest.skip(str(missing))
    for source in collect_texts(OPENCL, case):
        assert device.compile(source) is not None


@pytest.mark.opencl
@pytest.mark.parametrize("case", ["cascade float32", "volume whole", "volume zero"])
def test_text_for_opencl_on_nvidia_compiles_but_for_its_instructions(case):
    """Other compilers take all of it once the instructions that only NVIDIA's knows are left out."""
    try:
        device = get_engine("opencl").device
    except (MissingExtraError, NoDeviceError) as missing:
        pytest.skip(str(missing))
    for source in collect_texts(OPENCL_NVIDIA, case):
        plain, count = re.subn(r'asm(?: volatile)?\((?:[^"()]|"[^"]*"|\([^()]*\))*\)', "(void)0", source)
        assert count
        assert device.compile(plain.replace("uint got;", "uint got = value;")) is not None


def test_text_depends_on_no_size_and_hardly_on_the_mode():
    engine = RecordingEngine(CUDA)
    for mode in MODES:
        for height, width in ((64, 512), (640, 1024), (128, 256)):
            run_level(engine, (height, width), (0, 1), "bior4.4", mode)
    # forward with samples as they are and with mixtures, and inverse; periodization and whole begin elsewhere
    assert len(set(engine.device.sources)) == len(engine.device.sources) <= 9
