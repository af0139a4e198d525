"""The levels of a chain in the order in which they run, with the numbers of the arrays that each reads and writes.

Nothing here touches a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from subband.plan import LevelPlan
from subband.schedule.sweeps import LevelSchedule, Sweep
from subband.typing import Direction

__all__ = ["Stage", "Stages", "number_arrays"]


@dataclass(frozen=True)
class Stage:
    """A level of a chain.

    Attributes
    ----------
    sweep : Sweep
        All that it does.
    shape : tuple of int
        Of its samples.
    samples : str or None
        How they are stored, by the names of `subband.kernels.numbers.STORAGES`, if not as bands.
    is_aligned : bool
        Whether what it reads begins at whole pieces.
    x : int
        The number of the array of samples.
    bands : tuple of int
        Those of its bands, in the order of the sweep's letters.
    """

    sweep: Sweep
    shape: tuple[int, ...]
    samples: str | None
    is_aligned: bool
    x: int
    bands: tuple[int, ...]


@dataclass(frozen=True)
class Stages:
    """All levels of a chain.

    Attributes
    ----------
    stages : tuple of Stage
        In the order in which they run.
    shapes : tuple of tuple of int
        Of the arrays that are written, by their numbers from `first` on.
    keys : tuple of tuple of str
        The names of the bands of each level, the approximation first.
    first : int
        The number of the first array that is written: those that are read come before.
    """

    stages: tuple[Stage, ...]
    shapes: tuple[tuple[int, ...], ...]
    keys: tuple[tuple[str, ...], ...]
    first: int


def number_arrays(
    levels: Sequence[LevelPlan],
    schedules: Sequence[LevelSchedule],
    direction: Direction,
    is_aligned: bool,
    samples: str | None,
) -> Stages:
    """Return the levels of a transform, one sweep each, with numbers for all arrays.

    Parameters
    ----------
    levels, schedules : sequence
        The finest first.
    direction : {"forward", "inverse"}
        From samples to bands, or back.
    is_aligned : bool
        Whether the arrays that are given begin at whole pieces.
    samples : str or None
        How those of the finest level are stored, if not as bands.
    """
    is_forward = direction == "forward"
    order = list(zip(levels, schedules, strict=True))[:: 1 if is_forward else -1]
    keys = tuple(tuple(level.band_shapes) for level, _ in order)
    # what a level hands on to the next is written before
    bands: Sequence[int]
    first = 1 if is_forward else 1 + sum(len(names) - 1 for names in keys)
    low, goal, detail = 0, first, 1
    stages: list[Stage] = []
    shapes: list[tuple[int, ...]] = []
    for number, (level, schedule) in enumerate(order):
        (sweep,) = schedule.sweeps
        others = len(level.band_shapes) - 1
        if is_forward:
            x, bands, low = low, range(goal, goal + 1 + others), goal
            goal += 1 + others
            shapes.extend(level.band_shapes.values())
        else:
            x, bands, low = goal, (low, *range(detail, detail + others)), goal
            goal, detail = goal + 1, detail + others
            shapes.append(level.shape)
        # the axes of a plan may be in another order than those of the sweep
        swept = dict(zip(schedule.keys.values(), bands, strict=True))
        # what later levels read alone is allocated by the engine, where arrays are aligned
        is_read_aligned = is_aligned or (is_forward and number > 0)
        own = samples if level is levels[0] else None
        stages.append(Stage(sweep, level.shape, own, is_read_aligned, x, tuple(swept[key] for key in sweep.letters)))
    return Stages(tuple(stages), tuple(shapes), keys, first)
