"""Netpbm files that Pillow cuts down or does not know: PGM and PPM of 16 bits, PAM with opacity, PFM."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np

from subband.errors import ArgumentError, FormatError
from subband.media.formats.base import Format
from subband.media.limits import refuse_bomb
from subband.media.pillow_stills import write_pillow
from subband.media.still import Still
from subband.typing import Array

__all__ = ["FORMATS", "read_netpbm", "write_netpbm"]

_CHANNELS: Final = {b"P2": 1, b"P3": 3, b"P5": 1, b"P6": 3, b"Pf": 1, b"PF": 3}
_MOST_HEADER = 65536
_TOKEN = re.compile(rb"(?:\s|#[^\n\r]*[\n\r])*([^\s#]+)")
_END = re.compile(rb"^ENDHDR\s*?\n", re.MULTILINE)


def _is_deep(path: Path, head: bytes) -> bool:  # noqa: ARG001 - as of `Format.recognise`
    """Tell whether a file is of PGM or PPM with more than 8 bits, which Pillow would cut down."""
    if head[:2] not in _CHANNELS or not head[2:3].isspace():
        return False
    try:
        return _read_numbers(head, 3)[0][2] > 255
    except FormatError:
        return False


def read_netpbm(path: Path, most_pixels: int) -> Still:
    """Read a Netpbm file: pixels, stretched to 8 or 16 bits or as float32, and opacity.

    Raises
    ------
    FormatError
        If it is damaged, or larger than `most_pixels`.
    """
    content = path.read_bytes()
    try:
        magic = content[:2]
        if magic in (b"PF", b"Pf"):
            return Still(_read_floats(path, content, most_pixels))
        if magic == b"P7":
            return Still(*_read_pam(path, content, most_pixels))
        (columns, rows, peak), start = _read_numbers(content, 3)
        refuse_bomb(str(path), rows, columns, most_pixels)
        shape = (rows, columns, _CHANNELS[magic])
        if magic in (b"P2", b"P3"):
            values = _read_plain(content[start:], shape)
        else:
            values = _take(content, start, shape, np.dtype(np.uint8 if peak < 256 else ">u2"))
        pixels = _stretch(values, peak)
    except FormatError as error:
        if type(error) is not FormatError:
            raise
        raise FormatError(f"{str(path)!r} cannot be read as an image: {error}") from error
    return Still(pixels if pixels.shape[2] == 3 else pixels[..., 0])


def write_netpbm(path: Path, still: Still, quality: float | None = None) -> None:  # noqa: ARG001 - of `Format.write`
    """Write a Netpbm file of the kind that its ending says: PFM for floating point, PAM with opacity, else PGM or PPM.

    Examples
    --------
    >>> import tempfile
    >>> ramp = np.arange(6, dtype=np.uint16).reshape(2, 3) * 1000
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_netpbm(Path(folder, "ramp.pgm"), Still(ramp))
    ...     bool((read_netpbm(Path(folder, "ramp.pgm"), 6).pixels == ramp).all())
    True
    """
    pixels, alpha, is_colour = still.pixels, still.alpha, still.is_colour
    rows, columns = pixels.shape[:2]
    ending = path.suffix.lower()
    if ending == ".pfm":
        # rows run upwards, and a scale below zero says that the smallest byte comes first
        header = f"{'PF' if is_colour else 'Pf'}\n{columns} {rows}\n-1.0\n"
        samples = np.ascontiguousarray(pixels[::-1], "<f4")
    else:
        if pixels.dtype.kind == "f":
            raise ArgumentError(f"{path.name!r} cannot hold floating point; write to .pfm or .tiff")
        peak = np.iinfo(pixels.dtype).max
        samples = pixels if alpha is None or ending != ".pam" else np.dstack([pixels, alpha])
        if ending == ".pam":
            kind = ("RGB" if is_colour else "GRAYSCALE") + ("_ALPHA" if alpha is not None else "")
            depth = 1 if samples.ndim == 2 else samples.shape[2]
            header = f"P7\nWIDTH {columns}\nHEIGHT {rows}\nDEPTH {depth}\nMAXVAL {peak}\nTUPLTYPE {kind}\nENDHDR\n"
        else:
            header = f"{'P6' if is_colour else 'P5'}\n{columns} {rows}\n{peak}\n"
        samples = np.ascontiguousarray(samples, ">u2" if peak > 255 else np.uint8)
    path.write_bytes(header.encode() + samples.tobytes())


def _read_numbers(content: bytes, count: int) -> tuple[list[int], int]:
    """Read the numbers behind the magic, and where the samples begin: one blank behind them."""
    offset = 2
    numbers = []
    for _ in range(count):
        found = _TOKEN.match(content, offset)
        if found is None or not found[1].isdigit() or len(found[1]) > 9:
            raise FormatError("its header is damaged")
        numbers.append(int(found[1]))
        offset = found.end()
    if min(numbers) < 1 or numbers[-1] > 65535:
        raise FormatError(f"its header says {numbers}")
    return numbers, offset + 1


def _take(content: bytes, start: int, shape: tuple[int, int, int], dtype: np.dtype[np.generic]) -> Array:
    """Return the samples that follow the header."""
    count = shape[0] * shape[1] * shape[2]
    if len(content) < start + count * dtype.itemsize:
        raise FormatError(f"it is cut off: {len(content)} bytes are too few for {shape[1]} × {shape[0]} pixels")
    return np.frombuffer(content, dtype, count, start).reshape(shape)


def _read_plain(content: bytes, shape: tuple[int, int, int]) -> Array:
    """Read samples that are written as decimal numbers."""
    words = re.sub(rb"#[^\n\r]*", b"", content).split(maxsplit=shape[0] * shape[1] * shape[2])
    count = shape[0] * shape[1] * shape[2]
    if len(words) < count or not all(word.isdigit() and len(word) < 6 for word in words[:count]):
        raise FormatError("its samples are damaged or cut off")
    return np.array(words[:count]).astype(np.int64).reshape(shape)


def _read_pam(path: Path, content: bytes, most_pixels: int) -> tuple[Array, Array | None]:
    end = _END.search(content, 0, _MOST_HEADER)
    if end is None:
        raise FormatError("its header is damaged")
    lines = [
        line.split(None, 1) for line in content[3 : end.start()].splitlines() if line.strip()[:1] not in (b"", b"#")
    ]
    known = {line[0]: line[1].strip() for line in lines if len(line) == 2}
    try:
        columns, rows, depth, peak = (int(known[name]) for name in (b"WIDTH", b"HEIGHT", b"DEPTH", b"MAXVAL"))
    except (KeyError, ValueError):
        raise FormatError("its header is damaged") from None
    if min(columns, rows, depth) < 1 or not 0 < peak < 65536:
        raise FormatError(f"its header says {columns} × {rows} × {depth} and a maximum of {peak}")
    kind = known.get(b"TUPLTYPE", b"").decode("ascii", "replace")
    colours = {"BLACKANDWHITE": 1, "GRAYSCALE": 1, "RGB": 3, "": 1 if depth < 3 else 3}.get(kind.removesuffix("_ALPHA"))
    has_alpha = kind.endswith("_ALPHA") or (not kind and depth in (2, 4))
    if colours is None or depth != colours + has_alpha:
        raise FormatError(
            f"it has {depth} channels of the kind {kind!r}; grey and RGB are read, each with opacity or not"
        )
    refuse_bomb(str(path), rows, columns, most_pixels)
    values = _take(content, end.end(), (rows, columns, depth), np.dtype(np.uint8 if peak < 256 else ">u2"))
    stretched = _stretch(values, peak)
    pixels = stretched[..., :3] if colours == 3 else stretched[..., 0]
    return np.ascontiguousarray(pixels), np.ascontiguousarray(stretched[..., -1]) if has_alpha else None


def _read_floats(path: Path, content: bytes, most_pixels: int) -> Array:
    offset, words = 2, []
    for _ in range(3):
        found = _TOKEN.match(content, offset)
        if found is None:
            raise FormatError("its header is damaged")
        words.append(found[1])
        offset = found.end()
    try:
        columns, rows, scale = int(words[0]), int(words[1]), float(words[2])
    except ValueError:
        raise FormatError("its header is damaged") from None
    if columns < 1 or rows < 1 or not np.isfinite(scale) or scale == 0:
        raise FormatError(f"its header says {columns} × {rows} and a scale of {scale}")
    refuse_bomb(str(path), rows, columns, most_pixels)
    dtype = np.dtype("<f4" if scale < 0 else ">f4")
    values = _take(content, offset + 1, (rows, columns, _CHANNELS[content[:2]]), dtype)
    upright = values[::-1].astype(np.float32)
    return upright if upright.shape[2] == 3 else np.ascontiguousarray(upright[..., 0])


def _stretch(values: Array, peak: int) -> Array:
    """Bring samples up to a maximum to the full range of 8 or 16 bits."""
    dtype, full = (np.dtype(np.uint8), 255) if peak < 256 else (np.dtype(np.uint16), 65535)
    if values.size and int(values.max()) > peak:
        raise FormatError(f"it has values up to {values.max()}, and its header says {peak}")
    if peak == full:
        return values.astype(dtype)
    return np.rint(values * (full / peak)).astype(dtype)


def _write_map(path: Path, still: Still, quality: float | None) -> None:
    """Write PGM or PPM; Pillow knows those of 8 bits, whose ending need not say whether they are grey."""
    (write_netpbm if still.pixels.dtype == np.uint16 else write_pillow)(path, still, quality)


FORMATS = (
    Format(
        "PPM",
        (".ppm", ".pgm", ".pnm"),
        ("still",),
        dtypes=("uint8", "uint16"),
        recognise=_is_deep,
        read=read_netpbm,
        write=_write_map,
    ),
    Format(
        "PAM",
        (".pam",),
        ("still",),
        dtypes=("uint8", "uint16"),
        keeps=frozenset({"alpha"}),
        starts=(b"P7\n",),
        read=read_netpbm,
        write=write_netpbm,
    ),
    Format(
        "PFM",
        (".pfm",),
        ("still",),
        dtypes=("float32",),
        about="both byte orders",
        starts=tuple(magic + blank for magic in (b"PF", b"Pf") for blank in (b"\n", b"\r", b"\t", b" ")),
        read=read_netpbm,
        write=write_netpbm,
    ),
)
