"""The transforms that are predicted and measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, TypeAlias

from subband.bench.model.calibration import find_abilities, record_call
from subband.bench.model.stages import Stage, list_stages
from subband.engines.measuring.harness import Harness, draw_on_host, plan_array
from subband.errors import ArgumentError
from subband.plan import TransformPlan
from subband.typing import Direction

__all__ = ["MODEL_CASES", "TRAVELLING_CASES", "Manner", "ModelCase", "list_own_cases", "vary_cases"]

#: A call as it is, a call that a device recorded and repeats, or a call on arrays of the host.
Manner: TypeAlias = Literal["call", "graph", "host"]

_DIRECTIONS: tuple[Direction, ...] = ("forward", "inverse")


@dataclass(frozen=True)
class ModelCase:
    """A transform that is predicted and measured.

    Examples
    --------
    >>> ModelCase((1080, 1920), "cdf97", 3, "inverse").name
    '1080x1920 cdf97 3-level inverse'
    """

    shape: tuple[int, ...]
    wavelet: str
    level: int
    direction: Direction
    manner: Manner = "call"

    @property
    def name(self) -> str:
        """What the case is called in tables."""
        suffix = {"call": "", "graph": " graph", "host": " from the host"}[self.manner]
        return f"{'x'.join(map(str, self.shape))} {self.wavelet} {self.level}-level {self.direction}{suffix}"

    @property
    def size(self) -> int:
        """Number of samples."""
        return prod(self.shape)

    @property
    def plan(self) -> TransformPlan:
        """What is transformed, and how."""
        return plan_array(self.shape, self.wavelet, self.level)

    def list_stages(self, bench: Harness) -> list[Stage]:
        """Count its stages on the engine of a harness."""
        return list_stages(
            self.plan, self.direction, abilities=find_abilities(bench), with_transfers=self.manner == "host"
        )

    def prepare(self, bench: Harness) -> Callable[[], Any] | None:
        """Return what transforms samples that were drawn; None where a device has no such manner."""
        if self.manner != "call" and not bench.is_device:
            return None
        if self.manner == "host":
            return self._prepare_on_host(bench)
        call = bench.prepare(self.plan, self.direction)
        return call if self.manner == "call" else record_call(bench, call)

    def _prepare_on_host(self, bench: Harness) -> Callable[[], Any]:
        plan, engine = self.plan, bench.engine
        x = draw_on_host(self.shape, "float32", 0)
        if self.direction == "forward":
            return lambda: engine.forward_all(plan, x)
        approximation, details = engine.forward_all(plan, x)
        return lambda: engine.inverse_all(plan, approximation, details)


#: Three sizes of images, short and long wavelets, one level and several, a large image and a volume, both ways.
MODEL_CASES = tuple(
    ModelCase(shape, wavelet, level, direction)
    for shapes, transforms in (
        (
            ((512, 512), (1080, 1920), (2160, 3840)),
            (("haar", 1), ("cdf97", 1), ("cdf97", 5), ("db4", 1), ("coif5", 1)),
        ),
        (((8192, 8192),), (("cdf97", 1), ("cdf97", 5))),
        (((192, 192, 192),), (("cdf97", 1),)),
    )
    for shape in shapes
    for wavelet, level in transforms
    for direction in _DIRECTIONS
)

#: What begins and ends in the memory of the host.
TRAVELLING_CASES = tuple(
    ModelCase(shape, "cdf97", level, direction, "host")
    for shape, level in (((1080, 1920), 3), ((2160, 3840), 1))
    for direction in _DIRECTIONS
)


def list_own_cases(shape: str, wavelet: str, level: int) -> list[ModelCase]:
    """Return both ways of a transform whose shape is a text.

    Raises
    ------
    ArgumentError
        If that is no shape of one to three axes.

    Examples
    --------
    >>> [case.name for case in list_own_cases("48x64", "haar", 2)]
    ['48x64 haar 2-level forward', '48x64 haar 2-level inverse']
    """
    try:
        lengths = tuple(int(part) for part in shape.split("x"))
    except ValueError:
        lengths = ()
    if not 1 <= len(lengths) <= 3 or min(lengths) < 1:
        raise ArgumentError(f"shape={shape!r} is no shape of one to three axes; write it like 1080x1920")
    return [ModelCase(lengths, wavelet, level, direction) for direction in _DIRECTIONS]


def vary_cases(cases: Iterable[ModelCase], manners: Iterable[Manner]) -> list[ModelCase]:
    """Return every case in every one of some manners.

    Examples
    --------
    >>> [case.name for case in vary_cases(list_own_cases("9x9", "haar", 1)[:1], ("call", "host"))]
    ['9x9 haar 1-level forward', '9x9 haar 1-level forward from the host']
    """
    cases = list(cases)
    return [replace(case, manner=manner) for manner in manners for case in cases]
