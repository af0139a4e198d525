"""Kernel text of two levels of an image in one pass over memory: the approximation between them stays in registers.

A group of lanes owns a strip of columns and walks down the rows, as in `subband.kernels.sweep`, four rows at a time:
two pairs of the fine level make, or are made of, one pair of the coarse one. Rows and columns go on as in a mirror that
lies on a sample, which each step keeps. So no strip reads columns from outside: the first lane and the last one of an
image see in themselves what lies beyond. Beyond the first row and the last one, rows are read as a mirror shows them.
That is right for the level that reads from memory, and above the first row for the other one too; below its last row
the other level repeats what each step has made of that row. One level alone is the same walk without the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from textwrap import indent

from subband.kernels.cascade_walks import ROWS, render_forward, render_inverse
from subband.kernels.dialects import LANES, Dialect
from subband.kernels.numbers import STORAGES
from subband.schedule.axis import AxisProgram
from subband.typing import Direction

__all__ = ["CASCADE_FIELDS", "CascadeSpec", "render_cascade"]

#: What two levels are told besides arrays.
CASCADE_FIELDS = (
    "images",  # how many there are
    "height",
    "width",
    "strips",  # how many lie side by side
    "chunk",  # coarse pairs of rows that a group walks
    "chunks",  # how many groups, one below the other, walk so many
    "rest",  # coarse pairs of rows that the groups below those walk
)


@dataclass(frozen=True)
class CascadeSpec:
    """The parameters that determine the text of two levels.

    Attributes
    ----------
    direction : {"forward", "inverse"}
        From samples to bands, or back.
    vertical, horizontal : AxisProgram
        What happens down the columns and along the rows of each level: lifting steps that keep a mirror.
    samples, bands : str
        How they are stored, by the names of `subband.kernels.numbers.STORAGES`.
    pairs : int
        Fine pairs of columns in a lane, an even number.
    ahead : int
        Coarse pairs of rows that are loaded before they are needed.
    block : int
        Groups in one block.
    channels : int
        Channels of a pixel, which a lane holds whole.
    levels : int
        2, or 1: then there is no coarse level.
    """

    direction: Direction
    vertical: AxisProgram
    horizontal: AxisProgram
    samples: str
    bands: str
    pairs: int
    ahead: int
    block: int
    channels: int = 1
    levels: int = 2

    @property
    def columns(self) -> int:
        """Columns in a lane."""
        return 2 * self.pairs

    @property
    def elements(self) -> int:
        """Elements of a row in a lane."""
        return self.columns * self.channels

    @property
    def is_split(self) -> bool:
        """Whether the samples of a lane are loaded and stored in two pieces of 16 bytes."""
        return self.elements * STORAGES[self.samples].size == 32

    @property
    def halo(self) -> tuple[int, int]:
        """Lanes at the left and at the right of a strip that only serve their neighbours."""
        schedule = self.horizontal.schedule
        # the coarse level reaches twice as far
        far = (1 << self.levels) - 1
        left, right = -(far * min(schedule.first, 0) // self.pairs), -(-far * max(schedule.last, 0) // self.pairs)
        # a strip whose coarse bands begin on a sector of 32 bytes writes whole sectors
        sector = 32 // gcd(32, self.pairs // self.levels * self.channels * STORAGES[self.bands].size)
        spare = (LANES - left - right) % sector
        return left + spare // 2, right + spare - spare // 2

    @property
    def useful(self) -> int:
        """Lanes of a strip that have results."""
        return LANES - sum(self.halo)

    def count_strips(self, width: int) -> int:
        """Return how many strips lie side by side: the first one and the last one reach as far as the image does."""
        lanes = width // self.columns
        return 1 if lanes <= LANES else -(-(lanes - self.halo[1]) // self.useful)

    def count_handed(self, dialect: Dialect) -> int:
        """Return the bytes of local memory that a launch hands to each block, for rows on their way."""
        if dialect.name != "cuda":
            return 0
        stored = STORAGES[self.samples if self.direction == "forward" else self.bands]
        return self.block * (self.ahead + 1) * ROWS * LANES * self.elements * stored.size


def render_cascade(spec: CascadeSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep`` of two levels."""
    samples, bands = ("const ", "") if spec.direction == "forward" else ("", "const ")
    names, areas = ["aa", "ad", "da", "dd"], ["half_height * half_width"] * 4
    if spec.levels == 2:
        names, areas = [*names[1:], "aa2", "ad2", "da2", "dd2"], areas[1:] + ["low_height * low_width"] * 4
    goals = "".join(f",\n                  GLOBAL {bands}band_t *RESTRICT {name}" for name in names)
    fields = "".join(f", int {name}" for name in CASCADE_FIELDS)
    starts = "\n".join(
        f"        GLOBAL {bands}band_t *image_{name} = {name} + (size_t)image * {area} * C;"
        for name, area in zip(names, areas, strict=True)
    )
    walk = render_forward(spec) if spec.direction == "forward" else render_inverse(spec)
    frame = f"""\
KERNEL void sweep(GLOBAL {samples}sample_t *RESTRICT x{goals}{fields})
{{
    STAGING({spec.ahead + 1})
    EXCHANGE(V)
    const int lane = LANE;
    const int half_height = height / 2, half_width = width / 2, low_height = height / 4, low_width = width / 4;
    // the groups of a block walk side by side, so that the compiler knows what they have in common
    const int across = (strips + BLOCK - 1) / BLOCK;
    const int strip = TEAM % across * BLOCK + MEMBER, part = TEAM / across;
    if (strip >= strips) return;
    const int walked = part < chunks ? chunk : rest;
    const int start = min(part, chunks) * chunk + max(part - chunks, 0) * walked;
    const int stop = min(start + walked, low_height);
    if (stop <= start) return;
    const int first_lane = max(0, min(strip * USEFUL - HALO, width / COLUMNS - 32)), at_lane = first_lane + lane;
    const int first_useful = strip == 0 ? 0 : strip * USEFUL;
    const int end_useful = strip == strips - 1 ? width / COLUMNS : (strip + 1) * USEFUL;
    const bool is_useful = at_lane >= first_useful && at_lane < end_useful;
    for (int image = GROUP_Z; image < images; image += GROUPS_Z) {{
        GLOBAL {samples}sample_t *image_at = x + (size_t)image * height * width * C;
{starts}
{indent(walk, " " * 8)}
    }}
}}
"""
    uses_doubles = "float64" in (spec.samples, spec.bands)
    kind = dialect.name if dialect.name == "cuda" else "staging" if dialect.is_staging else "plain"
    words = _STAGING[kind] + (_ROWS_BY_PIECES if dialect.is_staging and spec.is_split else _ROWS_BY_LANES)
    return "\n".join([dialect.begin(uses_doubles=uses_doubles), _render_types(spec), words, frame])


def _render_types(spec: CascadeSpec) -> str:
    samples, bands = STORAGES[spec.samples], STORAGES[spec.bands]
    sizes = {"samples_t": ("sample_t", "V"), "pairs_t": ("band_t", "P"), "halves_t": ("band_t", "Q")}
    counts = {"V": spec.elements, "P": spec.elements // 2, "Q": spec.elements // 4}
    lines = [
        f"typedef {bands.number} T;",
        f"typedef {samples.word} sample_t;",
        f"typedef {bands.word} band_t;",
        f"typedef {'sample_t' if spec.direction == 'forward' else 'band_t'} held_t;",
        f"#define READ_SAMPLE(v) {samples.read}",
        f"#define WRITE_SAMPLE(v) {samples.write}",
        f"#define READ_BAND(v) {bands.read}",
        f"#define WRITE_BAND(v) {bands.write}",
        "// where a lane has element k of the first and of the second members of its pairs, channel by channel",
        "#define LOW(k) (2 * ((k) / C) * C + (k) % C)",
        "#define HIGH(k) (LOW(k) + C)",
        "// an offset of 32 bits beside an address that all lanes share",
        "#define AT(type, base, index) ((GLOBAL type *)((GLOBAL const char *)(base) + (uint)((index) * sizeof(type))))",
        f"#define USEFUL {spec.useful}",
        f"#define HALO {spec.halo[0]}",
        f"#define BLOCK {spec.block}",
        f"#define C {spec.channels}",
        f"#define COLUMNS {spec.columns}",
    ]
    lines += [f"#define {name} {count}" for name, count in counts.items()]
    for name, (word, count) in sizes.items():
        size = (samples if word == "sample_t" else bands).size * counts[count]
        lines.append(f"typedef struct ALIGN({min(16, size & -size)}) {{ {word} v[{count}]; }} {name};")
    if spec.is_split:
        lines.append(f"#define E {spec.elements // 2}")
        lines.append("typedef struct ALIGN(16) { sample_t v[E]; } piece_t;")
    return "\n".join(lines) + "\n" + _MIRRORS


_MIRRORS = """\
// which row a mirror shows that lies on the first and on the last one; among the first or second rows of pairs
DEVICE int mirror(int i, int n) { i = max(i, -i); return min(i, 2 * n - 2 - i); }
DEVICE int mirror_low(int i, int n) { i = max(i, -i); return min(i, 2 * n - 1 - i); }
DEVICE int mirror_high(int i, int n) { i = max(i, -1 - i); return min(i, 2 * n - 2 - i); }
"""

#: Where rows on their way wait: row `r` of a slot, of which a lane has V elements.
_STAGING = {
    "cuda": """\
#define TEAM ((int)blockIdx.x)
#define MEMBER ((int)(threadIdx.x >> 5))
#define STAGING(slots) \\
    extern __shared__ ALIGN(16) char handed[]; \\
    held_t *const staged = (held_t *)handed + (threadIdx.x >> 5) * (slots) * 4 * 32 * V + (threadIdx.x & 31) * V;
#define STAGED(slot, r) (staged + ((slot) * 4 + (r)) * 32 * V)
#define SHARE __syncwarp()
#define STORE_PACK(type, address, count, value) \\
    { \\
        type packed; \\
        UNROLL for (int k = 0; k < (count); ++k) packed.v[k] = value; \\
        *(type *)(address) = packed; \\
    }
#define FETCH_INSIDE(slot, value, distance) \\
    ((distance) < 0 ? __shfl_up_sync(0xffffffffu, value, (uint)-(distance)) \\
                    : __shfl_down_sync(0xffffffffu, value, (uint)(distance)))
// in so many words, because the compiler would take it apart
#define STORE_PIECE(goal, piece) \\
    { \\
        uint4 bits; \\
        memcpy(&bits, &(piece), 16); \\
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(goal), "r"(bits.x), "r"(bits.y), "r"(bits.z), \\
                     "r"(bits.w) \\
                     : "memory"); \\
    }
#define LOCALLY const
""",
    "staging": """\
#define TEAM (GROUP_X / BLOCK)
#define MEMBER (GROUP_X % BLOCK)
#define STAGING(slots) \\
    __local held_t all_staged[(slots) * 4 * 32 * V] ALIGN(16); \\
    __local held_t *const staged = all_staged + LANE * V;
#define STAGED(slot, r) (staged + ((slot) * 4 + (r)) * 32 * V)
#define SHARE barrier(CLK_LOCAL_MEM_FENCE)
#define STORE_PACK(type, address, count, value) \\
    { \\
        type packed; \\
        UNROLL for (int k = 0; k < (count); ++k) packed.v[k] = value; \\
        *(GLOBAL type *)(address) = packed; \\
    }
#define FETCH_INSIDE(slot, value, distance) fetch(value, clamp(lane + (distance), 0, 31))
#define STORE_PIECE(goal, piece) *(GLOBAL piece_t *)(goal) = (piece)
#define LOCALLY __local const
""",
    "plain": """\
#define TEAM (GROUP_X / BLOCK)
#define MEMBER (GROUP_X % BLOCK)
#define STAGING(slots) held_t staged[(slots) * 4 * V];
// one by one: what PoCL makes of arrays in registers need not begin where whole pieces do
#define STORE_PACK(type, address, count, value) for (int k = 0; k < (count); ++k) (address)[k] = value
#undef STAGE_PACK
#define STAGE_PACK(goal, source, type) \\
    for (int k = 0; k < (int)(sizeof(type) / sizeof(held_t)); ++k) (goal)[k] = (source)[k]
#define FETCH_INSIDE(slot, value, distance) exchange[half_ ^ 1][slot][clamp(lane + (distance), 0, 31)]
#define STORE_PIECE(goal, piece) *(GLOBAL piece_t *)(goal) = (piece)
#define STAGED(slot, r) (staged + ((slot) * 4 + (r)) * V)
""",
}


#: How lanes load a row: each its own samples.
_ROWS_BY_LANES = """\
#define BRING_ROW(slot, r, row) STAGE_PACK(STAGED(slot, r), (row) + lane * V, samples_t)
#define READ_ROW(goal, slot, r) UNROLL for (int c = 0; c < V; ++c) (goal)[c] = READ_SAMPLE(STAGED(slot, r)[c])
#undef SHARE
#define SHARE
"""

#: The same for lanes with two pieces: neighbours load pieces that are neighbours, and keep them where no two lanes
#: that read at the same time meet in a bank.
_ROWS_BY_PIECES = """\
#define POSITION(piece) ((piece) ^ ((piece) >> 3 & 1))
#define PIECE(slot, r, piece) (STAGED(slot, r) - lane * V + POSITION(piece) * E)
#define BRING_ROW(slot, r, row) \\
    UNROLL for (int j = 0; j < 2; ++j) \\
        STAGE_PACK(PIECE(slot, r, 32 * j + lane), (row) + (32 * j + lane) * E, piece_t)
#define READ_ROW(goal, slot, r) \\
    UNROLL for (int j = 0; j < 2; ++j) { \\
        const piece_t piece = *(LOCALLY piece_t *)PIECE(slot, r, 2 * lane + j); \\
        UNROLL for (int c = 0; c < E; ++c) (goal)[j * E + c] = READ_SAMPLE(piece.v[c]); \\
    }
"""
