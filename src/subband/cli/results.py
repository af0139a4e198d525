"""Results and errors of jobs, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from subband.cli.group import explain
from subband.errors import SubbandError

if TYPE_CHECKING:
    from subband.cli.files import Job
    from subband.enhance import NoiseReport
    from subband.pipeline.relay import Report

__all__ = ["describe_result", "format_error", "format_report", "show_error"]


def describe_result(job: Job, result: Report | BaseException | None) -> dict[str, Any]:
    """Return what came of a file, for JSON; None for one that was left out."""
    entry: dict[str, Any] = {"source": str(job.source), "output": str(job.output)}
    if result is None:
        return {**entry, "skipped": True}
    if isinstance(result, BaseException):
        return {**entry, "error": format_error(result)}
    stages = {"decode": result.decode, "compute": result.compute, "encode": result.encode}
    return {
        **entry,
        "frames": result.frames,
        "seconds": round(result.seconds, 6),
        "frames_per_second": round(result.rate, 3),
        "stages": {name: round(seconds, 6) for name, seconds in stages.items()},
        "shares": {name: round(share, 4) for name, share in result.shares.items()},
        **({} if result.noise is None else {"noise": _describe_noise(result.noise)}),
    }


def _describe_noise(report: NoiseReport) -> dict[str, Any]:
    """Return what was found about noise, for JSON."""
    from subband.enhance.description import describe

    return {
        "kind": report.kind,
        "confidence": round(report.confidence, 4),
        "sigma": round(report.sigma, 6),
        "model": describe(report.model),
    }


def format_report(report: Report) -> str:
    """Say what a file took.

    Examples
    --------
    >>> from subband.pipeline.relay import Report
    >>> format_report(Report(frames=1, seconds=0.25, decode=0.1, compute=0.1, encode=0.05))
    '0.25 s'
    """
    found = "" if report.noise is None else f"; {report.noise}"
    if report.frames == 1:
        return f"{report.seconds:.2f} s{found}"
    shares = ", ".join(f"{name} {share:.0%}" for name, share in report.shares.items())
    return f"{report.frames} frames in {report.seconds:.1f} s, {report.rate:.1f} a second ({shares}){found}"


def format_error(error: BaseException) -> str:
    """Say what went wrong; what was not foreseen does not explain itself."""
    is_foreseen = isinstance(error, SubbandError | OSError)
    return explain(error) if is_foreseen else f"{type(error).__name__}: {error}"


def show_error(job: Job, error: BaseException) -> None:
    """Print what went wrong with one of several files."""
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True).print(Text(f"error: {job.source}: {format_error(error)}", style="bold red"), soft_wrap=True)
