from __future__ import annotations

import gc
import re
import weakref
from pathlib import Path

import numpy as np
import pytest

import subband
from subband.engines.recent import Recent
from subband.kernels.dialects import CUDA
from subband.plan import AxisPlan, axis_plan
from subband.testing import RecordingEngine


class Thing:
    """Something that can be waited for to go."""


def test_what_was_used_last_is_kept():
    recent = Recent[Thing](3)
    first = recent.find(0, Thing)
    for key in range(1, 50):
        recent.find(key, Thing)
        assert recent.find(0, Thing) is first
        assert len(recent) <= 3


def test_release_memory_forgets():
    recent, lasting = Recent[Thing](3), Recent[Thing](3, is_released=False)
    gone = weakref.ref(recent.find("a", Thing))
    kept = lasting.find("a", Thing)
    subband.release_memory()
    gc.collect()
    assert gone() is None
    assert lasting.find("a", Thing) is kept


def test_what_is_part_of_a_recording_stays():
    """A graph knows tables by their address: they must not go, nor be made anew."""
    state = {"recording": False}
    recent = Recent[Thing](2, lambda: state["recording"])
    gone = weakref.ref(recent.find("other", Thing))
    state["recording"] = True
    recorded = recent.find("recorded", Thing)
    state["recording"] = False
    for key in range(10):
        recent.find(key, Thing)
    subband.release_memory()
    gc.collect()
    assert gone() is None
    assert recent.find("recorded", Thing) is recorded


def test_preparations_of_many_shapes_are_bounded():
    engine = RecordingEngine(CUDA)
    preparation = engine._preparation
    limit = preparation._prepared._capacity
    preparation._prepared._capacity = 8
    try:
        for length in range(8, 40):
            subband.decompose(np.zeros((length, length), np.float32), "haar", 1, engine=engine)
            subband.decompose(np.zeros((length, length), np.float32), "haar", 1, stationary=True, engine=engine)
        assert 0 < len(preparation._prepared) <= 8
    finally:
        preparation._prepared._capacity = limit
    subband.release_memory()
    assert len(preparation._prepared) == len(engine._chains) == len(engine._passes) == 0


def test_plans_of_wavelets_that_are_gone_are_given_back():
    bank = subband.Wavelet("db2").filter_bank
    for number in range(5):
        subband.dwt(np.ones(16), subband.Wavelet(f"own{number}", bank))
    assert axis_plan.cache_info().currsize >= 5
    subband.release_memory()
    assert axis_plan.cache_info().currsize == 0
    gc.collect()
    left = [each for each in gc.get_objects() if type(each) is AxisPlan and each.wavelet.name.startswith("own")]
    assert not left


#: Functions of few arguments, whose results are few: tables, names, and what must not be made twice.
ENDLESS = """
    _derive_gaussian _load_engine _make_signal _norm_complex_gaussian _read_table cdf_scheme find_library
    _list_controls _list_substitutes _load_folder list_engine_control list_engines list_wavelet_control
    list_working_controls name_processor _list_weights _read_biort _read_qshift _sort_names
    _find_loops draw_guide explain_wavelets load_driver
"""


def test_no_cache_grows_for_ever():
    """Every other cache has a limit."""
    endless = set()
    for path in Path(subband.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        endless |= set(re.findall(r"@(?:functools\.)?(?:cache|lru_cache\(maxsize=None\))\s+def (\w+)", text))
    assert endless == set(ENDLESS.split())


@pytest.mark.parametrize("call", [subband.dwt2, subband.wavedec2])
def test_everything_works_after_release(call):
    x = np.random.default_rng(0).normal(size=(40, 40))
    before = call(x, "cdf97")
    subband.release_memory()
    np.testing.assert_array_equal(call(x, "cdf97")[0], before[0])
