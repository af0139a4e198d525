"""Zarr stores that appear under their name only when all their chunks are there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from subband.errors import ArgumentError
from subband.media.stores.manifests import Manifest, find_manifest
from subband.outputs import OutputError, check_output, explain_output_error, flush_file, follow_links

__all__ = ["StoreDraft"]


class StoreDraft:
    """The store of a job while it is written: ``clean.part.zarr`` for ``clean.zarr``, with its manifest beside it.

    As a context manager, it moves the store to its name when its block ends well. When it does not, what is finished
    stays for the job to be resumed; a store without a finished chunk is removed. A store that was there before stays
    until the new one replaces it.

    Parameters
    ----------
    path : Path
        Where the store belongs; a link stays one.
    source : path
        What the job reads.
    job : mapping
        All that decides about the result.
    resume, overwrite : bool
        Go on with a job that was interrupted; or replace what is there.

    Attributes
    ----------
    where : Path
        Where the store is written: beside its name, or under it if a finished one is only to be mended.
    manifest : Manifest or None
        Of the job that goes on; None for one that is to begin.

    Raises
    ------
    ArgumentError
        If something is there already, or the job to be resumed was another one.
    FormatError
        If the manifest cannot be read.
    """

    def __init__(
        self, path: Path, source: Path | str, job: Mapping[str, Any], *, resume: bool, overwrite: bool
    ) -> None:
        if path.resolve() == Path(source).resolve():
            raise ArgumentError(f"{str(source)!r} would be replaced by its own result; take another name")
        self.path = path
        self.manifest: Manifest | None = None
        self._job = job
        self._is_cleared = False
        self._target = follow_links(path)
        part = self._target.with_name(f"{self._target.stem}.part{self._target.suffix}")
        self.where = part
        if part.exists() and not find_manifest(part).is_file():
            raise ArgumentError(f"{str(part)!r} is in the way of what is to become {path.name!r}; move it first")
        if resume and part.exists():
            self.manifest = Manifest.resume(part, job)
        elif resume and path.exists():
            self.where = self._target
            self.manifest = Manifest.resume(self._target, job)
        elif not overwrite and path.exists():
            raise ArgumentError(
                f"{str(path)!r} is there already; use --resume to go on with it, --force to replace it, or take "
                "another name"
            )
        elif not overwrite and part.exists():
            raise ArgumentError(
                f"an interrupted job has left {str(part)!r}; use --resume to go on with it, --force to begin anew, or "
                "take another name"
            )

    def clear(self) -> None:
        """Make room for the store of a job that begins."""
        if not self.path.is_dir():
            check_output(self.path, overwrite=True)
        try:
            _remove(self.where)
            find_manifest(self.where).unlink(missing_ok=True)
        except OSError as error:
            raise explain_output_error(self.path, error) from error
        self._is_cleared = True

    def begin(self) -> Manifest:
        """Begin a job whose arrays have just been made."""
        self.manifest = Manifest.begin(self.where, self._job)
        return self.manifest

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.where == self._target:
            return
        if kind is None:
            self._publish()
        elif self.manifest is None or not self.manifest.finished:
            self._give_up()
        elif isinstance(error, OutputError):
            told = OutputError(f"{error}; what is finished is kept, and --resume goes on with it")
            told.errno = error.errno
            raise told from error

    def _give_up(self) -> None:
        """Leave nothing, unless it is the work of an earlier job."""
        if self._is_cleared or self.manifest is not None:
            with suppress(OSError):
                _remove(self.where)
                find_manifest(self.where).unlink(missing_ok=True)

    def _publish(self) -> None:
        """Move the store to its name, and what was there out of the way and then away."""
        old = self._target.with_name(f".{self._target.stem}.{os.getpid()}.old{self._target.suffix}")
        try:
            for file in self.where.rglob("*"):
                if file.is_file():
                    flush_file(file)
            is_there = self._target.exists()
            if is_there:
                self._target.replace(old)
            try:
                self.where.replace(self._target)
            except OSError:
                if is_there:
                    old.replace(self._target)
                raise
            find_manifest(self.where).replace(find_manifest(self._target))
        except OSError as error:
            raise explain_output_error(self.path, error) from error
        with suppress(OSError):
            _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
