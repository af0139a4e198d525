"""``subband wavelets``: what wavelets there are, and what one of them is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subband.cli.options import AsJson, DryRun, Force
from subband.cli.outputs import Writes, show_plan

if TYPE_CHECKING:
    from rich.table import Table

    from subband.wavelets import ContinuousWavelet, Wavelet

app = typer.Typer()

_FILTERS = ("dec_lo", "dec_hi", "rec_lo", "rec_hi")


@app.command()
def wavelets(
    name: Annotated[str | None, typer.Argument(help="A wavelet, for example db4; all of them if left out.")] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw its functions and filters into an image (PNG, JPEG, ...)."),
        Writes(),
    ] = None,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """List the wavelets, or show one: its filters, lifting steps, moments and a plot."""
    import json

    from rich.console import Console

    if name is None:
        if plot is not None:
            raise typer.BadParameter("a plot shows one wavelet; give its NAME", param_hint="--plot")
        if as_json:
            typer.echo(json.dumps([_summarise(_find_wavelet(each)) for each in _list_names()], indent=2))
        else:
            Console().print(_tabulate_families())
        return
    wavelet = _find_wavelet(name)
    if dry_run:
        show_plan([], [plot], as_json=as_json)
        return
    if plot is not None:
        from subband.cli.wavelet_figure import draw_wavelet

        draw_wavelet(wavelet).save(plot, overwrite=force)
    if as_json:
        typer.echo(json.dumps(_describe(wavelet), indent=2))
        return
    for table in _tabulate(wavelet):
        Console().print(table, "")
    if plot is not None:
        typer.echo(f"plot: {plot}")


def _list_names() -> list[str]:
    """List our own wavelets first, then those of PyWavelets."""
    from subband.wavelets import wavelist

    return list(dict.fromkeys([*wavelist("cdf"), *wavelist()]))


def _find_wavelet(name: str) -> Wavelet | ContinuousWavelet:
    """Make the wavelet of a name, of whichever kind it is."""
    import warnings

    from subband.wavelets import ContinuousWavelet, Wavelet, wavelist

    name = name.lower()
    # The names of these three families go on with numbers that the catalogue does not list.
    if name not in wavelist(kind="continuous") and not name.startswith(("cmor", "fbsp", "shan")):
        return Wavelet(name)
    with warnings.catch_warnings():
        # A name without those numbers is deprecated in programs; here it asks for a look at the family.
        warnings.simplefilter("ignore", FutureWarning)
        return ContinuousWavelet(name)


def _summarise(wavelet: Any) -> dict[str, Any]:
    """Collect what fits on one line."""
    summary = {
        "name": wavelet.name,
        "family": wavelet.family_name,
        "kind": _name_kind(wavelet),
        "symmetry": wavelet.symmetry,
    }
    if summary["kind"] != "continuous":
        summary["taps"] = wavelet.dec_len
        summary["vanishing_moments"] = wavelet.vanishing_moments_psi
    return summary


def _describe(wavelet: Any) -> dict[str, Any]:
    """Collect everything there is to know about one wavelet."""
    if _name_kind(wavelet) == "continuous":
        support = {"lower_bound": wavelet.lower_bound, "upper_bound": wavelet.upper_bound}
        return {**_summarise(wavelet), "complex": wavelet.complex_cwt, **support}
    scheme = wavelet.lifting
    lifting = scheme and {
        "steps": [{"kind": step.kind, "start": step.start, "taps": step.taps} for step in scheme.steps],
        "scale_lo": scheme.scale_lo,
        "scale_hi": scheme.scale_hi,
        "shift_lo": scheme.shift_lo,
        "shift_hi": scheme.shift_hi,
    }
    filters = {key: list(getattr(wavelet, key)) for key in _FILTERS}
    return {**_summarise(wavelet), "filters": filters, "lifting": lifting}


def _name_kind(wavelet: Any) -> str:
    """Say in one word what one can do with a wavelet."""
    if not hasattr(wavelet, "dec_lo"):
        return "continuous"
    return "orthogonal" if wavelet.orthogonal else "biorthogonal"


def _tabulate_families() -> Table:
    """Make the table of all wavelets, a row for each family."""
    from rich import box
    from rich.table import Table

    from subband.wavelets import families, wavelist

    names = [wavelist(short) for short in dict.fromkeys(["cdf", *families()])]
    count = sum(len(row) for row in names)
    table = Table(title=f"{count} wavelets", box=box.SIMPLE_HEAVY, title_justify="left")
    table.add_column("family", style="bold")
    table.add_column("kind")
    table.add_column("names", ratio=1)
    for row in names:
        first = _find_wavelet(row[0])
        table.add_row(first.family_name, _name_kind(first), " ".join(row))
    return table


def _tabulate(wavelet: Any) -> list[Table]:
    """Make the tables that describe one wavelet."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    description = _describe(wavelet)
    filters, lifting = description.pop("filters", None), description.pop("lifting", None)

    facts = Table(title=description.pop("name"), box=None, show_header=False, title_justify="left", title_style="bold")
    facts.add_column(style="dim")
    facts.add_column()
    for key, value in description.items():
        facts.add_row(key.replace("_", " "), "unknown" if value is None else _format_fact(value))
    if filters is None:
        return [facts]
    facts.add_row("lifting", f"{len(lifting['steps'])} steps" if lifting else "none: runs as a convolution")

    taps = Table(title="filters", box=box.SIMPLE_HEAVY, title_justify="left")
    taps.add_column("n", justify="right", style="dim")
    for key in _FILTERS:
        taps.add_column(key, justify="right")
    for index, row in enumerate(zip(*filters.values(), strict=True)):
        taps.add_row(str(index), *(f"{tap + 0.0:.15f}" for tap in row))
    if lifting is None:
        return [facts, taps]

    # As `Text`, because Rich takes brackets in a plain string for markup.
    steps = Table(title="lifting steps", box=box.SIMPLE_HEAVY, title_justify="left")
    steps.add_column("step", style="dim")
    steps.add_column("formula", ratio=1)
    for step in lifting["steps"]:
        target, source = ("d", "s") if step["kind"] == "predict" else ("s", "d")
        terms = (f"{tap:+.15g} {source}[{_format_index(step['start'] + j)}]" for j, tap in enumerate(step["taps"]))
        steps.add_row(step["kind"], Text(f"{target}[n] += " + " ".join(terms)))
    for band, source in (("lo", "s"), ("hi", "d")):
        at = _format_index(lifting[f"shift_{band}"])
        steps.add_row("scale", Text(f"{band}[n] = {lifting[f'scale_{band}']:.15g} {source}[{at}]"))
    steps.caption = Text("s[n] = x[2n], d[n] = x[2n + 1]")
    return [facts, taps, steps]


def _format_index(offset: int) -> str:
    """Format an index relative to n, such as ``n-1``."""
    return f"n{offset:+d}" if offset else "n"


def _format_fact(value: object) -> str:
    """Format a fact for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
