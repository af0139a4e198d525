"""``-`` instead of a file: standard input and standard output.

Y4M and raw video pass through frame by frame. Everything else is read to its end first, or written to a file and handed
on when it is complete: images and volumes need to be there as a whole in any case.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from subband.errors import ArgumentError, SubbandError

if TYPE_CHECKING:
    from subband.cli.files import Settings
    from subband.media import Sink, Source, SourceInfo

__all__ = ["Pipes", "is_pipe"]


def is_pipe(path: Path) -> bool:
    """Tell whether a name stands for standard input or output.

    Examples
    --------
    >>> is_pipe(Path("-")), is_pipe(Path("a-b.png"))
    (True, False)
    """
    return str(path) == "-"


class Pipes:
    """Standard input and output among the names of a command; a context that replaces them by files.

    Parameters
    ----------
    paths : sequence of Path or None
        As the user gave them.
    format : str or None
        What ``-`` holds; see `subband.media.PipeFormat`.

    Attributes
    ----------
    paths : list of Path or None
        With names of files instead of ``-``.

    Raises
    ------
    ArgumentError
        If a format is missing, or is there without a pipe.
    """

    def __init__(self, paths: Sequence[Path] | None, format: str | None) -> None:  # noqa: A002 - as the option
        from subband.media import PipeFormat

        given = list(paths or ())
        self._reads, self._writes = any(map(is_pipe, given[:-1])), bool(given[1:]) and is_pipe(given[-1])
        self.paths: list[Path] | None = None if paths is None else given
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if not self._reads and not self._writes:
            if format is not None:
                raise ArgumentError(f"--format {format} says what - is, and no name is -; leave it out")
            return
        if format is None:
            raise ArgumentError("- is standard input or output; say with --format what it holds: y4m, png, npy, ...")
        if len(given) != 2:
            raise ArgumentError("- goes with one file to read and one to write, such as: in.mp4 - --format y4m")
        self._format = PipeFormat.read(format)

    def __enter__(self) -> Self:
        if not self._reads and not self._writes:
            return self
        assert self.paths is not None
        self._folder = tempfile.TemporaryDirectory(prefix="subband-")
        folder = Path(self._folder.name)
        self._source, self._output = (folder / f"{name}{self._format.ending}" for name in ("input", "output"))
        if self._reads:
            with self._source.open("wb") as file:
                if not self._format.is_streamed:
                    shutil.copyfileobj(sys.stdin.buffer, file)
            self.paths[0] = self._source
        if self._writes:
            self.paths[-1] = self._output
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is None:
            return
        try:
            if kind is None and self._writes and self._output.is_file():
                with self._output.open("rb") as file:
                    shutil.copyfileobj(file, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            if isinstance(error, SubbandError) and error.args:
                # nobody has named these files
                for path, name in ((self._source, "standard input"), (self._output, "standard output")):
                    text = str(error.args[0]).replace(repr(str(path)), name).replace(repr(path.name), name)
                    error.args = (text, *error.args[1:])
        finally:
            self._folder.cleanup()

    def calm(self, settings: Settings) -> Settings:
        """Return settings under which nothing but the result goes to standard output.

        Raises
        ------
        ArgumentError
            If something else is to be printed there.
        """
        if not self._writes:
            return settings
        if settings.as_json:
            raise ArgumentError("--json prints where the result goes, as - is standard output; use one of them")
        return replace(settings, quiet=True)

    def streams_from(self, path: Path) -> bool:
        """Tell whether a file stands for standard input that is read frame by frame."""
        return self._folder is not None and self._reads and path == self._source and self._format.is_streamed

    def streams_to(self, path: Path) -> bool:
        """Tell whether a file stands for standard output that is written frame by frame."""
        return self._folder is not None and self._writes and path == self._output and self._format.is_streamed

    def open_source(self, *, colours: Literal["rgb", "ycbcr"], **options: Any) -> Source:
        """Open standard input."""
        from subband.media import open_pipe_source

        return open_pipe_source(sys.stdin.buffer, self._format, colours=colours, **options)

    def open_sink(self, info: SourceInfo, **options: Any) -> Sink:
        """Open standard output."""
        from subband.media import open_pipe_sink

        return open_pipe_sink(sys.stdout.buffer, self._format, info, **options)
