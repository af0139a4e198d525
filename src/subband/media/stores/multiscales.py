"""What OME-Zarr says about arrays: their axes, the size of a step along each, and which level is which.

Written is version 0.5 of OME-NGFF, which stands on Zarr 3; read are that and version 0.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from subband.errors import FormatError

__all__ = ["Axis", "describe_multiscales", "find_axes", "guess_axes"]

#: Names of the last axes, and how many of them are space.
_NAMES = "tczyx"

# How volumes call units, and how OME does.
_UNITS = {"um": "micrometer", "mm": "millimeter", "nm": "nanometer", "cm": "centimeter", "m": "meter", "A": "angstrom"}


@dataclass(frozen=True)
class Axis:
    """One axis of an array.

    Attributes
    ----------
    name, kind, unit : str
        As OME calls them; `kind` is ``space``, ``time``, ``channel`` or nothing.
    scale, offset : float
        Size of a step, and where the first sample is.
    """

    name: str
    kind: str
    unit: str | None = None
    scale: float = 1.0
    offset: float = 0.0

    def coarsen(self, level: int, offset: float) -> Axis:
        """Return the axis of an approximation, each of whose samples stands for ``2**level``."""
        return replace(self, scale=self.scale * 2**level, offset=self.offset + self.scale * offset)


def guess_axes(ndim: int, steps: Sequence[float] | None, unit: str | None) -> tuple[Axis, ...]:
    """Return the axes of an array that says nothing about them: time, channel, and then space.

    Examples
    --------
    >>> [axis.name for axis in guess_axes(3, None, None)]
    ['z', 'y', 'x']
    """
    names = _NAMES[-ndim:] if ndim <= len(_NAMES) else [f"d{number}" for number in range(ndim - 3)] + list("zyx")
    kinds = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}
    axes = [Axis(name, kinds.get(name, "")) for name in names]
    if steps is not None:
        known = _UNITS.get(unit or "", unit)
        for number, step in enumerate(steps[: len(axes)]):
            axes[number] = replace(axes[number], scale=float(step), unit=known)
    return tuple(axes)


def find_axes(attributes: Mapping[str, Any], path: str) -> tuple[str, tuple[Axis, ...]]:
    """Return the name of the finest level of a group, and the axes of its array.

    Raises
    ------
    FormatError
        If the group describes no multiscale image.

    Examples
    --------
    >>> scale = {"type": "scale", "scale": [2.0, 0.5]}
    >>> image = {"axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}]}
    >>> image["datasets"] = [{"path": "s0", "coordinateTransformations": [scale]}]
    >>> name, axes = find_axes({"ome": {"version": "0.5", "multiscales": [image]}}, "image.zarr")
    >>> name, [axis.scale for axis in axes]
    ('s0', [2.0, 0.5])
    """
    about = attributes.get("ome", attributes)
    try:
        image = about["multiscales"][0]
        first = image["datasets"][0]
        axes = [Axis(each["name"], each.get("type", ""), each.get("unit")) for each in image["axes"]]
        for transformation in first.get("coordinateTransformations", ()):
            kind = transformation["type"]
            for number, value in enumerate(transformation.get(kind, ())):
                if kind == "scale":
                    axes[number] = replace(axes[number], scale=float(value))
                elif kind == "translation":
                    axes[number] = replace(axes[number], offset=float(value))
        return str(first["path"]), tuple(axes)
    except (LookupError, TypeError, AttributeError) as error:
        raise FormatError(
            f"{path!r} is a Zarr group that describes no multiscale image; give the path of one of its arrays"
        ) from error


def describe_multiscales(name: str, levels: Sequence[Sequence[Axis]], method: str = "") -> dict[str, Any]:
    """Return the attributes of a group whose arrays 0, 1, 2 … are the levels of an image.

    Parameters
    ----------
    name : str
        Of the image.
    levels : sequence of sequence of Axis
        The axes of each level, the finest first.
    method : str
        How each level was made from the one before.

    Examples
    --------
    >>> axes = guess_axes(2, (0.5, 0.5), "um")
    >>> about = describe_multiscales("cells", [axes, [axis.coarsen(1, 0.0) for axis in axes]])
    >>> about["ome"]["multiscales"][0]["datasets"][1]["coordinateTransformations"][0]
    {'type': 'scale', 'scale': [1.0, 1.0]}
    """
    axes = []
    for axis in levels[0]:
        entry: dict[str, Any] = {"name": axis.name}
        if axis.kind:
            entry["type"] = axis.kind
        if axis.unit:
            entry["unit"] = axis.unit
        axes.append(entry)
    datasets = [
        {
            "path": str(number),
            "coordinateTransformations": [
                {"type": "scale", "scale": [axis.scale for axis in own]},
                {"type": "translation", "translation": [axis.offset for axis in own]},
            ],
        }
        for number, own in enumerate(levels)
    ]
    image: dict[str, Any] = {"name": name, "axes": axes, "datasets": datasets}
    if method:
        image["type"] = method
    return {"ome": {"version": "0.5", "multiscales": [image]}}
