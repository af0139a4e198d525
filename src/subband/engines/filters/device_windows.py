"""Shrinkage by the energy of a neighbourhood on a device: the bands of several levels in one launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import numpy as np

from subband.engines.filters.constants import BIVARIATE
from subband.engines.filters.device_launcher import Launcher, find_space
from subband.engines.filters.device_statistics import choose_window
from subband.engines.filters.plain import choose_near
from subband.errors import ArgumentError
from subband.kernels.dialects import LANES
from subband.kernels.windows import FIELDS, STEP, VALUES, WINDOWS, WindowSpec, render_window

__all__ = ["shrink_bands", "shrink_neighbours"]

#: The widest window that leaves columns with a result in a strip of 32.
_WIDEST = LANES - 1

#: Rows that a group walks, at most: on a GPU many short walks hide each other's waiting, and a CPU has few groups at a
#: time and gains from reading fewer rows twice.
_LONGEST_WALK, _LONGEST_WALK_OF_CPU = 32, 256

#: Groups that fill a device.
_MANY_GROUPS = 8192

#: Bands of a launch, at most, with a parent and a result each: no kernel takes more arrays than all devices have room
#: for.
_MOST_BANDS = 24


class _Block(NamedTuple):
    """Numbers of several bands in one array: where those of each begin."""

    array: Any
    begins: Sequence[int]


def shrink_bands(
    launcher: Launcher,
    bands: Sequence[Any],
    parents: Sequence[Any],
    noise: Any,
    gains: Sequence[float],
    parent_gains: Sequence[float],
    window: int,
    shift: int,
    scale: int,
) -> list[Any]:
    """Return bands shrunk by their energies and those of their parents; see `Filters.shrink_bivariate_bands`.

    None is empty, all are C-contiguous, and noise is in the precision that is computed in.
    """
    if window % 2 == 0 or not 1 <= window <= _WIDEST:
        raise ArgumentError(f"window={window} is not an odd number from 1 to {_WIDEST}")
    results: list[Any] = [None] * len(bands)
    for axes in dict.fromkeys(band.ndim - 1 for band in bands):
        alike = [number for number, band in enumerate(bands) if band.ndim - 1 == axes]
        for first in range(0, len(alike), _MOST_BANDS):
            some = alike[first : first + _MOST_BANDS]
            own, above, ours, theirs = ([each[k] for k in some] for each in (bands, parents, gains, parent_gains))
            shrunk = _shrink_alike(launcher, own, above, noise, ours, theirs, window, shift, scale)
            for number, result in zip(some, shrunk, strict=True):
                results[number] = result
    return results


def _shrink_alike(
    launcher: Launcher,
    bands: Sequence[Any],
    parents: Sequence[Any],
    noise: Any,
    gains: Sequence[float],
    parent_gains: Sequence[float],
    window: int,
    shift: int,
    scale: int,
) -> list[Any]:
    """Shrink bands of as many axes, no more than a launch takes."""
    axes, storage = bands[0].ndim - 1, bands[0].dtype.name
    near = choose_near(window, axes, scale)
    there = [parent for parent in parents if parent is not None]
    above = _Block(noise, [0] * len(bands))
    if there:
        sums = _sum_windows(launcher, there, noise, near)
        begins = iter(sums.begins)
        above = _Block(sums.array, [0 if parent is None else next(begins) for parent in parents])
    values = []
    for gain, parent_gain in zip(gains, parent_gains, strict=True):
        ratio = gain / parent_gain
        values.append((gain, ratio, 1.0 / window**axes, 1.0 / near**axes, ratio**2 / near**axes, *astuple(BIVARIATE)))
    energy = _sum_squares(launcher, WindowSpec("energy", storage, window, 1), bands, noise) if axes == 3 else None
    spec = WindowSpec(
        "bivariate",
        storage,
        1 if axes == 1 else window,
        window,
        energy is not None,
        has_parent=bool(there),
        scale=scale,
        near=near % window,
        bands=len(bands),
    )
    return _shrink(launcher, spec, bands, values, noise, above, energy, parents, shift)


def shrink_neighbours(launcher: Launcher, band: Any, noise: Any, gain: float) -> Any:
    """Return a band shrunk by the energy of its neighbourhood; see `Filters.shrink_neighbours`."""
    axes, storage, widest = band.ndim - 1, band.dtype.name, WINDOWS[-1]
    choices = choose_window(launcher, band, noise, gain)
    energy = None
    if axes == 3:
        spec = WindowSpec("energy", storage, widest, 1, is_chosen=True)
        energy = _sum_squares(launcher, spec, [band], noise, choices)
    rows = 1 if axes == 1 else widest
    spec = WindowSpec("neighbours", storage, rows, widest, energy is not None, is_chosen=True)
    values = (gain, 1.0, *(float(window) ** -axes for window in WINDOWS))
    return _shrink(launcher, spec, [band], [values], noise, _Block(choices, [0]), energy)[0]


def _sum_windows(launcher: Launcher, bands: Sequence[Any], noise: Any, window: int) -> _Block:
    """Return the energy of a window around each coefficient."""
    axes, storage = bands[0].ndim - 1, bands[0].dtype.name
    energy = _sum_squares(launcher, WindowSpec("energy", storage, window, 1), bands, noise) if axes == 3 else None
    rows = 1 if axes == 1 else window
    spec = WindowSpec("energy", storage, rows, window, energy is not None, bands=len(bands))
    return _sum_energy(launcher, spec, bands, noise, noise, energy)


def _sum_squares(launcher: Launcher, spec: WindowSpec, bands: Sequence[Any], noise: Any, choices: Any = None) -> _Block:
    """Return the energy along the first of three axes, for which the others are one."""
    view = launcher.device.view
    flat = [view(x, (x.shape[0], x.shape[1], prod(x.shape[2:])), x.dtype) for x in bands]
    return _sum_energy(launcher, replace(spec, bands=len(bands)), flat, noise, noise if choices is None else choices)


def _sum_energy(
    launcher: Launcher, spec: WindowSpec, bands: Sequence[Any], noise: Any, others: Any, energy: _Block | None = None
) -> _Block:
    *begins, total = accumulate((prod(band.shape) for band in bands), initial=0)
    sums = _Block(launcher.device.allocate((total,), noise.dtype), begins)
    tables = _lay_out(launcher, spec, bands, sums, energy)
    energies = noise if energy is None else energy.array
    _walk(launcher, spec, tables, [(0.0,)] * len(bands), [*bands, energies, sums.array], noise, others)
    return sums


def _shrink(
    launcher: Launcher,
    spec: WindowSpec,
    bands: Sequence[Any],
    values: Sequence[Sequence[float]],
    noise: Any,
    others: _Block,
    energy: _Block | None,
    parents: Sequence[Any] = (),
    shift: int = 0,
) -> list[Any]:
    results = [launcher.allocate_like(band) for band in bands]
    tables = _lay_out(launcher, spec, bands, others, energy, parents, shift)
    # a band stands for a parent that there is not, and is not looked at
    above = [band if parent is None else parent for band, parent in zip(bands, parents, strict=True)] if parents else []
    energies = noise if energy is None else energy.array
    arrays = [*bands, energies, *(above if spec.has_parent else ()), *results]
    _walk(launcher, spec, tables, values, arrays, noise, others.array)
    return results


def _lay_out(
    launcher: Launcher,
    spec: WindowSpec,
    bands: Sequence[Any],
    others: _Block,
    energy: _Block | None,
    parents: Sequence[Any] = (),
    shift: int = 0,
) -> list[list[int]]:
    """Return what the table has for each band, as `render_window` says."""
    spaces = [find_space(band.shape) for band in bands]
    strips = [-(-space.width // spec.useful) for space in spaces]
    images = [space.planes * space.depth for space in spaces]
    rows = sum(space.height * a * b for space, a, b in zip(spaces, strips, images, strict=True))
    # as many as leave work for the whole device
    longest = _LONGEST_WALK if launcher.device.is_gpu else _LONGEST_WALK_OF_CPU
    piece = min(max(rows // _MANY_GROUPS, 2 * STEP), longest) // STEP * STEP
    tables, groups = [], 0
    for number, space in enumerate(spaces):
        parent = parents[number] if parents else None
        above = (0, 0, 0) if parent is None else find_space(parent.shape)[1:]
        pieces = -(-space.height // piece)
        begin = 0 if energy is None else energy.begins[number]
        walks = groups, strips[number], pieces, piece
        tables.append([*walks, *space[1:], *above, shift, begin, others.begins[number]])
        groups += strips[number] * pieces * images[number]
    return [[groups], *tables]


def _walk(
    launcher: Launcher,
    spec: WindowSpec,
    tables: list[list[int]],
    values: Sequence[Sequence[float]],
    arrays: Sequence[Any],
    noise: Any,
    others: Any,
) -> None:
    (groups,), *rows = tables
    assert all(len(row) == FIELDS for row in rows)
    table = launcher.tabulate(noise.shape[0], groups, *(number for row in rows for number in row))
    padded = (number for row in values for number in (*row, *[0.0] * (VALUES - len(row))))
    numbers = launcher.list_values(np.dtype(noise.dtype), *padded)
    launcher.run(render_window, spec, (groups, 1, 1), *arrays, table, numbers, noise, others, block=4)
