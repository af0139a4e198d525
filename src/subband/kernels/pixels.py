"""Pixels of any dtype to planes and back, and numbers from one precision to another.

Those that video has, in eight or sixteen bits with planes in single precision, have faster kernels in
`subband.kernels.pointwise`, one for each matrix. These take any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import Dialect
from subband.kernels.numbers import STORAGES, Storage, spell

__all__ = ["PixelSpec", "render_narrowing", "render_pixels"]


@dataclass(frozen=True)
class PixelSpec:
    """All that the text of such a kernel depends on.

    Attributes
    ----------
    task : {"planes", "pixels"}
        Pixels to planes, or planes to pixels.
    pixels, planes : str
        How they are stored.
    """

    task: Literal["planes", "pixels"]
    pixels: str
    planes: str

    @property
    def number(self) -> str:
        """The C type that is computed in."""
        return "double" if "float64" in (self.pixels, self.planes) else "float"


def render_pixels(spec: PixelSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    Its arguments are the pixels, the planes, a table and a matrix. The table holds how many pixels there are, their
    channels, and whether the matrix counts; without it channels stay as they are.
    """
    pixels, planes = STORAGES[spec.pixels], STORAGES[spec.planes]
    sides = [(pixels, "pixels[item * channels + {}]"), (planes, "planes[{} * count + item]")]
    (source, read), (goal, written) = sides if spec.task == "planes" else sides[::-1]
    qualifiers = ("const ", "") if spec.task == "planes" else ("", "const ")
    return f"""{dialect.begin(uses_doubles=spec.number == "double")}
typedef {spec.number} T;
typedef {pixels.word} pixel_t;
typedef {planes.word} plane_t;

KERNEL void sweep(GLOBAL {qualifiers[0]}pixel_t *RESTRICT pixels, GLOBAL {qualifiers[1]}plane_t *RESTRICT planes,
                  GLOBAL const wide_t *RESTRICT table, GLOBAL const T *RESTRICT matrix)
{{
    const size_t count = table[0];
    const int channels = table[1];
    for (size_t item = ITEM_X; item < count; item += ITEMS_X) {{
        for (int to = 0; to < channels; ++to) {{
            T value = 0;
            if (table[2]) {{
                for (int from = 0; from < channels; ++from)
                    value += matrix[to * channels + from] * {_read(source, read.format("from"))};
            }} else {{
                value = {_read(source, read.format("to"))};
            }}
            {written.format("to")} = {_write(goal, "value", spec.number)};
        }}
    }}
}}
"""


def render_narrowing(dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep`` that turns numbers of double precision into single precision.

    It does so by their bits, because devices without double precision are given such numbers too. Its arguments are the
    wide numbers, the narrow ones and a table of how many.
    """
    return f"""{dialect.begin()}
KERNEL void sweep(GLOBAL const uint *RESTRICT wide, GLOBAL float *RESTRICT narrow, GLOBAL const wide_t *RESTRICT table)
{{
    const size_t count = table[0];
    for (size_t item = ITEM_X; item < count; item += ITEMS_X) {{
        const uint low = wide[2 * item], high = wide[2 * item + 1];
        const int exponent = (int)(high >> 20 & 2047) - 1023;
        // 24 bits and one to round by; of those below it only matters whether there are any
        const uint mantissa = (1u << 24 | (high & 0xfffff) << 4 | low >> 28);
        float size = ldexp((float)((mantissa << 1) | ((low & 0xfffffff) != 0)), exponent - 25);
        if (exponent == -1023) size = 0;
        if (exponent == 1024) size = bits_float((mantissa & 0xffffff) || low ? 0x7fc00000u : 0x7f800000u);
        narrow[item] = high >> 31 ? -size : size;
    }}
}}
"""


def _read(storage: Storage, place: str) -> str:
    return "(T)" + storage.read.replace("(v)", f"({place})")


def _write(storage: Storage, value: str, number: str) -> str:
    """Write a number as an element: integers to the nearest, halves up, and nothing beyond their range."""
    if storage.name.startswith("uint"):
        most, half = spell(2 ** (8 * storage.size) - 1, number), spell(0.5, number)
        return f"({storage.word})(fmin(fmax({value}, (T)0), {most}) + {half})"
    return f"float_to_half((float){value})" if storage.name == "float16" else f"({storage.word}){value}"
