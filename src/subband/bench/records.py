"""Records beside pages: what the tables of a page were made from, as JSON, and those tables read back from the page.

A page in a folder that has a folder ``records`` gets a record there, under its own name. Whoever writes a figure into a
sentence can look it up there, and a test can compare the two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subband.bench.tables import Report

__all__ = ["find_record", "load_record", "read_page", "read_report", "split_chapters", "update_record"]

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
    depth, place = 1, len(rest)
    while depth and place:
        place -= 1
        depth += {")": 1, "(": -1}.get(rest[place], 0)
    return {"text": rest[:place].rstrip(), "found": rest[place + 1 :], "is_met": verdict == "met"}


def read_page(page: Path) -> dict[str, dict[str, Any]]:
    """Read every part of a page back: a report, or reports by the headings of its chapters."""
    parts = {}
    for match in _PART.finditer(page.read_text(encoding="utf-8")):
        chapters = split_chapters(match["text"])
        reports = {heading: read_report(text) for heading, text in chapters.items()}
        parts[match["part"]] = reports or read_report(match["text"])
    return parts


def find_record(page: Path) -> Path | None:
    """Return where the record of a page is, or will be; None if there is no folder for it."""
    folder = page.parent / "records"
    return folder / f"{page.stem}.json" if folder.is_dir() else None


def update_record(
    record: Mapping[str, Any], part: str, reports: Mapping[str, Report], *, has_chapters: bool, keeps: bool
) -> dict[str, Any]:
    """Return the record of a page with one part anew.

    Parameters
    ----------
    record : mapping
        As it was.
    part : str
        Which of the page's parts.
    reports : mapping of str to Report
        By the headings of the chapters, or the only one.
    has_chapters : bool
        Whether the part has chapters.
    keeps : bool
        Whether chapters that are not among the reports stay as they were.
    """
    made = {heading: report.to_json() for heading, report in reports.items()}
    if not has_chapters:
        (entry,) = made.values()
        return {**record, part: entry}
    return {**record, part: {**(record.get(part, {}) if keeps else {}), **made}}


def load_record(path: Path) -> dict[str, Any]:
    """Return a record; an empty one where there is none yet."""
    if not path.exists():
        return {}
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded
