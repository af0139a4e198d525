"""Arithmetic that editing does sample by sample: one short text of C for each task, the same for CUDA and OpenCL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from subband.kernels.dialects import Dialect
from subband.kernels.numbers import STORAGES

__all__ = ["TASKS", "SampleSpec", "WeighSpec", "choose_array", "render_samples", "render_weighing"]

#: What is done to sample `i` of the arrays a, b and c; n are the samples of a plane, p is the index in it, t are whole
#: numbers and v are numbers. Only a is written to, and b where the name ends in "both".
TASKS = {
    "max": "const T s = v[0] * c[i], o = b[i]; a[i] = fabs(s) > fabs(o) ? s - o : (T)0;",
    "add": "a[i] = v[0] * c[i];",
    "mix": "a[i] = v[0] * (c[i] - b[i]);",
    "brightness": """
        T total = 0;
        for (int k = 0; k < t[2]; ++k) {
            const T x = b[p + k * n];
            total += v[2 + k] * (v[0] == 1 ? x : v[1] * pow(fmax(x, (T)0) / v[1], v[0]));
        }
        a[i] = total;""",
    "temper": """
        const T x = v[0] == 1 ? a[i] : v[1] * pow(fmax(a[i], (T)0) / v[1], v[0]);
        a[i] = v[3] + v[4] * (fmax(x, v[2]) - v[3]);""",
    "raise": "a[i] = v[1] * pow(fmax(b[i], (T)0) / v[1], v[0]);",
    "divide": "a[i] *= v[0] / b[t[2] ? i : p];",
    "multiply": "a[i] *= v[0] * b[t[2] ? i : p];",
    "spread": "a[i] = b[p];",
    "square": "a[i] = t[2] ? a[i] + b[i] * b[i] : b[i] * b[i];",
    "prefer both": "if (c[i] > a[i]) { a[i] = c[i]; b[i] = v[0]; }",
    "mark": "a[i] = b[i] == v[0] ? 1 : 0;",
    "take over": "if (c[p] == v[0]) a[i] = b[i];",
    "exposure": """
        const T x = (b[i] / v[0] - v[1]) / v[2];
        T weight = exp(v[3] * x * x);
        if (t[2] == 3) weight *= v[4] + sqrt(b[i + n] * b[i + n] + b[i + 2 * n] * b[i + 2 * n]) / v[0];
        a[i] = weight + v[5];""",
    "add weighted": "a[i] += b[i] * c[p];",
}


@dataclass(frozen=True)
class SampleSpec:
    """The parameters that determine the text of a kernel: one of `TASKS`, the dtype of its arrays, and their number."""

    task: str
    storage: str
    arrays: int


def render_samples(spec: SampleSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    Its arguments are one to three arrays, a table of whole numbers that begins with how many samples there are and how
    many a plane has, and a table of numbers.
    """
    number = STORAGES[spec.storage].number
    written = 2 if spec.task.endswith("both") else 1
    arrays = ", ".join(
        f"GLOBAL {'' if index < written else 'const '}T *RESTRICT {name}"
        for index, name in enumerate("abc"[: spec.arrays])
    )
    return f"""{dialect.begin(uses_doubles=number == "double")}
typedef {number} T;

KERNEL void sweep({arrays}, GLOBAL const wide_t *RESTRICT t, GLOBAL const T *RESTRICT v)
{{
    const size_t count = t[0], n = t[1];
    for (size_t i = ITEM_X; i < count; i += ITEMS_X) {{
        const size_t p = i % n;
        {TASKS[spec.task].strip()}
    }}
}}
"""


@dataclass(frozen=True)
class WeighSpec:
    """The parameters that determine the text of a kernel that divides or multiplies several bands.

    Attributes
    ----------
    storage : str
        The dtype of all arrays.
    bands : int
        How many there are.
    is_product : bool
        Whether bands are multiplied.
    """

    storage: str
    bands: int
    is_product: bool


def render_weighing(spec: WeighSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    Its arguments are the bands, what each is divided or multiplied by, and a table: the samples of a plane of each
    band, and for each how many planes the latter has, and how many of the band each of these is for. The second
    direction counts bands.
    """
    number = STORAGES[spec.storage].number
    bands, lights = ([f"{name}{index}" for index in range(spec.bands)] for name in ("band", "light"))
    arguments = ", ".join(
        [f"GLOBAL T *RESTRICT {name}" for name in bands] + [f"GLOBAL const T *{name}" for name in lights]
    )
    factor = "light[own]" if spec.is_product else "1 / light[own]"
    return f"""{dialect.begin(uses_doubles=number == "double")}
typedef {number} T;

KERNEL void sweep({arguments}, GLOBAL const wide_t *RESTRICT table)
{{
    const int which = GROUP_Y, all = table[{spec.bands} + 2 * which], each = table[{spec.bands} + 2 * which + 1];
    const size_t count = table[which];
    GLOBAL T *const band = {choose_array(bands, "which")};
    GLOBAL const T *const light = {choose_array(lights, "which")};
    for (int k = 0; k < all; ++k) for (size_t i = ITEM_X; i < count; i += ITEMS_X) {{
        const size_t own = k * count + i;
        const T factor = {factor};
        for (int plane = k * each; plane < (k + 1) * each; ++plane) band[plane * count + i] *= factor;
    }}
}}
"""


def choose_array(names: Sequence[str], which: str) -> str:
    """Return an expression in C for one of several arrays of a kernel, by its number.

    Examples
    --------
    >>> choose_array(["a", "b", "c"], "k")
    'k == 0 ? a : k == 1 ? b : c'
    """
    chosen = [f"{which} == {index} ? {name}" for index, name in enumerate(names[:-1])]
    return " : ".join([*chosen, names[-1]])
