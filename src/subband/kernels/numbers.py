"""How numbers are stored in arrays and computed with in kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from subband.schedule.axis import AxisStep

__all__ = ["STORAGES", "Storage", "format_number", "format_step"]


@dataclass(frozen=True)
class Storage:
    """The C types of a dtype in kernels: as it is stored, and as it is computed with.

    Attributes
    ----------
    name : str
        As NumPy calls the dtype, or ``bfloat16``.
    word : str
        The C type of an element.
    size : int
        Its bytes.
    number : str
        The C type it is computed in.
    read, write : str
        How an element becomes a number and back, with ``v`` for its value.
    """

    name: str
    word: str
    size: int
    number: str
    read: str = "(v)"
    write: str = "(v)"


def _bounded(word: str, most: int) -> str:
    """Format the conversion of a fraction to a small unsigned integer: to the nearest, and nothing beyond its range."""
    return f"({word})(fmin(fmax(v, 0.0f), {most}.0f) + 0.5f)"


def _centred(bits: int) -> Storage:
    """Return how samples of so many bits are stored that are computed with around zero, and clipped to these bits."""
    word, half = "uchar" if bits <= 8 else "ushort", 1 << bits - 1
    write = f"({word})(min(max(v, (T)-{half}), (T){half - 1}) + {half})"
    return Storage(f"centred{bits}", word, 1 if bits <= 8 else 2, "int", f"((T)(v) - {half})", write)


#: Every dtype that kernels read and write, and ``centred1`` to ``centred16``: samples of video in whole numbers.
STORAGES = {
    storage.name: storage
    for storage in (
        Storage("float32", "float", 4, "float"),
        Storage("float64", "double", 8, "double"),
        Storage("float16", "ushort", 2, "float", "half_to_float(v)", "float_to_half(v)"),
        Storage("bfloat16", "ushort", 2, "float", "bfloat_to_float(v)", "float_to_bfloat(v)"),
        Storage("int16", "short", 2, "int", "(int)(v)", "(short)(v)"),
        Storage("int32", "int", 4, "int"),
        Storage("int64", "wide_t", 8, "wide_t"),
        Storage("uint8", "uchar", 1, "float", "(float)(v)", _bounded("uchar", 255)),
        Storage("uint16", "ushort", 2, "float", "(float)(v)", _bounded("ushort", 65535)),
        *map(_centred, range(1, 17)),
    )
}


def format_number(value: float, number: str) -> str:
    """Format a constant in C.

    Examples
    --------
    >>> format_number(0.5, "float"), format_number(-1.0, "int")
    ('0.5f', '-1')
    """
    if number in ("int", "wide_t"):
        return str(int(value))
    text = repr(float(value))
    return text + "f" if number == "float" else text


def format_step(entry: AxisStep, sources: Sequence[str], number: str) -> str:
    """Format what follows the target of a lifting step: a sum in an order that fused multiply-adds can take."""
    terms = [f"{format_number(tap, number)} * {source}" for tap, source in zip(entry.step.taps, sources, strict=True)]
    if entry.rounding is None:
        return "".join(f" + {term}" for term in terms)
    offset, bits, sign = entry.rounding
    return f"{'-' if sign < 0 else '+'} (({' + '.join(terms)} + {offset}) >> {bits})"
