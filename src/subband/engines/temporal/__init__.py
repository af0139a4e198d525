"""Averages of video over time: how frames have moved, what is left of those before, and how noisy that is.

`TemporalFilters` is the contract; loops of the CPU are one implementation and the judge of the other, which are kernels
of devices.
"""

from __future__ import annotations

from subband.engines.temporal.base import Grid, Past, TemporalFilters
from subband.engines.temporal.lookup import find_temporal_filters

__all__ = ["Grid", "Past", "TemporalFilters", "find_temporal_filters"]
