"""Kernel text of the volume sweep: a level of three axes in one pass over memory.

A block of several groups of lanes owns a tile of the plane and walks through the volume, a pair of planes at a time.
The steps from plane to plane keep the last few pairs in registers; then follow the steps down the columns, where groups
hand rows to each other through local memory, and along the rows, where lanes hand over numbers. So each sample is read
once and each coefficient written once; only tiles overlap, by the reach of the steps. The inverse walks the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import indent

from subband.kernels.dialects import LANES, Dialect
from subband.kernels.numbers import STORAGES, format_step
from subband.kernels.planes import count_beside, count_local, count_meetings, count_slots, render_across, render_down
from subband.kernels.tiles import BANDS, render_bring, render_goal, render_offsets, render_read, render_store
from subband.schedule.axis import AxisProgram
from subband.typing import Direction

__all__ = ["VOLUME_FIELDS", "VolumeSpec", "count_handed", "render_volume"]

#: What a volume sweep is told besides arrays. They are arguments, not a table, because what is the same for all lanes
#: then takes none of their registers; a table says what the positions outside planes, rows and columns are taken from.
VOLUME_FIELDS = (
    "images",  # how many volumes there are
    "depth",
    "height",
    "width",
    "low_depth",
    "high_depth",
    "low_height",
    "high_height",
    "low_width",
    "high_width",
    "front",  # positions of the boundary map before the first plane
    "back",
    "above",  # the same for rows
    "below",
    "before",  # and for columns
    "behind",
    "chunk",  # pairs of planes that a block walks
    "chunks",  # how many blocks one behind the other do
    "rest",  # pairs of planes that those behind them walk
    "tiles",  # tiles side by side
)


@dataclass(frozen=True)
class VolumeSpec:
    """The parameters that determine the text of a volume sweep.

    Attributes
    ----------
    direction : {"forward", "inverse"}
        From samples to bands, or back.
    deep, vertical, horizontal : AxisProgram
        What happens from plane to plane, down the columns and along the rows: lifting steps.
    storage : str
        How numbers are stored, by the names of `subband.kernels.numbers.STORAGES`.
    groups : int
        Groups of lanes in a block.
    rows, pairs : int
        Pairs of rows, and of columns, that a lane holds.
    ahead : int
        Pairs of planes that are loaded before they are needed, at least 1.
    is_aligned : bool
        Whether a lane can load and store all it holds of a row at once.
    is_whole_sectors : bool
        Whether tiles are made a little narrower, so that they begin where a sector of memory does.
    resident : int
        Blocks that shall fit on a multiprocessor at the same time; 0 leaves it to the compiler.
    unroll : int
        Pairs of planes in one round of the walk.
    is_uniform : bool
        Whether all bands have the same shape and samples come in whole pairs, so that all lie alike.
    has_zeros : bool
        Whether some of what lies outside is zero, and not one of the samples.
    is_mirrored : bool
        Whether rows go on at their ends as in a mirror, step by step. Then the first lane and the last one of an image
        see in themselves what lies beyond, and nothing outside is read.
    """

    direction: Direction
    deep: AxisProgram
    vertical: AxisProgram
    horizontal: AxisProgram
    storage: str
    groups: int
    rows: int
    pairs: int
    ahead: int
    is_aligned: bool
    is_whole_sectors: bool = False
    resident: int = 0
    unroll: int = 1
    is_uniform: bool = False
    has_zeros: bool = True
    is_mirrored: bool = False

    @property
    def halo(self) -> tuple[int, int]:
        """Lanes at the left and at the right of a tile that only serve their neighbours."""
        schedule = self.horizontal.schedule
        left, right = -(min(schedule.first, 0) // self.pairs), -(-max(schedule.last, 0) // self.pairs)
        if self.is_whole_sectors:
            sector = max(1, 32 // (self.pairs * STORAGES[self.storage].size))
            spare = (LANES - left - right) % sector
            left, right = left + spare // 2, right + spare - spare // 2
        return left, right

    @property
    def useful(self) -> int:
        """Lanes of a tile that have results."""
        return LANES - sum(self.halo)

    @property
    def shift(self) -> int:
        """Lanes that tiles of rows that mirror themselves are moved by, because the first has no halo at its left."""
        return 0 if self.is_whole_sectors else self.halo[0]

    @property
    def row_halo(self) -> tuple[int, int]:
        """Pairs of rows at the top and at the bottom of a tile that only serve their neighbours."""
        schedule = self.vertical.schedule
        return -min(schedule.first, 0), max(schedule.last, 0)

    @property
    def local(self) -> tuple[int, int]:
        """Bytes of local memory of a block: of planes on their way, and of rows that groups hand over."""
        size = STORAGES[self.storage].size
        return count_local(self.vertical, self.groups, self.rows, self.pairs, self.ahead, size)

    def count_tiles(self, across: int) -> int:
        """Return how many tiles side by side so many pairs of columns take."""
        if self.is_mirrored and across <= LANES * self.pairs:
            return 1
        if self.is_mirrored:
            across = max(1, across - (self.shift + self.halo[1]) * self.pairs)
        return -(-across // (self.useful * self.pairs))

    @property
    def useful_rows(self) -> int:
        """Pairs of rows of a tile that have results."""
        return self.groups * self.rows - sum(self.row_halo)


def count_handed(spec: VolumeSpec, dialect: Dialect) -> int:
    """Return the bytes of local memory that a launch hands to each block: all that it takes, or none.

    A text of CUDA may declare less than a GPU has; one of OpenCL declares all.
    """
    return sum(spec.local) if dialect.name == "cuda" else 0


def render_volume(spec: VolumeSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep`` of a volume."""
    samples, bands = ("const ", "") if spec.direction == "forward" else ("", "const ")
    goals = "".join(f",\n    GLOBAL {bands}band_t *RESTRICT {band}" for band in BANDS)
    fields = "".join(f", int {name}" for name in VOLUME_FIELDS)
    slots, beside = count_slots(spec.vertical, spec.rows), 2 * LANES * count_beside(spec.vertical, spec.rows)
    meeting = f"MEETING({slots}, {beside})" if slots else ""
    if count_meetings(spec.vertical, spec.rows) % 2:
        meeting += "\n    int turn = 0;"
    pairs_deep = "low_depth" if spec.direction == "forward" else "(depth + 1) / 2"
    frame = (
        _KERNEL.replace("@SAMPLES@", samples)
        .replace("@BANDS@", goals)
        .replace("@FIELDS@", fields)
        .replace("@MEETING@", meeting)
    )
    tile = (
        "max(0, min(tile_x * USEFUL + SHIFT - HALO, width / V - 32))" if spec.is_mirrored else "tile_x * USEFUL - HALO"
    )
    frame = frame.replace("@PAIR@", f"({tile} + lane) * P")
    frame = frame.replace("@STOP@", pairs_deep).replace("@OFFSETS@", indent(render_offsets(spec), " " * 4))
    frame = frame.replace("@WALK@", indent(_render_walk(spec), " " * 8))
    return "\n".join(
        [dialect.begin(uses_doubles=spec.storage == "float64"), _render_types(spec), _find_words(dialect), frame]
    )


def _find_words(dialect: Dialect) -> str:
    """Return the macros of a dialect for blocks of several groups."""
    if dialect.name == "cuda":
        return _CUDA
    return _OPENCL + (_OPENCL_STAGING if dialect.is_staging else _OPENCL_PLAIN)


def _render_types(spec: VolumeSpec) -> str:
    storage = STORAGES[spec.storage]
    number_size = 8 if storage.number == "double" else 4
    columns = 2 * spec.pairs
    pieces = 1 if spec.is_aligned else spec.pairs if spec.direction == "forward" else columns
    bit = "(((r) * 2 + (my)) * 2 + (mx))" if spec.direction == "forward" else "((r) * 2 + (my))"
    if spec.is_uniform:
        bit = "(r)"
    lines = [
        f"typedef {storage.number} T;",
        f"typedef {storage.word} sample_t;",
        "typedef sample_t band_t;",
        "typedef sample_t held_t;",
        f"#define READ(v) {storage.read}",
        f"#define WRITE(v) {storage.write}",
        f"#define SIZE {storage.size}",
        "// one multiplication for the plane and one addition for the offset in it, both in bytes",
        "#define PLANE(kind, base, number, area) ((GLOBAL kind char *)(base) + (wide_t)(number) * ((area) * SIZE))",
        "#define IN(type, plane, offset) ((GLOBAL type *)((plane) + (uint)(offset)))",
        f"#define P {spec.pairs}",
        f"#define V {columns}",
        f"#define R {spec.rows}",
        f"#define ROWS {2 * spec.rows}",
        f"#define N {2 * spec.rows * columns}",
        f"#define THREADS {spec.groups * LANES}",
        f"#define WAITING {spec.local[0]}",
        f"#define USEFUL {spec.useful}",
        f"#define HALO {spec.halo[0]}",
        f"#define SHIFT {spec.shift}",
        f"#define USEFUL_ROWS {spec.useful_rows}",
        f"#define HALO_ROWS {spec.row_halo[0]}",
        f"#define AHEAD {spec.ahead}",
        f"#define DEPTH {spec.deep.schedule.depth}",
        f"#define PIECES {pieces}",
        "// which bit says whether a piece of a pair of rows is stored",
        f"#define BIT(r, my, mx, k) ({bit} * PIECES + (k))",
        "#define IS_USEFUL_LANE (lane >= HALO && lane < HALO + USEFUL)"
        if not spec.is_mirrored
        else "#define IS_USEFUL_LANE ((tile_x == 0 || pair >= (tile_x * USEFUL + SHIFT) * P) && "
        "(tile_x == tiles - 1 || pair < ((tile_x + 1) * USEFUL + SHIFT) * P))",
        f"#define NOWHERE {-1 if spec.has_zeros else 0}",
        "#define EACH_ROW UNROLL for (int k = 0; k < 2 * ROWS; ++k)",
        f"#define BOUNDS_OF_CUDA __launch_bounds__(THREADS{f', {spec.resident}' if spec.resident else ''})",
        f"#define ROUNDS {spec.unroll}",
        f"typedef struct ALIGN({min(16, storage.size * columns)}) {{ sample_t v[V]; }} samples_t;",
        f"typedef struct ALIGN({min(16, storage.size * spec.pairs)}) {{ band_t v[P]; }} pairs_t;",
        f"typedef struct ALIGN({min(16, number_size * columns)}) {{ T v[V]; }} numbers_t;",
    ]
    return "\n".join(lines) + "\n"


_CUDA = """\
#define THREAD ((int)threadIdx.x)
#define BLOCK_X ((int)blockIdx.x)
#define BOUNDS BOUNDS_OF_CUDA
#define OPAQUE(value) asm volatile("" : "+r"(value))
#define OPAQUE_ADDRESS(address) asm volatile("" : "+l"(address)); __builtin_assume(__isGlobal(address))
#define FENCE asm volatile("" ::: "memory")
#define REPEAT_(rounds) _Pragma(#rounds)
#define REPEAT(rounds) REPEAT_(unroll rounds)
// beyond the first lane and the last one each sees itself
#undef FETCH
#define FETCH(slot, value, distance) \\
    ((distance) < 0 ? __shfl_up_sync(0xffffffffu, value, (uint)-(distance)) \\
                    : __shfl_down_sync(0xffffffffu, value, (uint)(distance)))
#define STAGING \\
    extern __shared__ ALIGN(16) char handed[]; \\
    held_t *const stage = (held_t *)handed + THREAD * V;
#define STAGED(slot, m, r) (stage + (((slot) * 2 + (m)) * ROWS + (r)) * (THREADS * V))
#define MEETING(slots, beside) \\
    numbers_t(*const meeting)[slots][2][THREADS + (beside)] = \\
        (numbers_t(*)[slots][2][THREADS + (beside)])(handed + WAITING);
#define STORE_PACK(type, address, count, value) \\
    { \\
        type packed; \\
        UNROLL for (int k = 0; k < (count); ++k) packed.v[k] = value; \\
        *(GLOBAL type *)(address) = packed; \\
    }
"""

_OPENCL = """\
#undef KERNEL
#undef LANE
#define KERNEL __kernel __attribute__((reqd_work_group_size(THREADS, 1, 1)))
#define LANE ((int)get_local_id(0) & 31)
#define THREAD ((int)get_local_id(0))
#define BLOCK_X ((int)get_group_id(0))
#define BOUNDS
#define OPAQUE(value)
#define OPAQUE_ADDRESS(address)
#define FENCE
#define REPEAT(rounds) __attribute__((opencl_unroll_hint(rounds)))
#define MEETING(slots, beside) LOCAL numbers_t meeting[2][slots][2][THREADS + (beside)];
"""

_OPENCL_PLAIN = """\
#undef UNROLL
#undef EXCHANGE
#undef PUBLISH
#define UNROLL
#undef FETCH
#define STAGING held_t staged[AHEAD * 2 * ROWS * V] ALIGN(16);
#define STAGED(slot, m, r) (staged + (((slot) * 2 + (m)) * ROWS + (r)) * V)
// one by one: what PoCL makes of a small structure built in registers does not always arrive
#define STORE_PACK(type, address, count, value) \\
    for (int k = 0; k < (count); ++k) ((GLOBAL type *)(address))->v[k] = value
#define EXCHANGE(slots) __local T exchange[2][slots][THREADS]; int half_ = 0;
#define PUBLISH(slot, value) exchange[half_][slot][thread] = value
#define FETCH(slot, value, distance) exchange[half_ ^ 1][slot][(thread & ~31) + clamp(lane + (distance), 0, 31)]
"""

_OPENCL_STAGING = """\
#undef FETCH
#define FETCH(slot, value, distance) fetch(value, clamp(lane + (distance), 0, 31))
#define STAGING \\
    __local held_t staged[AHEAD * 2 * ROWS * THREADS * V] ALIGN(16); \\
    __local held_t *const stage = staged + THREAD * V;
#define STAGED(slot, m, r) (stage + (((slot) * 2 + (m)) * ROWS + (r)) * (THREADS * V))
#define STORE_PACK(type, address, count, value) \\
    { \\
        type packed; \\
        UNROLL for (int k = 0; k < (count); ++k) packed.v[k] = value; \\
        *(GLOBAL type *)(address) = packed; \\
    }
"""

_KERNEL = """\
// where a position is found, or nowhere if it is zero or nobody needs it
DEVICE int find_source(int i, int n, int before, int behind, GLOBAL const int *map)
{
    if (i >= 0 && i < n) return i;
    int k = i < 0 ? i + before : i - n + before;
    return k < 0 || k >= before + behind ? NOWHERE : map[k];
}

KERNEL void BOUNDS sweep(GLOBAL @SAMPLES@sample_t *RESTRICT x@BANDS@,
    GLOBAL const int *RESTRICT map@FIELDS@)
{
    STAGING
    EXCHANGE(2 * N)
    @MEETING@
    const int lane = LANE, thread = THREAD, warp = thread >> 5;
    GLOBAL const int *plane_map = map, *row_map = plane_map + front + back;
    GLOBAL const int *column_map = row_map + above + below;
    const int tile_y = BLOCK_X / tiles, tile_x = BLOCK_X - tile_y * tiles;
    const int pair = @PAIR@;
    const int row_pair = tile_y * USEFUL_ROWS - HALO_ROWS + warp * R;
    const int part = GROUP_Y, late = part - chunks;
    const int start = late < 0 ? part * chunk : chunks * chunk + late * rest;
    const int stop = min(start + (late < 0 ? chunk : rest), @STOP@);
@OFFSETS@
    for (int image = GROUP_Z; image < images; image += GROUPS_Z) {
@WALK@
    }
}
"""


def _render_walk(spec: VolumeSpec) -> str:
    schedule = spec.deep.schedule
    bring, (goal, move_on) = render_bring(spec), render_goal(spec)
    return f"""\
T state[2][DEPTH][N];
UNROLL for (int k = 0; k < DEPTH; ++k)
    UNROLL for (int c = 0; c < N; ++c) state[0][k][c] = state[1][k][c] = 0;
const int first = start + ({schedule.first}), end = stop + ({schedule.last});
{goal}
REPEAT(1)
for (int slot = 0; slot < AHEAD; ++slot) {{
    const int newest = first + slot;
    if (newest < end) {{
{indent(bring, " " * 8)}
    }}
    COMMIT;
}}
int slot = 0;
REPEAT(ROUNDS)
for (int at = first; at < end; ++at) {{
    AWAIT({spec.ahead - 1});
    UNROLL for (int k = DEPTH - 1; k > 0; --k)
        UNROLL for (int c = 0; c < N; ++c) {{
            state[0][k][c] = state[0][k - 1][c];
            state[1][k][c] = state[1][k - 1][c];
        }}
{indent(render_read(spec), "    ")}
    // what a lane has read is its own, so that the next planes may overwrite it without a barrier
    FENCE;
    const int newest = at + AHEAD;
    if (newest < end) {{
{indent(bring, " " * 8)}
    }}
    COMMIT;
    slot = slot == AHEAD - 1 ? 0 : slot + 1;
{indent(_render_deep(spec), "    ")}
    const int n = at - ({schedule.last});
    IF_ALL_AGREE(n >= start) {{
        T u[2 * N];
{indent(_render_outputs(spec), " " * 8)}
{indent(render_down(spec), " " * 8)}
{indent(render_across(spec), " " * 8)}
{indent(render_store(spec), " " * 8)}
    }}
    {move_on}
}}"""


def _render_deep(spec: VolumeSpec) -> str:
    """Return the steps from plane to plane; ages count from the newest pair."""
    lines = []
    for entry in spec.deep.steps:
        step, lag = entry.step, entry.lag
        sources = [f"state[{1 - step.target}][{lag - step.start - j}][c]" for j in range(len(step.taps))]
        target = f"state[{step.target}][{lag}][c]"
        total = format_step(entry, sources, STORAGES[spec.storage].number)
        lines.append(f"UNROLL for (int c = 0; c < N; ++c) {target} = {target} {total};")
    return "\n".join(lines)


def _render_outputs(spec: VolumeSpec) -> str:
    """Return the lines that take the pair of planes that is ready to ``u``."""
    last = spec.deep.schedule.last
    return "\n".join(
        f"UNROLL for (int c = 0; c < N; ++c) u[{m} * N + c] = state[{output.member}][{last - output.shift}][c];"
        for m, output in enumerate(spec.deep.outputs)
    )
