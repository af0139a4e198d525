"""Video denoised over time on a device: frames per second of 1080p, and how far results are from those of the CPU.

Frames are the planes of Y'CbCr 4:2:0, of 8 bits. They are on the device already, and results stay there; or they come
from the host's memory, and results go back to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from subband.bench.tables import Goal, Report, Sheet
from subband.bench.temporal import ALONE, TEMPORAL, Clip, make_video
from subband.engines import Engine, get_engine
from subband.engines.device_engine import DeviceEngine
from subband.engines.measuring.devices import describe_machine
from subband.engines.measuring.harness import open_harness
from subband.enhance import Denoise, Enhancer
from subband.enhance.program import Program
from subband.errors import ArgumentError
from subband.pipeline import process_frames
from subband.pipeline.planes import CHROMA, PlaneWork, take_plane
from subband.pipeline.sequence import Sequence as FrameSequence
from subband.pipeline.units import pick_plane
from subband.quality import measure_psnr
from subband.typing import Array

__all__ = ["CLIPS", "SHAPE", "Comparison", "compare_clip", "measure_rates", "report"]

#: Clips that need no library that decodes video.
CLIPS = ("still", "pan", "aerial", "fade", "fast")

#: Rows and columns of the frames whose speed counts.
SHAPE = 1080, 1920

#: Frames per second of these that are expected, and how far PSNR may be from that of the CPU, in decibels.
_RATE, _NEAR = 500.0, 0.02

#: Standard deviation of the noise, and rows and columns of brightness that share a sample of chroma.
_SIGMA, _STEPS = 20.0, (2, 2)

#: Frames before those that count: they compile and record. And how often these are measured: the median counts.
_WARMUP, _ROUNDS = 8, 3

_HOST = ", from the host's memory"


@dataclass(frozen=True)
class Comparison:
    """A clip on the engine and on the CPU: PSNR of both, and how many samples differ by how much, at most.

    Attributes
    ----------
    clip : str
        Its name.
    psnr, expected : float
        Of the engine and of the CPU, in decibels.
    differing : float
        Part of the samples that are not the same.
    largest : int
        The largest difference, of 255.
    """

    clip: str
    psnr: float
    expected: float
    differing: float
    largest: int


def compare_clip(clip: Clip, engine: str) -> Comparison:
    """Denoise a clip over time on an engine and on the CPU."""
    rng = np.random.default_rng(int(_SIGMA))
    noisy = np.rint(clip.frames + rng.normal(0, _SIGMA, clip.frames.shape)).clip(0, 255).astype(np.uint8)
    enhancer = Enhancer((Denoise(),), sigma=_SIGMA, temporal=True)
    found, expected = (np.stack(list(process_frames(noisy, enhancer, engine=each))) for each in (engine, "cpu"))
    differences = np.abs(found.astype(np.int16) - expected)
    psnr, before = (measure_psnr(frames, clip.frames, 255) for frames in (found, expected))
    return Comparison(clip.name, psnr, before, float((differences > 0).mean()), int(differences.max()))


def measure_rates(engine: str, count: int = 120, shape: tuple[int, int] = SHAPE) -> dict[str, float]:
    """Return frames per second alone and over time, on the device and from the host's memory to the host's memory."""
    found = get_engine(engine)
    if not isinstance(found, DeviceEngine):
        raise ArgumentError(f"engine={engine!r} has no memory of its own; use 'cuda' or 'opencl'")
    rates = {}
    for name, temporal in ((ALONE, False), (TEMPORAL, True)):
        enhancer = Enhancer((Denoise(),), temporal=temporal)
        rates[name] = _time_there(found, enhancer, count, shape)
        rates[name + _HOST] = _time_host(found, enhancer, count, shape)
    return rates


def _time_there(engine: DeviceEngine, enhancer: Enhancer, count: int, shape: tuple[int, int]) -> float:
    """Return frames per second of planes that are on the device, where results stay."""
    device = engine.device
    frames = [
        tuple(device.upload(np.ascontiguousarray(take_plane(frame, channel, _STEPS))) for channel in (0, CHROMA))
        for frame in make_video(8, shape)
    ]
    work = (_follow_planes if enhancer.temporal else _work_alone)(engine, enhancer, shape)

    def run(turns: int) -> None:
        done = None
        for number in range(turns):
            # there and back, so that nothing is cut
            done = work(*frames[abs(number % 14 - 7)])
        assert done is not None
        for each in done:
            # which waits for all before it
            device.download(each)

    run(_WARMUP)
    return count / float(median(_measure(lambda: run(count)) for _ in range(_ROUNDS)))


def _measure(run: Callable[[], None]) -> float:
    begin = perf_counter()
    run()
    return perf_counter() - begin


def _follow_planes(engine: Engine, enhancer: Enhancer, _: tuple[int, int]) -> Callable[[Any, Any], tuple[Any, Any]]:
    bright = FrameSequence(pick_plane(enhancer, 0), engine)
    colour = FrameSequence(pick_plane(enhancer, CHROMA, _STEPS), engine, _STEPS)

    def work(luma: Any, chroma: Any) -> tuple[Any, Any]:
        finish = bright.follow(luma)
        return colour.follow(chroma, None, bright.past)(), finish()

    return work


def _work_alone(engine: Engine, enhancer: Enhancer, shape: tuple[int, int]) -> Callable[[Any, Any], tuple[Any, Any]]:
    small = -(-shape[0] // _STEPS[0]), -(-shape[1] // _STEPS[1])
    bright = Program(pick_plane(enhancer, 0), shape, 1, engine)
    colour = Program(pick_plane(enhancer, CHROMA, _STEPS), small, 2, engine)
    return lambda luma, chroma: (bright.run(luma.reshape(*shape, 1)), colour.run(chroma))


def _time_host(engine: Engine, enhancer: Enhancer, count: int, shape: tuple[int, int]) -> float:
    results = PlaneWork(enhancer, _STEPS, engine=engine)(_repeat(list(make_video(8, shape)), count + _WARMUP))
    for _ in islice(results, _WARMUP):
        pass
    begin = perf_counter()
    done = sum(frame.shape == (*shape, 3) for frame in results)
    return float(done / (perf_counter() - begin))


def _repeat(frames: Sequence[Array], count: int) -> Iterator[Array]:
    for number in range(count):
        yield frames[abs(number % 14 - 7)]


def report(found: Iterable[Comparison], rates: Mapping[str, float], engine: str, *, is_whole: bool = True) -> Report:
    """Make a report of both; targets are judged if all clips and whole frames were measured."""
    results = list(found)
    size = f"{SHAPE[1]} × {SHAPE[0]}" if is_whole else "a small size"
    rows = [
        (each.clip, f"{each.psnr:.3f}", f"{each.expected:.3f}", f"{100 * each.differing:.3f} %", str(each.largest))
        for each in results
    ]
    sheets = [
        Sheet(
            f"Video over time on {engine}, beside the CPU",
            ("clip", f"PSNR, {engine}", "PSNR, cpu", "samples that differ", "by at most"),
            rows,
            f"Noise of standard deviation {_SIGMA:g}, of 255.",
        ),
        Sheet(
            f"Frames per second of {size}, on the device unless from the host's memory",
            ("frames", "fps"),
            [(name, f"{rate:.1f}") for name, rate in rates.items()],
        ),
    ]
    figures = {"clips": [asdict(each) for each in results], "rates": dict(rates)}
    goals = _judge(results, rates) if is_whole else []
    return Report(sheets, goals, figures, describe_machine(open_harness(engine).name, ["scikit-image"]))


def _judge(results: Sequence[Comparison], rates: Mapping[str, float]) -> list[Goal]:
    far, clip = max((abs(each.psnr - each.expected), each.clip) for each in results)
    rate = rates[TEMPORAL]
    return [
        Goal(f"PSNR within {_NEAR} dB of the CPU's", f"{far:.4f} dB at worst: {clip}", far <= _NEAR),
        Goal(f"at least {_RATE:g} fps of {SHAPE[1]} × {SHAPE[0]} on the device", f"{rate:.1f} fps", rate >= _RATE),
    ]
