"""Which file formats there are: those of this folder, those that a library knows beside them, and those of users."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path, PurePath
from pkgutil import iter_modules

from subband.errors import ArgumentError, ArgumentTypeError
from subband.media.formats.base import Format, Holding

__all__ = [
    "find_format",
    "list_endings",
    "list_formats",
    "make_table",
    "recognise_format",
    "register_format",
    "split_dataset",
    "split_ending",
]

_FORMATS: dict[str, Format] = {}
# By what Pillow and the like are asked for endings that no record names.
_FINDERS: list[Callable[[str], Format | None]] = []

#: Modules of the folder that hold no format.
_OTHERS = ("base", "lookup")

# Enough of a file to know what it is; in AVIF, a colour profile may stand before the number of bits.
_HEAD = 65536


def register_format(form: Format) -> Format:
    """Make a format known under its endings, to all who ask for one.

    Raises
    ------
    ArgumentTypeError
        If it is no format.
    ArgumentError
        If another one has one of its endings.

    Examples
    --------
    >>> from subband.media.formats import find_format, register_format
    >>> register_format(find_format("image.png")) is find_format("image.png")
    True
    """
    if not isinstance(form, Format):
        raise ArgumentTypeError(f"form is a {type(form).__name__}; register a subband.media.formats.Format")
    _load_folder()
    return _add(form)


def _add(form: Format) -> Format:
    for ending in form.endings:
        if _FORMATS.get(ending, form).name != form.name:
            raise ArgumentError(f"{ending} is an ending of {_FORMATS[ending].name} already; take another")
    _FORMATS.update(dict.fromkeys(form.endings, form))
    return form


def list_formats(kind: Holding | None = None) -> tuple[Format, ...]:
    """Return all formats that are named here, or those that hold one kind of thing, the most common first.

    Examples
    --------
    >>> from subband.media.formats import list_formats
    >>> [form.name for form in list_formats("still")][:4]
    ['PNG', 'JPEG', 'TIFF', 'WebP']
    """
    _load_folder()
    found = {form.name: form for form in _FORMATS.values() if kind is None or kind in form.kinds}
    return tuple(sorted(found.values(), key=lambda form: (form.rank, form.name.lower())))


def list_endings(kind: Holding) -> list[str]:
    """Return the endings of files that can be written: the usual one of each format, then the others.

    Examples
    --------
    >>> from subband.media.formats import list_endings
    >>> list_endings("video")[:4]
    ['.mp4', '.mkv', '.avi', '.mj2']
    """
    written = [form.written for form in list_formats(kind) if form.written]
    return [*(endings[0] for endings in written), *chain.from_iterable(endings[1:] for endings in written)]


def find_format(name: PurePath | str) -> Format | None:
    """Return the format of a file by the ending of its name; None if it is not known.

    Examples
    --------
    >>> from subband.media.formats import find_format
    >>> [form and form.name for form in map(find_format, ("photo.JPG", "brain.nii.gz", "notes.txt"))]
    ['JPEG', 'NIfTI', None]
    """
    _load_folder()
    ending = split_ending(name)[1]
    if ending in _FORMATS or not ending:
        return _FORMATS.get(ending)
    return next((form for finder in _FINDERS if (form := finder(ending)) is not None), None)


def recognise_format(path: Path, *, is_series: bool = False) -> Format | None:
    """Return the format of a file by what is in it; None if no format knows it by that.

    `is_series` asks those only whose files need no ending, for a folder of them as well.
    """
    formats = [form for form in list_formats() if form.is_series or not is_series]
    if is_series and path.is_dir():
        # one that holds no such file is what the first of these says that it is not
        files = sorted(child for child in path.iterdir() if child.is_file())
        found = ((find_format(file), recognise_format(file, is_series=True)) for file in files)
        return next((form for pair in found for form in pair if form in formats), formats[0])
    head = b""
    with suppress(OSError), path.open("rb") as file:
        head = file.read(_HEAD)
    return next((form for form in formats if form.recognises(path, head)), None)


def split_ending(name: PurePath | str) -> tuple[str, str]:
    """Split the name of a file into its stem and its ending, in small letters.

    Examples
    --------
    >>> from subband.media.formats import split_ending
    >>> split_ending("scans/brain.1.nii.gz"), split_ending("photo.v2.JPG")
    (('brain.1', '.nii.gz'), ('photo.v2', '.jpg'))
    """
    _load_folder()
    path = PurePath(name)
    tails = ("".join(path.suffixes[number:]) for number in range(len(path.suffixes)))
    ending = next((tail for tail in tails if tail.lower() in _FORMATS), path.suffix)
    return path.name.removesuffix(ending), ending.lower()


def split_dataset(name: str) -> tuple[Path, str | None] | None:
    """Split ``file.h5:dataset`` or ``file.npz:name``; None if files of that name hold no named arrays.

    Examples
    --------
    >>> from pathlib import Path
    >>> from subband.media.formats import split_dataset
    >>> split_dataset("brain.h5:scan/t1") == (Path("brain.h5"), "scan/t1")
    True
    >>> split_dataset("brain.npy") is None
    True
    """
    endings = "|".join(re.escape(ending) for form in list_formats() for ending in form.dataset_endings)
    match = re.fullmatch(f"(?P<file>.+(?:{endings}))(?::(?P<dataset>.+))?", name, re.IGNORECASE)
    return None if match is None else (Path(match["file"]), match["dataset"])


def make_table(kind: Holding) -> list[str]:
    """Return the lines of the documentation's table of formats that hold one kind of thing.

    Examples
    --------
    >>> from subband.media.formats import make_table
    >>> print(make_table("still")[0])
    | format | endings | samples | written | kept | remarks |
    """
    columns = ("format", "endings", "samples", "written", "kept", "remarks")
    rows = [columns, *(_describe(form, kind) for form in list_formats(kind))]
    # what is said of no format of this kind has no column
    used = [column for column in range(len(columns)) if any(row[column] for row in rows[1:])]
    lines = [f"| {' | '.join(row[column] for column in used)} |" for row in rows]
    return [lines[0], "|" + " --- |" * len(used), *lines[1:]]


def _describe(form: Format, kind: Holding) -> tuple[str, ...]:
    from subband.media.still_metadata import KINDS

    endings, written = (", ".join(f"`{each}`" for each in names) for names in (form.endings, form.written))
    written = "yes" if form.written == form.endings else written or "no"
    kept = form.kept or ", ".join(words.removeprefix("the ") for key, words in KINDS.items() if key in form.keeps)
    remarks = "; ".join(filter(None, (f"extra `{form.extra}`" if form.extra else "", form.about)))
    return form.name, endings, form.samples if kind == "still" else "", written, kept, remarks


@cache
def _load_folder() -> None:
    for found in iter_modules(sys.modules[__package__].__path__):
        if found.name in _OTHERS:
            continue
        module = import_module(f"{__package__}.{found.name}")
        for form in module.FORMATS:
            _add(form)
        if (finder := getattr(module, "find_more", None)) is not None and finder not in _FINDERS:
            _FINDERS.append(finder)
