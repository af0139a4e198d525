"""Kernel text of the sweep: a level of an image, or of one axis, in one pass over memory.

A group of 32 lanes owns a strip of columns and walks down the rows. Each lane holds a few adjacent pairs of columns;
steps along the row take what lies beyond from the neighbouring lanes, steps down the columns keep the last few pairs of
rows in registers. So each sample is read once and each coefficient written once; only strips overlap, by the reach of
the steps. The inverse is the same walk in a mirror.

The text knows the wavelet, the dtypes and how much a lane holds. Sizes and the boundary map come in a table of integers
and a table of numbers, so one text serves arrays of every size in every mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import indent
from typing import Literal

from subband.kernels.bands import (
    render_load_band_rows,
    render_load_bands,
    render_read_bands,
    render_store_bands,
)
from subband.kernels.columns import render_walk
from subband.kernels.dialects import LANES, Dialect
from subband.kernels.inner import render_inner_condition, render_inner_walk
from subband.kernels.mixtures import FIND_ENTRY, render_entries, render_mixture_tables
from subband.kernels.numbers import STORAGES, Storage, format_number
from subband.kernels.rows import render_row
from subband.kernels.samples import (
    MIXTURE,
    render_load_row,
    render_load_samples,
    render_read_samples,
    render_store_samples,
)
from subband.schedule.axis import AxisProgram
from subband.typing import Direction

__all__ = ["FIELDS", "Outside", "SweepSpec", "render_kernel", "render_sweep"]

#: What the table of integers begins with; then come the samples that the positions outside the rows, then those
#: outside the columns, are taken from. The table of numbers has three weights for each.
FIELDS = (
    "images",  # how many images there are
    "inner",  # how many of them lie interleaved in one
    "height",
    "width",
    "low_height",
    "high_height",
    "low_width",
    "high_width",
    "above",  # positions of the boundary map before the first row
    "below",
    "before",  # the same for columns
    "behind",
    "strips",  # how many lie side by side
    "chunk",  # pairs of rows that a group walks
    "chunks",  # how many groups, one below the other, walk so many
    "rest",  # pairs of rows that the groups below those walk
    "lead_rows",  # rows at the top, and at the bottom, that an adjoint mixes
    "tail_rows",
    "lead",  # the same for columns
    "tail",
)

#: What lies outside; see `SweepSpec`.
Outside = Literal["index", "mix", "terms"]


@dataclass(frozen=True)
class SweepSpec:
    """The parameters that determine the text of a sweep.

    Attributes
    ----------
    direction : {"forward", "inverse"}
        From samples to bands, or back.
    vertical, horizontal : AxisProgram or None
        What happens down the columns and along the rows; not both are None.
    samples, bands : str
        How they are stored, by the names of `subband.kernels.numbers.STORAGES`.
    pairs : int
        Pairs of columns in a lane.
    is_aligned : bool
        Whether a lane can load and store all it holds at once.
    channels : int
        Channels of a pixel, if a lane holds whole pixels.
    is_interleaved : bool
        Whether the images lie interleaved, as the channels of a pixel do, and are taken one by one.
    outside : {"index", "mix", "terms"}
        What a position outside the samples is: one of them as it is, or a weighted mixture of it and the outermost
        ones; or, for adjoints, any mixture, which may replace samples near the ends too.
    ahead : int
        Pairs of rows that are loaded before they are needed.
    block : int
        Groups in one block.
    is_large : bool
        Whether an image has more elements than an int can count.
    is_split : bool
        Whether strips that lie wholly inside the image have an interior fast path of their own, without bounds checks.
    """

    direction: Direction
    vertical: AxisProgram | None
    horizontal: AxisProgram | None
    samples: str
    bands: str
    pairs: int
    is_aligned: bool
    channels: int
    is_interleaved: bool
    outside: Outside
    ahead: int
    block: int
    is_large: bool
    is_split: bool

    @property
    def is_held_as_stored(self) -> bool:
        """Whether lanes keep samples, or coefficients, as they lie in memory, and not as numbers mixed from several."""
        stored = self.samples if self.direction == "forward" else self.bands
        return self.outside == "index" or stored in ("float32", "float64", "int32", "int64")

    @property
    def shift(self) -> int:
        """Bits by which samples are shifted up; both axes never are."""
        return sum(program.shift for program in (self.vertical, self.horizontal) if program is not None)

    @property
    def mixes(self) -> bool:
        """Whether some positions are mixtures, which another kernel makes first."""
        return self.outside == "terms"

    @property
    def columns(self) -> int:
        """Columns in a lane."""
        return 2 * self.pairs

    @property
    def elements(self) -> int:
        """Elements of a row in a lane."""
        return self.columns * self.channels

    @property
    def halo(self) -> tuple[int, int]:
        """Lanes at the left and at the right of a strip that only serve their neighbours."""
        if self.horizontal is None:
            return 0, 0
        schedule = self.horizontal.schedule
        left, right = -(min(schedule.first, 0) // self.pairs), -(-max(schedule.last, 0) // self.pairs)
        # a strip whose bands begin on a sector of 32 bytes writes whole sectors
        sector = max(1, 32 // (self.pairs * self.channels * STORAGES[self.bands].size))
        spare = (LANES - left - right) % sector
        if left + right + spare <= LANES // 2:
            left, right = left + spare // 2, right + spare - spare // 2
        return left, right

    @property
    def useful(self) -> int:
        """Lanes of a strip that have results."""
        return LANES - sum(self.halo)


def render_sweep(spec: SweepSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``."""
    return render_kernel(spec, dialect, _render_forward(spec) if spec.direction == "forward" else _render_inverse(spec))


def render_kernel(spec: SweepSpec, dialect: Dialect, body: str, *, is_mixing: bool = False) -> str:
    """Return the source of a kernel that does `body` for each image; `is_mixing` if it makes what a sweep reads."""
    samples = "" if spec.direction == "inverse" and not is_mixing else "const "
    bands = "" if spec.direction == "forward" and not is_mixing else "const "
    mixtures = "" if is_mixing else "const "
    frame = f"""\
KERNEL void sweep(GLOBAL {samples}sample_t *RESTRICT x, GLOBAL {bands}band_t *RESTRICT aa,
                  GLOBAL {bands}band_t *RESTRICT ad, GLOBAL {bands}band_t *RESTRICT da,
                  GLOBAL {bands}band_t *RESTRICT dd, {f"GLOBAL {mixtures}T *RESTRICT made, " * spec.mixes}
                  GLOBAL const int *RESTRICT table, GLOBAL const T *RESTRICT weights)
{{
    const int images = table[AT_IMAGES], inner = table[AT_INNER];
    const int height = table[AT_HEIGHT], width = table[AT_WIDTH];
    const int low_height = table[AT_LOW_HEIGHT], high_height = table[AT_HIGH_HEIGHT];
    const int low_width = table[AT_LOW_WIDTH], high_width = table[AT_HIGH_WIDTH];
    const int above = table[AT_ABOVE], below = table[AT_BELOW], before = table[AT_BEFORE], behind = table[AT_BEHIND];
{indent(render_mixture_tables(spec) if spec.mixes else _MAPS, "    ")}
{indent("" if is_mixing else _render_group(spec), "    ")}
    for (int image = GROUP_Z; image < images; image += GROUPS_Z) {{
        const size_t outer_image = image / (INNER / C), inner_image = image % (INNER / C);
        GLOBAL {samples}sample_t *image_at = x + outer_image * height * width * INNER + inner_image;
        GLOBAL {bands}band_t *image_aa = aa + outer_image * low_height * low_width * INNER + inner_image;
        GLOBAL {bands}band_t *image_ad = ad + outer_image * low_height * high_width * INNER + inner_image;
        GLOBAL {bands}band_t *image_da = da + outer_image * high_height * low_width * INNER + inner_image;
        GLOBAL {bands}band_t *image_dd = dd + outer_image * high_height * high_width * INNER + inner_image;
        {f"GLOBAL {mixtures}T *image_made = made + outer_image * mixtures * INNER + inner_image;" * spec.mixes}
{indent(body, " " * 8)}
    }}
}}
"""
    outside = {"index": "", "mix": MIXTURE, "terms": FIND_ENTRY}[spec.outside]
    uses_doubles = "float64" in (spec.samples, spec.bands)
    return "\n".join([dialect.begin(uses_doubles=uses_doubles), _render_types(spec), _FIND_OUTSIDE, outside, frame])


def _render_group(spec: SweepSpec) -> str:
    """Return the lines that find which strip a group walks, and from where to where."""
    return f"""\
{f"STAGES({spec.ahead + 1})" if spec.vertical is not None else ""}
EXCHANGE(V)
const int lane = LANE;
const int strip = GROUP_X % table[AT_STRIPS], part = GROUP_X / table[AT_STRIPS];
const int chunks = table[AT_CHUNKS], chunk = part < chunks ? table[AT_CHUNK] : table[AT_REST];
const int start = min(part, chunks) * table[AT_CHUNK] + max(part - chunks, 0) * chunk;
const bool is_useful = lane >= HALO && lane < HALO + USEFUL;"""


def _render_types(spec: SweepSpec) -> str:
    samples, bands = STORAGES[spec.samples], STORAGES[spec.bands]
    stored = "sample_t" if spec.direction == "forward" else "band_t"
    held = stored if spec.is_held_as_stored else "T"
    lines = [
        f"typedef {bands.number} T;",
        f"typedef {samples.word} sample_t;",
        f"typedef {bands.word} band_t;",
        f"typedef {held} held_t;",
        f"typedef {'wide_t' if spec.is_large else 'int'} offset_t;",
        *_define_samples(samples, spec.shift),
        f"#define READ_BAND(v) {bands.read}",
        f"#define WRITE_BAND(v) {bands.write}",
        f"#define C {spec.channels}",
        f"#define P {spec.pairs * spec.channels}",
        f"#define V {spec.elements}",
        f"#define PAIRS {spec.pairs}",
        f"#define USEFUL {spec.useful}",
        f"#define HALO {spec.halo[0]}",
        f"#define BLOCK {spec.block}",
        f"#define INNER {'inner' if spec.is_interleaved else spec.channels}",
        "#define OFFSET(k) ((offset_t)((k) / C) * INNER + (k) % C)",
        f"typedef struct ALIGN({_find_alignment(samples.size * spec.elements)}) {{ sample_t v[V]; }} samples_t;",
        f"typedef struct ALIGN({_find_alignment(bands.size * spec.elements)}) {{ band_t v[V]; }} bands_t;",
        f"typedef struct ALIGN({_find_alignment(bands.size * spec.elements // 2)}) {{ band_t v[P]; }} pairs_t;",
    ]
    lines += [f"#define AT_{name.upper()} {index}" for index, name in enumerate(FIELDS)]
    lines.append(f"#define AT_MAP {len(FIELDS)}")
    return "\n".join(lines) + "\n"


def _define_samples(samples: Storage, shift: int) -> list[str]:
    """Return the macros that turn samples into numbers and back, which may be shifted up by some bits in between."""
    if not shift:
        return [f"#define READ_SAMPLE(v) {samples.read}", f"#define WRITE_SAMPLE(v) {samples.write}"]
    return [
        f"#define READ_SAMPLE(v) ({samples.read} * {1 << shift})",
        f"#define CLIP_SAMPLE(v) {samples.write}",
        f"#define WRITE_SAMPLE(v) CLIP_SAMPLE((((v) + {(1 << shift) >> 1}) >> {shift}))",
    ]


def _find_alignment(size: int) -> int:
    """Return the largest power of two that divides a size, up to what is loaded at once."""
    return min(16, size & -size)


_FIND_OUTSIDE = """\
// which entry of the boundary map belongs to a position; -1 if it lies inside, or so far outside that nobody needs it
DEVICE int find_outside(int i, int n, int before, int behind)
{
    int k = i < 0 ? i + before : i - n + before;
    return (i >= 0 && i < n) || k < 0 || k >= before + behind ? -1 : k;
}

// where a position is found; -1 if it is zero, or nobody needs it
SELDOM int find_source(int i, int n, int before, int behind, GLOBAL const int *map)
{
    if (i >= 0 && i < n) return i;
    int k = find_outside(i, n, before, behind);
    return k < 0 ? -1 : map[k];
}
"""

_MAPS = """\
GLOBAL const int *row_map = table + AT_MAP, *column_map = row_map + above + below;
GLOBAL const T *row_weights = weights, *column_weights = weights + 3 * (above + below);"""


def _render_columns(spec: SweepSpec) -> str:
    """Return the lines that compute which columns a lane holds."""
    if spec.horizontal is None:
        return """\
const int column = (strip * 32 + lane) * 2 * PAIRS;
const bool is_strip_inside = (strip + 1) * 32 * 2 * PAIRS <= width;"""
    lines = [
        "const int first_pair = (strip * USEFUL - HALO) * PAIRS, end_pair = first_pair + 32 * PAIRS;",
        "const int pair = first_pair + lane * PAIRS;",
    ]
    even, odd = spec.horizontal.even, spec.horizontal.odd
    if spec.direction == "forward":
        lines.append(f"const int column = 2 * pair + {even};")
        lines.append(f"const bool is_strip_inside = first_pair >= 0 && 2 * end_pair + {even} <= width;")
    else:
        lines.append(
            f"const int column = 2 * pair, low_at = pair + ({even // 2}), high_at = pair + ({(odd - 1) // 2});"
        )
        lines.append(f"const bool is_strip_inside = first_pair + ({min(even // 2, (odd - 1) // 2)}) >= 0")
        lines.append(f"    && end_pair + ({even // 2}) <= low_width && end_pair + ({(odd - 1) // 2}) <= high_width")
        lines.append("    && 2 * end_pair <= width;")
    if spec.mixes:
        length = "width" if spec.direction == "forward" else "low_width + high_width"
        lines[-1] = lines[-1].removesuffix(";")
        lines.append(f"    && 2 * first_pair + ({min(even, odd)}) >= lead")
        lines.append(f"    && 2 * end_pair + ({max(even, odd) - 2}) < {length} - tail;")
    return "\n".join(lines)


def _render_sources(spec: SweepSpec) -> str:
    """Return the lines that find, once for all rows, where a lane at the border takes its columns from."""
    if spec.horizontal is None:
        return (
            "int source[2 * PAIRS];\n"
            "UNROLL for (int c = 0; c < 2 * PAIRS; ++c) source[c] = column + c < width ? column + c : -1;"
        )
    if spec.mixes:
        return render_entries(spec)
    if spec.direction == "forward":
        lines = """\
int source[2 * PAIRS];
UNROLL for (int c = 0; c < 2 * PAIRS; ++c) source[c] = find_source(column + c, width, before, behind, column_map);"""
        if spec.outside == "mix":
            lines += "\nconst bool is_outside = column < 0 || column + 2 * PAIRS > width;"
        return lines
    even, odd = spec.horizontal.even, spec.horizontal.odd
    return f"""\
int source[2 * PAIRS];
UNROLL for (int k = 0; k < PAIRS; ++k) {{
    const int i = 2 * (pair + k), count = low_width + high_width;
    source[k] = find_source(i + ({even}), count, before, behind, column_map);
    source[PAIRS + k] = find_source(i + ({odd}), count, before, behind, column_map);
}}"""


def _render_ways(spec: SweepSpec, border: str, inner: str) -> str:
    """Return the code path for border strips, which serves all, and the interior fast path if the sweep is split."""
    border = f"{_render_sources(spec)}\n{border}"
    if not spec.is_split:
        return border
    condition = "is_strip_inside" if spec.vertical is None else render_inner_condition(spec)
    return f"""\
if ({condition}) {{
{indent(inner, "    ")}
}} else {{
{indent(border, "    ")}
}}"""


def _render_forward(spec: SweepSpec) -> str:
    number = STORAGES[spec.bands].number
    vertical = spec.vertical
    read, along = render_read_samples(spec), render_row(spec, "u")
    along_inside = render_row(spec, "u", is_inside=True)

    def render_rows(*, is_inside: bool) -> str:
        return f"""\
for (int n = start; n < stop; ++n) {{
    T u[V];
    held_t held[V];
    GLOBAL const sample_t *row = image_at + (offset_t)n * width * INNER;
{indent(render_load_row(spec, is_inside=is_inside, is_staged=False), "    ")}
{indent(read, "    ")}
{indent(along_inside if is_inside else along, "    ")}
{indent(render_store_bands(spec, "u", ("aa", "ad"), 1.0, is_inside=is_inside), "    ")}
}}"""

    if vertical is None:
        border, inner = render_rows(is_inside=False), render_rows(is_inside=True)
    else:
        first, second = vertical.factors
        emit = f"""\
if (n >= start) {{
{indent(render_store_bands(spec, "p", ("aa", "ad"), first, is_inside=False), "    ")}
}}
if (n >= start && n < high_height) {{
{indent(render_store_bands(spec, "q", ("da", "dd"), second, is_inside=False), "    ")}
}}"""
        both = "\n".join(f"{{ T *u = rows[{m}][0];\n{along}\n}}" for m in (0, 1)) if along else ""
        load = render_load_samples(spec)
        border = render_walk(vertical, number, spec.ahead, load=load, read=(read, read), along=both, emit=emit)
        inner = render_inner_walk(spec)
    return f"""\
{_render_columns(spec)}
const int stop = min(start + chunk, {"low_height" if vertical is not None else "height"});
if (stop <= start) return;
{_render_ways(spec, border, inner)}"""


def _render_inverse(spec: SweepSpec) -> str:
    number = STORAGES[spec.bands].number
    vertical = spec.vertical

    def render_rows(*, is_inside: bool) -> str:
        return f"""\
for (int n = start; n < stop; ++n) {{
    T u[V];
    held_t held[V];
    GLOBAL const band_t *low = image_aa + (offset_t)n * low_width * INNER;
    GLOBAL const band_t *high = image_ad + (offset_t)n * high_width * INNER;
{indent(render_load_bands(spec, is_inside=is_inside, is_staged=False), "    ")}
{indent(render_read_bands(spec, 1.0), "    ")}
{indent(render_row(spec, "u", is_inside=is_inside), "    ")}
    GLOBAL sample_t *row = image_at + (offset_t)n * width * INNER;
{indent(render_store_samples(spec, "u", is_inside=is_inside), "    ")}
}}"""

    if vertical is None:
        border, inner = render_rows(is_inside=False), render_rows(is_inside=True)
    else:
        emit = []
        for member, name in enumerate("pq"):
            factor = vertical.factors[member]
            if factor != 1:
                emit.append(f"UNROLL for (int c = 0; c < V; ++c) {name}[c] *= {format_number(factor, number)};")
            # the exchange needs all lanes: only the store asks whether there is such a row
            emit.append(f"""\
{render_row(spec, name)}
if (n >= start && 2 * n + {member} < height) {{
    GLOBAL sample_t *row = image_at + (offset_t)(2 * n + {member}) * width * INNER;
{indent(render_store_samples(spec, name, is_inside=False), "    ")}
}}""")
        first, second = vertical.scales
        read = render_read_bands(spec, first), render_read_bands(spec, second)
        load = render_load_band_rows(spec)
        border = render_walk(vertical, number, spec.ahead, load=load, read=read, along="", emit="\n".join(emit))
        inner = render_inner_walk(spec)
    return f"""\
{_render_columns(spec)}
const int stop = min(start + chunk, {"(height + 1) / 2" if vertical is not None else "height"});
if (stop <= start) return;
{_render_ways(spec, border, inner)}"""
