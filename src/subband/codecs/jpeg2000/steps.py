"""The steps of all bands of an image, and what an error in each of them means for the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import cast

from subband.codecs.jpeg2000.components import Component
from subband.codecs.jpeg2000.geometry import Band
from subband.codecs.jpeg2000.parameters import Quantisation, QuantisationComponent, QuantisationDefault
from subband.codecs.jpeg2000.quantisation import GAIN_BITS, BandName, Step, choose_step, measure_norm

__all__ = ["Quantiser"]

# Squared lengths of what one step of luminance and of the two differences becomes in red, green and blue.
_MIXED_WEIGHTS = {False: (3.0, 0.344136**2 + 1.772**2, 1.402**2 + 0.714136**2), True: (3.0, 0.6875, 0.6875)}

_KINDS = ("HL", "LH", "HH")


@dataclass(frozen=True)
class Quantiser:
    """How coarse each band is.

    Attributes
    ----------
    components : sequence of Component
        Of the image.
    levels : int
        Of decomposition.
    is_reversible : bool
        Whether coefficients are integers, which stay as they are.
    is_mixed : bool
        Whether the first three components are luminance and differences.
    base : float
        The step of a band whose basis images have length one, as a part of the range of samples.
    """

    components: Sequence[Component]
    levels: int
    is_reversible: bool
    is_mixed: bool
    base: float = 1 / 512

    @cached_property
    def steps(self) -> tuple[tuple[Step, ...], ...]:
        """For each component, those of its bands: LL, then HL, LH and HH of each resolution."""
        return tuple(
            _choose_steps(self.is_reversible, self.base, self.levels, component.precision)
            for component in self.components
        )

    def measure_step(self, band: Band) -> float:
        """Return the size of the step of a band; 1 where nothing is quantised."""
        if self.is_reversible:
            return 1.0
        range_bits = self.components[band.component].precision + band.gain_bits
        return self.steps[band.component][band.number].measure(range_bits)

    def weigh(self, band: Band) -> float:
        """Return what a squared error of one step means in squared grey levels of the first component."""
        component = self.components[band.component]
        mixed = _MIXED_WEIGHTS[self.is_reversible][band.component] if self.is_mixed and band.component < 3 else 1.0
        length = self.measure_step(band) * measure_norm(self.is_reversible, band.level, cast("BandName", band.kind))
        return mixed * length**2 * (self.components[0].peak / component.peak) ** 2

    def write(self, guard_bits: int) -> bytes:
        """Return the segments of the header: QCD, and QCC of components that differ from the first."""
        style = 0 if self.is_reversible else 2
        found = [
            Quantisation(style, guard_bits, tuple((step.exponent, step.mantissa) for step in steps))
            for steps in self.steps
        ]
        segments = [QuantisationDefault(found[0]).write()]
        for number, quantisation in enumerate(found):
            if quantisation != found[0]:
                segments.append(QuantisationComponent(number, quantisation).write(len(found)))
        return b"".join(segments)


@lru_cache(maxsize=64)
def _choose_steps(is_reversible: bool, base: float, levels: int, precision: int) -> tuple[Step, ...]:
    bands = [("LL", levels)]
    bands += [(kind, level) for level in range(levels, 0, -1) for kind in _KINDS]
    if is_reversible:
        return tuple(Step(precision + GAIN_BITS[kind]) for kind, _ in bands)
    steps = []
    for kind, level in bands:
        range_bits = precision + GAIN_BITS[kind]
        size = base * 2.0**precision / measure_norm(False, level, cast("BandName", kind))
        steps.append(choose_step(min(size, 2.0**range_bits), range_bits))
    return tuple(steps)
