"""Reports: tables, goals and figures, for the terminal, for Markdown pages and for JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from subband.engines.measuring.devices import Machine, describe_machine

if TYPE_CHECKING:
    from rich.table import Table

    from subband.bench.figures import Figure

__all__ = ["Cell", "Goal", "Report", "Sheet", "as_record", "write_number"]

#: How a cell is written of a record: a format such as ``"{.rate:.1f}"``, or a function.
Cell: TypeAlias = str | Callable[[Any], str]

#: What figures depend on besides what `Machine` lists.
_LIBRARIES = ("scikit-image", "scipy")


@dataclass(frozen=True)
class Goal:
    """A target, and whether it was met.

    Attributes
    ----------
    text : str
        What is expected, such as ``'at least 0.8 dB better than the peer'``.
    found : str
        What was measured.
    is_met : bool
        Whether that is enough.

    Examples
    --------
    >>> print(Goal("at least 20 times as fast", "31.4 times", True))
    met: at least 20 times as fast (31.4 times)
    """

    text: str
    found: str
    is_met: bool

    def __str__(self) -> str:
        return f"{'met' if self.is_met else 'not met'}: {self.text} ({self.found})"


@dataclass(frozen=True)
class Sheet:
    """One table.

    Attributes
    ----------
    title : str
        What it is about.
    columns : sequence of str
        Their headings.
    rows : sequence of sequences of str
        The cells.
    note : str
        What the columns mean, where they do not say it themselves.
    texts : int
        How many columns from the left hold words; the others hold numbers.
    last_texts : int
        How many columns from the right hold words, too.
    missed : sequence of int
        Rows that are not what is expected, which are told apart by their colour.

    Examples
    --------
    >>> print(Sheet("Noise", ("image", "PSNR"), [("camera", "28.13")]).to_markdown())
    **Noise**
    <BLANKLINE>
    | image | PSNR |
    | --- | ---: |
    | camera | 28.13 |
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    texts: int = 1
    last_texts: int = 0
    missed: Sequence[int] = ()

    @classmethod
    def from_records(
        cls, title: str, records: Iterable[Any], columns: Mapping[str, Cell], note: str = "", **options: Any
    ) -> Sheet:
        """Make a table with a row for each record; `columns` are cells by heading.

        Examples
        --------
        >>> from fractions import Fraction
        >>> cells = {"of": "{.denominator}", "value": lambda part: f"{float(part):.2f}"}
        >>> Sheet.from_records("Parts", [Fraction(1, 3)], cells).rows
        [['3', '0.33']]
        """
        rows = [
            [cell.format(record) if isinstance(cell, str) else cell(record) for cell in columns.values()]
            for record in records
        ]
        return cls(title, list(columns), rows, note, **options)

    def to_json(self) -> dict[str, Any]:
        """Return title, columns and cells as a dict for JSON."""
        return {"title": self.title, "columns": list(self.columns), "rows": [list(row) for row in self.rows]}

    def is_text(self, index: int) -> bool:
        """Tell whether a column holds words."""
        return index < self.texts or index >= len(self.columns) - self.last_texts

    def to_markdown(self) -> str:
        """Format the table as Markdown."""
        rules = ("---" if self.is_text(index) else "---:" for index in range(len(self.columns)))
        lines = [f"| {' | '.join(cells)} |" for cells in (self.columns, tuple(rules), *self.rows)]
        parts = [f"**{self.title}**", "\n".join(lines)]
        return "\n\n".join([*parts, self.note] if self.note else parts)

    def to_table(self) -> Table:
        """Make the table for the terminal."""
        from rich import box
        from rich.table import Table

        table = Table(title=self.title, caption=self.note, box=box.SIMPLE_HEAVY, title_justify="left")
        for index, column in enumerate(self.columns):
            table.add_column(column, justify="left" if self.is_text(index) else "right", overflow="fold")
        for number, row in enumerate(self.rows):
            table.add_row(*row, style="yellow" if number in self.missed else None)
        return table


@dataclass(frozen=True)
class Report:
    """The results of one benchmark.

    Attributes
    ----------
    sheets : sequence of Sheet
        For people.
    goals : sequence of Goal
        What was expected; empty where nothing was, or not enough was measured to say.
    figures : mapping
        Everything measured, as what JSON can hold, for programs.
    machine : Machine
        Where.
    drawings : mapping of str to Figure
        Images of the figures, by what they show.
    remarks : sequence of str
        What could not be measured, and why.
    summary : str or None
        How many targets were met, in one line; counted from the goals if left out.

    Examples
    --------
    >>> report = Report([], [Goal("a", "1", True), Goal("b", "2", False)])
    >>> report.summarise()
    '1 of 2 targets met'
    """

    sheets: Sequence[Sheet]
    goals: Sequence[Goal] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    machine: Machine = field(default_factory=partial(describe_machine, libraries=_LIBRARIES))
    drawings: Mapping[str, Figure] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    summary: str | None = None

    def summarise(self) -> str:
        """Return in one line how many targets were met."""
        if self.summary is not None:
            return self.summary
        if not self.goals:
            return "no targets judged"
        return f"{sum(goal.is_met for goal in self.goals)} of {len(self.goals)} targets met"

    def to_json(self) -> dict[str, Any]:
        """Return the whole report as a dict for JSON."""
        return {
            "machine": self.machine.to_dict(),
            "measured_on": str(self.machine),
            "summary": self.summarise(),
            "goals": [asdict(goal) for goal in self.goals],
            "remarks": list(self.remarks),
            "tables": [sheet.to_json() for sheet in self.sheets],
            **self.figures,
        }

    def to_markdown(self) -> str:
        """Format tables, goals and remarks as Markdown."""
        parts = [sheet.to_markdown() for sheet in self.sheets]
        if self.goals:
            parts.append("\n".join(f"- {goal}" for goal in self.goals))
        if self.remarks:
            parts.append("\n".join(f"- {' '.join(remark.split())}" for remark in self.remarks))
        if self.summary is not None:
            parts.append(f"{self.summary}.")
        return "\n\n".join([*parts, f"Measured on: {self.machine}."])


def as_record(measured: Any, *names: str) -> dict[str, Any]:
    """Return the fields of a dataclass, and properties of it by their names, as a dict for JSON.

    Examples
    --------
    >>> as_record(Goal("fast", "1 ms", True))
    {'text': 'fast', 'found': '1 ms', 'is_met': True}
    """
    return asdict(measured) | {name: getattr(measured, name) for name in names}


def write_number(number: float | None, digits: int = 2) -> str:
    """Format a number with so many digits behind the point, and nothing where there is none.

    Examples
    --------
    >>> write_number(31.416), write_number(None)
    ('31.42', '')
    """
    return "" if number is None else f"{number:.{digits}f}"
