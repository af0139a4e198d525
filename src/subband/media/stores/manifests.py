"""The manifest of a job that writes a store: which of its chunks are finished, with their checksums.

It lies beside the store, with a line for every finished chunk. A job that is resumed computes those chunks only that
are not in it, or that are not there any more as they were written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from subband.errors import ArgumentError, FormatError
from subband.outputs import explain_output_error

__all__ = ["Manifest", "find_manifest"]

_FORMAT = 1

#: What is added to the name of a store for the manifest, which lies beside it: those who read Zarr wonder about files
#: inside that they do not know.
_ENDING = ".job.jsonl"


@dataclass
class Manifest:
    """What a job is, and which of its chunks are finished.

    Attributes
    ----------
    path : Path
        Of the file.
    job : dict
        All that decides about the result.
    facts : dict
        What was found out about the whole array before the first chunk.
    finished : dict
        Checksum of each finished chunk, by the name of its array and its numbers.
    """

    path: Path
    job: dict[str, Any]
    facts: dict[str, Any] = field(default_factory=dict)
    finished: dict[tuple[str, tuple[int, ...]], str] = field(default_factory=dict)

    @classmethod
    def begin(cls, store: Path, job: Mapping[str, Any]) -> Manifest:
        """Begin a job whose arrays have just been made."""
        manifest = cls(find_manifest(store), dict(job))
        try:
            manifest.path.write_text(json.dumps({"format": _FORMAT, "job": manifest.job}) + "\n", encoding="utf-8")
        except OSError as error:
            raise explain_output_error(manifest.path, error) from error
        return manifest

    @classmethod
    def resume(cls, store: Path, job: Mapping[str, Any]) -> Manifest:
        """Go on with a job that was interrupted.

        Raises
        ------
        ArgumentError
            If there is none, or it was another one.
        FormatError
            If the manifest cannot be read.
        """
        path = find_manifest(store)
        if not path.is_file():
            raise ArgumentError(f"{str(store)!r} holds no job to be resumed; leave --resume out to begin one")
        text = path.read_text(encoding="utf-8")
        lines = text.split("\n")
        try:
            head = json.loads(lines[0])
            if head["format"] != _FORMAT:
                raise FormatError(f"{str(path)!r} was written by a newer subband; update this one to resume the job")
            manifest = cls(path, head["job"])
            for line in lines[1:]:
                manifest._read(line)
            if not text.endswith("\n"):
                # cut off in the middle of a line, which the next one must not become a part of
                with path.open("a", encoding="utf-8") as file:
                    file.write("\n")
        except (ValueError, LookupError, TypeError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"{str(path)!r} is no manifest of a job") from error
        wanted = json.loads(json.dumps(dict(job)))
        for name in {**wanted, **manifest.job}:
            if wanted.get(name) != manifest.job.get(name):
                raise ArgumentError(
                    f"the job in {str(store)!r} was another one: its {name} was {manifest.job.get(name)!r}, and not "
                    f"{wanted.get(name)!r}; repeat it as it was, or use --force to begin anew"
                )
        return manifest

    def _read(self, line: str) -> None:
        if not line.endswith("}"):
            return  # the last line, if the machine went down while it was written
        entry = json.loads(line)
        if "chunk" in entry:
            self.finished[entry["array"], tuple(entry["chunk"])] = entry["checksum"]
        else:
            self.facts.update(entry)

    def note(self, facts: Mapping[str, Any]) -> None:
        """Write down what was found out about the whole array."""
        self.facts.update(facts)
        self._append(dict(facts))

    def record(self, array: str, chunk: tuple[int, ...], checksum: str) -> None:
        """Write down that a chunk is finished."""
        self.finished[array, chunk] = checksum
        self._append({"array": array, "chunk": list(chunk), "checksum": checksum})

    def _append(self, entry: Mapping[str, Any]) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise explain_output_error(self.path, error) from error


def find_manifest(store: Path) -> Path:
    """Return where the manifest of a job that writes a store is.

    Examples
    --------
    >>> find_manifest(Path("clean.zarr")).name
    'clean.zarr.job.jsonl'
    """
    return store.with_name(store.name + _ENDING)
