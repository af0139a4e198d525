"""Kernel text of fixed point: filters on unsigned integers, one pass along one axis, rounded as the host rounds.

A sum begins with its bias, products are added to it in the order of the taps, and each product and each sum is rounded
to float32 by itself. So a device gives the integers of the host, bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from subband.kernels.dialects import Dialect
from subband.kernels.numbers import STORAGES, format_number
from subband.typing import Direction

__all__ = ["EntrySpec", "ExitSpec", "FixedSpec", "render_entry", "render_exit", "render_fixed"]

#: What rounds after each operation: CUDA has functions for it, and OpenCL a pragma.
_ROUNDED = {
    "cuda": "#define ADD_PRODUCT(sum, tap, u) sum = __fadd_rn(sum, __fmul_rn(tap, u))\n",
    "opencl": "#pragma OPENCL FP_CONTRACT OFF\n#define ADD_PRODUCT(sum, tap, u) sum = sum + (tap) * (u)\n",
}


@dataclass(frozen=True)
class FixedSpec:
    """The parameters that determine the text of a pass in fixed point.

    Attributes
    ----------
    direction : {"forward", "inverse"}
        One array to two, or back.
    rows : pair of tuple of float
        The taps of both outputs, as float32 holds them.
    biases : pair of float
        What the sum of each begins with.
    sources : pair of int
        Which array the even and the odd taps read.
    bits, width : int
        Of an integer: those that are used, and all.
    is_last : bool
        Whether the pass runs along the last axis; lanes then share the axis, and else what lies beside it.
    """

    direction: Direction
    rows: tuple[tuple[float, ...], tuple[float, ...]]
    biases: tuple[float, float]
    sources: tuple[int, int]
    bits: int
    width: int
    is_last: bool


@dataclass(frozen=True)
class EntrySpec:
    """The parameters of what converts samples to integers.

    Attributes
    ----------
    dtype : str
        Of the samples.
    bits, width : int
        Of an integer: those that are used, and all.
    """

    dtype: str
    bits: int
    width: int


@dataclass(frozen=True)
class ExitSpec:
    """The parameters of what converts integers of so many bits back to samples of a dtype."""

    dtype: str
    width: int


def render_fixed(spec: FixedSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``, over the arrays ``x``, ``low`` and ``high``.

    Its first table holds where each position is read, the second how many sequences there are, how many pairs of
    outputs, the stride, and the lengths of samples, low and high coefficients. A launch is that of an undecimated pass:
    see `subband.kernels.stationary`.
    """
    is_forward = spec.direction == "forward"
    width = len(spec.rows[0])
    names = ["x", "x"] if is_forward else [("low", "high")[part] for part in spec.sources]
    reads = [
        f"const float u{k} = (float)(int){names[k % 2]}[{names[k % 2]}_base + (wide_t)index[2 * at + {k}] * stride];"
        for k in range(width)
        if any(row[k] for row in spec.rows)
    ]
    lines = []
    goals = (("low", "at", "low_length"), ("high", "at", "high_length"))
    if not is_forward:
        goals = (("x", "2 * at", "x_length"), ("x", "2 * at + 1", "x_length"))
    for row, bias, (name, position, length) in zip(spec.rows, spec.biases, goals, strict=True):
        terms = " ".join(f"ADD_PRODUCT(sum, {format_number(tap, 'float')}, u{k});" for k, tap in enumerate(row) if tap)
        lines.append(
            f"if ({position} < {length}) {{ float sum = {format_number(bias, 'float')}; {terms} "
            f"{name}[{name}_base + ({position}) * stride] = HOLD(sum); }}"
        )
    bases = [f"const size_t {name}_base = row * {name}_length * stride + column;" for name in ("x", "low", "high")]
    inner = "\n                ".join([*bases, *reads, *lines])
    if spec.is_last:
        loops = """\
    for (wide_t row = GROUP_Y; row < outer; row += GROUPS_Y) {
        const wide_t column = 0; {
            for (wide_t at = ITEM_X; at < count; at += ITEMS_X) {"""
    else:
        loops = """\
    for (wide_t row = GROUP_Z; row < outer; row += GROUPS_Z) {
        for (wide_t at = GROUP_Y; at < count; at += GROUPS_Y) {
            for (wide_t column = ITEM_X; column < stride; column += ITEMS_X) {"""
    read, written = ("const ", "") if is_forward else ("", "const ")
    return f"""{_begin(dialect, spec.bits, spec.width)}
KERNEL void sweep(GLOBAL {read}word_t *RESTRICT x, GLOBAL {written}word_t *RESTRICT low,
                  GLOBAL {written}word_t *RESTRICT high, GLOBAL const int *RESTRICT index,
                  GLOBAL const wide_t *RESTRICT table)
{{
    const wide_t outer = table[0], count = table[1], stride = table[2];
    const wide_t x_length = table[3], low_length = table[4], high_length = table[5];
{loops}
                {inner}
            }}
        }}
    }}
}}
"""


def render_entry(spec: EntrySpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep`` that makes integers of samples.

    It counts in ``wrong`` those that are out of range. Integers are shifted, and real numbers from 0 to 1 rounded.
    """
    storage, bits, width = STORAGES[spec.dtype], spec.bits, spec.width
    if spec.dtype.startswith("uint"):
        line = f"y[at] = (word_t)((uint)x[at] << {width - 8 * storage.size});"
    else:
        line = (
            f"const {storage.number} v = READ(x[at]); "
            "if (!(v >= 0 && v <= 1)) ATOMIC_ADD(wrong, 1); "
            f"y[at] = HOLD(v * {format_number(2.0**bits, storage.number)});"
        )
    return f"""{_begin(dialect, bits, width, storage.number)}
#define READ(v) {storage.read}

KERNEL void sweep(GLOBAL const {storage.word} *RESTRICT x, GLOBAL word_t *RESTRICT y, GLOBAL int *RESTRICT wrong,
                  GLOBAL const wide_t *RESTRICT table)
{{
    for (size_t at = ITEM_X; at < table[0]; at += ITEMS_X) {{ {line} }}
}}
"""


def render_exit(spec: ExitSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep`` that makes samples of integers."""
    storage, width = STORAGES[spec.dtype], spec.width
    is_whole = spec.dtype.startswith("uint")
    own = 8 * storage.size if is_whole else 0
    scaled = f"(float)(int)y[at] * {format_number(2.0 ** (own - width), 'float')}"
    if is_whole:
        line = f"x[at] = ({storage.word})(int)fmin(fmax(rint({scaled}), 0.0f), {2**own - 1}.0f);"
    else:
        line = f"const float v = {scaled}; x[at] = {storage.write};"
    return f"""{_begin(dialect, width, width, storage.number)}
KERNEL void sweep(GLOBAL const word_t *RESTRICT y, GLOBAL {storage.word} *RESTRICT x,
                  GLOBAL const wide_t *RESTRICT table)
{{
    for (size_t at = ITEM_X; at < table[0]; at += ITEMS_X) {{ {line} }}
}}
"""


def _begin(dialect: Dialect, bits: int, width: int, number: str = "float") -> str:
    """Return what all three begin with: the macros, and how a sum is held as an integer, halves rounded to even."""
    least, most = (format_number(value, number) for value in (0.0, 2.0**bits - 1))
    return (
        f"{dialect.begin(uses_doubles=number == 'double')}{_ROUNDED[dialect.name]}"
        f"typedef {'uchar' if width == 8 else 'ushort'} word_t;\n"
        f"#define HOLD(v) (word_t)((uint)fmin(fmax(rint(v), {least}), {most}) << {width - bits})\n"
    )
