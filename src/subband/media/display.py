"""What files say about how their numbers are to be shown: black, white and the unit.

Sources put it into ``info.metadata``: ``"window"``, the numbers that are black and white, and ``"unit"``, such as HU.
Viewers start from it; nothing that is computed depends on it.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

__all__ = ["describe_display", "find_dicom_display"]

#: Units of rescaled numbers and of PET in DICOM, as people write them; others are written as they stand.
_UNITS = {"US": "", "HU": "HU", "BQML": "Bq/ml", "CNTS": "counts", "PROPCNTS": "", "GML": "g/ml", "OD": "OD"}
_LONGEST_UNIT = 8


def describe_display(low: Any, high: Any, unit: str = "") -> dict[str, Any]:
    """Return the entries for numbers that are black and white; nothing of what makes no sense.

    Examples
    --------
    >>> describe_display(-160, 240, "HU")
    {'window': (-160.0, 240.0), 'unit': 'HU'}
    >>> describe_display(0, 0)
    {}
    """
    found: dict[str, Any] = {}
    try:
        window = float(low), float(high)
    except (TypeError, ValueError):
        window = (0.0, 0.0)
    if all(map(isfinite, window)) and window[0] < window[1]:
        found["window"] = window
    if unit:
        found["unit"] = unit
    return found


def find_dicom_display(head: Any, *, is_inverted: bool) -> dict[str, Any]:
    """Return the entries for a DICOM header: the first of its windows, and the unit of its numbers.

    Examples
    --------
    >>> head = {"WindowCenter": [40, -600], "WindowWidth": [400, 1500], "RescaleType": "HU"}
    >>> find_dicom_display(head, is_inverted=False)
    {'window': (-160.0, 240.0), 'unit': 'HU'}
    """
    words = [str(head.get(name) or "").strip() for name in ("RescaleType", "Units")]
    unit = next((_UNITS.get(word, word[:_LONGEST_UNIT]) for word in words if word), "")
    if not unit and str(head.get("Modality") or "") == "CT" and head.get("RescaleIntercept") is not None:
        unit = "HU"
    if is_inverted:
        # the numbers have been turned, and the window has not
        return describe_display(0, 0, unit)
    try:
        middle, width = (_read_first(head.get(name)) for name in ("WindowCenter", "WindowWidth"))
    except (TypeError, ValueError, IndexError):
        return describe_display(0, 0, unit)
    return describe_display(middle - width / 2, middle + width / 2, unit)


def _read_first(value: Any) -> float:
    """Return the first of several numbers of a header, or the only one."""
    return float(value if isinstance(value, str) or not hasattr(value, "__len__") else value[0])
