"""Engines whose round trip is perfect and whose bands are wrong: no benchmark times them."""

import numpy as np
import pytest

from subband.bench import jpeg2000 as codec
from subband.bench import streaming, video
from subband.bench.model.cases import ModelCase
from subband.bench.model.comparison import Study
from subband.bench.papers import (
    acceptance,
    denoising,
    frame_buffer,
    haar,
    high_definition,
    jpeg2000,
    orders,
    precision,
    processor_load,
    ultrasound,
    worked_model,
)
from subband.bench.papers.high_definition import Image
from subband.data import clip_path
from subband.engines import Engine, get_engine
from subband.engines.measuring import judging
from subband.engines.measuring.harness import open_harness, plan_array
from subband.engines.measuring.judging import WrongResultError, check_transform, compare_bands
from subband.engines.measuring.timing import Effort

MOMENT = Effort(seconds=1e-3, fewest=1, most=2, turn=1e-4)
SMALL = np.random.default_rng(2).integers(0, 256, (64, 96, 3), np.uint8)


class Broken(Engine):
    """Computes as the CPU engine does, until a subclass spoils it."""

    def __init__(self):
        self.name = type(self).__name__.lower()
        self.honest = get_engine("cpu")

    def forward(self, plan, x):
        return self.honest.forward(plan, x)

    def inverse(self, plan, bands):
        return self.honest.inverse(plan, bands)

    def stationary_forward(self, plan, x):
        return self.honest.stationary_forward(plan, x)

    def stationary_inverse(self, plan, bands):
        return self.honest.stationary_inverse(plan, bands)


class Lazy(Broken):
    """Only splits even and odd samples."""

    def forward(self, plan, x):
        bands = {"": x}
        for axis in plan.axes:
            bands = {
                key + letter: np.ascontiguousarray(np.moveaxis(np.moveaxis(band, axis, 0)[start::2], 0, axis))
                for key, band in bands.items()
                for letter, start in (("a", 0), ("d", 1))
            }
        return bands

    def inverse(self, plan, bands):
        x = np.empty(plan.shape, np.result_type(*bands.values()))
        for key, band in bands.items():
            place = [slice(None)] * x.ndim
            for axis, letter in zip(plan.axes, key, strict=True):
                place[axis] = slice("ad".index(letter), None, 2)
            x[tuple(place)] = band
        return x


class Scaled(Broken):
    """Bands are a little too large, by a power of two, so that the way back is exact."""

    def forward(self, plan, x):
        return {key: band * 2 for key, band in self.honest.forward(plan, x).items()}

    def inverse(self, plan, bands):
        halves = {key: band // 2 if band.dtype.kind == "i" else band / 2 for key, band in bands.items()}
        return self.honest.inverse(plan, halves)


class Swapped(Broken):
    """Horizontal and vertical details have changed places."""

    @staticmethod
    def swap(plan, bands):
        # where shapes differ nobody would be fooled
        if len(plan.axes) != 2 or bands["ad"].shape != bands["da"].shape:
            return bands
        return {**bands, "ad": bands["da"], "da": bands["ad"]}

    def forward(self, plan, x):
        return self.swap(plan, self.honest.forward(plan, x))

    def inverse(self, plan, bands):
        return self.honest.inverse(plan, self.swap(plan, bands))


class Stale(Broken):
    """Gives the first result of a plan again and again."""

    def __init__(self):
        super().__init__()
        self.kept = {}

    def forward(self, plan, x):
        return dict(self.kept.setdefault(("forward", plan), self.honest.forward(plan, x)))

    def inverse(self, plan, bands):
        return self.kept.setdefault(("inverse", plan), self.honest.inverse(plan, bands))


class Reused(Broken):
    """Writes all results of a plan to the same memory."""

    def __init__(self):
        super().__init__()
        self.memory = {}

    def forward(self, plan, x):
        found = self.honest.forward(plan, x)
        kept = self.memory.setdefault((plan, x.dtype), found)
        for key, band in found.items():
            kept[key][...] = band
        return dict(kept)


BROKEN = [Lazy, Scaled, Swapped, Stale]

CHAPTERS = {
    "haar": lambda engine: haar.measure_sides(engine, MOMENT),
    "high definition": lambda engine: list(high_definition.measure_images([Image((64, 64), 2)], engine, MOMENT)),
    "padded": lambda engine: list(high_definition.measure_images([Image((48, 60), 6, (64, 64))], engine, MOMENT)),
    "ultrasound": lambda engine: ultrasound._measure(ultrasound.Program("cpu"), open_harness(engine), 64, MOMENT),
    "frame buffer": lambda engine: frame_buffer.measure_ratios([engine], MOMENT),
    "orders": lambda engine: orders.measure_orders(engine, MOMENT, (1, 64, 64)),
    "visushrink": lambda engine: denoising.report({"small": np.random.default_rng(0).random((64, 64))}, engine),
    "jpeg 2000": lambda engine: list(jpeg2000.measure_stages([64], [engine], MOMENT, repeats=1)),
    "jpeg 2000, lossless": lambda engine: list(codec.measure_breakdown([64], [engine], 1, is_lossless=True)),
    "acceptance": lambda engine: video.measure_transform(clip_path(), engine, 3, (64, 96)),
    "table 7.1": lambda engine: acceptance.measure(engine, 2, (64, 96), [SMALL]),
    "processor load": lambda engine: processor_load._measure(
        ultrasound.Program("cpu"), open_harness(engine), 64, 0.01, 1000.0
    ),
    "precision": lambda engine: precision.measure_differences(engine, {"small": (SMALL[..., 0] / 255,) * 2}, [2]),
    "worked model": lambda engine: worked_model._measure(open_harness(engine), MOMENT, [32]),
    "model": lambda engine: Study(open_harness(engine), [ModelCase((64, 64), "haar", 2, "forward")], MOMENT, [32]),
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(haar, "THEIRS", {64: (47.0, 16.0)})
    monkeypatch.setattr(frame_buffer, "_SIDE", 128)
    monkeypatch.setattr(worked_model, "SHAPE", (2, 64, 64))


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_broken_engines_are_refused(chapter, broken):
    with pytest.raises(WrongResultError, match="reference engine"):
        CHAPTERS[chapter](broken())


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_same_engine_unspoilt_is_measured(chapter):
    assert CHAPTERS[chapter](Broken())


def test_a_threshold_that_does_nothing_is_found(monkeypatch):
    monkeypatch.setattr(ultrasound, "make_shrinker", lambda *_: lambda coefficients: None)
    with pytest.raises(WrongResultError, match="soft threshold"):
        CHAPTERS["ultrasound"](get_engine("cpu"))


def test_memory_that_is_used_twice_is_found():
    plan = plan_array((32, 32), "haar", 1)
    bench = open_harness(Reused())
    with pytest.raises(WrongResultError):
        check_transform(bench, plan, bench.draw(plan.shape), "reused")


def test_a_wrong_way_back_is_found():
    class Forward(Broken):
        def inverse(self, plan, bands):
            return self.honest.inverse(plan, bands) * np.float32(1.001)

    bench = open_harness(Forward())
    plan = plan_array((32, 32), "db2", 2)
    with pytest.raises(WrongResultError, match="inverse"):
        check_transform(bench, plan, bench.draw(plan.shape), "forward")


@pytest.mark.parametrize("broken", BROKEN)
def test_large_planes_have_another_judge(broken, monkeypatch):
    monkeypatch.setattr(judging, "JUDGED_SIZE", 100)
    plan = plan_array((64, 80), "cdf97", 3)
    for engine in (Broken(), get_engine("cpu")):
        bench = open_harness(engine)
        check_transform(bench, plan, bench.draw(plan.shape), "right")
    bench = open_harness(broken())
    with pytest.raises(WrongResultError, match="reference engine"):
        check_transform(bench, plan, bench.draw(plan.shape), "wrong")


def test_the_judge_of_large_planes_is_judged(monkeypatch):
    monkeypatch.setattr(judging, "JUDGED_SIZE", 100)
    broken, real = Scaled(), get_engine
    bench = open_harness(broken)
    plan = plan_array((64, 80), "cdf97", 3)
    monkeypatch.setattr(judging, "get_engine", lambda name: broken if name == "cpu" else real(name))
    with pytest.raises(WrongResultError, match="the CPU engine"):
        check_transform(bench, plan, bench.draw(plan.shape), "wrong")


def test_numbers_that_are_none_and_bands_that_are_missing_are_refused():
    good = {"a": np.zeros(2), "d": np.ones(2)}
    compare_bands(good, good, "same", 0.0)
    for bad in ({"a": np.zeros(2)}, {**good, "d": np.array([1.0, np.nan])}, {**good, "d": np.ones(3)}):
        with pytest.raises(WrongResultError):
            compare_bands(bad, good, "other", 0.5)


def test_the_cpu_is_no_judge_of_itself_in_the_pipeline(monkeypatch):
    process = streaming._process
    monkeypatch.setattr(
        streaming,
        "_process",
        lambda operation, frames, engine: process(operation, frames, Scaled() if engine == "cpu" else engine),
    )
    with pytest.raises(WrongResultError, match="reference engine"):
        streaming.measure_pipeline("tiny", "cpu", count=2, turns=1, shape=(48, 64))
