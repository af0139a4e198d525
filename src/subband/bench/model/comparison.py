"""The model beside measurement: how far it is off, by case, and what every case is bound by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from subband.bench.machine import Machine, describe_machine
from subband.bench.measuring import Effort, take_turns
from subband.bench.model.device import DeviceModel
from subband.bench.model.prediction import Prediction, predict_stages
from subband.bench.model.stages import Stage, list_stages
from subband.bench.tables import Goal, Report, Sheet
from subband.bench.workbench import Direction, Workbench, plan_picture
from subband.errors import ArgumentError

__all__ = ["MODEL_CASES", "Comparison", "ModelCase", "compare", "list_own_cases", "report_comparison"]

#: How far the model may be off.
TOLERANCE = 0.25


@dataclass(frozen=True)
class ModelCase:
    """A transform that is predicted and measured.

    Examples
    --------
    >>> ModelCase((1080, 1920), "cdf97", 3, "inverse").name
    '1080x1920 cdf97 3-level inverse'
    """

    shape: tuple[int, ...]
    wavelet: str
    level: int
    direction: Direction

    @property
    def name(self) -> str:
        """What the case is called in tables."""
        return f"{'x'.join(map(str, self.shape))} {self.wavelet} {self.level}-level {self.direction}"

    @property
    def size(self) -> int:
        """Number of samples."""
        return prod(self.shape)


#: Three sizes of pictures, short and long wavelets, one level and several, both ways, and a volume.
MODEL_CASES = (
    *(
        ModelCase(shape, wavelet, level, direction)
        for shape in ((512, 512), (1080, 1920), (2160, 3840))
        for wavelet, level in (("haar", 1), ("cdf97", 1), ("cdf97", 5), ("db4", 1), ("coif5", 1))
        for direction in ("forward", "inverse")
    ),
    ModelCase((8192, 8192), "cdf97", 1, "forward"),
    ModelCase((8192, 8192), "cdf97", 5, "forward"),
    ModelCase((192, 192, 192), "cdf97", 1, "forward"),
)


@dataclass(frozen=True)
class Comparison:
    """One case, predicted and measured.

    Attributes
    ----------
    case : ModelCase
        What.
    stages : sequence of Stage
        What was counted.
    prediction : Prediction
        What the model says.
    measured : float
        Seconds.
    """

    case: ModelCase
    stages: Sequence[Stage]
    prediction: Prediction
    measured: float

    @property
    def error(self) -> float:
        """How far the prediction is off, as a part of the measured time; positive where it is too long."""
        return self.prediction.seconds / self.measured - 1


def list_own_cases(shape: str, wavelet: str, level: int) -> list[ModelCase]:
    """Return both ways of a transform whose shape is a text.

    Raises
    ------
    ArgumentError
        If that is no shape of one to three axes.

    Examples
    --------
    >>> [case.name for case in list_own_cases("48x64", "haar", 2)]
    ['48x64 haar 2-level forward', '48x64 haar 2-level inverse']
    """
    try:
        lengths = tuple(int(part) for part in shape.split("x"))
    except ValueError:
        lengths = ()
    if not 1 <= len(lengths) <= 3 or min(lengths) < 1:
        raise ArgumentError(f"shape={shape!r} is no shape of one to three axes; write it like 1080x1920")
    directions: tuple[Direction, ...] = ("forward", "inverse")
    return [ModelCase(lengths, wavelet, level, direction) for direction in directions]


def compare(
    bench: Workbench, device: DeviceModel, cases: Iterable[ModelCase] = MODEL_CASES, effort: Effort | None = None
) -> Iterator[Comparison]:
    """Predict and measure cases one after the other."""
    effort = effort or Effort(seconds=0.3, fewest=3, most=15)
    for case in cases:
        plan = plan_picture(case.shape, case.wavelet, case.level)
        stages = list_stages(plan, case.direction, sweeps=bench.count_sweeps(len(case.shape)))
        measured = take_turns({case.name: bench.prepare(plan, case.direction)}, effort, bench.clock)[case.name]
        yield Comparison(case, stages, predict_stages(stages, device, case.name), measured)


def report_comparison(
    device: DeviceModel, comparisons: Sequence[Comparison], machine: Machine | None = None, *, is_whole: bool = True
) -> Report:
    """Put predictions and measurements side by side, as the paper's table 4.11 does."""
    rows = []
    for entry in comparisons:
        parts = entry.prediction
        shares = (parts.launch, parts.transfer, parts.memory, parts.arithmetic)
        rows.append(
            [
                entry.case.name,
                parts.bound,
                *(f"{part / parts.seconds:.0%}" for part in shares),
                f"{1e3 * parts.seconds:.3f}",
                f"{1e3 * entry.measured:.3f}",
                f"{entry.error:+.0%}",
            ]
        )
    columns = ["case", "bound", "launch", "transfer", "memory", "arithmetic", "predicted ms", "measured ms", "error"]
    note = "The paper's own model was off by 9.2 times for its CPU, and by 7.6 times for its GPU (table 4.11)."
    sheets = [
        _describe_device(device),
        Sheet(f"The model and measurement: {device.name}", columns, rows, note, texts=2),
    ]
    largest = max((abs(entry.error) for entry in comparisons), default=0.0)
    within = sum(abs(entry.error) <= TOLERANCE for entry in comparisons)
    goals = [
        Goal(
            f"predictions within {TOLERANCE:.0%} of what is measured",
            f"{within} of {len(comparisons)}, the farthest is off by {largest:.0%}",
            within == len(comparisons),
        )
    ]
    figures = {
        "device": device.to_dict(),
        "cases": [
            {
                "case": entry.case.name,
                "bound": entry.prediction.bound,
                "predicted": entry.prediction.seconds,
                "measured": entry.measured,
                "intensity": sum(stage.operations for stage in entry.stages)
                / sum(stage.memory for stage in entry.stages),
                "operations": sum(stage.operations for stage in entry.stages),
            }
            for entry in comparisons
        ],
    }
    return Report(sheets, goals if is_whole else (), figures, machine or describe_machine())


def _describe_device(device: DeviceModel) -> Sheet:
    """List what was measured of the device."""
    rows = [
        [f"copy of {size / 2**20:g} MiB", f"{bandwidth / 1e9:.1f} GB/s"]
        for size, bandwidth in zip(device.sizes, device.bandwidths, strict=True)
    ]
    rows += [[f"arithmetic, {kind}", f"{rate / 1e9:.1f} G multiply-adds/s"] for kind, rate in device.rates.items()]
    rows += [["a level", f"{1e6 * device.launch:.1f} µs"], ["a call besides", f"{1e6 * device.call:.1f} µs"]]
    if device.transfer is not None:
        rows.append(["transfer to the device", f"{device.transfer / 1e9:.1f} GB/s"])
    return Sheet(f"What {device.name} can do", ["what", "measured"], rows)
