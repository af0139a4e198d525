"""Kernel text of conversions: interleaved pixels to planes and back, and numbers from one precision to another.

One text takes pixels of any dtype. Those that video has, in eight or sixteen bits with planes in single precision, have
a faster one, in which the matrix stands as constants and words of four bytes are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import Dialect
from subband.kernels.numbers import STORAGES, Storage, format_number

__all__ = ["PackedPixelSpec", "PixelSpec", "render_narrowing", "render_packed_pixels", "render_pixels"]


@dataclass(frozen=True)
class PixelSpec:
    """The parameters that determine the text of a pixel conversion kernel.

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


@dataclass(frozen=True)
class PackedPixelSpec:
    """The parameters that determine the text of a conversion kernel for frames of video.

    Attributes
    ----------
    task : {"planes", "pixels"}
        Pixels to planes, or planes to pixels.
    storage : {"uint8", "uint16"}
        How pixels are stored; planes are float32.
    channels : int
        Of a pixel.
    each : int
        Pixels that a lane takes at a time, 1 or 4; their number must be a multiple of it.
    matrix : tuple of tuple of float
        Turns the channels of a pixel into planes, or the planes into channels; empty if they stay as they are.
    """

    task: Literal["planes", "pixels"]
    storage: str
    channels: int = 1
    each: int = 1
    matrix: tuple[tuple[float, ...], ...] = ()


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


def render_packed_pixels(spec: PackedPixelSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep`` that reads or writes a few pixels at a time.

    Its arguments are the pixels, the planes and a table that holds how many times ``each`` pixels there are.
    """
    storage = STORAGES[spec.storage]
    channels, each = spec.channels, spec.each
    pack = _Pack(storage, channels * each)
    names = [[f"x{channel}_{k}" for channel in range(channels)] for k in range(each)]
    sums = [_format_sums(spec.matrix, row) for row in names]
    planes = [f"planes[item + {channel} * count]" for channel in range(channels)]
    if spec.task == "planes":
        reads = [name for row in names for name in row]
        lines = ["const pack_t pack = pixels[item];"]
        lines += [f"const float {name} = {pack.read(index)};" for index, name in enumerate(reads)]
        lines.append("run_t run;")
        for channel, plane in enumerate(planes):
            lines += [f"run.v[{k}] = {sums[k][channel]};" for k in range(each)]
            lines.append(f"{plane} = run;")
        qualifiers = ("const ", "")
    else:
        lines = [f"const run_t run{channel} = {plane};" for channel, plane in enumerate(planes)]
        lines += [
            f"const float {row[channel]} = run{channel}.v[{k}];"
            for k, row in enumerate(names)
            for channel in range(channels)
        ]
        lines.append("pack_t pack;")
        lines += pack.write([total for row in sums for total in row])
        lines.append("pixels[item] = pack;")
        qualifiers = ("", "const ")
    body = "\n        ".join(lines)
    return f"""{dialect.begin()}
typedef {pack.definition} pack_t;
typedef struct ALIGN({4 * each}) {{ float v[{each}]; }} run_t;
#define WRITE(v) {storage.write}

KERNEL void sweep(GLOBAL {qualifiers[0]}pack_t *RESTRICT pixels, GLOBAL {qualifiers[1]}run_t *RESTRICT planes,
                  GLOBAL const wide_t *RESTRICT table)
{{
    const size_t count = table[0];
    for (size_t item = ITEM_X; item < count; item += ITEMS_X) {{
        {body}
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


def _read(storage: Storage, value: str) -> str:
    return "(T)" + storage.read.replace("(v)", f"({value})")


def _write(storage: Storage, value: str, number: str) -> str:
    """Write a number as an element: integers to the nearest, halves up, and nothing beyond their range."""
    if storage.name.startswith("uint"):
        most, half = format_number(2 ** (8 * storage.size) - 1, number), format_number(0.5, number)
        return f"({storage.word})(fmin(fmax({value}, (T)0), {most}) + {half})"
    return f"float_to_half((float){value})" if storage.name == "float16" else f"({storage.word}){value}"


def _format_sums(matrix: tuple[tuple[float, ...], ...], names: list[str]) -> list[str]:
    """Write each row of a matrix times a vector."""
    if not matrix:
        return names
    return [
        " + ".join(f"{format_number(weight, 'float')} * {name}" for weight, name in zip(row, names, strict=True))
        for row in matrix
    ]


class _Pack:
    """Samples that a lane reads or writes at once: in words of four bytes if they fill some, else one by one."""

    def __init__(self, storage: Storage, count: int) -> None:
        self._bits = 8 * storage.size
        size = storage.size * count
        self._in_word = 4 // storage.size if size % 4 == 0 else 1
        word, alignment = ("uint", 8 if size % 8 == 0 else 4) if self._in_word > 1 else (storage.word, storage.size)
        self.definition = f"struct ALIGN({alignment}) {{ {word} w[{count // self._in_word}]; }}"

    def read(self, index: int) -> str:
        """Write the sample at an index as a number."""
        if self._in_word == 1:
            return f"(float)pack.w[{index}]"
        word, part = divmod(index, self._in_word)
        return f"(float)(pack.w[{word}] >> {part * self._bits} & {(1 << self._bits) - 1}u)"

    def write(self, values: list[str]) -> list[str]:
        """Write the lines that round and clip numbers to samples, and pack these."""
        samples = [f"WRITE(({value}))" for value in values]
        if self._in_word == 1:
            return [f"pack.w[{index}] = {sample};" for index, sample in enumerate(samples)]
        words = [samples[index : index + self._in_word] for index in range(0, len(samples), self._in_word)]
        return [
            f"pack.w[{index}] = "
            + " | ".join(f"(uint){sample} << {k * self._bits}" for k, sample in enumerate(word))
            + ";"
            for index, word in enumerate(words)
        ]
