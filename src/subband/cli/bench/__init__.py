"""``subband bench``: benchmarks, beside other libraries and a plain copy; a module for each kind of measurement."""

from __future__ import annotations

import typer

from subband.cli.bench import frames, quality, transforms

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Run benchmarks on this machine, beside other libraries and a plain copy."""


# without a name, the commands of a part become those of this group
for part in (transforms, quality, frames):
    app.add_typer(part.app)
