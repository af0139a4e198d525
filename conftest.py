"""What pytest finds besides tests: the examples in the sources, where the library that they are about is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

#: Packages whose examples need a library.
NEEDED = {"integrations/torch": "torch", "integrations/dask": "dask"}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the examples of a package that could not even be imported."""
    for package, library in NEEDED.items():
        if f"src/subband/{package}" in collection_path.as_posix() and find_spec(library) is None:
            return True
    return None
