"""Options that several benchmarks share."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["EngineName"]

EngineName = Annotated[
    str, typer.Option("--engine", "-e", metavar="NAME", help="cpu, cuda, opencl, or one device such as opencl:0.")
]
