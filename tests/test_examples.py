"""Examples of public names run when they are pasted into an empty interpreter; `conftest.py` at the root sees to it."""

import doctest
import runpy
from pathlib import Path

import pytest

import subband

CONFTEST = runpy.run_path(str(Path(__file__).parent.parent / "conftest.py"))


@pytest.mark.parametrize(
    "name",
    ["subband.transforms.onedim.dwt", "subband.pyramid.Pyramid.map", "subband.quality.psnr", "subband.plot.mosaic"],
)
def test_documented_names_are_public(name):
    assert CONFTEST["is_public"](name)


@pytest.mark.parametrize("name", ["subband.transforms.levels.split_level", "subband.plan", "subband.pyramid._fill"])
def test_others_are_not(name):
    assert not CONFTEST["is_public"](name)


def test_every_public_name_with_examples_is_found():
    public = CONFTEST["list_public"]()
    for name in subband.__all__:
        found = getattr(subband, name)
        if callable(found) and ">>>" in (found.__doc__ or ""):
            assert f"{found.__module__}.{found.__qualname__}" in public, name


def test_public_examples_see_no_names_of_their_module(request):
    made = doctest.DocTest([], {"np": 1}, "subband.transforms.onedim.dwt", None, None, None)
    item = pytest.DoctestItem.from_parent(request.session, name="dwt", runner=doctest.DocTestRunner(), dtest=made)
    CONFTEST["pytest_collection_modifyitems"](request.config, [item])
    assert "np" not in item.dtest.globs
