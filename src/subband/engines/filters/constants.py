"""Numbers that all filters share."""

from __future__ import annotations

__all__ = ["ENOUGH", "LAPLACIANS", "LARGEST_FACTOR", "NEIGHBOUR_WINDOWS", "NORMAL_MEDIAN", "SURE_BINS"]

#: Weights of the Laplacian over a 3 × 3 neighbourhood: its centre, the neighbours beside it and those across.
LAPLACIANS: dict[str, tuple[float, float, float]] = {"cross": (-4.0, 1.0, 0.0), "diagonal": (-8.0, 1.0, 1.0)}

#: The median magnitude of a normal distribution with standard deviation one.
NORMAL_MEDIAN = 0.6744897501960817

#: Candidates among which Stein's estimate of the risk chooses; more gain nothing.
SURE_BINS = 32

#: Windows and the largest factor that there are to choose from when a coefficient shrinks by its neighbourhood.
NEIGHBOUR_WINDOWS = (3, 5)
LARGEST_FACTOR = 6.0

#: Of a plane with more coefficients than this only some rows are looked at to choose a factor.
ENOUGH = 1 << 17
