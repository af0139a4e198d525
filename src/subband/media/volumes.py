"""Volumes: stacks of slices that need not fit into memory.

A volume is walked slice by slice, as any other source, or read in blocks with `VolumeSource.read_block`. Both read no
more from the file than they give. `subband.media.formats` has the formats, one file each.

Files with a further axis, such as times or channels, hold several volumes, one behind the other: `SourceInfo.groups`
says how many, and each is filtered by itself. Where voxels lie in space is said by an affine; see
`subband.media.geometry`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import ArgumentError, FormatError, SubbandError
from subband.media.base import Frame, Source, SourceInfo
from subband.media.faults import BROKEN, DamagedError
from subband.typing import Array

__all__ = ["VolumeSource", "choose_dataset", "describe_volume", "open_array"]


class VolumeSource(Source):
    """A volume whose slices are read when they are asked for.

    Parameters
    ----------
    info : SourceInfo
        With the number of slices as its count.
    read_slice : callable
        Takes the number of a slice, and returns its pixels.
    read_slices : callable, optional
        Takes three slices (of slices, rows and columns), and returns a block faster than one slice after the other.
    close : callable, optional
        Lets go of the file.

    Attributes
    ----------
    shape : tuple of int
        Slices × rows × columns, and × 3 for colour; the slices of all volumes of the file, one behind the other.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.media import VolumeSource
    >>> from subband.media.volumes import describe_volume
    >>> volume = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    >>> source = VolumeSource(describe_volume(volume.shape, volume.dtype), volume.__getitem__)
    >>> [frame.number for frame in source]
    [0, 1]
    >>> source.read_block((slice(0, 2), slice(1, 3), slice(0, 1))).ravel()
    array([ 4.,  8., 16., 20.], dtype=float32)
    """

    def __init__(
        self,
        info: SourceInfo,
        read_slice: Callable[[int], Array],
        read_slices: Callable[[tuple[slice, ...]], Array] | None = None,
        close: Callable[[], Any] | None = None,
    ) -> None:
        self.info = info
        self.shape = (info.count or 0, *info.shape)
        self._read_slice = read_slice
        self._read_slices = read_slices
        self._close = close

    def __iter__(self) -> Iterator[Frame]:
        return self.walk(0, self.shape[0])

    def walk(self, start: int, stop: int) -> Iterator[Frame]:
        """Walk through some of the slices, such as those of one group."""
        distance = self.info.voxel_size[0] if self.info.voxel_size else 1.0
        depth = max(self.shape[0] // self.info.groups, 1)
        for number in range(start, stop):
            pixels = self._own(self._guard(number))
            if pixels.shape != self.info.shape:
                raise DamagedError(
                    f"slice {number} of {str(self.info.origin)!r} has the shape {pixels.shape}, not {self.info.shape}",
                    number,
                )
            yield Frame(pixels, number, 0.0, None, {"position": number % depth * distance})

    def read_block(self, slices: slice | Sequence[slice]) -> Array:
        """Return a part of the volume as an array of its own.

        Parameters
        ----------
        slices : slice or sequence of slice
            Of slices, rows and columns, with steps of 1; those left out are taken whole.

        Raises
        ------
        ArgumentError
            If there are more of them than axes, or they have other steps.
        """
        given = (slices,) if isinstance(slices, slice) else tuple(slices)
        if len(given) > len(self.shape):
            raise ArgumentError(f"slices has {len(given)} parts, and the volume {len(self.shape)} axes")
        given += (slice(None),) * (len(self.shape) - len(given))
        ranges = [part.indices(length) for part, length in zip(given, self.shape, strict=True)]
        if any(step != 1 for _, _, step in ranges):
            raise ArgumentError("slices have steps other than 1; read a block and take every second of it")
        block = tuple(slice(start, max(start, stop)) for start, stop, _ in ranges)
        if self._read_slices is not None:
            return self._own(self._read_slices(block))
        shape = tuple(part.stop - part.start for part in block)
        result = np.empty(shape, self.info.dtype)
        for index, number in enumerate(range(block[0].start, block[0].stop)):
            result[index] = self._guard(number)[block[1:]]
        return result

    def close_with(self, close: Callable[[], Any]) -> None:
        """Have something else called when the source is closed."""
        self._close = close

    def close(self) -> None:
        """Close the file."""
        if self._close is not None:
            self._close()
            self._close = None

    def _guard(self, number: int) -> Array:
        try:
            return self._read_slice(number)
        except BROKEN as error:
            if isinstance(error, SubbandError):
                raise
            raise DamagedError(f"{str(self.info.origin)!r} is damaged at slice {number}: {error}", number) from error

    def _own(self, values: Array) -> Array:
        """Return an array in memory, of this machine's byte order."""
        return np.array(values, dtype=self.info.dtype, order="C")


def describe_volume(
    shape: Sequence[int],
    dtype: Any,
    *,
    origin: Path | None = None,
    voxel_size: Sequence[float] | None = None,
    voxel_unit: str = "mm",
    groups: int = 1,
    container: str = "",
    metadata: dict[str, Any] | None = None,
) -> SourceInfo:
    """Describe a volume of slices × rows × columns, or slices × rows × columns × 3.

    The slices are those of all `groups`.

    Raises
    ------
    FormatError
        If it has another number of axes, or holds no real numbers.

    Examples
    --------
    >>> describe_volume((5, 3, 4), ">u2", voxel_size=(2, 1, 1)).voxel_size
    (2.0, 1.0, 1.0)
    """
    name = str(origin) if origin is not None else "the volume"
    is_colour = len(shape) == 4 and shape[3] == 3
    if len(shape) != 3 and not is_colour:
        raise FormatError(f"{name!r} has the shape {tuple(shape)}; a volume has slices, rows and columns")
    native = np.dtype(dtype).newbyteorder("=")
    if native.kind not in "iufb":
        raise FormatError(f"{name!r} holds {native}; volumes of real numbers are read")
    native = np.dtype(np.uint8) if native.kind == "b" else np.dtype(np.float32) if native == np.float16 else native
    size: tuple[float, float, float] | None = None
    if voxel_size is not None:
        depth, row, column = (float(value) for value in voxel_size)
        size = (depth, row, column)
    return SourceInfo(
        "volume",
        tuple(int(length) for length in shape[1:]),
        native,
        colours="rgb" if is_colour else "grey",
        bits=8 * native.itemsize,
        count=int(shape[0]),
        groups=groups,
        voxel_size=size,
        voxel_unit=voxel_unit,
        origin=origin,
        container=container,
        metadata=metadata or {},
    )


def open_array(
    array: Any, path: Path, container: str, metadata: dict[str, Any] | None = None, **about: Any
) -> VolumeSource:
    """Make a source of an array of two to four axes; of four, the first counts volumes, unless the last is colour.

    Parameters
    ----------
    array : array_like
        In memory, or in a file that is read when it is sliced.
    path, container, metadata, **about
        For `describe_volume`.

    Raises
    ------
    FormatError
        If it has another number of axes, or holds no real numbers.

    Examples
    --------
    >>> source = open_array(np.zeros((5, 2, 3, 4)), Path("times.npy"), "npy")
    >>> source.shape, source.info.groups
    ((10, 3, 4), 5)
    """
    shape, known = tuple(array.shape), dict(metadata or {})
    if len(shape) == 2:
        shape, known["is_flat"] = (1, *shape), True
    is_grouped = len(shape) == 4 and shape[3] != 3
    groups, depth = shape[:2] if is_grouped else (1, 1)
    if is_grouped:
        shape = (groups * depth, *shape[2:])
    info = describe_volume(shape, array.dtype, origin=path, groups=groups, container=container, metadata=known, **about)
    if array.ndim == 2:
        return VolumeSource(info, lambda _: array[:], lambda block: array[:][np.newaxis][block])
    if is_grouped:
        return VolumeSource(info, lambda number: array[divmod(number, depth)])
    return VolumeSource(info, array.__getitem__, array.__getitem__)


def choose_dataset(path: Path, what: str, names: Sequence[str], name: str | None) -> str:
    """Return which array of a file is meant: the one that is named, or the only one.

    Raises
    ------
    ArgumentError
        If there is no such array, or more than one to choose from; it names them.

    Examples
    --------
    >>> choose_dataset(Path("scans.h5"), "volume", ["ct", "mr"], "pet")
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: 'scans.h5' has no volume 'pet'; it has ct, mr
    """
    known = ", ".join(names) or "none"
    if name is None and len(names) != 1:
        raise ArgumentError(f"{str(path)!r} holds the {what}s {known}; name one, as in {path.name}:NAME")
    chosen = names[0] if name is None else name
    if chosen not in names:
        raise ArgumentError(f"{str(path)!r} has no {what} {chosen!r}; it has {known}")
    return chosen
