"""Haar on CUDA, 2014: one level of squares, with the way to the device and back.

References
----------
H. M. Bantikyan, Image denoising using wavelet transform and CUDA, 2014, Table 3 (Core i3-2100, GeForce GT 630).
"""

from __future__ import annotations

from collections.abc import Sequence

from subband.bench.figures import BarChart, draw_bars
from subband.bench.tables import Goal, Report, Sheet
from subband.engines.measuring.harness import Harness, open_harness, plan_array
from subband.engines.measuring.judging import check_transform
from subband.engines.measuring.timing import Effort, take_turns

__all__ = ["THEIRS", "measure_sides", "report"]

#: Milliseconds on their CPU and their GPU, by the side of the image.
THEIRS = {512: (47.0, 16.0), 1024: (218.0, 46.0), 2048: (1020.0, 210.0)}


def measure_sides(engine: str, effort: Effort | None = None) -> dict[int, float]:
    """Measure the seconds of one level of each square, with transfers where there are any.

    Raises
    ------
    WrongResultError
        If a band is not that of the reference engine, or the image does not come back.
    """
    bench = open_harness(engine)
    return {side: _measure(bench, side, effort or Effort(seconds=0.2, fewest=3, most=15)) for side in THEIRS}


def _measure(bench: Harness, side: int, effort: Effort) -> float:
    plan = plan_array((side, side), "haar", 1)
    x = bench.draw(plan.shape)
    host = bench.to_host(x)
    check_transform(bench, plan, x, f"one level of Haar of {side}²")

    def travel() -> object:
        # the way back ends when the last band has arrived, so that the host's clock is the right one
        approximation, details = bench.engine.forward_all(plan, bench.upload(host))
        return [bench.to_host(band) for band in (approximation, *details[0].values())]

    return take_turns({"level": travel}, effort)["level"]


def report(measured: dict[str, dict[int, float]]) -> Report:
    """Write Table 3, theirs and ours.

    Parameters
    ----------
    measured : dict
        Seconds by engine and side.
    """
    columns: Sequence[str] = ["who", *(f"{side}²" for side in THEIRS)]
    rows = [
        ["theirs: CPU", *(f"{cpu:g}" for cpu, _ in THEIRS.values())],
        ["theirs: GPU", *(f"{gpu:g}" for _, gpu in THEIRS.values())],
        *([engine, *(f"{1e3 * times[side]:.2f}" for side in THEIRS)] for engine, times in measured.items()),
    ]
    goals = [
        Goal(
            f"Haar on {engine}: faster than their GPU at every size",
            ", ".join(f"{THEIRS[side][1] / (1e3 * times[side]):.0f} times at {side}²" for side in THEIRS),
            all(1e3 * times[side] < THEIRS[side][1] for side in THEIRS),
        )
        for engine, times in measured.items()
    ]
    note = "Milliseconds, with the way to the device and back where there is one."
    figures = {engine: {str(side): seconds for side, seconds in times.items()} for engine, times in measured.items()}
    times = {
        "their CPU": [cpu for cpu, _ in THEIRS.values()],
        "their GPU": [gpu for _, gpu in THEIRS.values()],
        **{engine: [1e3 * each[side] for side in THEIRS] for engine, each in measured.items()},
    }
    chart = BarChart("", "milliseconds", [f"{side}²" for side in THEIRS], times, is_log=True)
    sheet = Sheet("Table 3: one level of Haar", columns, rows, note)
    drawings = {"One level of Haar": draw_bars("One level of Haar", chart)}
    return Report([sheet], goals, {"seconds": figures}, drawings=drawings)
