"""Which axes the kernels of each kind of engine can fuse into one sweep; `subband.schedule` makes sweeps of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from subband.kernels.dialects import LANES
from subband.plan import AxisPlan
from subband.schedule.axis import Form, axis_program
from subband.schedule.sweeps import Abilities, Fusion
from subband.typing import Direction
from subband.wavelets.reversible import INTEGER_SCHEMES

__all__ = ["CPU", "abilities_of_device", "repeats_samples"]

# Short orthogonal wavelets are lifted too. Loops over a row take a step of at most two taps, and taps of filters two,
# four or eight at a time.
_ON_CPU = Form(lifts_orthogonal=True, step_taps=2, tap_multiple=2)

# In rows by themselves, filters go from bands to samples without a buffer in between, which steps cannot.
_ROWS_ON_CPU = Form(step_taps=2, tap_multiple=2)


@dataclass(frozen=True)
class _Ladders(Fusion):
    """Two axes in whole numbers on the CPU: there are loops for the steps of 5/3, see `subband.engines.cpu.ladders`."""

    def fits(self, plans: Sequence[AxisPlan], shape: tuple[int, ...]) -> bool:  # noqa: ARG002 - of any size
        return all(plan.integer == INTEGER_SCHEMES["cdf53"] for plan in plans)


#: The CPU takes the last three axes together, in blocks, else the last two. Blocks have pairs of slices enough that the
#: slices read twice, where blocks meet, are few, unless two threads' blocks would be too large for a cache.
CPU = Abilities(
    _ON_CPU,
    (
        Fusion(3, _ON_CPU, block=16, block_samples=1 << 20),
        Fusion(2, _ON_CPU),
        _Ladders(2, _ON_CPU, takes_columns_first=True),
    ),
    _ROWS_ON_CPU,
)

_DIRECTIONS: tuple[Direction, ...] = ("forward", "inverse")

# Kernels of volumes count the bytes of a pair of planes, and planes, in 32 bits.
_MOST_COUNTED = 1 << 31


@dataclass(frozen=True)
class _Images(Fusion):
    """Two axes of a device: the rows that are kept fit into registers, and strips are not all halo."""

    def fits(self, plans: Sequence[AxisPlan], shape: tuple[int, ...]) -> bool:  # noqa: ARG002 - of any size
        vertical, horizontal = plans
        for direction in _DIRECTIONS:
            # whole numbers have no other way to go together
            most = 8 if vertical.integer is None else 12
            if axis_program(vertical, direction, self.form).schedule.depth > most:
                return False
            schedule = axis_program(horizontal, direction, self.form).schedule
            if max(-schedule.first, schedule.last) > LANES // 4:
                return False
        return True


@dataclass(frozen=True)
class _Volumes(Fusion):
    """Three axes of a device: lifting steps of short reach, on samples repeated outside as they are."""

    def fits(self, plans: Sequence[AxisPlan], shape: tuple[int, ...]) -> bool:
        for plan in plans:
            if not repeats_samples(plan):
                return False
            for direction in _DIRECTIONS:
                program = axis_program(plan, direction, self.form)
                if program.taps or program.schedule.depth > 6 or program.schedule.last - program.schedule.first > 8:
                    return False
        return shape[-1] * shape[-2] * 8 < _MOST_COUNTED and prod(shape[:-2]) < _MOST_COUNTED


@lru_cache(maxsize=64)
def abilities_of_device(least_volume: int | None) -> Abilities:
    """Return which axes the kernels of devices can fuse: two adjacent ones, and perhaps the last three.

    Parameters
    ----------
    least_volume : int or None
        From how many samples along each axis on the last three go together; None if they never do.

    Examples
    --------
    >>> [fusion.count for fusion in abilities_of_device(16).fusions]
    [3, 2]
    """
    images = _Images(2, is_anywhere=True, takes_integers=True)
    if least_volume is None:
        return Abilities(fusions=(images,))
    return Abilities(fusions=(_Volumes(3, Form(lifts_orthogonal=True), least=least_volume), images))


def repeats_samples(plan: AxisPlan) -> bool:
    """Return whether the boundary extension only repeats samples unchanged, or is zero."""
    is_mixed = plan.sample_mixture is not None or plan.coefficient_mixture is not None
    return not is_mixed and plan.forward_mode not in ("antisymmetric", "smooth", "antireflect")
