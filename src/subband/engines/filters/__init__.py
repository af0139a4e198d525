"""Filters, the work between a forward and an inverse transform: thresholds, noise, neighbourhoods, colour, borders.

`Filters` is the contract; `PlainFilters` is it in NumPy, slow and obviously right, and the judge of the others.
"""

from __future__ import annotations

from subband.engines.filters.base import Filters
from subband.engines.filters.lookup import find_filters
from subband.engines.filters.plain import PlainFilters

__all__ = ["Filters", "PlainFilters", "find_filters"]
