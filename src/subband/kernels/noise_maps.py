"""Kernel text of maps of the noise: variances of fewer samples, and standard deviations at coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import LANES, Dialect
from subband.kernels.filters import begin_filter
from subband.kernels.samplewise import choose_array

__all__ = ["HALVERS", "MOST_HALVES", "MapSpec", "render_map"]

#: How often variances are halved at a time, at most, and lanes of a block that does so with a square of them.
MOST_HALVES, HALVERS = 5, 256


@dataclass(frozen=True)
class MapSpec:
    """The parameters that determine the text of a kernel of maps.

    Attributes
    ----------
    task : {"halve", "draw", "typical"}
        What is done.
    count : int
        How many results there are.
    """

    task: Literal["halve", "draw", "typical"]
    count: int = 1


def render_map(spec: MapSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    ``halve``
        Takes variances, the means of 2 × 2, the means of these, and so on; and a table of rows and columns of all. A
        block of lanes takes a square whose sides are a power of two.
    ``draw``
        Takes the variances and the band of each map; and a table of what each has: rows and columns of variances and of
        the band, the samples between two coefficients, the level, and where the first coefficient stands. The second
        direction counts maps.
    ``typical``
        Takes variances, the square root of their mean, and a table of how many there are and how often the result is
        written. One group does it all.
    """
    return _RENDERERS[spec.task](spec, dialect)


def _render_halve(spec: MapSpec, dialect: Dialect) -> str:
    side = 1 << spec.count
    arguments = ", ".join(f"GLOBAL T *RESTRICT means{level}" for level in range(1, spec.count + 1))
    steps = [
        f"""
    {{
        const int above = table[{2 * level - 2}], beside = table[{2 * level - 1}];
        const int rows = table[{2 * level}], columns = table[{2 * level + 1}];
        const int y0 = GROUP_Y * {side >> level}, x0 = BLOCK_X * {side >> level};
        for (int k = THREAD; k < {(side >> level) ** 2}; k += THREADS) {{
            const int y = y0 + k / {side >> level}, x = x0 + k % {side >> level};
            if (y >= rows || x >= columns) continue;
            const int down = 2 * y + 1 < above ? {side} : 0, right = 2 * x + 1 < beside;
            const int at = 2 * (y - y0) * {side} + 2 * (x - x0);
            const T left = {part}[at] + {part}[at + down];
            const T mean = 0.25f * (left + ({part}[at + right] + {part}[at + down + right]));
            part{level % 2}[(y - y0) * {side} + x - x0] = mean;
            means{level}[(size_t)y * columns + x] = mean;
        }}
        BARRIER;
    }}"""
        for level in range(1, spec.count + 1)
        for part in [f"part{(level - 1) % 2}"]
    ]
    return f"""#define THREADS {HALVERS}
#define RESIDENT 4
{begin_filter(dialect, "float32")}{dialect.blocks}
KERNEL void sweep(GLOBAL const T *RESTRICT variances, {arguments}, GLOBAL const wide_t *RESTRICT table)
{{
    LOCAL T part0[{side * side}];
    LOCAL T part1[{side * side // 2}];
    for (int k = THREAD; k < {side * side}; k += THREADS) {{
        const int y = GROUP_Y * {side} + k / {side}, x = BLOCK_X * {side} + k % {side};
        if (y < table[0] && x < table[1]) part0[k] = variances[(size_t)y * table[1] + x];
    }}
    BARRIER;{"".join(steps)}
}}
"""


def _render_draw(spec: MapSpec, dialect: Dialect) -> str:
    sources, goals = ([f"{name}{index}" for index in range(spec.count)] for name in ("variances", "drawn"))
    arguments = ", ".join(
        [f"GLOBAL const T *{name}" for name in sources] + [f"GLOBAL T *RESTRICT {name}" for name in goals]
    )
    return f"""{begin_filter(dialect, "float32")}
KERNEL void sweep({arguments}, GLOBAL const wide_t *RESTRICT table)
{{
    const int which = GROUP_Y;
    GLOBAL const wide_t *const own = table + 8 * which;
    const int rows = own[0], columns = own[1], width = own[3], step = own[4], level = own[5];
    const int down = own[6], right = own[7], count = own[2] * width;
    GLOBAL const T *const source = {choose_array(sources, "which")};
    GLOBAL T *const goal = {choose_array(goals, "which")};
    for (int item = ITEM_X; item < count; item += ITEMS_X) {{
        const int row = item / width, column = item - row * width;
        const int y = min(max((row * step + down) >> level, 0), rows - 1);
        const int x = min(max((column * step + right) >> level, 0), columns - 1);
        goal[item] = sqrt(source[(size_t)y * columns + x]);
    }}
}}
"""


def _render_typical(_: MapSpec, dialect: Dialect) -> str:
    return f"""{begin_filter(dialect, "float32")}
KERNEL void sweep(GLOBAL const T *RESTRICT variances, GLOBAL T *RESTRICT result, GLOBAL const wide_t *RESTRICT table)
{{
    EXCHANGE(1)
    const int lane = LANE;
    const size_t count = table[0];
    T total = 0;
    // in parts, so that what is added stays near in size to what there is
    for (size_t first = 0; first < count; first += {LANES * 64}) {{
        T part = 0;
        for (size_t k = first + lane; k < min(first + {LANES * 64}, count); k += {LANES}) part += variances[k];
        total += part;
    }}
    for (int far = 16; far; far >>= 1) {{
        PUBLISH(0, total);
        MEET;
        total += FETCH(0, total, far);
    }}
    for (int plane = lane; plane < table[1]; plane += {LANES}) result[plane] = sqrt(total / (T)count);
}}
"""


_RENDERERS: dict[str, Callable[[MapSpec, Dialect], str]] = {
    "halve": _render_halve,
    "draw": _render_draw,
    "typical": _render_typical,
}
