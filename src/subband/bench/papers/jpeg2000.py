"""JPEG 2000 with a transform on graphics hardware, 2007: the transform alone, and what it is of the time to encode.

The paper puts its transform on a GPU into JasPer, and breaks down what the transform takes; coding, which is the same
in both, is left out there. Here stands what the transform takes beside it, and which part of encoding it is.

References
----------
T.-T. Wong, C.-S. Leung, P.-A. Heng and J. Wang, Discrete wavelet transform on consumer-level graphics hardware, IEEE
Transactions on Multimedia 9, 2007, Table I (Athlon 64 X2 3800+, GeForce 7800 GTX).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from subband.bench.figures import BLUE, GREEN, ORANGE, BarChart, Figure, Panel, draw_bars
from subband.bench.jpeg2000 import PAPER, Breakdown, make_image, measure_breakdown
from subband.bench.tables import Goal, Report, Sheet
from subband.codecs.jpeg2000 import Settings
from subband.codecs.jpeg2000.coefficients import quantise_tiles, transform_tiles
from subband.codecs.jpeg2000.colours import split_planes
from subband.codecs.jpeg2000.components import as_components
from subband.codecs.jpeg2000.geometry import lay_out_tile
from subband.codecs.jpeg2000.parameters import ComponentSize, ImageSize
from subband.codecs.jpeg2000.steps import Quantiser
from subband.codecs.jpeg2000.transform import analyse
from subband.engines.measuring.timing import Effort, take_turns

__all__ = ["KINDS", "QUICK_SIZES", "SIZES", "STAGES", "Stages", "measure_stages", "report"]

#: Rows, and as many columns, of the images.
SIZES = (512, 1024, 2048)
QUICK_SIZES = (512,)

#: Both ways to encode, by whether every pixel has to come back.
KINDS = {"lossless": True, "lossy": False}

STAGES = ("colours", "wavelet", "quantiser", "blocks", "rate", "packets", "other", "disk")

_LEVELS = 5
_STEP = 1 / 512


@dataclass(frozen=True)
class Stages:
    """The time to encode one image, stage by stage.

    Attributes
    ----------
    size : int
        Its side.
    engine, kind : str
        The engine that transformed, and ``lossless`` or ``lossy``.
    seconds : dict of str to float
        By stage, one of `STAGES`.

    Examples
    --------
    >>> stages = Stages(512, "cpu", "lossy", {"wavelet": 0.01, "blocks": 0.03})
    >>> stages.total, stages.measure_share("blocks")
    (0.04, 0.75)
    """

    size: int
    engine: str
    kind: str
    seconds: dict[str, float]

    @property
    def total(self) -> float:
        """Seconds from the array to the file on the disk."""
        return sum(self.seconds.values())

    def measure_share(self, stage: str) -> float:
        """Return which part of the whole a stage is."""
        return self.seconds[stage] / self.total


def measure_stages(
    sizes: Sequence[int], engines: Sequence[str], effort: Effort | None = None, repeats: int = 3
) -> Iterator[Stages]:
    """Encode images in colour, lossless and lossy, and take the time of each stage.

    The codec's own clock tells what transforming, coding blocks, choosing passes and writing packets take. Transforming
    is split as its three steps, measured by themselves in turns, are to each other.

    Raises
    ------
    ArgumentError
        If a file does not give its image back.
    WrongResultError
        If a band of the transform is not that of the reference engine.
    """
    effort = effort or Effort(seconds=0.3, fewest=3, most=11)
    for kind, is_lossless in KINDS.items():
        for size in sizes:
            for engine in engines:
                (found,) = measure_breakdown([size], [engine], repeats, is_lossless=is_lossless, has_peer=False)
                steps = _time_steps(size, engine, is_lossless, effort)
                yield Stages(size, engine, kind, _split(found, steps))


def _split(found: Breakdown, steps: dict[str, float]) -> dict[str, float]:
    """Put the clock of the codec and the steps of transforming together."""
    times = asdict(found.times)
    factor = times.pop("transform") / sum(steps.values())
    seconds = {name: factor * step for name, step in steps.items()} | times
    # what the clock of the codec does not see: taking the image apart, and boxes around the stream
    seconds["other"] = max(0.0, found.seconds - sum(seconds.values()))
    seconds["disk"] = found.disk
    return {stage: seconds[stage] for stage in STAGES}


def _time_steps(size: int, engine: str, is_lossless: bool, effort: Effort) -> dict[str, float]:
    """Time the three steps of transforming by themselves."""
    components, _ = as_components(make_image(size))
    samples = [component.samples for component in components]
    sizes = tuple(ComponentSize(component.precision, component.is_signed, 1, 1) for component in components)
    whole = ImageSize(size, size, 0, 0, size, size, 0, 0, sizes)
    layout = lay_out_tile(whole, [Settings(levels=_LEVELS).make_style(_LEVELS)] * len(components), 0)
    options: dict[str, Any] = {"is_reversible": is_lossless, "is_mixed": True, "engine": engine}
    tiles = transform_tiles(whole, components, [layout], _LEVELS, **options)
    quantiser = Quantiser(components, _LEVELS, is_lossless, True, _STEP)
    planes = split_planes(samples, sizes, is_reversible=is_lossless, has_colour_transform=True)
    calls: dict[str, Callable[[], Any]] = {
        "colours": lambda: split_planes(samples, sizes, is_reversible=is_lossless, has_colour_transform=True),
        "wavelet": lambda: analyse(planes, layout.components[0], _LEVELS, is_lossless, engine),
        "quantiser": lambda: quantise_tiles(tiles, quantiser),
    }
    return take_turns(calls, effort)


def report(found: Sequence[Stages]) -> Report:
    """Write Table I, theirs and ours, and the share of each stage."""
    lossy = [each for each in found if each.kind == "lossy"]
    rows = []
    for each in lossy:
        software, gpu, *parts = PAPER[each.size]
        own, running = 1e3 * each.seconds["wavelet"], _leave_start(each.size)
        cells = [f"{1e3 * seconds:.0f}" for seconds in (software, gpu, *parts)]
        rows.append(
            [f"{each.size}²", each.engine, *cells, f"{own:.2f}", *(f"{1e3 * t / own:.0f}" for t in (software, running))]
        )
    columns = ["image", "engine", "theirs: software", "GPU, all", "OpenGL", "textures", "wavelet", "others"]
    columns += ["ours: wavelet", "times their software", "times their GPU, without OpenGL"]
    note = (
        "Milliseconds for five levels of CDF 9/7, one tile. Theirs do not say how many components an image has; ours "
        "has three, and what a device needs to fetch and return them is part of it. The total of their GPU begins with "
        "OpenGL's start, which ours does not have: the last column leaves it out."
    )
    shares = [
        [
            each.kind,
            f"{each.size}²",
            each.engine,
            f"{1e3 * each.total:.1f}",
            *(f"{each.measure_share(stage):.1%}" for stage in STAGES),
        ]
        for each in found
    ]
    explanation = (
        "Three components of 8 bits; lossless: 5/3 in integers, lossy: 9/7 at 2 bits per pixel. Blocks: tier 1, the "
        "block coder; rate: which passes are kept; packets: tier 2, headers and all bytes put in order; disk: "
        "writing the file. Every file was decoded and compared."
    )
    sheets = [
        Sheet("Table I: the transform alone", columns, rows, note, texts=2),
        Sheet(
            "What the time to encode is made of",
            ["kind", "image", "engine", "ms", *STAGES],
            shares,
            explanation,
            texts=3,
        ),
    ]
    goals = [
        Goal(
            f"transform of {each.size}² on {each.engine}: faster than their GPU",
            f"{_leave_start(each.size) / each.seconds['wavelet']:.0f} times, OpenGL's start left out",
            each.seconds["wavelet"] < _leave_start(each.size),
        )
        for each in lossy
    ]
    figures = {"stages": [{**asdict(each), "total": each.total} for each in found]}
    return Report(sheets, goals, figures, drawings={"JPEG 2000": _draw(found), "Table I": _draw_table(lossy)})


def _leave_start(size: int) -> float:
    """Return the seconds of their GPU without those that OpenGL takes to start, which an image takes only once."""
    _, total, start, *_ = PAPER[size]
    return total - start


def _draw(found: Sequence[Stages]) -> Figure:
    """Draw the shares of the stages."""
    labels = [f"{each.kind}, {each.size}², {each.engine}" for each in found]
    shares = {stage: [100 * each.measure_share(stage) for each in found] for stage in STAGES}
    return draw_bars("What the time to encode is made of", BarChart("", "percent", labels, shares, is_stacked=True))


def _draw_table(lossy: Sequence[Stages]) -> Figure:
    """Draw seconds of the transform by the number of pixels, as their figure 7 does."""
    panel = Panel("five levels of CDF 9/7", "megapixels", "milliseconds", is_x_log=True, is_y_log=True)
    theirs = [size**2 / 1e6 for size in PAPER]
    for index, colour, label in ((0, ORANGE, "theirs: software"), (1, GREEN, "theirs: GPU")):
        panel.add_curve(theirs, [1e3 * row[index] for row in PAPER.values()], colour, label)
    for engine in dict.fromkeys(each.engine for each in lossy):
        own = [each for each in lossy if each.engine == engine]
        pixels, times = [each.size**2 / 1e6 for each in own], [1e3 * each.seconds["wavelet"] for each in own]
        panel.add_curve(pixels, times, BLUE, f"ours: {engine}")
        panel.add_dots(pixels, times, BLUE)
    return Figure("Table I: the transform alone", [[panel]], (720, 380))
