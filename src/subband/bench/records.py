"""Writing and reading of reports in Markdown pages, with JSON records beside the pages.

A part of a page stands between two comments that name it. A page in a folder with a folder ``records`` gets a record
there, under its own name. Whoever writes a figure into a sentence can look it up there, and a test can compare the two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subband.errors import FormatError
from subband.outputs import place_output

if TYPE_CHECKING:
    from subband.bench.tables import Report

__all__ = [
    "find_record",
    "insert_section",
    "load_record",
    "merge_chapters",
    "read_page",
    "read_report",
    "read_section",
    "split_chapters",
    "write_page",
]

_PART = re.compile(
    r"<!-- measured (?P<part>[^>]+?): begin -->\n(?P<text>.*?)<!-- measured (?P=part): end -->", re.DOTALL
)
_CHAPTER = re.compile(r"^### (.+)$", re.MULTILINE)
_TITLE = re.compile(r"\*\*(.+)\*\*")
_SUMMARY = re.compile(r"\d+ of \d+ .*targets met\b.*\.")
_GOAL = re.compile(r"- (met|not met): (.*)\)")


def split_chapters(section: str) -> dict[str, str]:
    r"""Return the chapters of a part of a page, by their headings.

    Examples
    --------
    >>> split_chapters("### Haar\n\nfast\n\n### Frame buffer\n\nfixed\n")
    {'Haar': 'fast', 'Frame buffer': 'fixed'}
    """
    pieces = _CHAPTER.split(section)
    return {heading: text.strip() for heading, text in zip(pieces[1::2], pieces[2::2], strict=True)}


def read_report(text: str) -> dict[str, Any]:
    r"""Read the tables, the goals and the machine of a report back from what `Report.to_markdown` wrote.

    Examples
    --------
    >>> from subband.bench.tables import Goal, Report, Sheet
    >>> report = Report([Sheet("Noise", ["who", "dB"], [["a", "3"]])], [Goal("low", "3 dB (of 4)", True)])
    >>> record = read_report(report.to_markdown())
    >>> record["tables"]
    [{'title': 'Noise', 'columns': ['who', 'dB'], 'rows': [['a', '3']]}]
    >>> record["goals"]
    [{'text': 'low', 'found': '3 dB (of 4)', 'is_met': True}]
    >>> all(record[name] == value for name, value in report.to_json().items() if name in record)
    True
    """
    record: dict[str, Any] = {"measured_on": "", "tables": [], "goals": []}
    for block in text.strip().split("\n\n"):
        lines = block.splitlines()
        if title := _TITLE.fullmatch(block):
            record["tables"].append({"title": title[1], "columns": [], "rows": []})
        elif block.startswith("| "):
            columns, _, *rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in lines)
            record["tables"][-1] |= {"columns": columns, "rows": rows}
        elif _SUMMARY.fullmatch(block):
            record["summary"] = block.removesuffix(".")
        elif block.startswith("Measured on: "):
            record["measured_on"] = block.removeprefix("Measured on: ").removesuffix(".")
        else:
            record["goals"] += filter(None, map(_read_goal, lines))
    return record


def _read_goal(line: str) -> dict[str, Any] | None:
    """Take what was found from the last pair of brackets of a line, which may hold others; None if it is no goal."""
    match = _GOAL.fullmatch(line)
    if match is None:
        return None
    verdict, rest = match.groups()
    depth, index = 1, len(rest)
    while depth and index:
        index -= 1
        depth += {")": 1, "(": -1}.get(rest[index], 0)
    return {"text": rest[:index].rstrip(), "found": rest[index + 1 :], "is_met": verdict == "met"}


def read_page(page: Path) -> dict[str, dict[str, Any]]:
    """Read every part of a page back: a report, or reports by the headings of its chapters.

    Parts that hold nothing are left out: nothing was measured for them yet.
    """
    parts = {}
    for match in _PART.finditer(page.read_text(encoding="utf-8")):
        if not match["text"].strip():
            continue
        chapters = split_chapters(match["text"])
        reports = {heading: read_report(text) for heading, text in chapters.items()}
        parts[match["part"]] = reports or read_report(match["text"])
    return parts


def insert_section(page: Path, section: str, part: str = "cpu") -> str:
    """Return the text of a page with a section between the two comments that mark a part.

    Parameters
    ----------
    page : Path
        A Markdown file; if there is none, the text is the section alone.
    section : str
        The new contents.
    part : str
        The name of the part, such as ``cpu``, ``cuda``; the others stay as they are.

    Raises
    ------
    FormatError
        If the page has no such part.
    """
    first, last = _mark(part)
    section = f"{first}\n\n{section}\n\n{last}"
    if not page.exists():
        return section + "\n"
    before, _, after = _cut(page, part)
    return before + section + after


def read_section(page: Path, part: str) -> str:
    """Return the contents of a part of a page; an empty text where there is no page yet.

    Raises
    ------
    FormatError
        If the page has no such part.
    """
    return _cut(page, part)[1].strip() if page.exists() else ""


def merge_chapters(section: str, chapters: Mapping[str, str]) -> str:
    r"""Return a section of chapters with some of them anew; the others stay as they are, where they are.

    Parameters
    ----------
    section : str
        What stood there.
    chapters : mapping of str to str
        Texts by heading; those that are new come last.

    Examples
    --------
    >>> merge_chapters("### Haar\n\nold\n\n### Orders\n\nold", {"Haar": "new"})
    '### Haar\n\nnew\n\n### Orders\n\nold'
    """
    merged = {**split_chapters(section), **chapters}
    return "\n\n".join(f"### {heading}\n\n{text}" for heading, text in merged.items())


def _mark(part: str) -> tuple[str, str]:
    """Return the two lines around a part of a page."""
    return f"<!-- measured {part}: begin -->", f"<!-- measured {part}: end -->"


def _cut(page: Path, part: str) -> tuple[str, str, str]:
    """Return what stands in front of a part of a page, in it, and behind it."""
    first, last = _mark(part)
    before, begin, rest = page.read_text(encoding="utf-8").partition(first)
    inner, end, after = rest.partition(last)
    if not (begin and end):
        raise FormatError(f"{page} has no lines {first} and {last} to write between; put them where the figures go")
    return before, inner, after


def write_page(page: Path, parts: Mapping[str, Report | Mapping[str, Report]], *, keeps: bool = False) -> None:
    """Write parts of a page anew, and the records of them; a page that is not there yet has nothing else.

    Parameters
    ----------
    page : Path
        A Markdown file.
    parts : mapping of str to Report, or to reports by the headings of chapters
        The new contents.
    keeps : bool
        Whether chapters that are not among the reports stay as they were.

    Raises
    ------
    FormatError
        If the page lacks the comments of one of the parts.
    """
    is_new, texts, path = not page.exists(), [], find_record(page)
    for part, reports in parts.items():
        if isinstance(reports, Mapping):
            chapters = {heading: report.to_markdown() for heading, report in reports.items()}
            section = merge_chapters(read_section(page, part) if keeps and not is_new else "", chapters)
        else:
            section = reports.to_markdown()
        texts.append(insert_section(page, section, part))
        if not is_new:
            _write(page, texts[-1])
    if is_new:
        _write(page, "\n".join(texts))
    if path is not None:
        record = load_record(path)
        for part, reports in parts.items():
            if isinstance(reports, Mapping):
                made = {heading: report.to_json() for heading, report in reports.items()}
                record[part] = {**(record.get(part, {}) if keeps else {}), **made}
            else:
                record[part] = reports.to_json()
        _write(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def _write(path: Path, text: str) -> None:
    with place_output(path, overwrite=True) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def find_record(page: Path) -> Path | None:
    """Return where the record of a page is, or will be; None if there is no folder for it."""
    folder = page.parent / "records"
    return folder / f"{page.stem}.json" if folder.is_dir() else None


def load_record(path: Path) -> dict[str, Any]:
    """Return a record; an empty one where there is none yet."""
    if not path.exists():
        return {}
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded
