"""Kernel text that finds groups of similar patches: for each reference patch those around it that are most like it.

A block takes one reference patch at a time. What lies around it is copied to local memory; a lane measures the distance
of runs of four patches beside each other, which share most of their samples, and keeps the bits of these distances. All
lanes together bisect the bits for as many patches as a group has.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from subband.kernels.dialects import Dialect
from subband.kernels.filters import begin_filter

__all__ = ["LOCATE", "MATCHERS", "MatchSpec", "render_matching"]

#: Lanes of a block that takes a reference patch.
MATCHERS = 128

#: Patches beside each other that a lane measures together.
_RUN = 4

#: Local memory that a window may take: 48 KiB, less what lanes tell each other.
_MOST_BYTES = 47 * 1024

#: Where a reference patch is, and how many patches around it begin where, along each axis; from a table of three sizes
#: of a plane, three half windows, three steps and the numbers of reference patches along the axes.
LOCATE = """
        const int z = min((int)(line / table[10] * table[6]), deep - PZ);
        const int y = min((int)(line % table[10] * table[7]), high - PY);
        const int x = min((int)(BLOCK_X * table[8]), wide - PX);
        const int z0 = max(0, z - (int)table[3]), y0 = max(0, y - (int)table[4]), x0 = max(0, x - (int)table[5]);
        const int nz = min(deep - PZ, z + (int)table[3]) + 1 - z0;
        const int ny = min(high - PY, y + (int)table[4]) + 1 - y0;
        const int nx = min(wide - PX, x + (int)table[5]) + 1 - x0;
        const int count = min(nz * ny * nx, COUNT);
        const wide_t own = ((wide_t)z * high + y) * wide + x;"""


@dataclass(frozen=True)
class MatchSpec:
    """The parameters that determine the text of the kernel that finds groups.

    Attributes
    ----------
    storage : str
        How the guide is stored.
    count : int
        Patches of a group, at most.
    patch, reach : tuple of int
        Samples of a patch along three axes, and how far patches are from their reference patch, at most.
    """

    storage: str
    count: int
    patch: tuple[int, ...]
    reach: tuple[int, ...]

    @property
    def across(self) -> tuple[int, ...]:
        """How many patches there are along each axis."""
        return tuple(2 * reach + 1 for reach in self.reach)

    @property
    def window(self) -> tuple[int, int, int]:
        """Samples of a window along three axes, with room behind its rows."""
        # runs may begin where the last patch does, and end behind it
        runs = -(-self.across[2] // _RUN)
        pitch = -(-(runs * _RUN + self.patch[2] - 1) // 4) * 4
        return self.across[0] + self.patch[0] - 1, self.across[1] + self.patch[1] - 1, pitch

    @property
    def fits(self) -> bool:
        """Whether local memory has room for the window on every device."""
        return prod(self.window) * (8 if self.storage == "float64" else 4) <= _MOST_BYTES


def render_matching(spec: MatchSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    It takes the guide, of which the first plane counts; the groups, `count` numbers for each reference patch: how far
    after its first sample that of another one is stored; and a table, as `LOCATE` has it. Blocks in the first direction
    count reference patches along the last axis, in the second one those along the others.
    """
    pz, py, px = spec.patch
    across, (*rows, pitch) = spec.across, spec.window
    runs = -(-across[2] // _RUN)
    turns = -(-across[0] * across[1] * runs // MATCHERS)
    each = turns * _RUN
    held = -(-(px + _RUN - 1) // 4) * 4
    return f"""#define THREADS {MATCHERS}
#define RESIDENT 8
{begin_filter(dialect, spec.storage)}{dialect.blocks}
#define COUNT {spec.count}
#define PZ {pz}
#define PY {py}
#define PX {px}
typedef struct ALIGN(16) {{ T v[4]; }} quad_t;

KERNEL void sweep(GLOBAL const stored_t *RESTRICT guide, GLOBAL int *RESTRICT groups,
                  GLOBAL const wide_t *RESTRICT table)
{{
    LOCAL ALIGN(16) T window[{prod(rows) * pitch}];
    LOCAL uint marks[THREADS];
    SUMMING(uint);
    const int deep = table[0], high = table[1], wide = table[2], lines = table[9] * table[10];
    for (int line = GROUP_Y; line < lines; line += GROUPS_Y) {{{LOCATE}
        BARRIER;
        for (int k = THREAD; k < (nz + PZ - 1) * {rows[1] * pitch}; k += THREADS) {{
            const int j = k / {pitch} % {rows[1]}, m = k % {pitch};
            if (j < ny + PY - 1 && m < nx + PX - 1)
                window[k] = READ(guide[((size_t)(z0 + k / {rows[1] * pitch}) * high + y0 + j) * wide + x0 + m]);
        }}
        BARRIER;
        uint keys[{each}];
        UNROLL for (int turn = 0; turn < {turns}; ++turn) {{
            const int run = turn * THREADS + THREAD;
            const int a = run / {across[1] * runs}, b = run / {runs} % {across[1]}, c = run % {runs} * {_RUN};
            UNROLL for (int q = 0; q < {_RUN}; ++q) keys[turn * {_RUN} + q] = 0xffffffffu;
            if (a < nz && b < ny && c < nx) {{
                T distances[{_RUN}] = {{0}};
                for (int i = 0; i < PZ; ++i) for (int j = 0; j < PY; ++j) {{
                    const int at = ((a + i) * {rows[1]} + b + j) * {pitch} + c;
                    const int middle = ((z - z0 + i) * {rows[1]} + y - y0 + j) * {pitch} + x - x0;
                    T held[{held}];
                    UNROLL for (int m = 0; m < {held}; m += 4) LOAD4(held + m, window + at + m);
                    UNROLL for (int m = 0; m < PX; ++m) {{
                        const T reference = window[middle + m];
                        UNROLL for (int q = 0; q < {_RUN}; ++q) {{
                            const T difference = held[m + q] - reference;
                            distances[q] += difference * difference;
                        }}
                    }}
                }}
                // bits of what is not negative have its order; the patch itself comes before all
                const int itself = a == z - z0 && b == y - y0 ? x - x0 - c : -1;
                UNROLL for (int q = 0; q < {_RUN}; ++q) if (c + q < nx)
                    keys[turn * {_RUN} + q] = q == itself ? 0 : float_bits((float)distances[q]) + 1;
            }}
        }}
        // those nearer than `low` are all taken, and of those as far as it the first ones
        uint low = 0, top = 0xfffffffeu;
        int ties = 0;
        while (low < top) {{
            const uint middle = low + (top - low) / 2;
            uint below = 0;
            UNROLL for (int k = 0; k < {each}; ++k) below += keys[k] <= middle;
            SUM_ALL(below);
            if ((int)below == count) {{
                low = top = middle + 1;
                ties = -1;
            }} else if ((int)below > count) top = middle;
            else low = middle + 1;
        }}
        uint mark = 0;
        UNROLL for (int k = 0; k < {each}; ++k) mark += keys[k] < low ? 1 : keys[k] == low ? 65536 : 0;
        marks[THREAD] = mark;
        BARRIER;
        uint before = 0, all = 0;
        for (int k = 0; k < THREADS; ++k) {{
            if (k < THREAD) before += marks[k];
            all += marks[k];
        }}
        ties = ties < 0 ? 0 : count - (int)(all & 65535);
        int nearer = before & 65535, same = before >> 16;
        GLOBAL int *const goal = groups + ((size_t)line * table[11] + BLOCK_X) * COUNT;
        UNROLL for (int turn = 0; turn < {turns}; ++turn) {{
            const int run = turn * THREADS + THREAD;
            const int a = run / {across[1] * runs}, b = run / {runs} % {across[1]}, c = run % {runs} * {_RUN};
            UNROLL for (int q = 0; q < {_RUN}; ++q) {{
                const uint key = keys[turn * {_RUN} + q];
                const int is_nearer = key < low, is_same = key == low;
                if (is_nearer || (is_same && same < ties))
                    goal[nearer + min(same, ties)] =
                        (int)((((wide_t)(a + z0 - z)) * high + b + y0 - y) * wide + c + q + x0 - x);
                nearer += is_nearer;
                same += is_same;
            }}
        }}
    }}
}}
"""
