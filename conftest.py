"""What pytest finds besides tests: the examples in the sources, where the library that they are about is installed.

Here is also what ``--quick`` leaves out, which ``make test-quick`` runs.
"""

from __future__ import annotations

import gc
import re
from collections import defaultdict
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

#: Packages whose examples need a library.
NEEDED = {
    "integrations/dask": "dask",
    "integrations/napari/layers": "napari",
    "integrations/napari/widgets": "magicgui",
    "integrations/notebook": "ipywidgets",
    "integrations/sklearn": "sklearn",
    "integrations/torch": "torch",
    "integrations/xarray": "xarray",
    "integrations/zarr": "zarr",
    "sklearn": "sklearn",
    "torch": "torch",
    "xarray": "xarray",
}

#: Modules whose examples run on an OpenCL device.
ON_OPENCL = ("codecs/jpeg2000/device_decoder.py", "codecs/jpeg2000/device_encoder.py")

#: Folders of tests that ``--quick`` leaves out: they drive browsers, compilers and other programs, or measure.
THOROUGH = ("bench", "cli", "codecs", "faults", "gpu", "kernels", "pywavelets", "studio")
#: Markers of tests that ``--quick`` leaves out.
COSTLY = ("browser", "opencl", "slow")
#: How many of the parameter sets of a test ``--quick`` keeps, spread over all of them.
KEPT = 3


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for a quick run."""
    parser.addoption("--quick", action="store_true", help="leave out what takes long, and most parameters of a test")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the examples of a package that could not even be imported."""
    path = collection_path.as_posix()
    if config.getoption("quick") and "/tests/" in path and collection_path.name in THOROUGH:
        return True
    for package, library in NEEDED.items():
        if f"src/subband/{package}" in path and find_spec(library) is None:
            return True
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the examples of public names as if they were pasted into an empty interpreter; leave out what cannot run."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and is_public(item.dtest.name):
            item.dtest.globs = {"__name__": "__main__"}
        if isinstance(item, pytest.DoctestItem) and item.path.as_posix().endswith(ON_OPENCL):
            item.add_marker("opencl")
    skip_without_opencl([item for item in items if item.get_closest_marker("opencl")])
    if config.getoption("quick"):
        kept = set(choose_quick(items))
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]


def skip_without_opencl(items: list[pytest.Item]) -> None:
    """Skip tests that need OpenCL where no kernel can be compiled for it."""
    if items:
        from subband.testing.opencl import find_opencl_fault

        if fault := find_opencl_fault():
            for item in items:
                item.add_marker(pytest.mark.skip(reason=fault))


def choose_quick(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return some of each test's parameter sets: the first, the last and those between at equal distances."""
    sets = defaultdict(list)
    for item in items:
        if not any(item.get_closest_marker(name) for name in COSTLY):
            sets[item.nodeid.partition("[")[0]].append(item)
    return [each[round(number * (len(each) - 1) / (KEPT - 1))] for each in sets.values() for number in range(KEPT)]


def pytest_collection_finish() -> None:
    """Take what was collected out of the garbage collector's sight, which else looks at millions of objects again."""
    gc.collect()
    gc.freeze()


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
        needed = NEEDED.get(module_name.removeprefix("subband.").replace(".", "/"))
        if needed is not None and find_spec(needed) is None:
            continue
        module = import_module(module_name)
        found = [getattr(module, name) for name in module.__all__]
        names |= {f"{each.__module__}.{each.__qualname__}" for each in found if hasattr(each, "__qualname__")}
    return frozenset(names)
