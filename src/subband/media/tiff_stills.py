"""Kinds of TIFF that Pillow reads wrongly or not at all: deep colour, inks, palettes of 16 bits, inverted shades."""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np

from subband.errors import FormatError
from subband.media.deep_stills import separate_opacity, turn_upright
from subband.media.faults import LossWarning, explain_damage, require
from subband.media.limits import refuse_bomb
from subband.typing import Array

__all__ = ["convert_inks", "pick_profile", "read_tiff"]

_ICC, _ORIENTATION, _INK_SET = 34675, 274, 332
_WHITE_IS_ZERO, _BLACK_IS_ZERO, _RGB, _PALETTE, _INKS = 0, 1, 2, 3, 5
_COLOURS: Final = {_WHITE_IS_ZERO: 1, _BLACK_IS_ZERO: 1, _RGB: 3, _PALETTE: 1, _INKS: 4}
_NAMES: Final = {4: "a mask", 6: "deep YCbCr", 8: "deep L*a*b*", 9: "deep L*a*b*", 10: "L*a*b*", 32844: "LogL",
    32845: "LogLuv"}  # fmt: skip
_ASSOCIATED, _UNASSOCIATED = 1, 2


def read_tiff(path: Path, most_pixels: int) -> tuple[Array, Array | None, bytes | None]:
    """Read the first image of a TIFF file of any depth with tifffile; return pixels, opacity and colour profile.

    Raises
    ------
    MissingExtraError
        If tifffile is not installed.
    FormatError
        If it is damaged, or holds channels or numbers that are no still image.

    Warns
    -----
    LossWarning
        If there are channels beside red, green, blue and opacity, or inks whose profile is applied at 8 bits.
    """
    tifffile = require(
        "tifffile", f"reading {path.name!r}, a TIFF file of a kind that Pillow does not read,", "volumes"
    )
    with explain_damage(path, "an image"), tifffile.TiffFile(path) as file:
        page = file.pages[0]
        refuse_bomb(str(path), page.imagelength, page.imagewidth, most_pixels)
        _refuse_unknown(path, page)
        values = page.asarray()
        icc, turn = (tag.value if tag else None for tag in map(page.tags.get, (_ICC, _ORIENTATION)))
        profile = bytes(icc) if icc is not None else None
        pixels, alpha, profile = _arrange(path, page, values, profile)
    turn = int(turn or 1)
    return turn_upright(pixels, turn), None if alpha is None else turn_upright(alpha, turn), profile


def convert_inks(inks: Array) -> Array:
    """Turn cyan, magenta, yellow and black into red, green and blue without a profile: each ink takes its light away.

    Examples
    --------
    >>> convert_inks(np.array([[[0, 65535, 65535, 0]]], np.uint16)).tolist()
    [[[65535, 0, 0]]]
    """
    peak = float(np.iinfo(inks.dtype).max) if inks.dtype.kind == "u" else 1.0
    light = (peak - inks[..., :3].astype(np.float64)) * (peak - inks[..., 3:4]) / peak
    return np.asarray(np.rint(light) if inks.dtype.kind == "u" else light, inks.dtype)


def pick_profile(profile: bytes | None, *, is_colour: bool) -> bytes | None:
    """Return a colour profile if it is one of such pixels."""
    return profile if profile is not None and profile[16:20] == (b"RGB " if is_colour else b"GRAY") else None


def _refuse_unknown(path: Path, page: Any) -> None:
    """Refuse what a still image cannot hold, before any pixel is decoded."""
    name = repr(str(path))
    photometric = int(page.photometric)
    if photometric not in _COLOURS:
        kind = _NAMES.get(photometric, f"colours of kind {photometric}")
        raise FormatError(f"{name} holds {kind}, which is not read; convert it to RGB first, with an image editor")
    dtype = page.dtype
    if dtype is None or dtype.kind not in "bfu" or (dtype.kind == "u" and dtype.itemsize > 2):
        way_out = (
            "open it as a volume of one slice, or convert it first" if page.samplesperpixel == 1 else "convert it first"
        )
        raise FormatError(f"{name} holds {dtype}, and still images hold uint8, uint16 or float32; {way_out}")
    roles = _list_roles(page)
    others = len(roles)
    if photometric in (_WHITE_IS_ZERO, _BLACK_IS_ZERO) and (others > 1 or (others == 1 and roles[0] == 0)):
        raise FormatError(
            f"{name} has {page.samplesperpixel} channels that are no colours; still images hold grey or red, green and "
            "blue; save its channels as separate images first (ImageJ: Image > Color > Split Channels)"
        )
    if page.imagedepth > 1:
        raise FormatError(f"{name} is {page.imagedepth} slices deep; open it as a volume")
    ink_set = page.tags.get(_INK_SET)
    if photometric == _INKS and ((ink_set is not None and ink_set.value != 1) or page.samplesperpixel < 4):
        raise FormatError(f"{name} holds inks other than cyan, magenta, yellow and black; convert it to RGB first")


def _list_roles(page: Any) -> tuple[int, ...]:
    """Return what the channels behind the colours are; a fourth beside RGB that nothing is said about is opacity."""
    others = max(0, int(page.samplesperpixel) - _COLOURS[int(page.photometric)])
    known = tuple(map(int, page.extrasamples))
    if not known and page.photometric == _RGB and others == 1:
        return (_UNASSOCIATED,)
    return (*known, *[0] * others)[:others]


def _arrange(path: Path, page: Any, values: Array, profile: bytes | None) -> tuple[Array, Array | None, bytes | None]:
    """Sort channels into colours and opacity, at full range."""
    photometric, samples = int(page.photometric), int(page.samplesperpixel)
    if samples > 1 and page.planarconfig == 2:
        values = np.moveaxis(values.reshape(samples, page.imagelength, page.imagewidth), 0, -1)
    channels = values.reshape(page.imagelength, page.imagewidth, samples)
    if photometric == _PALETTE:
        colours = np.ascontiguousarray(np.moveaxis(page.colormap, 0, -1)[channels[..., 0]].astype(np.uint16))
        return colours, None, pick_profile(profile, is_colour=True)
    if channels.dtype.kind == "f" and channels.dtype.itemsize > 4:
        _warn(f"{str(path)!r} holds {channels.dtype}, which is rounded to float32")
    channels = _widen(channels, page.bitspersample)
    base = _COLOURS[photometric]
    roles = _list_roles(page)
    number = next((number for number, role in enumerate(roles) if role in (_ASSOCIATED, _UNASSOCIATED)), None)
    if len(roles) > (number is not None):
        others = len(roles) - (number is not None)
        _warn(f"{str(path)!r} has channels beside its colours and opacity, which are left out: {others}")
    colours = channels[..., :base]
    alpha = None if number is None else np.ascontiguousarray(channels[..., base + number])
    if alpha is not None and number is not None and roles[number] == _ASSOCIATED:
        colours = separate_opacity(colours, alpha)
    if photometric == _WHITE_IS_ZERO:
        colours = _find_peak(colours) - colours
    if photometric == _INKS:
        colours = _convert_through_profile(path, colours, profile)
        if alpha is not None and colours.dtype != alpha.dtype:
            alpha = _narrow(alpha)
        return colours, alpha, None
    pixels = np.ascontiguousarray(colours if base == 3 else colours[..., 0])
    return pixels, alpha, pick_profile(profile, is_colour=base == 3)


def _widen(values: Array, bits: int) -> Array:
    """Bring samples of any number of bits to the full range of their dtype."""
    if values.dtype.kind == "b":
        return values.astype(np.uint8) * np.uint8(255)
    if values.dtype.kind == "f":
        return values.astype(np.float32)
    values = values.astype(values.dtype.newbyteorder("="))
    peak = np.iinfo(values.dtype).max
    if bits >= 8 * values.dtype.itemsize:
        return values
    return np.asarray(np.rint(values * (float(peak) / ((1 << bits) - 1))), values.dtype)


def _find_peak(values: Array) -> Any:
    return np.iinfo(values.dtype).max if values.dtype.kind == "u" else np.float32(1)


def _convert_through_profile(path: Path, inks: Array, profile: bytes | None) -> Array:
    """Turn inks into sRGB: by their profile, which Pillow applies at 8 bits, else by subtraction at full depth."""
    from PIL import Image, ImageCms

    if profile is None or profile[16:20] != b"CMYK":
        return convert_inks(inks)
    shallow = np.ascontiguousarray(_narrow(inks))
    try:
        srgb, own = ImageCms.createProfile("sRGB"), ImageCms.ImageCmsProfile(BytesIO(profile))
        image = ImageCms.profileToProfile(Image.fromarray(shallow, "CMYK"), own, srgb, outputMode="RGB")
    except (ImageCms.PyCMSError, OSError):
        return convert_inks(inks)
    if inks.dtype != np.uint8:
        _warn(
            f"the inks of {str(path)!r} are converted by their profile, at 8 bits; for 16 bits convert it to RGB in an "
            "image editor first"
        )
    return np.array(image)


def _narrow(values: Array) -> Array:
    """Round to 8 bits."""
    peak = float(_find_peak(values))
    return np.clip(np.rint(values * (255 / peak)), 0, 255).astype(np.uint8)


def _warn(message: str) -> None:
    warnings.warn(message, LossWarning, stacklevel=2)
