"""Groups of similar patches on a device: found once for all planes, then combined plane by plane."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from subband.engines.filters.device_launcher import MOST_GROUPS, Launcher, count_items
from subband.engines.filters.groups import Groups, find_floor, find_grid
from subband.kernels.dialects import LANES
from subband.kernels.group_matching import MATCHERS, MatchSpec, render_matching
from subband.kernels.groups import WORDS, GroupSpec, render_groups

__all__ = ["filter_groups"]


def filter_groups(launcher: Launcher, planes: Any, guide: Any, noise: Any, groups: Groups) -> Any:
    """Return planes filtered by groups that are found in the first plane of the guide; see `Filters.filter_groups`.

    Planes are contiguous and not empty, and noise has the precision that they are computed in.
    """
    device, storage, count = launcher.device, planes.dtype.name, planes.shape[0]
    grid, samples = find_grid(tuple(planes.shape[1:]), groups), prod(planes.shape[1:])
    above, beside, across = grid.references
    table = launcher.tabulate(*grid.space, *grid.reach, *grid.step, above, beside, across, count)
    lines = min(above * beside, MOST_GROUPS)
    found = device.allocate((above * beside, across, groups.count), np.dtype(np.int32))
    # half windows as wide as can be along axes that there are, so that one text does for planes of all sizes
    reach = tuple(groups.reach if length > 1 else 0 for length in grid.space)
    match, block = MatchSpec(storage, groups.count, grid.patch, reach), MATCHERS // LANES
    if not match.fits:
        match = replace(match, reach=grid.reach)
    launcher.run(render_matching, match, (across * block, lines, 1), guide, found, table, block=block)
    sums, weights = (device.make_zeros((count, samples, WORDS), np.dtype(np.uint32)) for _ in range(2))
    spec = GroupSpec("sum", storage, grid.patch, groups.count, groups.trust == 1, groups.is_sharp)
    block = spec.lanes // LANES
    launch = across * block, lines, min(count, MOST_GROUPS)
    values = launcher.list_values(noise.dtype, groups.trust, find_floor(planes.dtype))
    launcher.run(render_groups, spec, launch, planes, guide, found, sums, weights, table, values, noise, block=block)
    result, table = launcher.allocate_like(planes), launcher.tabulate(*grid.space, count)
    finish = GroupSpec("finish", storage, grid.patch)
    launcher.run(render_groups, finish, count_items(samples, count), planes, sums, weights, result, table, noise)
    return result
