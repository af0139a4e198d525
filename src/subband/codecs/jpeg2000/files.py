"""Reading and writing JPEG 2000 files: JP2 with its boxes, or the codestream alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from subband.codecs.jpeg2000.boxes import (
    EXTRAS,
    BitsPerComponent,
    ChannelDefinition,
    ColourSpecification,
    ImageHeader,
    Jp2Header,
    Palette,
    Resolution,
    pack_box,
    write_jp2,
)
from subband.codecs.jpeg2000.coding import Times
from subband.codecs.jpeg2000.components import Component, as_components
from subband.codecs.jpeg2000.decoder import decode
from subband.codecs.jpeg2000.encoder import Encoder
from subband.codecs.jpeg2000.settings import Settings
from subband.errors import ArgumentError, suggest_names
from subband.outputs import open_output
from subband.typing import Array

__all__ = [
    "ENDINGS",
    "HT_ENDING",
    "STREAM_ENDINGS",
    "Colours",
    "choose_form",
    "choose_form_of",
    "describe_colours",
    "encode",
    "imread",
    "imwrite",
    "resolve_settings",
]

Form = Literal["jp2", "jph", "j2k"]
Space = Literal["grey", "rgb", "ycc"]

#: How the names of files end that hold a codestream without boxes.
STREAM_ENDINGS = (".j2c", ".j2k", ".jpc")

#: How the names of files end that hold high-throughput blocks.
HT_ENDING = ".jph"

#: How the names of all files of JPEG 2000 end.
ENDINGS = (".jp2", ".jpx", ".jpf", HT_ENDING, *STREAM_ENDINGS)

_SPACES = {"rgb": 16, "grey": 17, "ycc": 18}
_COLOURS = {"rgb": 3, "grey": 1, "ycc": 3}
_INCHES_IN_A_METRE = Fraction(10000, 254)
_OPACITY, _UNKNOWN = 1, 65535


def encode(
    image: Any,
    *,
    form: Form | None = None,
    bits: int | Sequence[int] | None = None,
    subsampling: Sequence[tuple[int, int]] | None = None,
    alpha: bool | None = None,
    space: Space | None = None,
    icc: bytes | None = None,
    dpi: float | tuple[float, float] | None = None,
    palette: Any = None,
    boxes: Sequence[tuple[str, bytes]] = (),
    engine: str | None = None,
    on_progress: Callable[[float], None] | None = None,
    times: Times | None = None,
    **settings: Any,
) -> bytes:
    """Encode an image.

    Parameters
    ----------
    image : array_like of int, or list of arrays
        Rows × columns, rows × columns × components, or a list of components of different sizes. Signed dtypes make
        signed components.
    form : {"jp2", "jph", "j2k"}, optional
        A JP2 file, a JPH file, which has high-throughput blocks (`ht`), or the codestream alone, which may have them.
        Left out, a JPH file with ``ht=True``, else a JP2 file.
    bits : int or sequence of int, optional
        Bits of a sample, from 1 to 24; those of the dtype if left out.
    subsampling : sequence of (int, int), optional
        Every how many rows and columns each component has a sample; found from the sizes if left out.
    alpha : bool, optional
        Whether the last component says how opaque pixels are; so by default for two and four components.
    space : {"grey", "rgb", "ycc"}, optional
        What the colours are; found from the number of components if left out.
    icc : bytes, optional
        A colour profile, instead of `space`.
    dpi : float or (float, float), optional
        Samples for an inch, down and across.
    palette : array_like of int, optional
        Entries × channels, uint8 or uint16: colours, which the samples of a single component are the numbers of.
    boxes : sequence of (str, bytes), optional
        Type and content of boxes to stand beside the image, such as those of `Header.extras`: ``"uuid"``, which begins
        with its 16 bytes, ``"xml "``, ``"uinf"`` or ``"asoc"``.
    engine : str, optional
        Which engine transforms.
    on_progress : callable, optional
        Called with the part of the work that is done, from 0 to 1.
    times : Times, optional
        Takes what the parts of the work took.
    **settings
        See `subband.codecs.jpeg2000.Settings`: `lossless`, `rate`, `size`, `psnr`, `layers`, `levels`, `tile`, `block`,
        `precincts`, `progression`, `changes`, `roi`, `style`, `ht`, `colour`, `sop`, `eph`, `plt`, `tlm`, `tile_parts`,
        `origin`, `tile_origin`, `step` and `comment`.

    Returns
    -------
    bytes
        The file.

    Raises
    ------
    ArgumentError
        If settings contradict each other or the image.
    DtypeError, ShapeError
        If the image does not hold integers.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.codecs.jpeg2000 import encode
    >>> image = np.arange(64, dtype=np.uint8).reshape(8, 8)
    >>> encode(image)[4:8], encode(image, form="j2k")[:2].hex()
    (b'jP  ', 'ff4f')
    >>> len(encode(np.zeros((64, 64, 3), np.uint8), rate=1.0)) <= 64 * 64 / 8
    True
    >>> encode(image, ht=True)[20:24]
    b'jph '
    """
    chosen, form = resolve_settings(settings, form)
    components, shape = as_components(image, bits=bits, subsampling=subsampling, origin=chosen.origin)
    encoder = Encoder(components, shape, chosen, engine, on_progress, times or Times())
    if form == "j2k":
        if icc is not None or dpi is not None or palette is not None or len(boxes):
            raise ArgumentError("form='j2k' has no room for icc, dpi, palette and boxes; use form='jp2' or form='jph'")
        return encoder.encode()
    header = describe_colours(components, shape, Colours(alpha, space, icc, dpi, palette))
    others = [_pack_extra(kind, content) for kind, content in boxes]
    stream = encoder.encode(around=len(write_jp2(b"", header, others)))
    return write_jp2(stream, header, others, brand=f"{form} ")


def imwrite(target: str | PathLike[str] | BinaryIO, image: Any, **options: Any) -> None:
    """Write an image to a file.

    Parameters
    ----------
    target : path or binary file
        A name that ends in ``.jp2`` or ``.jpx`` gives a file with boxes, ``.jph`` one with high-throughput blocks;
        ``.j2k``, ``.j2c`` and ``.jpc`` give the codestream alone.
    image : array_like of int, or list of arrays
        As `encode` takes it.
    **options
        Those of `encode`; lossless if nothing is said.

    Raises
    ------
    ArgumentError
        If the name ends otherwise, its folder does not exist, or an option cannot be met.
    OutputError
        If the disk is full, or the folder takes no files.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from subband.codecs.jpeg2000 import imread, imwrite
    >>> file = io.BytesIO()
    >>> imwrite(file, np.zeros((16, 16), np.uint16), bits=12)
    >>> imread(io.BytesIO(file.getvalue())).shape
    (16, 16)
    """
    if not isinstance(target, str | PathLike):
        target.write(encode(image, **options))
        return
    path = Path(fspath(target))
    options.setdefault("form", choose_form_of(path))
    data = encode(image, **options)
    with open_output(path, overwrite=True) as file:
        file.write(data)


def choose_form(ending: str) -> Form:
    """Return what a file holds whose name ends so.

    Examples
    --------
    >>> choose_form(".jph"), choose_form(".jpx"), choose_form(".j2c")
    ('jph', 'jp2', 'j2k')
    """
    return "j2k" if ending in STREAM_ENDINGS else "jph" if ending == HT_ENDING else "jp2"


def choose_form_of(path: Path) -> Form:
    """Return what a file holds by its name, or raise an `ArgumentError` if that is not one of JPEG 2000."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ArgumentError(f"{path.name!r} does not end like JPEG 2000; take one of {', '.join(ENDINGS)}")
    return choose_form(ending)


def imread(source: str | PathLike[str] | BinaryIO, **options: Any) -> Array:
    """Read an image from a file.

    Parameters
    ----------
    source : path or binary file
        A JP2 file or a codestream, by what is in it.
    **options
        Those of `subband.codecs.jpeg2000.decode`: `reduce`, `region`, `components`, `layers`, `engine` and
        `most_pixels`.

    Returns
    -------
    ndarray of int
        Rows × columns, or rows × columns × channels, of the smallest dtype that holds the samples. Channels with fewer
        samples are brought to the size of the others by repeating theirs, and sYCC is turned into RGB; `decode` gives
        them as they are.

    Raises
    ------
    CodecError
        If it holds no image, or one beyond the limits.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from subband.codecs.jpeg2000 import encode, imread
    >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    >>> bool((imread(io.BytesIO(encode(image))) == image).all())
    True
    """
    data = source if isinstance(source, str | PathLike) else source.read()
    decoded = decode(data, **options)
    return decoded.upsample() if options.get("components") is not None else decoded.show()


def resolve_settings(given: dict[str, Any], form: Form | None) -> tuple[Settings, Form]:
    """Return settings that are checked, and what the file is.

    Raises
    ------
    ArgumentError
        If one of them is not known, or they contradict each other.
    """
    if form not in (None, "jp2", "jph", "j2k"):
        raise ArgumentError(f"form={form!r} is neither 'jp2' nor 'j2k' nor 'jph'")
    if form == "jph":
        given = {"ht": True} | given
    known = [each.name for each in fields(Settings)]
    for name, value in given.items():
        if name not in known:
            raise ArgumentError(
                f"{name}={value!r} is no setting of JPEG 2000{suggest_names(name, known)}; use {', '.join(known)}"
            )
    settings = Settings(**given)
    settings.check()
    form = form or ("jph" if settings.ht else "jp2")
    if form != "j2k" and settings.ht != (form == "jph"):
        raise ArgumentError(f"ht={settings.ht} does not go with form={form!r}; a JPH file has high-throughput blocks")
    return settings, form


@dataclass(frozen=True)
class Colours:
    """What the boxes say beside sizes."""

    alpha: bool | None = None
    space: Space | None = None
    icc: bytes | None = None
    dpi: float | tuple[float, float] | None = None
    palette: Any = None


def _pack_extra(kind: str, content: bytes) -> bytes:
    """Return a box that stands beside an image, or raise an `ArgumentError` if it is none of these."""
    if kind not in EXTRAS:
        raise ArgumentError(f"boxes have the type {kind!r}; use one of {', '.join(map(repr, EXTRAS))}")
    if kind == "uuid" and len(content) < 16:
        raise ArgumentError(f"a box 'uuid' begins with its 16 bytes, and has {len(content)}")
    return pack_box(kind, bytes(content))


def _make_palette(palette: Any, components: Sequence[Component]) -> Palette | None:
    """Return a table of colours that fits a single component."""
    if palette is None:
        return None
    entries = np.asarray(palette)
    if entries.dtype not in (np.uint8, np.uint16) or entries.ndim != 2:
        raise ArgumentError(
            f"palette has shape {entries.shape} and holds {entries.dtype}; give entries × channels as uint8 or uint16"
        )
    count, columns = entries.shape
    if not (1 <= count <= 1024 and 1 <= columns <= 255) or len(components) != 1 or components[0].is_signed:
        raise ArgumentError(
            f"palette has {count} entries of {columns} channels for {len(components)} components; there are 1 to 1024 "
            "entries of 1 to 255 channels for one without a sign"
        )
    largest = int(components[0].samples.max())
    if largest >= count:
        raise ArgumentError(f"the image names entry {largest} of a palette of {count}")
    return Palette(entries.astype(np.int64), ((8 * entries.dtype.itemsize, False),) * columns)


def describe_colours(components: Sequence[Component], shape: tuple[int, int], colours: Colours) -> Jp2Header:
    """Return the boxes of an image."""
    palette = _make_palette(colours.palette, components)
    depths = tuple((component.precision, component.is_signed) for component in components)
    count = len(components) if palette is None else len(palette.bits)
    has_alpha = count in (2, 4) if colours.alpha is None else colours.alpha
    space: Space = colours.space or ("rgb" if count - has_alpha >= 3 else "grey")
    if space not in _SPACES:
        raise ArgumentError(f"space={space!r} is not known; use one of {', '.join(_SPACES)}")
    needed = _COLOURS[space]
    if count < needed + has_alpha:
        what = f"space={space!r}" + (" with opacity" if has_alpha else "")
        raise ArgumentError(f"{what} needs {needed + has_alpha} components; the image has {count}")
    if colours.icc is not None:
        colour = ColourSpecification(2, None, colours.icc)
    else:
        colour = ColourSpecification(1, _SPACES[space])
    channels: tuple[ChannelDefinition, ...] = ()
    if count > needed:
        first = [ChannelDefinition(number, 0, number + 1) for number in range(needed)]
        others = [ChannelDefinition(number, _UNKNOWN, _UNKNOWN) for number in range(needed, count)]
        if has_alpha:
            others[-1] = ChannelDefinition(count - 1, _OPACITY, 0)
        channels = (*first, *others)
    is_uniform = len(set(depths)) == 1
    image = ImageHeader(shape[0], shape[1], len(components), depths[0] if is_uniform else None)
    mapping = () if palette is None else tuple((0, column) for column in range(count))
    return Jp2Header(
        image, None if is_uniform else BitsPerComponent(depths), (colour,), palette, mapping, channels,
        _make_resolutions(colours.dpi),
    )  # fmt: skip


def _make_resolutions(dpi: float | tuple[float, float] | None) -> tuple[Resolution, ...]:
    if dpi is None:
        return ()
    down, across = dpi if isinstance(dpi, tuple) else (dpi, dpi)
    if not (0 < down < float("inf") and 0 < across < float("inf")):
        raise ArgumentError(f"dpi={dpi} is not a positive number of samples for an inch, or two")
    vertical, horizontal = (Fraction(value) * _INCHES_IN_A_METRE for value in (down, across))
    return (Resolution("resc", vertical, horizontal),)
