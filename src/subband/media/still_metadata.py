"""What an image file says beside its pixels: resolution, texts, XMP, EXIF; how it is found, and who holds it.

Kinds of metadata are keys of `Still.metadata`, of `SourceInfo.metadata` and of `Frame.metadata`:

* ``"dpi"``: pixels per inch across and down, two floats;
* ``"text"``: the texts of PNG by their keywords;
* ``"comment"``: the comment of JPEG and GIF, and the text of PNG of that name;
* ``"xmp"``: bytes;
* ``"boxes"``: of JPEG 2000, types and contents of boxes beside the image, such as where it lies on Earth (GeoJP2);
* ``"compression"``: of TIFF, in Pillow's words;
* ``"lossless"``: True for WebP without loss.

Colour profile and EXIF, in which TIFF's description is, are fields of a `Still`.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from subband.media.faults import BROKEN, LossWarning
from subband.media.formats.base import Format
from subband.media.tiff_tags import EXIF_DIRECTORIES

__all__ = [
    "KEPT",
    "KINDS",
    "USUAL",
    "choose_compression",
    "choose_quality",
    "find_exif",
    "find_metadata",
    "is_lossless_webp",
    "list_directories",
    "list_texts",
    "load_exif",
    "make_options",
    "straighten_xmp",
    "strip_exif",
    "warn_of_losses",
]

#: Kinds that a file holds or not, in the words of the notice.
KINDS: Final = {
    "alpha": "opacity",
    "icc": "the colour profile",
    "exif": "EXIF",
    "dpi": "the resolution",
    "xmp": "XMP",
    "text": "texts",
    "comment": "the comment",
    "boxes": "boxes of JPEG 2000",
}

#: Keys of what goes from one file to another, beside the profile and EXIF.
KEPT: Final = ("dpi", "text", "xmp", "comment", "boxes", "compression", "lossless")

_PLURALS = (KINDS["text"], KINDS["boxes"])

#: Kinds that most formats of photographs keep.
USUAL: Final = frozenset({"alpha", "icc", "exif", "dpi", "xmp"})

_DESCRIPTION, _ORIENTATION, _X_RESOLUTION, _Y_RESOLUTION, _RESOLUTION_UNIT, _XMP = 270, 274, 282, 283, 296, 700
# Of a TIFF file, what the image is about; the rest says where its bytes lie.
_DESCRIPTIVE: Final = (270, 271, 272, 305, 306, 315, 33432, *EXIF_DIRECTORIES)
# A directory within that of EXIF, which only says how the file is named.
_INTEROPERABILITY = 0xA005
# Formats of segments, and what a segment of JPEG takes.
_SEGMENTED = ("JPEG", "MPO")
_SEGMENT = 65533
_XMP_KEYWORD = "XML:com.adobe.xmp"
_TURN_IN_XMP = re.compile(rb"(tiff:Orientation(?:=[\"']|>))[2-8]")
# Compressions without loss; what is lossy or for one bit only is written as the one that every reader knows.
_LOSSLESS_TIFF: Final = ("packbits", "tiff_adobe_deflate", "tiff_lzw", "zstd")


def find_metadata(image: Any) -> dict[str, Any]:
    """Return what an image of Pillow says about itself, under the keys at the top of this module."""
    info = image.info
    found: dict[str, Any] = {}
    dpi = _find_dpi(image)
    if dpi is not None:
        found["dpi"] = dpi
    xmp = info.get("xmp")
    xmp = xmp.encode() if isinstance(xmp, str) else xmp
    if isinstance(xmp, bytes) and xmp:
        found["xmp"] = straighten_xmp(xmp)
    comment = info.get("comment")
    if image.format == "PNG":
        text = {key: value for key, value in _find_texts(image).items() if not _is_machine_text(key)}
        comment = text.pop("Comment", None)
        if text:
            found["text"] = text
    if isinstance(comment, bytes):
        comment = _decode(comment)
    if isinstance(comment, str) and comment:
        found["comment"] = str(comment)
    if image.format == "TIFF" and info.get("compression") not in (None, "raw"):
        found["compression"] = str(info["compression"])
    return found


def find_exif(image: Any) -> bytes | None:
    """Return what the camera says, less how it was held; nothing if that is damaged."""
    try:
        exif = image.getexif()
        return strip_exif(exif, is_tiff=image.format == "TIFF" or getattr(image, "tag_v2", None) is not None)
    except BROKEN:
        return None


def strip_exif(exif: Any, *, is_tiff: bool) -> bytes | None:
    """Return EXIF without the orientation and, of a TIFF file, without what says where its bytes lie."""
    from PIL import Image

    # A new one, because that of a BigTIFF file would be written with offsets that nobody reads in EXIF.
    kept: Any = Image.Exif()
    for tag in exif:
        # tifffile writes the shape as a description, which is that of this file only
        if tag == _DESCRIPTION and str(exif[tag]).startswith('{"shape":'):
            continue
        if tag != _ORIENTATION and (tag in _DESCRIPTIVE or not is_tiff):
            kept[tag] = _keep_scripts(exif, tag)
    return bytes(kept.tobytes()) if len(kept) else None


def load_exif(data: bytes | None) -> Any:
    """Return EXIF as an object of Pillow's that is written again without a change."""
    from PIL import Image

    known: Any = Image.Exif()
    known.load(data or b"")
    copy: Any = Image.Exif()
    for tag in known:
        copy[tag] = _keep_scripts(known, tag)
    return copy


class _Letters(str):
    """Text of EXIF in any script: Pillow reads each byte as a letter of Latin, but writes ASCII only unless helped."""

    __slots__ = ()

    def encode(self, encoding: str = "latin-1", errors: str = "replace") -> bytes:  # noqa: ARG002 - as of `str`
        return super().encode("latin-1", "replace")


def _keep_scripts(exif: Any, tag: int) -> Any:
    """Return what a tag says, so that it is written again as it is."""
    if tag not in EXIF_DIRECTORIES:
        return _Letters(exif[tag]) if isinstance(exif[tag], str) else exif[tag]
    content = exif.get_ifd(tag)
    return {
        key: _Letters(value) if isinstance(value, str) else value
        for key, value in content.items()
        if key != _INTEROPERABILITY
    }


def straighten_xmp(xmp: bytes) -> bytes:
    """Return XMP that asks for no turning: an image is upright once it is read.

    Examples
    --------
    >>> straighten_xmp(b'<rdf:Description tiff:Orientation="6"/>')
    b'<rdf:Description tiff:Orientation="1"/>'
    """
    return _TURN_IN_XMP.sub(rb"\g<1>1", xmp)


def is_lossless_webp(path: Path) -> bool:
    """Tell whether the first image of a WebP file is coded without loss: a chunk of that name is in it."""
    with path.open("rb") as file:
        content = file.read()
    offset = 12
    while offset + 8 <= len(content):
        name, length = content[offset : offset + 4], int.from_bytes(content[offset + 4 : offset + 8], "little")
        if name in (b"VP8L", b"VP8 "):
            return name == b"VP8L"
        # the chunks of a frame of an animation follow its head
        offset += 24 if name == b"ANMF" else 8 + length + length % 2
    return False


def list_directories(exif: bytes | None) -> dict[int, dict[int, Any]]:
    """Return the directories of EXIF and GPS by their tags, for `subband.media.tiff_tags.attach_directories`."""
    known = load_exif(exif)
    return {tag: known[tag] for tag in EXIF_DIRECTORIES if known.get(tag)}


def list_texts(metadata: Mapping[str, Any]) -> list[tuple[bytes, bytes]]:
    """Return the chunks of a PNG file that hold texts, comment and XMP, as names and contents."""
    from PIL.PngImagePlugin import PngInfo

    chunks: Any = PngInfo()
    for key, value in metadata.get("text", {}).items():
        chunks.add_text(key, value)
    if "comment" in metadata:
        chunks.add_text("Comment", metadata["comment"])
    if "xmp" in metadata:
        chunks.add_itxt(_XMP_KEYWORD, metadata["xmp"].decode("utf-8", "replace"))
    return [(name, content) for name, content, *_ in chunks.chunks]


def make_options(form: Format, icc: bytes | None, exif: bytes | None, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what to tell Pillow so that it writes what the format keeps."""
    held = form.keeps
    options: dict[str, Any] = {
        name: metadata[name] for name in ("dpi", "comment", "xmp") if name in held & set(metadata)
    }
    if icc and "icc" in held:
        options["icc_profile"] = icc
    if exif and "exif" in held:
        options["exif"] = exif
    if form.name in _SEGMENTED:
        options = {name: value for name, value in options.items() if not _is_too_long(name, value)}
    if form.name == "PNG":
        options = {name: value for name, value in options.items() if name not in ("comment", "xmp")}
        options["pnginfo"] = _gather(list_texts(metadata))
    elif form.name == "TIFF":
        options = _make_tiff_options(options, metadata)
    elif "dpi" in options and form.name in ("WebP", "AVIF"):
        options["exif"] = _add_resolution(exif, options.pop("dpi"))
    return options


def choose_quality(form: Format, quality: float | None, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return how much loss to ask Pillow for: none for a WebP file of quality 100, or that was without loss before.

    Colours have the size of the image in any case, not half of it.

    Examples
    --------
    >>> webp, jpeg = (Format(name, (), ("still",)) for name in ("WebP", "JPEG"))
    >>> choose_quality(webp, None, {"lossless": True}), choose_quality(jpeg, None, {})
    ({'lossless': True}, {'quality': 95, 'subsampling': 0})
    """
    chosen = round(95 if quality is None else quality)
    if form.name == "WebP":
        is_lossless = quality == 100 or (quality is None and "lossless" in metadata)
        return {"lossless": True} if is_lossless else {"quality": chosen}
    if form.name in _SEGMENTED:
        return {"quality": chosen, "subsampling": 0}
    return {"quality": chosen, "subsampling": "4:4:4"} if form.name == "AVIF" else {}


def warn_of_losses(
    form: Format, name: str, has_alpha: bool, icc: bytes | None, exif: bytes | None, metadata: Mapping[str, Any]
) -> None:
    """Warn in one line of what a format cannot hold.

    Warns
    -----
    LossWarning
        If there is something of that kind.
    """
    there = {"alpha": has_alpha or None, "icc": icc, "exif": exif, **metadata}
    lost = [
        words
        for kind, words in KINDS.items()
        if there.get(kind) and (kind not in form.keeps or (form.name in _SEGMENTED and _is_too_long(kind, there[kind])))
    ]
    if lost:
        words = lost[0] if len(lost) == 1 else f"{', '.join(lost[:-1])} and {lost[-1]}"
        verb = "are" if len(lost) > 1 or words in _PLURALS else "is"
        warnings.warn(
            f"{name!r} cannot hold {words}, which {verb} left out; write to .png to keep what there is",
            LossWarning,
            stacklevel=4,
        )


def _find_texts(image: Any) -> dict[str, str]:
    """Return the texts of PNG; of an animation those before its frames, because Pillow would decode all of these."""
    if getattr(image, "is_animated", False):
        return {key: value for key, value in image.info.items() if isinstance(value, str)}
    return dict(image.text)


def _is_machine_text(key: str) -> bool:
    """Tell whether a text of PNG is XMP, or EXIF or a profile as ImageMagick writes it, which have their own chunks."""
    return key == _XMP_KEYWORD or key.startswith("Raw profile type")


def _decode(comment: bytes) -> str:
    try:
        return comment.decode("utf-8").rstrip("\0")
    except UnicodeDecodeError:
        return comment.decode("latin-1").rstrip("\0")


def _find_dpi(image: Any) -> tuple[float, float] | None:
    """Return pixels per inch across and down, from the file or its EXIF."""
    dpi = image.info.get("dpi")
    try:
        if dpi is None or (image.format in ("JPEG", "MPO") and image.info.get("jfif_unit", 0) not in (1, 2)):
            # Pillow answers 72 for JPEG files that say nothing
            exif = image.getexif()
            scale = {2: 1.0, 3: 2.54}[int(exif.get(_RESOLUTION_UNIT, 2))]
            dpi = (scale * float(exif[_X_RESOLUTION]), scale * float(exif[_Y_RESOLUTION]))
        across, down = (float(value) for value in dpi)
    except BROKEN:
        return None
    if image.format == "TIFF" and image.tag_v2.get(_RESOLUTION_UNIT, 2) == 1:
        return None
    return (across, down) if all(math.isfinite(value) and value > 0 for value in (across, down)) else None


def _is_too_long(kind: str, value: Any) -> bool:
    """Tell whether a segment of JPEG cannot hold it; profiles go into several."""
    if kind == "comment":
        return len(value.encode()) > _SEGMENT
    room = {"exif": _SEGMENT, "xmp": _SEGMENT - len(b"http://ns.adobe.com/xap/1.0/\0")}.get(kind)
    return room is not None and len(value) > room


def _gather(chunks: list[tuple[bytes, bytes]]) -> Any:
    from PIL.PngImagePlugin import PngInfo

    info: Any = PngInfo()
    for name, content in chunks:
        info.add(name, content)
    return info


def _make_tiff_options(options: dict[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Put XMP and the compression where TIFF has them: among the tags."""
    exif = load_exif(options.pop("exif", None))
    # these are attached to the complete file, because libtiff does not write them
    for tag in EXIF_DIRECTORIES:
        exif.pop(tag, None)
    if "xmp" in options:
        exif[_XMP] = options.pop("xmp")
    compression = choose_compression(metadata)
    if compression is not None:
        options["compression"] = compression
    if len(exif):
        options["exif"] = exif
    return options


def choose_compression(metadata: Mapping[str, Any]) -> str | None:
    """Return how to compress a TIFF file, without loss: as the one that was read; None for not at all.

    Examples
    --------
    >>> choose_compression({"compression": "tiff_lzw"}), choose_compression({"compression": "jpeg"})
    ('tiff_lzw', 'tiff_adobe_deflate')
    """
    known = metadata.get("compression")
    if known is None:
        return None
    return known if known in _LOSSLESS_TIFF else "tiff_adobe_deflate"


def _add_resolution(exif: bytes | None, dpi: tuple[float, float]) -> bytes:
    """Write the resolution into EXIF, for formats that have no other field for it."""
    changed = load_exif(exif)
    if _X_RESOLUTION not in changed:
        changed[_X_RESOLUTION], changed[_Y_RESOLUTION], changed[_RESOLUTION_UNIT] = *dpi, 2
    return bytes(changed.tobytes())
