"""Editing planes of a device sample by sample: one short text of C for each task, the same for CUDA and OpenCL."""

# ruff: noqa: D102 - the contract stands in planes.py

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from subband.edit.planes import FADED, LEAST_WEIGHT, MIDDLE, WIDTH, PlanePainter
from subband.engines.device import Device
from subband.engines.filters.device_launcher import Launcher, count_items
from subband.kernels.dialects import Dialect
from subband.kernels.numbers import STORAGES

__all__ = ["TASKS", "DevicePainter", "SampleSpec", "render_samples"]

#: What is done to sample `i` of the arrays a, b and c; n are the samples of a plane, p is the place in it, t are whole
#: numbers and v are numbers. Only a is written to, and b where the name ends in "both".
TASKS = {
    "max": "const T s = v[0] * c[i], o = b[i]; a[i] = fabs(s) > fabs(o) ? s - o : (T)0;",
    "add": "a[i] = v[0] * c[i];",
    "mix": "a[i] = v[0] * (c[i] - b[i]);",
    "increase": "a[i] += b[i];",
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
    """All that the text of a kernel depends on: one of `TASKS`, the dtype of its arrays, and how many it is given."""

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
        f"GLOBAL {'' if place < written else 'const '}T *RESTRICT {name}"
        for place, name in enumerate("abc"[: spec.arrays])
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


class DevicePainter(PlanePainter):
    """Works on planes of a device; work goes to its current stream or queue, and nothing is waited for.

    Parameters
    ----------
    device : Device
        Where the planes are.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._launcher = Launcher(device)

    def differ(self, own: Any, other: Any, rule: str, strength: float) -> Any:
        out = self._launcher.allocate_like(own)
        self._run(rule, (out, own, other), (strength,))
        return out

    def add(self, planes: Any, difference: Any) -> Any:
        self._run("increase", (planes, difference), count=difference.size)
        return planes

    def measure_brightness(self, planes: Any, weights: Sequence[float], power: float, white: float) -> Any:
        out = self._device.allocate((1, *planes.shape[1:]), planes.dtype)
        self._run("brightness", (out, planes), (power, white, *weights), len(weights))
        return out

    def raise_to(self, planes: Any, power: float, white: float) -> Any:
        if power == 1:
            return planes
        out = self._launcher.allocate_like(planes)
        self._run("raise", (out, planes), (power, white))
        return out

    def temper(self, light: Any, power: float, white: float, floor: float, level: float, strength: float) -> Any:
        self._run("temper", (light,), (power, white, floor, level, strength))
        return light

    def divide(self, planes: Any, light: Any, scale: float) -> Any:
        self._run("divide", (planes, light), (scale,), int(light.shape[0] > 1))
        return planes

    def multiply(self, planes: Any, light: Any, scale: float) -> Any:
        self._run("multiply", (planes, light), (scale,), int(light.shape[0] > 1))
        return planes

    def spread(self, plane: Any, count: int) -> Any:
        out = self._device.allocate((count, *plane.shape[1:]), plane.dtype)
        self._run("spread", (out, plane))
        return out

    def copy(self, planes: Any) -> Any:
        return planes.copy()

    def measure_activity(self, bands: Sequence[Any]) -> Any:
        out = self._device.allocate((1, *bands[0].shape[1:]), bands[0].dtype)
        for number, band in enumerate(bands):
            self._run("square", (out, band), (), number)
        return out

    def prefer(self, best: Any, chosen: Any, rival: Any, number: int) -> None:
        self._run("prefer both", (best, chosen, rival), (number,))

    def mark(self, chosen: Any, number: int) -> Any:
        out = self._launcher.allocate_like(chosen)
        self._run("mark", (out, chosen), (number,))
        return out

    def take_over(self, total: Any, planes: Any, chosen: Any, number: int) -> None:
        self._run("take over", (total, planes, chosen), (number,))

    def judge_exposure(self, planes: Any, white: float) -> Any:
        out = self._device.allocate((1, *planes.shape[1:]), planes.dtype)
        values = (white, MIDDLE, WIDTH, -0.5, FADED, LEAST_WEIGHT)
        self._run("exposure", (out, planes), values, int(planes.shape[0]))
        return out

    def add_weighted(self, total: Any, planes: Any, weight: Any) -> None:
        self._run("add weighted", (total, planes, weight))

    def _run(
        self, task: str, arrays: Sequence[Any], values: Sequence[float] = (), flag: int = 0, count: int | None = None
    ) -> None:
        """Start a task on all samples of the first array, or on so many of them."""
        first = arrays[0]
        count = first.size if count is None else count
        if count == 0:
            return
        table = self._launcher.tabulate(count, prod(first.shape[1:]), flag)
        numbers = self._launcher.list_values(first.dtype, *(values or (0.0,)))
        spec = SampleSpec(task, first.dtype.name, len(arrays))
        self._launcher.run(render_samples, spec, count_items(count, 1), *arrays, table, numbers)
