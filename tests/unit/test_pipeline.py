"""Frames through the wavelet domain: the same as by hand, in order, and nothing left hanging."""

import gc
import threading
from dataclasses import replace

import numpy as np
import pytest

import subband as sb
from subband.engines.cpu.frames import FrameProgram
from subband.enhance import Shrink
from subband.enhance.colour import FROM_OPPONENTS, TO_OPPONENTS
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError, LevelError, ShapeError
from subband.pipeline import Pipeline, process_frames

FULL = Shrink(
    level=3,
    threshold=[[8, 12, 12], [4, 6, 6], [2, 3, 3]],
    gains=[[[1.2], [1.1], [0.5]], [[1.0], [1.3], [1.0]], [[0.9], [1.0], [1.0]]],
)
OPERATIONS = {
    "soft": Shrink(threshold=9.0),
    "hard": Shrink("haar", 2, "hard", [15, 8]),
    "garrote": Shrink("db2", 1, "garrote", 20.0, boundary="periodization"),
    "firm": Shrink("cdf53", 2, "firm", [[5.0], [3.0]], [[10.0], [9.0]]),
    "gains": Shrink(level=1, gains=1.5),
    "all": FULL,
    "nothing": Shrink(level=0),
}


def make_frames(count, shape=(37, 52, 3), dtype=np.uint8, seed=0):
    return list(np.random.default_rng(seed).integers(0, np.iinfo(dtype).max, (count, *shape), dtype, endpoint=True))


def apply_by_hand(frame, operation):
    """Do what a pipeline does with the public functions alone, in double precision and without rounding."""
    pixels = frame.astype(np.float64)
    planes = np.moveaxis(pixels @ TO_OPPONENTS.T, -1, 0) if frame.ndim == 3 else pixels[np.newaxis]
    pyramid = sb.decompose(planes, operation.wavelet, operation.level, operation.boundary, axes=(1, 2), engine="cpu")
    low, high, gain = operation.spread(len(planes))

    def shrink(band, level, key):
        if key == "aa":
            return band
        place = level - 1, ("ad", "da", "dd").index(key)
        parts = []
        for plane, t, u, g in zip(band, low[place], high[place], gain[place], strict=True):
            is_firm = operation.mode == "firm"
            parts.append((sb.threshold_firm(plane, t, u) if is_firm else sb.threshold(plane, t, operation.mode)) * g)
        return np.stack(parts)

    planes = sb.reconstruct(pyramid.map(shrink), engine="cpu")
    pixels = np.moveaxis(planes, 0, -1) @ FROM_OPPONENTS.T if frame.ndim == 3 else planes[0]
    return np.clip(pixels, 0, np.iinfo(frame.dtype).max)


def check_close(result, exact):
    """Rounding leaves half a step; a little more where the single-precision sum before it is off in the last bits."""
    assert np.abs(result - exact).max() <= 0.5 + 1e-6 * np.iinfo(result.dtype).max + 1e-3


@pytest.fixture(params=["cpu", pytest.param("opencl", marks=pytest.mark.opencl), "reference"])
def engine(request):
    if request.param == "opencl":
        pytest.importorskip("pyopencl")
        try:
            return sb.get_engine("opencl")
        except sb.errors.NoDeviceError:
            pytest.skip("OpenCL has no device")
    return sb.get_engine(request.param)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_equals_the_transforms_by_hand(engine, name, dtype):
    operation = OPERATIONS[name]
    if dtype == np.uint16:
        upper = None if operation.upper is None else np.multiply(operation.upper, 257)
        operation = replace(operation, threshold=np.multiply(operation.threshold, 257), upper=upper)
    frames = make_frames(5, dtype=dtype)
    results = list(process_frames(frames, operation, engine=engine))
    assert len(results) == 5
    for frame, result in zip(frames, results, strict=True):
        assert result.shape == frame.shape
        assert result.dtype == dtype
        assert result.flags.c_contiguous
        check_close(result, apply_by_hand(frame, operation))


@pytest.mark.parametrize("shape", [(16, 24), (9, 7), (1, 20), (20, 1), (1, 1), (2, 3)])
def test_grey_frames_of_any_size(engine, shape):
    operation = Shrink(level=1, threshold=20.0)
    for frame, result in zip(
        frames := make_frames(3, shape), process_frames(frames, operation, engine=engine), strict=True
    ):
        check_close(result, apply_by_hand(frame, operation))


@pytest.mark.parametrize("in_flight", [0, 1, 2, 3, 7])
def test_frames_come_back_in_order(engine, in_flight):
    frames = [np.full((8, 12), number, np.uint8) for number in range(20)]
    results = process_frames(iter(frames), Shrink(level=1, threshold=1), engine=engine, in_flight=in_flight)
    assert [int(frame[0, 0]) for frame in results] == list(range(20))


def test_the_source_is_not_read_far_ahead(engine):
    read = []
    frames = (read.append(number) or np.zeros((8, 8), np.uint8) for number in range(50))
    results = process_frames(frames, Shrink(level=1), engine=engine, in_flight=3)
    assert read == []
    for number, _ in enumerate(results):
        assert len(read) <= number + 4


def test_shape_and_dtype_may_change(engine):
    frames = [*make_frames(3), *make_frames(2, (20, 30)), *make_frames(2, (20, 30), np.uint16), *make_frames(1)]
    operation = Shrink(level=2, threshold=5)
    results = list(process_frames(frames, operation, engine=engine))
    assert [(r.shape, r.dtype) for r in results] == [(f.shape, f.dtype) for f in frames]
    for frame, result in zip(frames, results, strict=True):
        check_close(result, apply_by_hand(frame, operation))


def test_buffers_need_no_copy_and_are_used_again(engine):
    pipeline = Pipeline(Shrink(level=2, threshold=3), engine=engine)
    frames = make_frames(12, (64, 64, 3))
    addresses = set()

    def produce():
        for frame in frames:
            buffer = pipeline.buffer(frame.shape)
            addresses.add(buffer.ctypes.data)
            buffer[...] = frame
            yield buffer

    for frame, result in zip(frames, pipeline.process(produce()), strict=True):
        check_close(result, apply_by_hand(frame, pipeline.operation))
    del result
    assert len(pipeline._memory._lent) <= 5


def test_a_frame_may_be_changed_after_it_was_handed_over(engine):
    frames = make_frames(9)

    def produce():
        one = np.empty_like(frames[0])
        for frame in frames:
            one[...] = frame
            yield one

    operation = Shrink(level=1, threshold=5)
    for frame, result in zip(frames, process_frames(produce(), operation, engine=engine), strict=True):
        check_close(result, apply_by_hand(frame, operation))


def test_results_that_are_kept_stay_as_they_are(engine):
    frames = make_frames(10)
    pipeline = Pipeline(Shrink(level=1, threshold=5), engine=engine)
    first = list(pipeline.process(frames))
    copies = [frame.copy() for frame in first]
    list(pipeline.process(make_frames(10, seed=1)))
    for kept, copy in zip(first, copies, strict=True):
        np.testing.assert_array_equal(kept, copy)


def test_frames_of_any_layout(engine):
    frame = make_frames(1, (40, 60, 3), np.uint16)[0]
    operation = Shrink(level=1, threshold=100)
    kinds = [frame, np.asfortranarray(frame), frame.astype(">u2"), frame.tolist(), frame[::-1][::-1]]
    kinds[3] = np.array(kinds[3], np.uint16)[:, :]
    wide = np.zeros((40, 120, 3), np.uint16)
    wide[:, ::2] = frame
    results = list(process_frames([*kinds, wide[:, ::2]], operation, engine=engine))
    for result in results:
        assert result.dtype == np.uint16
        np.testing.assert_array_equal(result, results[0])


class Broken(Exception):
    pass


def test_errors_of_the_source_come_after_the_frames_before(engine):
    frames = make_frames(4)

    def produce():
        yield from frames
        raise Broken

    results = []
    with pytest.raises(Broken):
        results.extend(process_frames(produce(), Shrink(level=1), engine=engine))
    results = process_frames(produce(), Shrink(level=1), engine=engine)
    assert len([next(results) for _ in range(4)]) == 4
    with pytest.raises(Broken):
        next(results)
    with pytest.raises(StopIteration):
        next(results)


def test_bad_frames_are_named_after_the_frames_before(engine):
    for bad, error, message in (
        (np.zeros((5, 5)), DtypeError, r"dtype float64; frames hold uint8 or uint16"),
        (np.zeros((5, 5, 4), np.uint8), ShapeError, r"shape \(5, 5, 4\).*rows × columns × 3"),
        (np.zeros((0, 5), np.uint8), ShapeError, r"at least 1 pixel"),
        (np.zeros((2, 2), np.uint8), LevelError, r"level=2 is too large"),
    ):
        results = process_frames([*make_frames(3), bad, *make_frames(3)], Shrink(level=2), engine=engine)
        for _ in range(3):
            next(results)
        with pytest.raises(error, match=message):
            next(results)


def test_errors_of_the_operation_leave_the_pipeline_usable(engine, monkeypatch):
    pipeline = Pipeline(Shrink(level=1, threshold=2), engine=engine)
    frames = make_frames(6)
    # the CPU's engine does all of a frame in one program
    computes, name = (FrameProgram, "__call__") if engine.name == "cpu" else (type(engine), "forward_all")
    original = getattr(computes, name)
    calls = []

    def fail(*arguments):
        calls.append(arguments)
        if len(calls) == 4:
            raise Broken
        return original(*arguments)

    monkeypatch.setattr(computes, name, fail)
    results = pipeline.process(frames)
    with pytest.raises(Broken):
        list(results)
    monkeypatch.undo()
    for frame, result in zip(frames, pipeline.process(frames), strict=True):
        check_close(result, apply_by_hand(frame, pipeline.operation))


def test_consumers_may_close_early(engine):
    threads = threading.active_count()
    pipeline = Pipeline(Shrink(level=1, threshold=2), engine=engine)
    source = iter(make_frames(30))
    for _ in range(3):
        results = pipeline.process(source)
        next(results)
        results.close()
    left = len(list(source))
    assert left >= 30 - 3 * 5
    results = pipeline.process(make_frames(4))
    next(results)
    del results
    gc.collect()
    frames = make_frames(4)
    for frame, result in zip(frames, pipeline.process(frames), strict=True):
        check_close(result, apply_by_hand(frame, pipeline.operation))
    assert threading.active_count() <= threads + sb.get_threads()


def test_two_films_through_one_pipeline(engine):
    pipeline = Pipeline(Shrink(level=1, threshold=2), engine=engine)
    films = [make_frames(6, seed=1), make_frames(6, seed=2)]
    for first, second, *frames in zip(*map(pipeline.process, films), *films, strict=True):
        for frame, result in zip(frames, (first, second), strict=True):
            check_close(result, apply_by_hand(frame, pipeline.operation))


def test_no_frames(engine):
    assert list(process_frames([], Shrink(), engine=engine)) == []


class TestShrink:
    def test_is_a_key(self):
        assert hash(Shrink(threshold=[1, 2, 3])) == hash(Shrink(threshold=np.array([1.0, 2, 3])))
        assert eval(repr(FULL)) == FULL

    def test_spreads_numbers(self):
        low, _, gain = FULL.spread(3)
        assert low.shape == (3, 3, 3)
        assert low[0, 1].tolist() == [8, 12, 12]
        assert gain[0, :, 2].tolist() == [1.2, 1.1, 0.5]
        assert Shrink(threshold=[[1], [2], [3]]).spread(1)[0][:, 0, 0].tolist() == [1, 2, 3]

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"mode": "sofft"}, ArgumentError, r"mode='sofft' is not a threshold; did you mean 'soft'"),
            ({"mode": "greater"}, ArgumentError, r"use one of soft, hard, garrote, firm"),
            ({"mode": "firm", "threshold": 1}, ArgumentError, r"mode='firm' needs an upper threshold"),
            ({"upper": 2}, ArgumentError, r"mode='soft' has no upper threshold"),
            ({"mode": "firm", "threshold": 3, "upper": 2}, ArgumentError, r"upper=2.0 is less than threshold=3.0"),
            ({"threshold": -1}, ArgumentError, r"threshold=-1.0 is negative"),
            ({"threshold": float("nan")}, ArgumentError, r"not finite"),
            ({"threshold": "many"}, ArgumentTypeError, r"threshold='many' holds something that is not a number"),
            ({"threshold": [1, 2]}, ShapeError, r"threshold has shape \(2,\); for 3 levels"),
            ({"gains": np.ones((3, 2))}, ShapeError, r"gains has shape \(3, 2\)"),
            ({"level": -1}, LevelError, r"level=-1 is not a number of levels"),
            ({"wavelet": "cdf98"}, ArgumentError, r"cdf98"),
        ],
    )
    def test_refuses(self, arguments, error, message):
        with pytest.raises(error, match=message):
            Shrink(**arguments)

    def test_channels_have_to_fit(self):
        with pytest.raises(ShapeError, match=r"threshold is given for 3 channels, and a frame has 1"):
            list(process_frames(make_frames(1, (8, 8)), Shrink(threshold=[[1, 2, 3]])))


def test_arguments_are_checked_at_once():
    with pytest.raises(ArgumentTypeError, match="operation is a str; use an Enhancer"):
        process_frames([], "soft")
    with pytest.raises(ArgumentError, match="in_flight=-1"):
        process_frames([], Shrink(), in_flight=-1)
