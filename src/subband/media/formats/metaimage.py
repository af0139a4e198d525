"""MetaImage files (MHA, and MHD with its data beside it), as ITK and elastix write them."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import FormatError
from subband.media.base import SourceInfo
from subband.media.faults import explain_damage
from subband.media.formats.base import Format
from subband.media.geometry import find_affine, flip_sides, make_affine, measure_steps
from subband.media.lengths import convert_lengths
from subband.media.volume_sinks import HeadedSink
from subband.media.volumes import VolumeSource, open_array
from subband.typing import Array

__all__ = ["FORMATS", "describe_meta", "open_meta"]

_TYPES = {
    "MET_CHAR": "i1", "MET_UCHAR": "u1", "MET_SHORT": "i2", "MET_USHORT": "u2", "MET_INT": "i4", "MET_UINT": "u4",
    "MET_LONG": "i4", "MET_ULONG": "u4", "MET_LONG_LONG": "i8", "MET_ULONG_LONG": "u8", "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}  # fmt: skip
# A text longer than this is none.
_LONGEST = 2**16


def open_meta(path: Path) -> VolumeSource:
    """Open a MetaImage; mapped into memory where its data are not packed.

    A fourth axis, and channels that are no colours, count volumes.

    Raises
    ------
    FormatError
        If it is damaged, or its slices lie in files of their own.
    """
    with explain_damage(path, "a MetaImage"):
        header, offset = _read_header(path)
        array = _load(path, header, offset)
        size, affine = _find_position(header, int(header["NDims"]))
    metadata = {} if affine is None else {"affine": affine}
    return open_array(array, path, "meta", metadata, voxel_size=size)


class _Header(dict[str, str]):
    """The fields of a header; one that is needed and not there is named."""

    def __missing__(self, name: str) -> str:
        raise ValueError(f"it does not say {name!r}")


def _read_header(path: Path) -> tuple[dict[str, str], int]:
    """Return the fields of a header, and where it ends."""
    fields = _Header()
    with path.open("rb") as file:
        while "ElementDataFile" not in fields:
            line = file.readline(_LONGEST)
            name, sign, value = line.decode("latin-1").partition("=")
            if not sign:
                if line.strip():
                    raise FormatError(f"{str(path)!r} is no MetaImage: it has a line without '='")
                if not line:
                    raise FormatError(f"{str(path)!r} is no MetaImage: it does not name its data")
                continue
            fields[name.strip()] = value.strip()
        return fields, file.tell()


def _load(path: Path, header: dict[str, str], offset: int) -> Array:
    lengths = [int(length) for length in header["DimSize"].split()]
    if len(lengths) != int(header["NDims"]) or not 2 <= len(lengths) <= 4 or min(lengths) < 1:
        raise FormatError(f"{str(path)!r} has the DimSize {header['DimSize']}; two to four axes are read")
    if header["ElementType"] not in _TYPES:
        raise FormatError(f"{str(path)!r} holds {header['ElementType']}; use one of {', '.join(_TYPES)}")
    channels = int(header.get("ElementNumberOfChannels", 1))
    shape = (*lengths[::-1], *((channels,) if channels > 1 else ()))
    order = header.get("BinaryDataByteOrderMSB", header.get("ElementByteOrderMSB", "False"))
    dtype = np.dtype((">" if order.lower() == "true" else "<") + _TYPES[header["ElementType"]])
    name = header["ElementDataFile"]
    if name == "LIST" or "%" in name:
        raise FormatError(f"{str(path)!r} has its slices in files of their own; save it as one .mha")
    data_path = path if name.upper() == "LOCAL" else path.parent / name
    if data_path is not path:
        offset = int(header.get("HeaderSize", 0))
    array = _read_numbers(data_path, header, dtype, shape, offset)
    if channels > 1 and (channels != 3 or len(lengths) > 3):
        array = np.moveaxis(array, -1, 0)
        array = array[:, np.newaxis] if len(lengths) == 2 else array
    elif channels > 1 and len(lengths) == 2:
        array = array[np.newaxis]
    return array


def _read_numbers(
    data_path: Path, header: dict[str, str], dtype: np.dtype[Any], shape: tuple[int, ...], offset: int
) -> Array:
    nbytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    if header.get("CompressedData", "False").lower() == "true":
        with data_path.open("rb") as file:
            file.seek(max(offset, 0))
            unpacker = zlib.decompressobj()
            content = unpacker.decompress(file.read(), nbytes)
        if len(content) < nbytes:
            raise FormatError(f"{str(data_path)!r} is cut off: it holds {len(content)} bytes of {nbytes}")
        return np.frombuffer(content, dtype).reshape(shape)
    have = data_path.stat().st_size
    start = have - nbytes if offset < 0 else offset
    if start < 0 or start + nbytes > have:
        raise FormatError(f"{str(data_path)!r} is cut off: it holds {max(have - max(start, 0), 0)} bytes of {nbytes}")
    return np.memmap(data_path, dtype, "r", start, shape)


def _find_position(header: dict[str, str], axes: int) -> tuple[list[float] | None, Array | None]:
    """Return the size of voxels, and the affine; ITK counts towards left and posterior."""
    spacing = _find_numbers(header, axes, "ElementSpacing", "ElementSize")
    if spacing is None or axes < 3:
        return None, None
    size = [abs(side) for side in spacing[2::-1]]
    origin = _find_numbers(header, axes, "Offset", "Position", "Origin")
    turns = _find_numbers(header, axes * axes, "TransformMatrix", "Orientation", "Rotation")
    if origin is None or turns is None:
        return size, None
    steps = np.array(turns).reshape(axes, axes)[:3, :3] * np.array(spacing[:3])[:, np.newaxis]
    affine = flip_sides(make_affine(steps, origin[:3]))
    return list(measure_steps(affine)), affine


def _find_numbers(header: dict[str, str], count: int, *names: str) -> list[float] | None:
    text = next((header[name] for name in names if name in header), None)
    if text is None:
        return None
    numbers = [float(number) for number in text.split()]
    return numbers if len(numbers) == count and np.isfinite(numbers).all() else None


def describe_meta(info: SourceInfo, count: int) -> bytes:
    """Return the header of a MetaImage whose bare data follow, for so many slices of all groups."""
    rows, columns = info.shape[:2]
    lengths = [columns, rows, count // info.groups, *([info.groups] if info.groups > 1 else [])]
    axes = len(lengths)
    scale = (convert_lengths((1.0,), (info.voxel_unit,), "mm") or (1.0,))[0]
    kind = next(name for name, code in _TYPES.items() if code == f"{info.dtype.kind}{info.dtype.itemsize}")
    lines = {"ObjectType": "Image", "NDims": axes, "BinaryData": True, "BinaryDataByteOrderMSB": False}
    affine = find_affine(info)
    size = info.voxel_size or (1.0, 1.0, 1.0)
    if affine is not None:
        turned = flip_sides(affine)
        size = measure_steps(turned)
        turns, origin = np.eye(axes), np.zeros(axes)
        turns[:3, :3] = (turned[:3, :3] / size[::-1]).T
        origin[:3] = turned[:3, 3] * scale
        lines |= {"TransformMatrix": _write(turns.ravel()), "Offset": _write(origin)}
    lines |= {
        "ElementSpacing": _write(np.array([*(side * scale for side in size[::-1]), 1.0])[:axes]),
        "DimSize": " ".join(map(str, lengths)),
        **({"ElementNumberOfChannels": 3} if info.is_colour else {}),
        "ElementType": kind,
        "ElementDataFile": "LOCAL",
    }
    return "".join(f"{name} = {value}\n" for name, value in lines.items()).encode()


def _write(numbers: Array) -> str:
    return " ".join(repr(float(number)) for number in numbers)


FORMATS = (
    Format(
        "MetaImage",
        (".mha", ".mhd"),
        ("volume",),
        only_read=(".mhd",),
        about="bare and packed, not a list of files",
        kept="directions and origin",
        open_volume=lambda path, _: open_meta(path),
        create=lambda path, info, writing: HeadedSink(path, info, describe_meta, **writing.kept),
    ),
)
