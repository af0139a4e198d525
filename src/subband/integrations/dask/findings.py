"""What has to be known about a whole array before the first of its chunks can be computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from subband.typing import Array

__all__ = ["Findings", "Statistic", "narrow"]

#: What a method wants to know of each band, by the position of the picture, the level and the band's key: an array that
#: begins with the leading axes of the planes.
Statistic = Mapping[tuple[int, int, str], Array]


@dataclass(frozen=True)
class Findings:
    """What the passes before the last over an array have found.

    Attributes
    ----------
    noise : ndarray or None
        Its standard deviation in each plane; the leading axes of the array are its own.
    statistic : dict or None
        The thresholds of bands, or what they follow from, if the method looks at whole bands.
    filling : array or None
        The array at a small size, from which wide gaps are filled.

    Examples
    --------
    >>> found = Findings(np.array([2.0]), {(0, 1, "dd"): np.array([6.5])})
    >>> Findings.from_facts(found.to_facts()) == found
    True
    """

    noise: Array | None = None
    statistic: Statistic | None = None
    filling: Any = None

    def to_facts(self) -> dict[str, Any]:
        """Return what JSON can hold; what gaps are filled from is too large for that."""
        facts: dict[str, Any] = {}
        if self.noise is not None:
            facts["noise"] = self.noise.tolist()
        if self.statistic is not None:
            facts["statistic"] = [[*at, numbers.tolist()] for at, numbers in self.statistic.items()]
        return facts

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Findings:
        """Return what `to_facts` was given."""
        noise, bands = facts.get("noise"), facts.get("statistic")
        statistic = None
        if bands is not None:
            statistic = {
                (int(position), int(level), str(key)): np.asarray(numbers, np.float64)
                for position, level, key, numbers in bands
            }
        return cls(None if noise is None else np.asarray(noise, np.float64), statistic)


def narrow(
    noise: Array | None, statistic: Statistic | None, leading: tuple[slice, ...]
) -> tuple[Array | None, Statistic | None]:
    """Return what is known of the planes of a chunk, with a single leading axis.

    Examples
    --------
    >>> narrow(np.array([[1.0, 2.0], [3.0, 4.0]]), None, (slice(1, 2), slice(0, 2)))
    (array([3., 4.]), None)
    """
    numbers = None if noise is None else noise[leading].reshape(-1)
    if statistic is None:
        return numbers, None
    count = len(leading)
    own = {}
    for at, values in statistic.items():
        part = values[leading]
        own[at] = part.reshape(-1, *part.shape[count:])
    return numbers, own
