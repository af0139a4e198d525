"""Units of length, as volumes say how large their voxels are."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["convert_lengths", "find_unit", "name_unit"]

# How many metres each is. The last ones are those that OME knows beside the metric ones.
_METRES = {
    "Ym": 1e24, "Zm": 1e21, "Em": 1e18, "Pm": 1e15, "Tm": 1e12, "Gm": 1e9, "Mm": 1e6, "km": 1e3, "hm": 1e2, "dam": 1e1,
    "m": 1.0, "dm": 1e-1, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "nm": 1e-9, "pm": 1e-12, "fm": 1e-15, "am": 1e-18,
    "zm": 1e-21, "ym": 1e-24, "A": 1e-10, "thou": 2.54e-5, "li": 2.54e-2 / 12, "in": 2.54e-2, "ft": 0.3048,
    "yd": 0.9144, "mi": 1609.344, "ua": 149597870700.0, "ly": 9460730472580800.0, "pc": 3.085677581491367e16,
    "pt": 2.54e-2 / 72,
}  # fmt: skip

# Other ways to write them: ImageJ's, NIfTI's, and the many letters that look like micro and like Å.
_NAMES = {
    "\\u00B5m": "um", "µm": "um", "μm": "um", "micron": "um", "microns": "um", "micrometer": "um", "micrometre": "um",
    "Å": "A", "\u212b": "A", "A\u030a": "A", "\\u00C5": "A", "angstrom": "A", "meter": "m", "metre": "m",
    "millimeter": "mm", "nanometer": "nm", "centimeter": "cm", "inch": "in", "inches": "in",
}  # fmt: skip

# What other files can say too; a length in another unit is turned into one of these.
_COMMON = ("m", "cm", "mm", "um", "nm", "pm")


def name_unit(unit: str) -> str:
    """Return the usual name of a unit, in plain letters.

    Examples
    --------
    >>> name_unit("µm"), name_unit("Å"), name_unit("pixel")
    ('um', 'A', 'pixel')
    """
    stripped = unit.strip()
    return _NAMES.get(stripped, stripped)


def find_unit(unit: str) -> str:
    """Return a unit that other files know, to be used for lengths in some unit.

    Examples
    --------
    >>> find_unit("µm"), find_unit("Å"), find_unit("in"), find_unit("pixel")
    ('um', 'nm', 'cm', 'pixel')
    """
    name = name_unit(unit)
    if name in _COMMON or name not in _METRES:
        return name
    return next((each for each in _COMMON if _METRES[each] <= _METRES[name] * 10), _COMMON[-1])


def convert_lengths(lengths: Sequence[float], units: Sequence[str], unit: str) -> tuple[float, ...] | None:
    """Return lengths in one unit; None if one of them is in a unit that is no length, and not the same.

    Examples
    --------
    >>> convert_lengths((0.5, 500.0, 3.0), ("um", "nm", "Å"), "um")
    (0.5, 0.5, 0.0003)
    >>> convert_lengths((1.0, 2.0), ("pixel", "pixel"), "pixel")
    (1.0, 2.0)
    >>> convert_lengths((1.0, 2.0), ("pixel", "mm"), "mm") is None
    True
    """
    goal, names = name_unit(unit), [name_unit(each) for each in units]
    if all(name == goal for name in names):
        return tuple(float(length) for length in lengths)
    if goal not in _METRES or any(name not in _METRES for name in names):
        return None
    # rounded, because a power of ten is not exact, and 500 nm shall be 0.5 µm
    return tuple(
        float(f"{length * _METRES[name] / _METRES[goal]:.15g}") for length, name in zip(lengths, names, strict=True)
    )
