"""Kernel text of the colour transforms of JPEG 2000: interleaved samples to planes around zero, and back."""

from __future__ import annotations

from dataclasses import dataclass

from subband.kernels.dialects import Dialect
from subband.kernels.numbers import STORAGES

__all__ = ["ComponentSpec", "render_joining", "render_splitting"]


@dataclass(frozen=True)
class ComponentSpec:
    """The parameters that determine the text of a conversion.

    Attributes
    ----------
    storage : str
        How samples are stored: a dtype of integers.
    channels : int
        Of a pixel.
    is_reversible : bool
        Whether planes are int32, else float32.
    is_mixed : bool
        Whether the first three channels are luma and two differences of colour in the planes.
    """

    storage: str
    channels: int
    is_reversible: bool
    is_mixed: bool


_SPLIT = {
    True: ("(x0 + 2 * x1 + x2) >> 2", "x2 - x1", "x0 - x1"),
    False: (
        "0.299f * x0 + 0.587f * x1 + 0.114f * x2",
        "-0.168735892f * x0 - 0.331264108f * x1 + 0.5f * x2",
        "0.5f * x0 - 0.418687589f * x1 - 0.081312411f * x2",
    ),
}

_JOIN = {
    True: ("p2 + p0 - ((p1 + p2) >> 2)", "p0 - ((p1 + p2) >> 2)", "p1 + p0 - ((p1 + p2) >> 2)"),
    False: ("p0 + 1.402f * p2", "p0 - 0.344136286f * p1 - 0.714136286f * p2", "p0 + 1.772f * p1"),
}


def _begin(spec: ComponentSpec, dialect: Dialect) -> str:
    return f"""{dialect.begin()}
typedef {"int" if spec.is_reversible else "float"} T;
typedef {STORAGES[spec.storage].word} pixel_t;
"""


def render_splitting(spec: ComponentSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``; its arguments are pixels, their level shift, samples and planes."""
    reads = [f"const T x{k} = (T)((int)pixels[item * {spec.channels} + {k}] - shift);" for k in range(spec.channels)]
    values = [f"x{k}" for k in range(spec.channels)]
    if spec.is_mixed:
        values[:3] = _SPLIT[spec.is_reversible]
    writes = [f"planes[item + {k} * (size_t)count] = {value};" for k, value in enumerate(values)]
    lines = "\n        ".join(reads + writes)
    return f"""{_begin(spec, dialect)}
KERNEL void sweep(const int count, const int shift, GLOBAL const pixel_t *RESTRICT pixels, GLOBAL T *RESTRICT planes)
{{
    for (size_t item = ITEM_X; item < (size_t)count; item += ITEMS_X) {{
        {lines}
    }}
}}
"""


def render_joining(spec: ComponentSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    Its arguments are pixels, their level shift, the lowest and the highest sample, planes and samples.
    """
    reads = [f"const T p{k} = planes[item + {k} * (size_t)count];" for k in range(spec.channels)]
    values = [f"p{k}" for k in range(spec.channels)]
    if spec.is_mixed:
        values[:3] = _JOIN[spec.is_reversible]
    writes = [
        f"pixels[item * {spec.channels} + {k}] = (pixel_t)clip({value}, shift, low, high);"
        for k, value in enumerate(values)
    ]
    lines = "\n        ".join(reads + writes)
    # what is no number, which damaged streams can lead to, becomes the lowest sample
    clip = "return !(moved > (T)low) ? low : moved >= (T)high ? high : (int)floor(moved + 0.5f);"
    if spec.is_reversible:
        clip = "return min(max(moved, low), high);"
    return f"""{_begin(spec, dialect)}
DEVICE int clip(T value, int shift, int low, int high)
{{
    const T moved = value + (T)shift;
    {clip}
}}

KERNEL void sweep(const int count, const int shift, const int low, const int high, GLOBAL const T *RESTRICT planes,
                  GLOBAL pixel_t *RESTRICT pixels)
{{
    for (size_t item = ITEM_X; item < (size_t)count; item += ITEMS_X) {{
        {lines}
    }}
}}
"""
