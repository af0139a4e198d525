"""Which sweeps a level takes: the axes that go together, their order, their form and the blocks they are done in.

A *sweep* transforms one to three axes of an array in one way through memory. What goes together depends on what an
engine's kernels have room for: its `Abilities`. From these and a plan follows a `LevelSchedule`, pure data that engines
run and the performance model counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import Any, TypeAlias

from subband.plan import AxisPlan, LevelPlan, list_keys
from subband.schedule.axis import PLAIN, AxisProgram, Form, axis_program, count_outputs
from subband.typing import Bands, Direction

__all__ = [
    "Abilities",
    "Fusion",
    "Layout",
    "LevelSchedule",
    "Pass",
    "Sweep",
    "cut_range",
    "merge_in_turn",
    "schedule_level",
    "split_in_turn",
]

_Shape: TypeAlias = tuple[int, ...]

#: The bands of a sweep over so many axes, in the order in which kernels take them.
_LETTERS = {count: tuple(list_keys(count)) for count in (1, 2, 3)}


@dataclass(frozen=True)
class Layout:
    """How kernels see an array: images, perhaps interleaved, of rows and columns."""

    outer: int
    height: int
    width: int
    inner: int


@dataclass(frozen=True)
class Pass:
    """Part of a sweep: some of its axes, and how often a kernel is launched for them, in each block."""

    axes: tuple[int, ...]
    plans: tuple[AxisPlan, ...]
    launches: int = 1


@dataclass(frozen=True)
class Sweep:
    """One to three axes of an array that are transformed together.

    Attributes
    ----------
    axes : tuple of int
        In the order of the array.
    plans : tuple of AxisPlan
        One for each of `axes`.
    form : Form
        In which form each of them runs.
    block : int
        Pairs of slices that pass from the first axis to the others without leaving the cache; 0 where one kernel takes
        all axes.
    """

    axes: tuple[int, ...]
    plans: tuple[AxisPlan, ...]
    form: Form = PLAIN
    block: int = 0

    @property
    def letters(self) -> tuple[str, ...]:
        """Names of the bands, in the order in which kernels take them."""
        return _LETTERS[len(self.axes)]

    def list_programs(self, direction: Direction) -> tuple[AxisProgram, ...]:
        """Return what runs along each axis."""
        return tuple(axis_program(plan, direction, self.form) for plan in self.plans)

    def list_band_shapes(self, shape: _Shape) -> tuple[_Shape, ...]:
        """Return the shapes of the bands of an array, in the order of the letters."""
        shapes = []
        for letters in self.letters:
            band = list(shape)
            for letter, axis, plan in zip(letters, self.axes, self.plans, strict=True):
                band[axis] = plan.low if letter == "a" else plan.high
            shapes.append(tuple(band))
        return tuple(shapes)

    def find_shape(self, band: _Shape) -> _Shape:
        """Return the shape of an array that has a band of some shape."""
        shape = list(band)
        for axis, plan in zip(self.axes, self.plans, strict=True):
            shape[axis] = plan.length
        return tuple(shape)

    def orient(self, shape: _Shape) -> tuple[AxisPlan | None, AxisPlan | None]:
        """Return which plan runs down the columns and which along the rows."""
        if len(self.axes) == 2:
            return self.plans[0], self.plans[1]
        return (None, self.plans[0]) if self.axes[0] == len(shape) - 1 else (self.plans[0], None)

    def lay_out(self, shape: _Shape) -> Layout:
        """Return how a kernel sees an array: the last two axes of the sweep, or its only one and what lies beside it.

        Examples
        --------
        >>> Sweep((0, 1), ()).lay_out((1080, 1920, 3))
        Layout(outer=1, height=1080, width=1920, inner=3)
        """
        if len(self.axes) > 1:
            *_, axis, _ = self.axes
            return Layout(prod(shape[:axis]), shape[axis], shape[axis + 1], prod(shape[axis + 2 :]))
        (axis,) = self.axes
        if axis == len(shape) - 1:
            return Layout(1, prod(shape[:-1]), shape[-1], 1)
        return Layout(prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]), 1)

    def list_passes(self, direction: Direction) -> tuple[Pass, ...]:
        """Return the parts of the sweep.

        In blocks, the first axis goes by itself. Forward, the low and the high slices of a block are then swept as
        images; back, each of the four bands of images is put together before the images are.
        """
        if not self.block:
            return (Pass(self.axes, self.plans),)
        first, others = (1, 2) if direction == "forward" else (4, 1)
        return Pass(self.axes[:1], self.plans[:1], first), Pass(self.axes[1:], self.plans[1:], others)

    def cut_blocks(self, direction: Direction) -> list[tuple[int, int]]:
        """Return the first pair of slices of each block, and the one behind its last."""
        pairs = count_outputs(self.plans[0], direction)
        return cut_range(pairs, -(-pairs // self.block) if self.block else 1)


@dataclass(frozen=True)
class Fusion:
    """Axes that the kernels of an engine can take together; one with limits says so in `fits`.

    Attributes
    ----------
    count : {2, 3}
        How many axes.
    form : Form
        In which form each of them runs.
    is_anywhere : bool
        Whether they are any that lie beside each other, or the last ones of an array.
    least : int
        Samples that there have to be along each of them.
    block : int
        As `Sweep.block`, at most.
    block_samples : int
        Samples of a block from which on it has fewer pairs of slices, down to a quarter: it should stay in a cache.
    takes_integers : bool
        Whether the last axis goes first in one sweep over two, so that rounding steps can be fused in that order.
    takes_columns_first : bool
        Whether it goes last where steps round, so that these can be fused in the order of JPEG 2000.
    """

    count: int
    form: Form = PLAIN
    is_anywhere: bool = False
    least: int = 1
    block: int = 0
    block_samples: int = 0
    takes_integers: bool = False
    takes_columns_first: bool = False

    def fits(self, plans: Sequence[AxisPlan], shape: _Shape) -> bool:  # noqa: ARG002 - no limits
        """Return whether kernels have room for what runs along the axes, in an array of some shape."""
        return True

    def choose_block(self, shape: tuple[int, ...]) -> int:
        """Return the pairs of slices of a block in an array of some shape.

        Examples
        --------
        >>> fusion = Fusion(3, block=16, block_samples=1 << 20)
        >>> [fusion.choose_block((size, size, size)) for size in (64, 256, 1024)]
        [16, 8, 4]
        """
        fitting = self.block_samples // (2 * max(1, prod(shape[-2:])))
        return max(self.block // 4, min(fitting, self.block))


@dataclass(frozen=True)
class Abilities:
    """What an engine can do in one sweep.

    Attributes
    ----------
    form : Form
        In which form a single axis runs.
    fusions : tuple of Fusion
        Axes that can go together, the best first. Axes that nothing fits are swept one by one.
    row_form : Form, optional
        In which form the last axis runs by itself, if that is another.
    """

    form: Form = PLAIN
    fusions: tuple[Fusion, ...] = ()
    row_form: Form | None = None

    def find_form(self, axis: int, ndim: int) -> Form:
        """Return the form in which one axis of an array runs by itself."""
        return self.row_form if self.row_form is not None and axis == ndim - 1 else self.form


@dataclass(frozen=True, eq=False)
class LevelSchedule:
    """The sweeps of a level, in the order of the forward direction.

    Attributes
    ----------
    sweeps : tuple of Sweep
        The first is over the array, each other one over every band of the one before. Back, it is the other way round.
    keys : mapping
        For each key of the plan the key in the order of the sweeps.
    is_single : bool
        Whether it is one sweep, whose bands come in the order of the plan.
    """

    sweeps: tuple[Sweep, ...]
    keys: Mapping[str, str]
    is_single: bool

    def split(self, x: Any, runs: Iterable[Callable[[Any], Mapping[str, Any]]]) -> Bands:
        """Return the bands of an array; `runs` does each sweep forward."""
        bands = split_in_turn(x, runs)
        return {key: bands[swept] for key, swept in self.keys.items()}

    def merge(self, bands: Bands, runs: Sequence[Callable[[Bands], Any]]) -> Any:
        """Undo `split`, and empty `bands`; `runs` does each sweep back."""
        swept = {self.keys[key]: bands.pop(key) for key in list(bands)}
        return merge_in_turn(swept, [(len(sweep.axes), run) for sweep, run in zip(self.sweeps, runs, strict=True)])


@lru_cache(maxsize=4096)
def schedule_level(plan: LevelPlan, abilities: Abilities) -> LevelSchedule:
    """Return the sweeps of a level.

    Axes that go together come first, the others follow one by one, on bands that are already small. Integer axes go in
    the order of the plan, because rounding makes the order matter: one by one, or two together if that is their order.

    Examples
    --------
    >>> from subband.plan import level_plan
    >>> from subband.wavelets import Wavelet
    >>> plan = level_plan((4, 8, 8), (0, 1, 2), (Wavelet("haar"),) * 3, ("symmetric",) * 3)
    >>> [sweep.axes for sweep in schedule_level(plan, Abilities(fusions=(Fusion(2),))).sweeps]
    [(1, 2), (0,)]
    """
    together = _fuse(plan, abilities)
    sweeps = [] if together is None else [together]
    for axis, axis_plan in zip(plan.axes, plan.plans, strict=True):
        if together is None or axis not in together.axes:
            sweeps.append(Sweep((axis,), (axis_plan,), abilities.find_form(axis, len(plan.shape))))
    positions = [plan.axes.index(axis) for sweep in sweeps for axis in sweep.axes]
    keys = {key: "".join(key[position] for position in positions) for key in plan.band_shapes}
    return LevelSchedule(tuple(sweeps), keys, len(sweeps) == 1 and all(key == swept for key, swept in keys.items()))


def _fuse(plan: LevelPlan, abilities: Abilities) -> Sweep | None:
    """Return the sweep over several axes of a level, if there is one."""
    is_rounded = plan.plans[0].integer is not None
    is_rows_first, is_columns_first = _runs_rows_first(plan), _runs_columns_first(plan)
    by_axis, ndim = dict(zip(plan.axes, plan.plans, strict=True)), len(plan.shape)
    for fusion in abilities.fusions:
        in_order = (fusion.takes_integers and is_rows_first) or (fusion.takes_columns_first and is_columns_first)
        if is_rounded and not in_order:
            continue
        for stop in range(ndim, fusion.count - 1, -1) if fusion.is_anywhere else (ndim,):
            axes = tuple(range(stop - fusion.count, stop))
            plans = tuple(by_axis[axis] for axis in axes if axis in by_axis and by_axis[axis].length >= fusion.least)
            if len(plans) == fusion.count and fusion.fits(plans, plan.shape):
                return Sweep(axes, plans, fusion.form, fusion.choose_block(plan.shape))
    return None


def _runs_rows_first(plan: LevelPlan) -> bool:
    """Return whether two integer axes go in the order of one sweep: along the rows, then down the columns."""
    if len(plan.axes) != 2 or plan.axes[0] != plan.axes[1] + 1:
        return False
    down = plan.plans[1].integer
    # what is shifted up between the two would have to be so inside of the sweep
    return down is not None and down.repeats_sources and down.shift == 0


def _runs_columns_first(plan: LevelPlan) -> bool:
    """Return whether two integer axes go down the columns, then along the rows, each with its samples extended."""
    if len(plan.axes) != 2 or plan.axes[1] != plan.axes[0] + 1:
        return False
    return all(each.integer is not None and not each.integer.repeats_sources for each in plan.plans)


def split_in_turn(x: Any, runs: Iterable[Callable[[Any], Mapping[str, Any]]]) -> Bands:
    """Split an array by one run, each of its bands by the next, and so on; keys grow by the letters of each."""
    bands: Bands = {"": x}
    for run in runs:
        split: Bands = {}
        for key in list(bands):
            # popped, so that a band is freed as soon as it has been split further
            for letters, band in run(bands.pop(key)).items():
                split[key + letters] = band
        bands = split
    return bands


def merge_in_turn(bands: Bands, runs: Sequence[tuple[int, Callable[[Bands], Any]]]) -> Any:
    """Undo `split_in_turn`, the last run first, and empty `bands`; each run comes with the number of its axes."""
    for count, run in reversed(runs):
        merged: Bands = {}
        for key in dict.fromkeys(key[:-count] for key in bands):
            merged[key] = run({letters: bands.pop(key + letters) for letters in _LETTERS[count]})
        bands = merged
    return bands[""]


def cut_range(length: int, count: int) -> list[tuple[int, int]]:
    """Cut a range into at most `count` parts of nearly equal length.

    Examples
    --------
    >>> cut_range(10, 3)
    [(0, 3), (3, 6), (6, 10)]
    """
    count = max(1, min(count, length))
    edges = [length * k // count for k in range(count + 1)]
    return list(pairwise(edges))
