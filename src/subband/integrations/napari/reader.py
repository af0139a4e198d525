"""Files as layers of napari."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from subband.media import open_source
from subband.media.formats import find_format, split_ending

__all__ = ["LayerData", "get_reader", "read_layers"]

#: Pixels, settings of the layer, and its kind.
LayerData: TypeAlias = tuple[Any, dict[str, Any], str]


def get_reader(path: str | list[str]) -> Callable[[str], list[LayerData]] | None:
    """Return what reads a file for napari, or None if it is none that subband reads as an image or a volume.

    Parameters
    ----------
    path : str or list of str
        One file; napari reads the files of a list one by one if it is refused.
    """
    form = find_format(path) if isinstance(path, str) else None
    return read_layers if form is not None and form.is_read and {"still", "volume"} & {*form.kinds} else None


def read_layers(path: str) -> list[LayerData]:
    """Read an image or a volume as a layer, with the size of its voxels as the scale.

    Several volumes of a file, such as times, are a first axis.
    """
    with open_source(path) as source:
        info = source.info
        pixels = np.stack([frame.pixels for frame in source])
    settings: dict[str, Any] = {"name": split_ending(Path(path))[0], "rgb": info.is_colour}
    if info.groups > 1:
        pixels = pixels.reshape(info.groups, -1, *info.shape)
    elif len(pixels) == 1:
        pixels = pixels[0]
    if info.voxel_size is not None:
        # the outer axes of a layer have no unit
        sides = info.voxel_size[-(pixels.ndim - info.is_colour) :]
        settings["scale"] = (*(1.0,) * (pixels.ndim - info.is_colour - len(sides)), *sides)
        settings["metadata"] = {"voxel_unit": info.voxel_unit}
    return [(pixels, settings, "image")]
