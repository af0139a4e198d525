"""What pytest finds besides tests: the examples in the sources, where the library that they are about is installed."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

#: Packages whose examples need a library.
NEEDED = {"integrations/torch": "torch", "integrations/dask": "dask"}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the examples of a package that could not even be imported."""
    for package, library in NEEDED.items():
        if f"src/subband/{package}" in collection_path.as_posix() and find_spec(library) is None:
            return True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the examples of public names as if they were pasted into an empty interpreter."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and is_public(item.dtest.name):
            item.dtest.globs = {"__name__": "__main__"}


def is_public(name: str) -> bool:
    """Tell whether a function, class or method is one of those that the reference describes."""
    public = list_public()
    parts = name.split(".")
    return any(".".join(parts[:count]) in public for count in range(1, len(parts) + 1))


@cache
def list_public() -> frozenset[str]:
    """List all that the modules of the reference export, under the names of where it is defined."""
    names = set()
    page = Path(__file__).parent / "docs" / "api.md"
    for module_name in re.findall(r"<reference/([\w.]+)>", page.read_text(encoding="utf-8")):
        if any(find_spec(library) is None for library in NEEDED.values() if module_name.endswith(f".{library}")):
            continue
        module = import_module(module_name)
        found = [getattr(module, name) for name in module.__all__]
        names |= {f"{each.__module__}.{each.__qualname__}" for each in found if hasattr(each, "__qualname__")}
    return frozenset(names)
