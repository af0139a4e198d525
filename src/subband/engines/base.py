"""The contract of an engine.

An engine runs plans. It knows nothing of names, levels or files: it is given a plan and an array whose shape is
the plan's, and gives back what the plan describes.

- `Engine.forward` takes an array of ``plan.shape`` and returns one band for each key of ``plan.band_shapes``.
- `Engine.inverse` takes those bands and returns an array of ``plan.shape``. A band left out counts as zeros.
- `Engine.forward_all` and `Engine.inverse_all` do so for all levels of a transform; an engine may have a faster way.
- `Engine.stationary_forward` and `Engine.stationary_inverse` do the same for undecimated levels.
- `Engine.forward_adjoint` takes bands and applies the transposed matrix of `Engine.forward` to them; a band left out
  counts as zeros. `Engine.inverse_adjoint` does the same to an array for `Engine.inverse`, and both have forms for all
  levels and for undecimated ones. Reversible plans round and have no adjoint. An adjoint is a plan itself (see
  `subband.schedule.adjoint`), and an engine that extends by `Extension.apply` runs it like any other.
- Data are float32, float64, complex64 or complex128; results have the dtype of the input unless the
  engine says otherwise (the reference engine computes and returns double precision).
- Reversible plans, those whose `AxisPlan.integer` is set, take and give int32 or int64 and are exact.
- Inputs are never written to, may be views of any strides, and need not be aligned. Results are new arrays.
- An engine may be called from several threads at once.
- `Engine.find_abilities` says which axes it transforms together, for those who count what it does.
- Samples are taken to be finite: a NaN or an infinity spreads to the coefficients whose filters touch it, and
  to a few more where the engine computes by lifting.

`subband.testing.EngineTests` checks all of this for any engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from subband.plan import LevelPlan, TransformPlan
from subband.schedule.adjoint import transpose_all, transpose_forward, transpose_inverse, transpose_stationary
from subband.schedule.levels import merge_levels, split_levels
from subband.schedule.sweeps import Abilities
from subband.stationary import StationaryPlan
from subband.typing import Array, Bands

__all__ = ["Engine"]


class Engine(ABC):
    """Runs plans on arrays; see the module for the contract."""

    #: The name by which callers choose it, also that of its module.
    name: str

    @abstractmethod
    def forward(self, plan: LevelPlan, x: Array) -> Bands:
        """Transform one level."""

    @abstractmethod
    def inverse(self, plan: LevelPlan, bands: Mapping[str, Array]) -> Array:
        """Undo `forward`."""

    @abstractmethod
    def stationary_forward(self, plan: StationaryPlan, x: Array) -> Bands:
        """Transform one undecimated level."""

    @abstractmethod
    def stationary_inverse(self, plan: StationaryPlan, bands: Mapping[str, Array]) -> Array:
        """Undo `stationary_forward`."""

    def find_abilities(self, dtype: np.dtype[Any]) -> Abilities:  # noqa: ARG002 - whatever the dtype
        """Return which axes one sweep over a dtype can fuse; here none, one axis goes after the other."""
        return Abilities()

    def forward_all(self, plan: TransformPlan, x: Array) -> tuple[Array, list[Bands]]:
        """Transform all levels; return the approximation, and the details from coarse to fine."""
        return split_levels(plan.levels, x, self.forward)

    def inverse_all(self, plan: TransformPlan, approximation: Array, details: Sequence[Bands]) -> Array:
        """Undo `forward_all`."""
        return merge_levels(plan.levels, approximation, details, self.inverse)

    def forward_adjoint(self, plan: LevelPlan, bands: Mapping[str, Array]) -> Array:
        """Apply the transpose of `forward` to the bands of one level."""
        return self.inverse(transpose_forward(plan), bands)

    def inverse_adjoint(self, plan: LevelPlan, x: Array) -> Bands:
        """Apply the transpose of `inverse` to an array of one level."""
        return self.forward(transpose_inverse(plan), x)

    def forward_adjoint_all(self, plan: TransformPlan, approximation: Array, details: Sequence[Bands]) -> Array:
        """Apply the transpose of `forward_all`; arguments and result are those of `inverse_all`."""
        return self.inverse_all(transpose_all(plan, transpose_forward), approximation, details)

    def inverse_adjoint_all(self, plan: TransformPlan, x: Array) -> tuple[Array, list[Bands]]:
        """Apply the transpose of `inverse_all`; argument and results are those of `forward_all`."""
        return self.forward_all(transpose_all(plan, transpose_inverse), x)

    def stationary_forward_adjoint(self, plan: StationaryPlan, bands: Mapping[str, Array]) -> Array:
        """Apply the transpose of `stationary_forward` to the bands of one level."""
        return self.stationary_inverse(transpose_stationary(plan), bands)

    def stationary_inverse_adjoint(self, plan: StationaryPlan, x: Array) -> Bands:
        """Apply the transpose of `stationary_inverse` to an array of one level."""
        return self.stationary_forward(transpose_stationary(plan), x)

    def __repr__(self) -> str:
        return f"<engine {self.name!r}>"
