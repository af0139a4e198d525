"""Video denoised over time, beside frame by frame and beside filters of FFmpeg that are tuned to each clip.

Clips are made of images by known motion, to a fraction of a pixel, and one is a video. Noise is white, comes from fixed
seeds, and all contenders get the same frames of 8 bits. Measured are PSNR, the largest error at edges that move, and
the flicker of what stands still: the standard deviation of its error over time.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from subband import data
from subband.bench.tables import Goal, Report, Sheet
from subband.enhance import Denoise, Enhancer
from subband.media import SourceInfo, open_sink, open_source
from subband.media.base import Frame
from subband.media.video_pixels import allocate_planar
from subband.pipeline import enhance_file, process_frames
from subband.pipeline.planes import PlaneWork
from subband.quality import measure_psnr
from subband.typing import Array

__all__ = [
    "CLIPS",
    "SIGMAS",
    "Clip",
    "Result",
    "make_clip",
    "make_video",
    "measure_clip",
    "measure_files",
    "measure_speed",
    "report",
]

#: Standard deviations of the noise, of 255.
SIGMAS = (10, 20, 40)

#: Names of all clips, and whether the camera is still or moves slowly.
CLIPS = {"still": True, "pan": True, "aerial": True, "fade": True, "fast": False, "bunny": True}

#: What is expected in decibels of a slow camera, and of any; how much less flicker; and frames per second of 720p.
GAIN, LOSS, CALM, RATE = 1.5, 0.05, 0.5, 25.0

ALONE, TEMPORAL, FILES = "frame by frame", "temporal", "temporal, file to file"

#: Filters of FFmpeg with settings that are tried: for each clip and noise, the best one counts.
PEERS = {
    "nlmeans": [f"s={s}:p=7:r=11" for s in (2, 4, 6, 10, 16, 30)],
    "hqdn3d": [f"{s}:{s}:{t}:{t}" for s in (2, 4, 8, 16) for t in (6, 12, 24, 48)],
    "vaguedenoiser": [f"threshold={t}:nsteps=5" for t in (4, 8, 16, 32, 64)],
    # its sigma counts in units of its own, some forty times that of the noise and more
    "bm3d": [f"sigma={s}:block=8:bstep=4:group=8" for s in (400, 1000, 1600, 4000)],
}

#: Rows and columns of clips, and taps on each side of the filter that moves images.
_SHAPE, _TAPS = (288, 352), 8

# The first frames have little to look back to, and are not counted for flicker.
_STARTUP = 4


@dataclass(frozen=True)
class Clip:
    """A clip without noise.

    Attributes
    ----------
    name : str
        One of `CLIPS`.
    frames : ndarray of shape (frames, rows, columns)
        Between 0 and 255.
    still, edges : ndarray of bool
        What stands still before a still camera, of the shape of a frame; where an edge moves, of that of all frames.
    """

    name: str
    frames: Array
    still: Array
    edges: Array


@dataclass(frozen=True)
class Result:
    """A clip under noise of one strength, with what every contender made of it; by contender."""

    clip: str
    sigma: float
    psnr: Mapping[str, float]
    flicker: Mapping[str, float]
    largest: Mapping[str, float]


def make_clip(name: str, count: int = 20) -> Clip:
    """Make a clip.

    Parameters
    ----------
    name : str
        ``'still'`` has a still camera and a disc that moves; in ``'pan'`` and ``'aerial'`` the camera moves by
        fractions of a pixel; in ``'fade'`` it does while light fades; in ``'fast'`` camera and disc do, by many pixels;
        ``'bunny'`` is the brightness of the video.
    count : int
        Frames.
    """
    moved = {
        "pan": (data.ascent(), 0.37, 0.81),
        "aerial": (data.aero(), -0.27, 1.45),
        "fade": (data.ascent(), 0.21, -0.43),
        "fast": (data.ascent(), -3.3, 6.7),
    }
    if name == "bunny":
        with open_source(data.clip_path(), colours="ycbcr") as source:
            # the first ones hardly move
            frames = np.stack([frame.pixels[..., 0] for frame in source][20 : 20 + count]).astype(np.float64)
    elif name == "still":
        back = data.camera()[100 : 100 + _SHAPE[0], 80 : 80 + _SHAPE[1]].astype(np.float64)
        frames = np.stack([_lay_disc(back, 120, 20 + 3 * time) for time in range(count)])
    else:
        image, down, right = moved[name]
        start = (100 if down < 0 else 40), 20
        frames = np.stack([_move(image, start[0] + down * time, start[1] + right * time) for time in range(count)])
        if name == "fade":
            frames *= np.linspace(1, 0.4, count)[:, np.newaxis, np.newaxis]
        if name == "fast":
            frames = np.stack([_lay_disc(each, 60 + 5 * time, 21 * time - 20) for time, each in enumerate(frames)])
    changes = np.abs(np.diff(frames, axis=0, prepend=frames[:1]))
    return Clip(name, frames, (changes.max(axis=0) == 0) & (name == "still"), changes > 40)


def _move(image: Array, down: float, right: float) -> Array:
    """Return a part of an image that begins between its pixels, by a sinc under a window."""
    part = image.astype(np.float64)
    for axis, (begin, length) in enumerate(zip((down, right), _SHAPE, strict=True)):
        whole = int(np.floor(begin))
        distance = np.arange(1 - _TAPS, _TAPS + 1) - (begin - whole)
        weights = np.sinc(distance) * np.sinc(distance / _TAPS)
        indices = whole + np.arange(length)[:, np.newaxis] + np.arange(1 - _TAPS, _TAPS + 1)
        taken = np.take(part, np.clip(indices, 0, part.shape[axis] - 1), axis)
        part = np.tensordot(taken, weights / weights.sum(), (axis + 1, 0))
    return part.clip(0, 255)


def _lay_disc(frame: Array, top: int, left: int) -> Array:
    """Return a frame with a disc cut from a photograph laid over it."""
    image, radius = data.photograph()[100:200, 150:250].mean(axis=-1), 46
    rows, columns = np.mgrid[: frame.shape[0], : frame.shape[1]] - np.array([top, left])[:, np.newaxis, np.newaxis]
    inside = (rows - 50) ** 2 + (columns - 50) ** 2 < radius**2
    laid = frame.copy()
    laid[inside] = image[rows[inside], columns[inside]]
    return laid


def measure_clip(
    clip: Clip, sigmas: Sequence[float] = SIGMAS, peers: Mapping[str, Sequence[str]] = PEERS
) -> Iterator[Result]:
    """Add noise to a clip, and remove it by every contender.

    Yields
    ------
    Result
        As soon as a strength of noise is done.
    """
    for sigma in sigmas:
        rng = np.random.default_rng(int(sigma))
        noisy = np.rint(clip.frames + rng.normal(0, sigma, clip.frames.shape)).clip(0, 255).astype(np.uint8)
        enhancer = Enhancer((Denoise(),), sigma=float(sigma))
        found = {
            ALONE: np.stack(list(process_frames(noisy, enhancer))),
            TEMPORAL: np.stack(list(process_frames(noisy, replace(enhancer, temporal=True)))),
        }
        for name, settings in peers.items():
            tried = (each for text in settings if (each := _run_ffmpeg(noisy, f"{name}={text}")) is not None)
            best = max(tried, key=lambda each: measure_psnr(each, clip.frames, 255), default=None)
            if best is not None:
                found[name] = best
        errors = {who: frames - clip.frames for who, frames in found.items()}
        yield Result(
            clip.name,
            sigma,
            {who: measure_psnr(frames, clip.frames, 255) for who, frames in found.items()},
            {who: _measure_flicker(error, clip.still) for who, error in errors.items() if clip.still.any()},
            {who: float(np.abs(error)[clip.edges].max(initial=0)) for who, error in errors.items()},
        )


def _measure_flicker(errors: Array, still: Array) -> float:
    return float(errors[_STARTUP:, still].std(axis=0).mean())


def _run_ffmpeg(frames: Array, text: str) -> Array | None:
    """Return frames of 8 bits after a filter of FFmpeg's program, or of its library; None if neither has it."""
    program = which("ffmpeg")
    count, rows, columns = frames.shape
    if program is not None:
        form = ["-f", "rawvideo", "-pix_fmt", "gray"]
        command = [program, "-v", "error", *form, "-s", f"{columns}x{rows}", "-i", "-", "-vf", text, *form, "-"]
        done = subprocess.run(command, input=frames.tobytes(), capture_output=True, check=False)
        if done.returncode == 0 and len(done.stdout) == frames.size:
            return np.frombuffer(done.stdout, np.uint8).reshape(frames.shape)
    import av
    import av.filter

    name, _, arguments = text.partition("=")
    if name not in av.filter.filters_available:
        return None
    graph: Any = av.filter.Graph()
    source = graph.add_buffer(width=columns, height=rows, format=av.VideoFormat("gray"), time_base="1/25")
    sink = graph.add("buffersink")
    graph.link_nodes(source, graph.add(name, arguments), sink).configure()
    results = []
    for number, pixels in enumerate(frames):
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="gray")
        frame.pts = number
        graph.push(frame)
        results.append(graph.pull().to_ndarray())
    return np.stack(results) if len(results) == count else None


def measure_speed(count: int = 60, shape: tuple[int, int] = (720, 1280)) -> dict[str, float]:
    """Return frames per second in memory: the planes of Y'CbCr 4:2:0, as files have them, alone and over time."""
    rates = {}
    for name, temporal in ((ALONE, False), (TEMPORAL, True)):
        results = PlaneWork(Enhancer((Denoise(),), temporal=temporal), (2, 2))(make_video(count + 3, shape))
        # the first ones prepare
        for _ in islice(results, 3):
            pass
        begin = perf_counter()
        done = sum(frame.shape == (*shape, 3) for frame in results)
        rates[name] = done / (perf_counter() - begin)
    return rates


def measure_files(count: int = 60, shape: tuple[int, int] = (720, 1280)) -> float:
    """Return frames per second from file to file, over time: H.264 is decoded and encoded as `subband denoise` does."""
    info = SourceInfo("film", (*shape, 3), np.dtype(np.uint8), rate=Fraction(25), count=count)
    with TemporaryDirectory() as folder:
        source, target = Path(folder, "noisy.mp4"), Path(folder, "result.mp4")
        with open_sink(source, info) as sink:
            for number, pixels in enumerate(make_video(count, shape)):
                sink.write(Frame(pixels, number, number / 25))
        done = enhance_file(source, target, Enhancer((Denoise(),), temporal=True))
    return done.rate


def make_video(count: int, shape: tuple[int, int]) -> Iterator[Array]:
    """Yield noisy frames of a camera that moves, there and back.

    Examples
    --------
    >>> [frame.shape for frame in make_video(2, (48, 64))]
    [(48, 64, 3), (48, 64, 3)]
    """
    image = data.photograph()
    tiled = np.tile(image, (-(-shape[0] // len(image)) + 1, -(-shape[1] // len(image)) + 1, 1))
    rng = np.random.default_rng(0)
    noisy = []
    for time in range(8):
        frame = tiled[time : time + shape[0], 2 * time : 2 * time + shape[1]]
        # plane by plane, as decoders leave them
        planar = allocate_planar(frame.shape, np.dtype(np.uint8))
        planar[...] = np.rint(frame + rng.normal(0, 20, frame.shape)).clip(0, 255)
        noisy.append(planar)
    # there and back, so that nothing is cut
    for number in range(count):
        yield noisy[abs(number % 14 - 7)]


def report(results: Sequence[Result], rates: Mapping[str, float], *, is_whole: bool = True) -> Report:
    """Make a report of results; targets are judged if they are of all clips, strengths of noise, and whole frames."""
    who = list(dict.fromkeys(name for result in results for name in result.psnr))

    def tabulate(title: str, pick: Callable[[Result], Mapping[str, float]], digits: int, note: str = "") -> Sheet:
        rows = [
            (result.clip, f"{result.sigma:g}", *(f"{pick(result).get(name, np.nan):.{digits}f}" for name in who))
            for result in results
            if pick(result)
        ]
        return Sheet(title, ("clip", "sigma", *who), rows, note)

    tuned = "Filters of FFmpeg are tuned for PSNR, to each clip and noise."
    sheets = [
        tabulate("Video over time, PSNR in decibels", lambda each: each.psnr, 2, tuned),
        tabulate("Flicker of what stands still, of 255", lambda each: each.flicker, 2),
        tabulate("Largest error at edges that move, of 255", lambda each: each.largest, 0),
        Sheet(
            f"Frames per second of {'1280 × 720' if is_whole else 'a small size'}, in memory unless from file to file",
            ("frames", "fps"),
            [(name, f"{rate:.1f}") for name, rate in rates.items()],
        ),
    ]
    figures = {"clips": list(map(asdict, results)), "rates": dict(rates)}
    return Report(sheets, _judge(results, rates) if is_whole else [], figures)


def _judge(results: Sequence[Result], rates: Mapping[str, float]) -> list[Goal]:
    gains = [(each.psnr[TEMPORAL] - each.psnr[ALONE], each.clip, each.sigma) for each in results]
    slow, least = min(gain for gain in gains if CLIPS[gain[1]]), min(gains)
    calm = max(
        (result.flicker[TEMPORAL] / result.flicker[ALONE], result.clip, result.sigma)
        for result in results
        if result.flicker
    )
    ghosts = max((each.largest[TEMPORAL] - each.largest[ALONE], each.clip, each.sigma) for each in results)
    goals = [
        Goal(f"{GAIN} dB better than frame by frame where the camera is slow", _tell(slow, "dB"), slow[0] >= GAIN),
        Goal(f"nowhere more than {LOSS} dB worse", _tell(least, "dB"), least[0] >= -LOSS),
        Goal("flicker of what stands still at most half as strong", _tell(calm, "times"), calm[0] <= CALM),
        Goal("largest error at moving edges not above frame by frame", _tell(ghosts, "of 255"), ghosts[0] <= 0),
    ]
    for name in PEERS:
        leads = [
            (each.psnr[TEMPORAL] - each.psnr[name], each.clip, each.sigma) for each in results if name in each.psnr
        ]
        if leads:
            goals.append(Goal(f"better than FFmpeg's {name}", _tell(min(leads), "dB"), min(leads)[0] > 0))
    for name, where in ((FILES, "from file to file"), (TEMPORAL, "in memory")):
        if name in rates:
            rate = rates[name]
            goals.append(Goal(f"at least {RATE:g} fps of 1280 × 720 {where}", f"{rate:.1f} fps", rate >= RATE))
    return goals


def _tell(found: tuple[float, str, float], unit: str) -> str:
    return f"{found[0]:+.2f} {unit} at worst: {found[1]}, sigma {found[2]:g}"
