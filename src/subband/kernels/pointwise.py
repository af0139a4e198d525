"""What pipelines do to each pixel and each coefficient by itself: colour, thresholds and gains.

One kernel turns interleaved pixels into planes of numbers, one turns planes back into pixels, and one shrinks the three
bands of a level where they lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import Dialect
from subband.kernels.numbers import STORAGES, Storage, spell

__all__ = ["FACTORS", "PointwiseSpec", "render_pointwise"]

#: What a coefficient of magnitude ``m`` is multiplied by; the formulae of `subband.threshold` and `threshold_firm`.
#: ``fmax`` turns the NaN of zero divided by zero into zero.
FACTORS = {
    "none": "1",
    "hard": "(m < low ? 0 : 1)",
    "soft": "fmax(1 - low / m, (T)0)",
    "garrote": "fmax(1 - (low / m) * (low / m), (T)0)",
    "firm": "(m > high ? 1 : fmax(1 - low / m, (T)0) * steepness)",
}


@dataclass(frozen=True)
class PointwiseSpec:
    """All that the text of a pointwise kernel depends on.

    Attributes
    ----------
    task : {"planes", "pixels", "shrink"}
        Pixels to planes, planes to pixels, or shrinking bands.
    storage : str
        How pixels, or the coefficients of bands, are stored; planes are float32.
    each : int
        Pixels or coefficients that a lane takes at a time, 1 or 4; their number must be a multiple of it.
    matrix : tuple of tuple of float
        Turns the channels of a pixel into planes, or the planes into channels; empty for a single channel.
    mode : str
        Which of `FACTORS`.
    """

    task: Literal["planes", "pixels", "shrink"]
    storage: str
    each: int = 1
    matrix: tuple[tuple[float, ...], ...] = ()
    mode: str = "none"

    @property
    def channels(self) -> int:
        """Channels of a pixel."""
        return max(1, len(self.matrix))


def render_pointwise(spec: PointwiseSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    Its arguments are the pixels, the planes and a table that holds how many times ``each`` pixels there are; or three
    bands, a table and values. That table holds how many times ``each`` coefficients a channel of each band has, and the
    number of channels; the values are, for each channel of each band, the threshold, the upper threshold, the
    steepness between the two and the gain. The second direction of the launch counts channels, the third one bands.
    """
    if spec.task == "shrink":
        return _render_shrink(spec, dialect)
    return _render_colour(spec, dialect)


def _render_shrink(spec: PointwiseSpec, dialect: Dialect) -> str:
    storage = STORAGES[spec.storage]
    return f"""{dialect.begin(uses_doubles=storage.number == "double")}
typedef {storage.number} T;
typedef {storage.word} stored_t;
typedef struct ALIGN({storage.size * spec.each}) {{ stored_t v[{spec.each}]; }} run_t;
#define READ(v) {storage.read}
#define WRITE(v) {storage.write}

KERNEL void sweep(GLOBAL stored_t *RESTRICT ad, GLOBAL stored_t *RESTRICT da, GLOBAL stored_t *RESTRICT dd,
                  GLOBAL const wide_t *RESTRICT table, GLOBAL const T *RESTRICT values)
{{
    const int band = GROUP_Z, channel = GROUP_Y;
    const size_t count = table[band];
    GLOBAL run_t *const x = (GLOBAL run_t *)(band == 0 ? ad : band == 1 ? da : dd) + channel * count;
    GLOBAL const T *const own = values + (band * table[3] + channel) * 4;
    const T low = own[0], high = own[1], steepness = own[2], gain = own[3];
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
"""


def _render_colour(spec: PointwiseSpec, dialect: Dialect) -> str:
    storage = STORAGES[spec.storage]
    channels, each = spec.channels, spec.each
    pack = _Pack(storage, channels * each)
    names = [[f"x{channel}_{k}" for channel in range(channels)] for k in range(each)]
    sums = [_spell_sums(spec.matrix, row) for row in names]
    planes = [f"planes[item + {channel} * count]" for channel in range(channels)]
    if spec.task == "planes":
        reads = [name for row in names for name in row]
        lines = ["const pack_t pack = pixels[item];"]
        lines += [f"const float {name} = {pack.read(place)};" for place, name in enumerate(reads)]
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


def _spell_sums(matrix: tuple[tuple[float, ...], ...], names: list[str]) -> list[str]:
    """Write each row of a matrix times a vector."""
    if not matrix:
        return names
    return [
        " + ".join(f"{spell(weight, 'float')} * {name}" for weight, name in zip(row, names, strict=True))
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

    def read(self, place: int) -> str:
        """Write the sample at a place as a number."""
        if self._in_word == 1:
            return f"(float)pack.w[{place}]"
        word, part = divmod(place, self._in_word)
        return f"(float)(pack.w[{word}] >> {part * self._bits} & {(1 << self._bits) - 1}u)"

    def write(self, values: list[str]) -> list[str]:
        """Write the lines that round and clip numbers to samples, and pack these."""
        samples = [f"WRITE(({value}))" for value in values]
        if self._in_word == 1:
            return [f"pack.w[{place}] = {sample};" for place, sample in enumerate(samples)]
        words = [samples[place : place + self._in_word] for place in range(0, len(samples), self._in_word)]
        return [
            f"pack.w[{place}] = "
            + " | ".join(f"(uint){sample} << {k * self._bits}" for k, sample in enumerate(word))
            + ";"
            for place, word in enumerate(words)
        ]
