"""The three orders of a level, compared: row-column, line-based and block-based.

References
----------
Wavelet transform for video coders using GPU, Aalborg University, 2012, chapter 4, table 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from subband.bench.figures import BarChart, draw_bars
from subband.bench.model.stages import count_operations
from subband.bench.papers.level_orders import ORDERS, Order, order_level
from subband.bench.tables import Report, Sheet, write_number
from subband.engines import get_engine
from subband.engines.measuring.harness import open_harness, plan_array
from subband.engines.measuring.judging import TOLERANCE, compare_bands, find_largest
from subband.engines.measuring.timing import Effort, take_turns
from subband.plan import LevelPlan

__all__ = ["THEIRS", "THEIR_LIFTING", "OrderCount", "count_order", "measure_orders", "report"]

#: Millions of operations by filters, and bytes of filters, of the first level of an image of 1080 × 1920 in colour.
THEIRS: Mapping[Order, tuple[float, int]] = {
    "row-column": (187.0, 64),
    "line-based": (187.0, 64),
    "block-based": (1001.5, 1296),
}

#: Millions of operations by lifting, where they are told: equation 4.20.
THEIR_LIFTING: Mapping[Order, float] = {"row-column": 87.0}

_SHAPE = (3, 1080, 1920)
_ITEM = 4


@dataclass(frozen=True)
class OrderCount:
    """Operations and bytes of a level in some order.

    Attributes
    ----------
    operations : float
        Multiplications with their additions.
    traffic : int
        Bytes read from memory and written to it, where caches hold what is read again soon.
    between : int
        Bytes of memory between the axes.
    """

    operations: float
    traffic: int
    between: int


def count_order(plan: LevelPlan, order: Order) -> OrderCount:
    """Count the operations and bytes of a level of two axes.

    Examples
    --------
    >>> (level,) = plan_array((1080, 1920), "cdf97", 1).levels
    >>> counts = {order: count_order(level, order) for order in ORDERS}
    >>> [round(counts[order].operations / 1e6, 1) for order in ORDERS]
    [20.7, 20.7, 132.7]
    >>> counts["row-column"].traffic == 2 * counts["line-based"].traffic
    True
    """
    samples, coefficients = prod(plan.shape), sum(map(prod, plan.band_shapes.values()))
    across = (samples + coefficients) * _ITEM
    if order == "block-based":
        # four outputs for four samples, each under the product of two filters
        taps = [[sum(tap != 0 for tap in output) for output in axis.forward.taps] for axis in plan.plans]
        operations = samples / 4 * sum(down * right for down in taps[0] for right in taps[1])
        return OrderCount(operations, across, 0)
    operations = samples * sum(count_operations(axis, "forward") for axis in plan.plans)
    if order == "row-column":
        return OrderCount(operations, 2 * across, samples * _ITEM)
    width = plan.shape[plan.axes[-1]]
    rows = 2 + max(len(axis.forward.taps[0]) for axis in plan.plans)
    return OrderCount(operations, across, rows * width * _ITEM)


def measure_orders(engine: str, effort: Effort | None = None, shape: Sequence[int] = _SHAPE) -> dict[Order, float]:
    """Measure the seconds of one level in each order.

    Raises
    ------
    WrongResultError
        If a band of one of them is not that of the reference engine.
    """
    bench = open_harness(engine)
    (level,) = plan_array(tuple(shape[-2:]), "cdf97", 1).levels
    plan = LevelPlan(tuple(shape), (len(shape) - 2, len(shape) - 1), level.plans)
    x = bench.draw(plan.shape)
    orders = {order: order_level(bench.engine, order) for order in ORDERS}
    host = bench.to_host(x).astype(np.float64)
    expected = get_engine("reference").forward(plan, host)
    largest = find_largest(expected)
    other = bench.upload(np.ascontiguousarray(-bench.to_host(x)))
    for order, split in orders.items():
        # so that a result of other samples would show
        split(plan, other)
        found = {key: bench.to_host(band) for key, band in split(plan, x).items()}
        compare_bands(found, expected, f"the order {order}", TOLERANCE * largest)

    calls: dict[str, Callable[[], Any]] = {order: partial(split, plan, x) for order, split in orders.items()}
    times = take_turns(calls, effort or Effort(seconds=0.3, fewest=3, most=11), bench.time_calls)
    return {order: times[order] for order in ORDERS}


def report(measured: Mapping[str, Mapping[Order, float]]) -> Report:
    """Write table 4.1, theirs and ours, with the time of each engine.

    Parameters
    ----------
    measured : mapping
        Seconds by engine and order.
    """
    (level,) = plan_array(_SHAPE[-2:], "cdf97", 1).levels
    rows = []
    for order, (operations, _) in THEIRS.items():
        count = count_order(level, order)
        times = [f"{1e3 * seconds[order]:.2f}" for seconds in measured.values()]
        rows.append(
            [
                order,
                f"{operations:.0f}",
                write_number(THEIR_LIFTING.get(order), 0),
                f"{2 * _SHAPE[0] * count.operations / 1e6:.0f}",
                f"{_SHAPE[0] * count.traffic / 1e6:.1f}",
                f"{_SHAPE[0] * count.between / 1e6:.2f}",
                *times,
            ]
        )
    columns = ["order", "theirs: filters MFLOP", "lifting MFLOP", "ours: MFLOP", "traffic MB", "between the axes MB"]
    note = (
        "One level of CDF 9/7 of 1080 × 1920 in colour. A multiplication and an addition are two operations. Theirs "
        "are filters of 9 and 7 taps, and lifting that adds two neighbours before it multiplies; ours are lifting with "
        "a multiplication for each neighbour, but for blocks, which are filters. Line-based is the fused order of all "
        "engines here."
    )
    title = "Table 4.1: the orders of a level"
    sheet = Sheet(title, [*columns, *(f"{engine} ms" for engine in measured)], rows, note)
    figures = {engine: {str(order): each for order, each in seconds.items()} for engine, seconds in measured.items()}
    lengths = {engine: [1e3 * seconds[order] for order in ORDERS] for engine, seconds in measured.items()}
    chart = BarChart("one level of CDF 9/7 of 1080 × 1920 in colour", "milliseconds", list(map(str, ORDERS)), lengths)
    drawings = {"Orders of a level": draw_bars("Orders of a level", chart)}
    return Report([sheet], (), {"seconds": figures}, drawings=drawings)
