"""The search for launch parameters finds the best, and never takes a wrong or an impossible one."""

from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from subband.engines import get_engine
from subband.engines.measuring.harness import Harness, open_device
from subband.engines.measuring.timing import Effort
from subband.engines.measuring.tuning import (
    CascadeCase,
    TuningCase,
    choose_grid,
    keep_run_cases,
    list_tuning_cases,
    plan_levels,
    select_tuning_cases,
    tune_case,
)
from subband.engines.tuned import identify, save_tuned
from subband.errors import ArgumentError, KernelError, MissingExtraError, NoDeviceError
from subband.kernels.dialects import CUDA, OPENCL
from subband.kernels.launch import Launch, choose_cascade_launch, choose_launch
from subband.testing import RecordingEngine

EFFORT = Effort(seconds=0.001, fewest=1, most=1, turn=1e-6)
(CASE,) = select_tuning_cases(list_tuning_cases(64), ["haar float32 forward 2-D"])
USUAL = choose_launch(CUDA, *CASE.programs, 4, is_gpu=True)


class Pretender:
    """The CPU's engine, which looks at the parameters only to fail with some."""

    name = "pretender"

    def __init__(self, bad=None, wrong=None):
        self.launch_override = None
        self.device = SimpleNamespace(dialect=CUDA, is_gpu=True)
        self.bad, self.wrong, self.tried = bad, wrong, []

    def forward(self, plan, x):
        launch = self.launch_override
        if launch not in self.tried:
            self.tried.append(launch)
        if self.bad and launch is not None and self.bad(launch):
            raise KernelError("Card does not compile a kernel", "text", "too many registers")
        bands = get_engine("cpu").forward(plan, x)
        if self.wrong and launch is not None and self.wrong(launch):
            bands["dd"][3, 5] += 1
        return bands


class PretendedHarness(Harness):
    """A clock that asks a formula."""

    name = "cpu"

    def __init__(self, engine, formula):
        self.engine, self.formula = engine, formula

    def draw(self, shape, dtype, seed=0):
        return np.random.default_rng(seed).random(shape, dtype=dtype)

    def prepare_copy(self, x):
        raise NotImplementedError

    def time_calls(self, call, count):
        call()
        return count * self.formula(self.engine.launch_override)

    def poison(self, x):
        x.fill(np.nan)


@pytest.fixture
def tune():
    def run(formula, grid, seconds=inf, **faults):
        engine = Pretender(**faults)
        return tune_case(CASE, PretendedHarness(engine, formula), grid, EFFORT, seconds=seconds), engine

    return run


def take(launch):
    """The best are 4 pairs, 1 ahead and chunks of 96; each parameter counts for itself."""
    return 1e-3 * (1 + abs(launch.pairs - 4) + abs(launch.ahead - 1) + abs(launch.chunk - 96) / 100)


def test_best_is_found_one_parameter_after_the_other(tune):
    tuning, engine = tune(take, choose_grid(CUDA))
    assert (tuning.best.pairs, tuning.best.ahead, tuning.best.chunk) == (4, 1, 96)
    assert tuning.usual == USUAL
    assert tuning.gain == pytest.approx(take(USUAL) / take(tuning.best))
    assert tuning.tried == len({launch for launch in engine.tried if launch is not None}) - 1
    assert engine.launch_override is None


def test_nothing_better_leaves_the_usual(tune):
    tuning, _ = tune(lambda launch: 1e-3 * (1 if launch == USUAL else 0.999), choose_grid(CUDA))
    assert tuning.best == USUAL
    assert tuning.gain == 1


def test_nothing_is_tried_when_the_time_is_over(tune):
    tuning, _ = tune(take, choose_grid(CUDA), seconds=0)
    assert tuning.tried == 0
    assert tuning.best == USUAL


def test_wrong_results_are_never_the_best(tune):
    tuning, _ = tune(take, {"pairs": (1, 4), "ahead": (1,)}, wrong=lambda launch: launch.pairs == 4)
    assert (tuning.best.pairs, tuning.best.ahead) == (2, 1)
    assert any("wrong result" in remark for remark in tuning.remarks)


def test_what_does_not_compile_is_left_out(tune):
    tuning, _ = tune(take, {"pairs": (1, 4), "ahead": (1,)}, bad=lambda launch: launch.pairs == 4)
    assert (tuning.best.pairs, tuning.best.ahead) == (2, 1)
    (remark,) = {remark.split(": ")[-1] for remark in tuning.remarks}
    assert "\n" not in remark


def test_lanes_hold_no_more_than_they_load_at_once():
    assert CASE.is_possible(Launch(4, 2, 24, 4, True))
    assert not CASE.is_possible(Launch(8, 2, 24, 4, True))


def test_lanes_do_not_look_beyond_their_neighbours():
    (case,) = [case for case in list_tuning_cases() if case.name.startswith("db4 float32 inverse")]
    assert case.is_possible(Launch(1, 2, 24, 4, True))
    long = TuningCase(plan_levels((64, 64), "db20", "periodization", (1,)))
    assert not long.is_possible(Launch(1, 2, 24, 4, True))


def test_classes_are_told_apart():
    names = [case.kernels for case in list_tuning_cases()]
    assert len(set(names)) == len(names) >= 16
    assert any(" columns " in name for name in names)
    assert any(" rows " in name for name in names)


def test_no_class_left_is_an_error():
    with pytest.raises(ArgumentError, match="quux"):
        select_tuning_cases(list_tuning_cases(), ["quux"])


def test_opencl_tries_what_it_can():
    assert choose_grid(OPENCL)["ahead"] == (0,)


def make_joined(direction="forward", shape=(64, 512), level=2, dtype="float32"):
    return CascadeCase(plan_levels(shape, "cdf97", "whole", level=level), dtype, direction)


def test_classes_of_two_levels_are_told_apart():
    joined = [case for case in list_tuning_cases() if isinstance(case, CascadeCase)]
    assert len({case.kernels for case in joined}) == len(joined) == 12
    for words in ("size4 levels2 large", "size4 levels2 small", "channels3 levels2 small", "size4 levels1 large"):
        assert len({case.direction for case in joined if words in case.kernels}) == 2


def test_two_levels_are_left_to_engines_that_join_them():
    engine = RecordingEngine(CUDA)
    assert all(case.is_run_by(engine) for case in list_tuning_cases())
    kept = keep_run_cases(list_tuning_cases(), RecordingEngine(OPENCL))
    assert not any(isinstance(case, CascadeCase) for case in kept)
    # fewer samples than are worth it, and rows of fewer than the lanes of a group hold
    assert not make_joined(shape=(64, 128)).is_run_by(engine)
    assert not make_joined(shape=(8192, 64)).is_run_by(engine)
    # one level has a sweep of its own, but for large images
    assert not make_joined(shape=(1024, 1024), level=1).is_run_by(engine)
    with pytest.raises(ArgumentError, match="recording"):
        keep_run_cases([make_joined(shape=(64, 128))], engine)


def test_what_was_measured_of_two_levels_is_what_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("SUBBAND_CACHE_DIR", str(tmp_path))

    def list_texts():
        engine = RecordingEngine(CUDA)
        plan = plan_levels((512, 512), "cdf97", "whole", level=2)
        engine.inverse_all(plan, *engine.forward_all(plan, engine.device.upload(np.zeros(plan.shape, np.float32))))
        return engine.device.sources

    usual = list_texts()
    launch = choose_cascade_launch(CUDA, 4, 512 * 512, is_inverse=False)
    case = make_joined(shape=(512, 512))
    name = identify(RecordingEngine(CUDA).device)
    save_tuned(name, {case.kernels: Launch(launch.pairs, 1, 8, 2, False)})
    forward, inverse = list_texts()
    assert "AHEAD = 1 }" in forward
    assert "#define BLOCK 2\n" in forward
    assert inverse == usual[1]
    # an image too narrow for what suits wide ones has the usual parameters
    save_tuned(name, {case.kernels: Launch(16, 1, 8, 2, False)})
    assert list_texts() == usual


def test_what_was_measured_of_pixels_is_what_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("SUBBAND_CACHE_DIR", str(tmp_path))
    case = TuningCase(plan_levels((64, 64, 3), "cdf97", "whole"))
    engine = RecordingEngine(CUDA)
    save_tuned(identify(engine.device), {case.kernels: Launch(2, 1, 8, 2, True)})
    for shape in ((64, 64, 3), (64, 64, 4), (64, 64)):
        x = engine.device.upload(np.zeros(shape, np.float32))
        engine.forward(plan_levels(shape, "cdf97", "whole").levels[0], x)
    assert ["AHEAD = 1 }" in text for text in engine.device.sources] == [True, False, False]


@pytest.mark.opencl
@pytest.mark.parametrize("direction", ["forward", "inverse"])
def test_two_levels_are_measured_on_a_device(direction, monkeypatch):
    try:
        bench = open_device("opencl")
    except (MissingExtraError, NoDeviceError) as missing:
        pytest.skip(str(missing))
    monkeypatch.setattr(bench.engine, "least_cascade", 1)
    case = make_joined(direction, shape=(36, 256))
    assert case.is_run_by(bench.engine)
    tuning = tune_case(case, bench, {"chunk": (2, 5)}, EFFORT)
    assert tuning.tried == 2
    assert tuning.remarks == ()
    assert bench.engine.cascade_override is None
