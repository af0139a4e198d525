"""How strong noise is in a whole array, as small tasks: sketches, and where these are not enough, a second look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from dask.base import tokenize
from dask.delayed import Delayed
from dask.task_spec import TaskRef

from subband.boundary import Extension, extend
from subband.engines import Engine
from subband.engines.filters.constants import NORMAL_MEDIAN
from subband.engines.filters.median import Sketch, merge_sketches
from subband.enhance.noise import combine_gains
from subband.enhance.roundtrip import Roundtrip
from subband.integrations.dask.engine import describe_level
from subband.integrations.dask.graphs import Draft, Grid, find_grid, list_windows
from subband.integrations.dask.levels import cut_coefficients, find_reach
from subband.integrations.dask.shrinkage import find_leading, localise
from subband.integrations.dask.stationary import forward_stationary
from subband.integrations.dask.tallies import Aim, Aims, Erosion, Search, search_band, search_chunk
from subband.integrations.dask.windows import Edges, Window, join_chunks, open_window, plain_window
from subband.plan import level_plan
from subband.typing import Array

__all__ = [
    "count_diagonal",
    "draw_noise",
    "merge_tree",
]

# How many results are merged by one task.
_FAN = 16


def count_diagonal(passage: Roundtrip, space: tuple[int, ...]) -> int:
    """Return how many coefficients of a plane noise is measured from.

    Examples
    --------
    >>> from subband.engines import get_engine
    >>> from subband.engines.filters import find_filters
    >>> from subband.enhance.stages import Denoise
    >>> cpu = get_engine("cpu")
    >>> count_diagonal(Roundtrip(Denoise(), (1, 100, 80), cpu, find_filters(cpu)), (100, 80))
    2000
    """
    if passage.stage.form == "undecimated":
        wide = 2 * passage.margin
        return prod(n + wide if axis in passage.axes else n for axis, n in enumerate(space))
    return prod(level_plan(space, passage.axes, passage.wavelets, passage.modes).band_shapes["d" * len(passage.axes)])


def draw_noise(
    planes: Any,
    passage: Roundtrip,
    dimensions: int,
    engine: str | Engine | None,
    known: Any = None,
    *,
    aims: Delayed | Aims | None = None,
    is_aiming: bool = False,
) -> Delayed:
    """Return the standard deviation of noise in each plane, from sketches of the finest diagonal coefficients.

    Parameters
    ----------
    planes : dask array
        Leading axes, then those of space.
    passage : Roundtrip
        Its wavelets and boundaries count.
    dimensions : int
        Number of axes of space.
    engine : str, Engine or None
        Who computes.
    known : dask array or None
        Not 0 where samples are known, of the shape of space: only coefficients that touch no others count, if there are
        any.
    aims : Delayed or Aims, optional
        Where an earlier pass says that medians are to be looked for: then noise is that of the medians themselves.
    is_aiming : bool
        Whether this is that earlier pass, and aims are returned.
    """
    before = planes.ndim - dimensions
    if passage.stage.form == "undecimated":
        _, (bands,) = forward_stationary(planes, passage, dimensions, engine, 1)
        return _draw_band_noise(bands["d" * len(passage.axes)], passage, dimensions, known, aims, is_aiming=is_aiming)
    axes = tuple(axis + before for axis in passage.axes)
    plan = level_plan(planes.shape, axes, passage.wavelets, passage.modes)
    grid = find_grid(planes)
    about = describe_level(plan)
    token = tokenize(planes.name, about, str(engine), getattr(known, "name", ""), str(aims), is_aiming)
    draft = Draft(f"subband-sketch-{token}")
    joined = list(grid.edges)
    cuts = {}
    for axis, own in zip(plan.axes, plan.plans, strict=True):
        joined[axis] = join_chunks(joined[axis], find_reach(own))
        cuts[axis] = cut_coefficients(own, joined[axis])
    carried = {axis: list_windows(own) for axis, own in enumerate(joined) if axis not in cuts}
    edges = tuple(cuts[axis].edges if axis in cuts else own for axis, own in enumerate(joined))
    diagonal = "d" * len(axes)
    lengths = plan.band_shapes[diagonal][before:]
    ends = [tuple(min(e, n) for e in own) for own, n in zip(edges[before:], lengths, strict=True)]
    by_planes: dict[Any, list[Any]] = {}
    for index in Grid(draft.name, edges).walk():
        windows = [cuts[axis].low[at] if axis in cuts else carried[axis][at] for axis, at in enumerate(index)]
        recipe, keys = draft.request(grid, windows)
        erosion, marks = _draw_erosion(draft, known, passage, ends, index[before:], 2, 0)
        local = localise(draft, plan, cuts, index, engine)
        leading = tuple((part.start, part.stop) for part in find_leading(edges, index, dimensions))
        search = Search(dimensions, erosion, str(leading))
        given = TaskRef(aims.key) if isinstance(aims, Delayed) else aims
        key = draft.add(index, search_chunk, local, recipe, keys, diagonal, search, marks, given)
        by_planes.setdefault(leading, []).append(key)
    gain = combine_gains(passage.wavelets, 1, diagonal)
    return _finish_noise(
        draft, by_planes, [planes, known, aims], planes.shape[:before], gain, aims, is_aiming=is_aiming
    )


def _draw_band_noise(
    band: Any, passage: Roundtrip, dimensions: int, known: Any, aims: Delayed | Aims | None, *, is_aiming: bool
) -> Delayed:
    """Do what `draw_noise` does, from the finest diagonal band itself, without decimation."""
    before = band.ndim - dimensions
    grid = find_grid(band)
    draft = Draft(f"subband-sketch-{tokenize(band.name, getattr(known, 'name', ''), str(aims), is_aiming)}")
    by_planes: dict[Any, list[Any]] = {}
    margin = passage.margin
    for index in grid.walk():
        erosion, marks = _draw_erosion(draft, known, passage, grid.edges[before:], index[before:], 1, margin)
        leading = tuple((part.start, part.stop) for part in find_leading(grid.edges, index, dimensions))
        search = Search(dimensions, erosion, str(leading))
        given = TaskRef(aims.key) if isinstance(aims, Delayed) else aims
        key = draft.add(index, search_band, TaskRef(grid.key(index)), search, marks, given)
        by_planes.setdefault(leading, []).append(key)
    gain = combine_gains(passage.wavelets, 1, "d" * len(passage.axes))
    return _finish_noise(draft, by_planes, [band, known, aims], band.shape[:before], gain, aims, is_aiming=is_aiming)


def _draw_erosion(
    draft: Draft,
    known: Any,
    passage: Roundtrip,
    edges: Sequence[Edges],
    index: Sequence[int],
    step: int,
    margin: int,
) -> tuple[Erosion | None, list[Any]]:
    """Return how is found which coefficients of a chunk touch only known samples, and the keys of what it needs."""
    if known is None:
        return None, []
    reach = max(wavelet.dec_len for wavelet in passage.wavelets)
    windows: list[Window] = []
    for axis, (own, at) in enumerate(zip(edges, index, strict=True)):
        begin, end, length = own[at], own[at + 1], known.shape[axis]
        if axis not in passage.axes:
            windows.append(plain_window(begin, end))
            continue
        if end <= begin:
            windows.append(plain_window(0, 0))
            continue
        # what lies outside is a mirror image
        mirror = _mirror(length)
        first, last = step * begin - margin - reach, step * (end - 1) - margin + reach
        windows.append(open_window(mirror, length, first, last + 1))
    recipe, keys = draft.request(find_grid(known), windows)
    return Erosion(recipe, reach, step, passage.axes), keys


def _mirror(length: int) -> Callable[[int, int], Extension]:
    def mirror(start: int, stop: int) -> Extension:
        return extend("reflect", length, start, stop)

    return mirror


def _finish_noise(
    draft: Draft,
    by_planes: dict[Any, list[Any]],
    sources: Sequence[Any],
    leading: tuple[int, ...],
    gain: float,
    aims: Delayed | Aims | None,
    *,
    is_aiming: bool,
) -> Delayed:
    """Merge what was found in all chunks, and find the noise in that."""
    merge = _merge_planes if aims is None else _join_planes
    merged = [merge_tree(draft, keys, number, merge) for number, keys in enumerate(by_planes.values())]
    name = draft.name.replace("-sketch-", "-noise-")
    where = {"places": list(by_planes), "leading": leading, "gain": gain, "is_masked": sources[1] is not None}
    if is_aiming:
        draft.tasks[name] = (_take_aim, merged, where)
    elif aims is None:
        draft.tasks[name] = (_find_noise, merged, where)
    else:
        draft.tasks[name] = (_pick_noise, merged, where, aims.key if isinstance(aims, Delayed) else aims)
    return Delayed(name, draft.finish([each for each in sources if hasattr(each, "__dask_graph__")]), layer=draft.name)


def merge_tree(draft: Draft, keys: Sequence[Any], number: int, merge: Callable[[list[Any]], Any]) -> Any:
    """Merge the results of all chunks, a few at a time, and return the key of the last."""
    level, name = 0, f"{draft.name}-merge"
    while len(keys) > 1 or level == 0:
        groups = [list(keys[place : place + _FAN]) for place in range(0, len(keys), _FAN)]
        keys = [draft.add((number, level, at), merge, own, name=name) for at, own in enumerate(groups)]
        level += 1
    return keys[0]


def _merge_planes(sketches: list[list[Sketch]]) -> list[Sketch]:
    """Merge the sketches of several chunks, plane by plane."""
    return [merge_sketches(own) for own in zip(*sketches, strict=True)]


def _join_planes(magnitudes: list[list[Array]]) -> list[Array]:
    """Join what several chunks have collected, plane by plane."""
    return [np.concatenate(own, axis=1) for own in zip(*magnitudes, strict=True)]


def _take_aim(merged: list[list[Sketch]], where: dict[str, Any]) -> Aims:
    """Return where the medians of each plane are."""
    aims = {}
    for sketches, places in zip(merged, where["places"], strict=True):
        own: list[Aim] = []
        if where["is_masked"]:
            half = len(sketches) // 2
            # all coefficients count where each of them touches a gap
            for some, every in zip(sketches[:half], sketches[half:], strict=True):
                chosen = some if some.total else every
                own.append(Aim(chosen.median, chosen.bracket, chosen is some))
        else:
            own += [Aim(each.median, each.bracket, False) for each in sketches]
        aims[str(places)] = own
    return Aims(aims)


def _find_noise(merged: list[list[Sketch]], where: dict[str, Any]) -> Array:
    """Return the standard deviation of noise in each plane, as sketches tell it."""
    aims = _take_aim(merged, where)
    return _spread(where, [[aim.median for aim in aims.by_place[str(places)]] for places in where["places"]])


def _pick_noise(merged: list[list[Array]], where: dict[str, Any], aims: Aims) -> Array:
    """Return the standard deviation of noise in each plane, from the medians themselves."""
    medians = []
    for found, places in zip(merged, where["places"], strict=True):
        pairs = zip(aims.by_place[str(places)], found, strict=True)
        medians.append([aim.median if aim.bracket is None else aim.bracket.pick(own) for aim, own in pairs])
    return _spread(where, medians)


def _spread(where: dict[str, Any], medians: Sequence[Sequence[float]]) -> Array:
    """Return noise in the order of planes."""
    noise = np.zeros(tuple(where["leading"]))
    for own, places in zip(medians, where["places"], strict=True):
        part = tuple(slice(*place) for place in places)
        noise[part] = np.array(own).reshape(noise[part].shape) / (NORMAL_MEDIAN * where["gain"])
    return noise
