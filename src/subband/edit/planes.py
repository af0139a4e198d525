"""What editing does to planes sample by sample: the contract, and the plain implementation that judges the others.

Planes are those of `subband.engines.filters`: their first axis counts channels, the other two are space. They are
C-contiguous, of float32 or float64. What is said to be done in place may be; the result counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from subband.engines import Engine

__all__ = ["FADED", "LEAST_WEIGHT", "MIDDLE", "RULES", "WIDTH", "PlanePainter", "find_painter"]

#: How two coefficients become one.
RULES = ("max", "add", "mix")

#: How bright a well exposed place is and how far around that, as parts of white, and what one without colour counts.
MIDDLE, WIDTH, FADED = 0.5, 0.2, 0.1

#: What a place counts that is exposed as badly as can be, so that there is a mean where all are.
LEAST_WEIGHT = 1e-6


class PlanePainter:
    """Works on planes of the host with nothing but NumPy.

    Examples
    --------
    >>> painter = PlanePainter()
    >>> painter.differ(np.array([[[4.0, -1.0]]]), np.array([[[3.0, 3.0]]]), "max", 1.0)
    array([[[0., 4.]]])
    """

    def differ(self, own: Any, other: Any, rule: str, strength: float) -> Any:
        """Return what has to be added to coefficients so that others are combined with them.

        Parameters
        ----------
        own, other : array
            Bands of the same shape.
        rule : {"max", "add", "mix"}
            With s for `strength`: the one of larger magnitude of ``own`` and ``s * other``; ``own + s * other``; or
            ``(1 - s) * own + s * other``.
        strength : float
            0 changes nothing.
        """
        if rule == "add":
            return strength * other
        if rule == "mix":
            return strength * (other - own)
        strong = strength * other
        return np.where(np.abs(strong) > np.abs(own), strong - own, np.zeros_like(own))

    def add(self, planes: Any, difference: Any) -> Any:
        """Add a difference to as many of the first planes as it has, in place."""
        planes[: len(difference)] += difference
        return planes

    def measure_brightness(self, planes: Any, weights: Sequence[float], power: float, white: float) -> Any:
        """Return one plane: the weighted sum of the channels, each raised to a power; white stays white."""
        total = np.zeros((1, *planes.shape[1:]), planes.dtype)
        for plane, weight in zip(planes, weights, strict=True):
            total[0] += weight * self.raise_to(plane, power, white)
        return total

    def raise_to(self, planes: Any, power: float, white: float) -> Any:
        """Return planes raised to a power, so that white stays white; what is negative becomes 0 unless it is 1."""
        if power == 1:
            return planes
        return white * (np.maximum(planes, 0) / white) ** power

    def temper(self, light: Any, power: float, white: float, floor: float, level: float, strength: float) -> Any:
        """Make a light ready to divide by, in place.

        It is raised to a power, at least `floor`, and then ``strength`` of it is mixed with the even light `level`.
        """
        raised = np.maximum(self.raise_to(light, power, white), floor)
        light[...] = level + strength * (raised - level)
        return light

    def divide(self, planes: Any, light: Any, scale: float) -> Any:
        """Divide planes by a light of one plane, or of as many, and multiply by a scale; in place."""
        planes *= scale / light
        return planes

    def multiply(self, planes: Any, light: Any, scale: float) -> Any:
        """Multiply planes by a light of one plane, or of as many, and by a scale; in place."""
        planes *= scale * light
        return planes

    def spread(self, plane: Any, count: int) -> Any:
        """Return so many copies of a single plane."""
        return np.repeat(plane, count, axis=0)

    def copy(self, planes: Any) -> Any:
        """Return a copy."""
        return planes.copy()

    def measure_activity(self, bands: Sequence[Any]) -> Any:
        """Return one plane: the sum of the squares of the first plane of each band."""
        total = np.square(bands[0][:1])
        for band in bands[1:]:
            total += np.square(band[:1])
        return total

    def prefer(self, best: Any, chosen: Any, rival: Any, number: int) -> None:
        """Where `rival` is larger than `best`, make it the best and `number` the chosen one; in place."""
        better = rival > best
        best[better] = rival[better]
        chosen[better] = number

    def mark(self, chosen: Any, number: int) -> Any:
        """Return 1 where `number` is the chosen one, else 0."""
        return (chosen == number).astype(chosen.dtype)

    def take_over(self, total: Any, planes: Any, chosen: Any, number: int) -> None:
        """Write planes to `total` where `number` is the chosen one; in place. `chosen` has one plane."""
        np.copyto(total, planes, where=chosen == number)

    def judge_exposure(self, planes: Any, white: float) -> Any:
        """Return one plane: how well each place is exposed.

        That is how near brightness, the first plane, is to mid-grey, by a bell curve; in colour times some more for
        each bit of colour, for what is too dark or too bright has little.
        """
        weight = np.exp(-0.5 * np.square((planes[:1] / white - MIDDLE) / WIDTH))
        if len(planes) == 3:
            weight *= FADED + np.sqrt(np.square(planes[1:2]) + np.square(planes[2:3])) / white
        return weight + LEAST_WEIGHT

    def add_weighted(self, total: Any, planes: Any, weight: Any) -> None:
        """Add planes times a weight of one plane to `total`; in place."""
        total += planes * weight


_plain = PlanePainter()
_found: WeakKeyDictionary[Engine, PlanePainter] = WeakKeyDictionary()


def find_painter(engine: Engine) -> PlanePainter:
    """Return what works on planes where an engine has them.

    Examples
    --------
    >>> from subband.engines import get_engine
    >>> type(find_painter(get_engine("reference"))).__name__
    'PlanePainter'
    """
    found = _found.get(engine)
    if found is None:
        found = _found[engine] = _make_painter(engine)
    return found


def _make_painter(engine: Engine) -> PlanePainter:
    # each is imported with the first engine that needs it, because both bring large libraries along
    if engine.name == "cpu":
        from subband.edit.planes_compiled import CompiledPainter

        return CompiledPainter()
    from subband.engines.device_engine import DeviceEngine

    if isinstance(engine, DeviceEngine):
        from subband.edit.planes_device import DevicePainter

        return DevicePainter(engine.device)
    return _plain
