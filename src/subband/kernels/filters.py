"""Kernel text of filters: shrink, cut out, convolve, sharpen; each sample by itself, or with others at fixed offsets.

Arrays are planes of depth × height × width; axes that a plane does not have are one sample long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import Dialect
from subband.kernels.numbers import STORAGES

__all__ = ["FACTORS", "MIRROR", "FilterSpec", "begin_filter", "render_filter"]

#: What a coefficient of magnitude ``m`` is multiplied by; the formulae of `subband.threshold` and `threshold_firm`.
#: ``fmax`` turns the NaN of zero divided by zero into zero.
FACTORS = {
    "none": "1",
    "hard": "(m < low ? 0 : 1)",
    "soft": "fmax(1 - low / m, (T)0)",
    "garrote": "fmax(1 - (low / m) * (low / m), (T)0)",
    "firm": "(m > high ? 1 : fmax(1 - low / m, (T)0) * steepness)",
}

#: Where a sample outside is found: the image is mirrored with its last sample repeated, for ever.
MIRROR = """\
DEVICE int mirror(int i, int n)
{
    if (i >= 0 && i < n) return i;
    i %= 2 * n;
    if (i < 0) i += 2 * n;
    return i < n ? i : 2 * n - 1 - i;
}
"""

#: The same with the last sample not repeated.
_REFLECT = """\
DEVICE int reflect(int i, int n)
{
    if (i >= 0 && i < n) return i;
    if (n == 1) return 0;
    i %= 2 * (n - 1);
    if (i < 0) i += 2 * (n - 1);
    return i < n ? i : 2 * (n - 1) - i;
}
"""


@dataclass(frozen=True)
class FilterSpec:
    """The parameters that determine the text of a filter kernel.

    Attributes
    ----------
    task : {"shrink", "wiener", "take", "add", "spin", "average", "convolve", "laplacian"}
        What is done.
    storage : str
        How the planes are stored.
    each : int
        Coefficients that a lane shrinks at a time, 1 or 4; those of a plane must be a multiple of it.
    mode : str
        Which of `FACTORS` shrinks.
    bands : int
        How many bands are shrunk at once.
    """

    task: Literal["shrink", "wiener", "take", "add", "spin", "average", "convolve", "laplacian"]
    storage: str
    each: int = 1
    mode: str = "none"
    bands: int = 1


def render_filter(spec: FilterSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    The third direction of every launch counts planes. The arguments are

    ``shrink``
        the bands, which the second direction counts; a table of the planes, whether there are upper thresholds and
        gains, and how many times ``each`` coefficients a plane of each band has; and thresholds, upper thresholds and
        gains, one for each plane of each band
    ``wiener``
        the band, the guide, a table of how many times ``each`` coefficients a plane has and of the planes, the gain of
        the band and the noise of each plane
    ``take`` and ``add``
        planes; the part of them, which lies at ``begin`` and is reflected where it lies outside; a table of the planes,
        the sizes of the planes, those of the part and ``begin``; and a weight
    ``spin``
        the same, but for the table, whose planes are those of the part: twice as many, of which the second half begins
        at ``begin``, and the first with the planes
    ``average``
        planes, others, their mean, a table of the planes, the sizes of all three and where the others begin
    ``convolve``
        planes, the result, a table of the planes, sizes, the axis, its length, the distance of neighbours along it and
        the reach; and the taps
    ``laplacian``
        planes, the result, a table of the planes and sizes; and the amount times the weights of the centre, of the
        neighbours above and below, of those left and right, and of those across.
    """
    return _RENDERERS[spec.task](spec, dialect)


def begin_filter(dialect: Dialect, name: str, *, each: int = 1) -> str:
    """Return what the texts of filters begin with: how planes are stored, read and written, `each` at a time."""
    storage = STORAGES[name]
    return f"""{dialect.begin(uses_doubles=storage.number == "double")}
typedef {storage.number} T;
typedef {storage.word} stored_t;
typedef struct ALIGN({storage.size * each}) {{ stored_t v[{each}]; }} run_t;
#define READ(v) {storage.read}
#define WRITE(v) {storage.write}
"""


def _render_shrink(spec: FilterSpec, dialect: Dialect) -> str:
    names = [f"band{number}" for number in range(spec.bands)]
    arguments = ", ".join(f"GLOBAL run_t *RESTRICT {name}" for name in names)
    chosen = " : ".join([*(f"band == {number} ? {name}" for number, name in enumerate(names[:-1])), names[-1]])
    return f"""{begin_filter(dialect, spec.storage, each=spec.each)}
KERNEL void sweep({arguments}, GLOBAL const wide_t *RESTRICT table,
                  GLOBAL const T *thresholds, GLOBAL const T *uppers, GLOBAL const T *gains)
{{
    const int planes = table[0], band = GROUP_Y;
    const size_t count = table[3 + band];
    for (int plane = GROUP_Z; plane < planes; plane += GROUPS_Z) {{
        const int own = band * planes + plane;
        GLOBAL run_t *const x = ({chosen}) + plane * count;
        const T low = thresholds[own], high = table[1] ? uppers[own] : low;
        const T steepness = high == low ? 0 : isinf(high) ? 1 : high / (high - low);
        const T gain = table[2] ? gains[own] : 1;
        for (size_t item = ITEM_X; item < count; item += ITEMS_X) {{
            run_t run = x[item];
            UNROLL for (int k = 0; k < {spec.each}; ++k) {{
                const T value = READ(run.v[k]), m = fabs(value);
                const T shrunk = value * {FACTORS[spec.mode]} * gain;
                run.v[k] = WRITE(shrunk);
            }}
            x[item] = run;
        }}
    }}
}}
"""


def _render_wiener(spec: FilterSpec, dialect: Dialect) -> str:
    return f"""{begin_filter(dialect, spec.storage, each=spec.each)}
KERNEL void sweep(GLOBAL run_t *band, GLOBAL const run_t *guide, GLOBAL const wide_t *RESTRICT table,
                  GLOBAL const T *RESTRICT values, GLOBAL const T *RESTRICT noise)
{{
    const size_t count = table[0];
    const int planes = table[1];
    for (int plane = GROUP_Z; plane < planes; plane += GROUPS_Z) {{
        const T n = noise[plane] * values[0], variance = n * n;
        for (size_t item = ITEM_X; item < count; item += ITEMS_X) {{
            run_t run = band[plane * count + item];
            const run_t beside = guide[plane * count + item];
            UNROLL for (int k = 0; k < {spec.each}; ++k) {{
                const T g = READ(beside.v[k]), energy = g * g;
                const T shrunk = READ(run.v[k]) * (variance == 0 ? 1 : energy / (energy + variance));
                run.v[k] = WRITE(shrunk);
            }}
            band[plane * count + item] = run;
        }}
    }}
}}
"""


def _walk(body: str) -> str:
    """Write the loops over planes, rows and columns of an array of depth × height × width."""
    return f"""
    for (int plane = GROUP_Z; plane < planes; plane += GROUPS_Z) {{
        for (int row = GROUP_Y; row < depth * height; row += GROUPS_Y) {{
            const int z = row / height, y = row - z * height;
            {body}
        }}
    }}
"""


def _render_part(spec: FilterSpec, dialect: Dialect) -> str:
    addend = "READ(goal[x]) + " if spec.task == "add" else ""
    begin = "const int from = plane, shift_z = begin[0], shift_y = begin[1], first = begin[2];"
    if spec.task == "spin":
        begin = """const bool is_moved = plane >= planes / 2;
            const int from = is_moved ? plane - planes / 2 : plane, first = is_moved ? begin[2] : 0;
            const int shift_z = is_moved ? begin[0] : 0, shift_y = is_moved ? begin[1] : 0;"""
    body = f"""
            {begin}
            GLOBAL const stored_t *const source = samples
                + (((size_t)from * sizes[0] + reflect(z + shift_z, sizes[0])) * sizes[1]
                   + reflect(y + shift_y, sizes[1])) * sizes[2];
            GLOBAL stored_t *const goal = part + ((size_t)plane * depth * height + row) * width;
            for (int x = ITEM_X; x < width; x += ITEMS_X) {{
                const T value = {addend}weight * READ(source[reflect(x + first, last)]);
                goal[x] = WRITE(value);
            }}"""
    return f"""{begin_filter(dialect, spec.storage)}{_REFLECT}
KERNEL void sweep(GLOBAL const stored_t *RESTRICT samples, GLOBAL stored_t *RESTRICT part,
                  GLOBAL const wide_t *RESTRICT table, GLOBAL const T *RESTRICT values)
{{
    const int planes = table[0], depth = table[4], height = table[5], width = table[6];
    const int last = table[3];
    GLOBAL const wide_t *const sizes = table + 1;
    GLOBAL const wide_t *const begin = table + 7;
    const T weight = values[0];
    {_walk(body)}
}}
"""


def _render_average(spec: FilterSpec, dialect: Dialect) -> str:
    body = """
            GLOBAL const stored_t *const a = samples
                + (((size_t)plane * sizes[0] + z) * sizes[1] + y) * sizes[2];
            GLOBAL const stored_t *const b = others + begin[2]
                + (((size_t)plane * sizes[3] + z + begin[0]) * sizes[4] + y + begin[1]) * sizes[5];
            GLOBAL stored_t *const goal = result + ((size_t)plane * depth * height + row) * width;
            for (int x = ITEM_X; x < width; x += ITEMS_X) {
                const T value = (READ(a[x]) + READ(b[x])) / 2;
                goal[x] = WRITE(value);
            }"""
    return f"""{begin_filter(dialect, spec.storage)}
KERNEL void sweep(GLOBAL const stored_t *RESTRICT samples, GLOBAL const stored_t *RESTRICT others,
                  GLOBAL stored_t *RESTRICT result, GLOBAL const wide_t *RESTRICT table)
{{
    const int planes = table[0], depth = table[7], height = table[8], width = table[9];
    GLOBAL const wide_t *const sizes = table + 1;
    GLOBAL const wide_t *const begin = table + 10;
    {_walk(body)}
}}
"""


def _render_convolution(spec: FilterSpec, dialect: Dialect) -> str:
    body = """
            for (int x = ITEM_X; x < width; x += ITEMS_X) {
                const int at = axis == 0 ? z : axis == 1 ? y : x;
                const size_t offset = ((size_t)plane * depth * height + row) * width + x;
                T total = 0;
                if (at >= reach && at < length - reach) {
                    GLOBAL const stored_t *source = samples + offset + reach * stride;
                    for (int k = 0; k <= 2 * reach; ++k, source -= stride) total += taps[k] * READ(*source);
                } else {
                    GLOBAL const stored_t *const source = samples + (offset - at * stride);
                    for (int k = 0; k <= 2 * reach; ++k)
                        total += taps[k] * READ(source[mirror(at + reach - k, length) * stride]);
                }
                result[offset] = WRITE(total);
            }"""
    return f"""{begin_filter(dialect, spec.storage)}{MIRROR}
KERNEL void sweep(GLOBAL const stored_t *RESTRICT samples, GLOBAL stored_t *RESTRICT result,
                  GLOBAL const wide_t *RESTRICT table, GLOBAL const T *RESTRICT taps)
{{
    const int planes = table[0], depth = table[1], height = table[2], width = table[3];
    const int axis = table[4], length = table[5], reach = table[7];
    const wide_t stride = table[6];
    {_walk(body)}
}}
"""


def _render_laplacian(spec: FilterSpec, dialect: Dialect) -> str:
    body = """
            GLOBAL const stored_t *const middle = samples + ((size_t)plane * depth * height + row) * width;
            GLOBAL const stored_t *const above = y > 0 ? middle - width : middle;
            GLOBAL const stored_t *const below = y < height - 1 ? middle + width : middle;
            GLOBAL stored_t *const goal = result + (middle - samples);
            for (int x = ITEM_X; x < width; x += ITEMS_X) {
                const int left = max(x - 1, 0), right = min(x + 1, width - 1);
                const T value = READ(middle[x]);
                const T beside = values[1] * (READ(above[x]) + READ(below[x]))
                    + values[2] * (READ(middle[left]) + READ(middle[right]));
                const T across = READ(above[left]) + READ(above[right]) + READ(below[left]) + READ(below[right]);
                const T sharper = value - (values[0] * value + beside + values[3] * across);
                goal[x] = WRITE(sharper);
            }"""
    return f"""{begin_filter(dialect, spec.storage)}
KERNEL void sweep(GLOBAL const stored_t *RESTRICT samples, GLOBAL stored_t *RESTRICT result,
                  GLOBAL const wide_t *RESTRICT table, GLOBAL const T *RESTRICT values)
{{
    const int planes = table[0], depth = table[1], height = table[2], width = table[3];
    {_walk(body)}
}}
"""


_RENDERERS: dict[str, Callable[[FilterSpec, Dialect], str]] = {
    "shrink": _render_shrink,
    "wiener": _render_wiener,
    "take": _render_part,
    "add": _render_part,
    "spin": _render_part,
    "average": _render_average,
    "convolve": _render_convolution,
    "laplacian": _render_laplacian,
}
