"""Reports rendered: on the terminal, as pages of HTML that need no other file, and everything measured as JSON or HDF5.

Markdown is what `Report.to_markdown` writes; `subband.bench.records` puts it into pages.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subband.bench.libraries import load_library

if TYPE_CHECKING:
    from rich.console import Console

    from subband.bench.figures import Figure
    from subband.bench.tables import Report, Sheet

__all__ = ["show_report", "to_html", "to_json", "write_hdf5"]

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; display: block; overflow-x: auto; }
th, td { padding: 0.2rem 0.7rem; border-bottom: 1px solid #8884; text-align: right; white-space: nowrap; }
th.text, td.text { text-align: left; }
caption { text-align: left; font-weight: 600; padding: 0.5rem 0; }
.met { color: #2c7a3d; } .missed { color: #b3362b; }
.note, footer { color: #777; font-size: 0.9em; }
img { max-width: 100%; background: #fff; border-radius: 4px; }
nav a { margin-right: 1rem; }
"""


def show_report(report: Report, console: Console) -> None:
    """Print the tables of a report, its goals, and its remarks."""
    for sheet in report.sheets:
        console.print(sheet.to_table())
    for line in (*report.goals, *report.remarks, report.summarise(), f"Measured on: {report.machine}"):
        console.out(str(line), highlight=False)


def to_html(title: str, reports: Mapping[str, Report]) -> str:
    """Write reports as one page that needs no other file.

    Parameters
    ----------
    title : str
        What the page is called.
    reports : mapping of str to Report
        By the name of each section.

    Examples
    --------
    >>> from subband.bench.tables import Report, Sheet
    >>> page = to_html("Noise", {"one": Report([Sheet("PSNR", ["who", "dB"], [["a < b", "3"]])])})
    >>> "<td class='text'>a &lt; b</td><td>3</td>" in page
    True
    """
    links = " ".join(f"<a href='#{_slug(name)}'>{escape(name)}</a>" for name in reports)
    sections = "\n".join(_write_section(name, report) for name, report in reports.items())
    machines = sorted({str(report.machine) for report in reports.values()})
    footer = "<br>".join(map(escape, machines))
    return (
        f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{escape(title)}</title>"
        "<meta name='viewport' content='width=device-width'>"
        f"<style>{_STYLE}</style></head>\n<body><h1>{escape(title)}</h1><nav>{links}</nav>\n"
        f"{sections}\n<footer>Measured on: {footer}</footer></body></html>\n"
    )


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


def _write_section(name: str, report: Report) -> str:
    parts = [f"<section id='{_slug(name)}'><h2>{escape(name)}</h2>"]
    parts += [_write_image(title, figure) for title, figure in report.drawings.items()]
    parts += [_write_sheet(sheet) for sheet in report.sheets]
    if report.goals:
        lines = (f"<li class='{'met' if goal.is_met else 'missed'}'>{escape(str(goal))}</li>" for goal in report.goals)
        parts.append(f"<ul>{''.join(lines)}</ul>")
    if report.remarks:
        parts.append(f"<ul class='note'>{''.join(f'<li>{escape(remark)}</li>' for remark in report.remarks)}</ul>")
    parts.append(f"<p>{escape(report.summarise())}</p>")
    return "\n".join([*parts, "</section>"])


def _write_sheet(sheet: Sheet) -> str:
    def write_row(cells: Sequence[str], tag: str, kind: str = "") -> str:
        marked = (
            f"<{tag} class='text'>{escape(cell)}</{tag}>" if sheet.is_text(index) else f"<{tag}>{escape(cell)}</{tag}>"
            for index, cell in enumerate(cells)
        )
        return f"<tr{kind}>{''.join(marked)}</tr>"

    missed = dict.fromkeys(sheet.missed, " class='missed'")
    rows = "".join(write_row(row, "td", missed.get(number, "")) for number, row in enumerate(sheet.rows))
    note = f"<p class='note'>{escape(sheet.note)}</p>" if sheet.note else ""
    caption = f"<caption>{escape(sheet.title)}</caption>"
    return f"<table>{caption}<thead>{write_row(sheet.columns, 'th')}</thead><tbody>{rows}</tbody></table>{note}"


def _write_image(title: str, figure: Figure) -> str:
    memory = BytesIO()
    figure.render().save(memory, "PNG", optimize=True)
    code = base64.b64encode(memory.getvalue()).decode("ascii")
    return f"<p><img alt='{escape(title, quote=True)}' src='data:image/png;base64,{code}'></p>"


def to_json(reports: Mapping[str, Report]) -> str:
    """Write everything measured as JSON, by the name of each report."""
    return json.dumps({name: report.to_json() for name, report in reports.items()}, indent=2)


def write_hdf5(path: Path, reports: Mapping[str, Report]) -> None:
    """Write everything measured into a file of HDF5: objects are groups, numbers and lists of them are data sets.

    Raises
    ------
    MissingExtraError
        If h5py is not installed.
    """
    # Into memory first: HDF5 ends the process if a disk does not take what it has to write before it closes a file.
    memory = BytesIO()
    with load_library("h5py").File(memory, "w") as file:
        for key, value in _walk({name: report.to_json() for name, report in reports.items()}):
            file[key] = value
    path.write_bytes(memory.getbuffer())


def _walk(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each number, text or list of numbers with its path in the file."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _walk(entry, f"{path}/{str(key).replace('/', '|')}")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        numbers = np.asarray(value) if all(isinstance(entry, int | float) for entry in value) else None
        if numbers is not None:
            yield path, numbers
        else:
            for number, entry in enumerate(value):
                yield from _walk(entry, f"{path}/{number}")
    elif value is not None:
        yield path, value
