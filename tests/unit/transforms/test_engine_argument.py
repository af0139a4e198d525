"""Every transform takes an engine by name, for that call alone."""

import inspect
from threading import Thread

import numpy as np
import pytest

import subband
from subband.engines import Engine, get_engine
from subband.errors import ArgumentTypeError, UnknownEngineError

IMAGE = np.random.default_rng(0).normal(size=(16, 16))

#: How each transform is called.
CALLS = {
    "dwt": (IMAGE, "db2"),
    "idwt": (IMAGE, IMAGE, "haar"),
    "dwt2": (IMAGE, "db2"),
    "idwt2": (subband.dwt2(IMAGE, "db2"), "db2"),
    "dwtn": (IMAGE, "db2"),
    "idwtn": (subband.dwtn(IMAGE, "db2"), "db2"),
    "wavedec": (IMAGE, "db2"),
    "waverec": (subband.wavedec(IMAGE, "db2"), "db2"),
    "wavedec2": (IMAGE, "db2"),
    "waverec2": (subband.wavedec2(IMAGE, "db2"), "db2"),
    "wavedecn": (IMAGE, "db2"),
    "waverecn": (subband.wavedecn(IMAGE, "db2"), "db2"),
    "swt": (IMAGE, "db2", 1),
    "iswt": (subband.swt(IMAGE, "db2", 1), "db2"),
    "swt2": (IMAGE, "db2", 1),
    "iswt2": (subband.swt2(IMAGE, "db2", 1), "db2"),
    "swtn": (IMAGE, "db2", 1),
    "iswtn": (subband.swtn(IMAGE, "db2", 1), "db2"),
    "mra": (IMAGE, "db2", 1),
    "mra2": (IMAGE, "db2", 1),
    "mran": (IMAGE, "db2", 1),
    "fswavedecn": (IMAGE, "db2"),
    "fswaverecn": (subband.fswavedecn(IMAGE, "db2"),),
    "downcoef": ("a", IMAGE[0], "db2"),
    "upcoef": ("d", IMAGE[0], "db2"),
    "dtcwt": (IMAGE,),
    "idtcwt": (subband.dtcwt(IMAGE),),
    "decompose": (IMAGE, "db2"),
    "reconstruct": (subband.decompose(IMAGE, "db2"),),
}


@pytest.fixture
def counting():
    """Count the calls of an engine that has a name of its own."""
    counts = []
    reference = type(get_engine("reference"))

    class Counted(reference):
        name = "counted"

        def __getattribute__(self, attribute):
            if attribute.startswith(("forward", "inverse", "stationary_")):
                counts.append(attribute)
            return super().__getattribute__(attribute)

    return Counted(), counts


@pytest.mark.parametrize("name", CALLS)
def test_named_engine_computes(name, counting):
    engine, counts = counting
    function = getattr(subband, name)
    # prepared for the engine that is set, which must not be used
    expected = [function(*CALLS[name]) for _ in range(3)][-1]
    counts.clear()
    result = function(*CALLS[name], engine=engine)
    assert counts
    for ours, theirs in zip(list_arrays(result), list_arrays(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)
    counts.clear()
    function(*CALLS[name])
    assert not counts


def list_arrays(value):
    """Give the arrays of a result, whatever they are in."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, subband.Pyramid):
        return [band for _, _, band in value.bands()]
    if isinstance(value, subband.FswavedecnResult):
        return [value.coeffs]
    entries = value.values() if isinstance(value, dict) else value
    return [array for entry in entries for array in list_arrays(entry)]


def test_all_transforms_are_here():
    takes = {
        name
        for name in subband.__all__
        if inspect.isfunction(found := getattr(subband, name)) and "engine" in inspect.signature(found).parameters
    }
    others = {"decompose_adjoint", "reconstruct_adjoint", "denoise", "enhance_file"}
    assert takes == set(CALLS) | others


def test_engine_of_one_thread_is_not_that_of_others(counting):
    engine, counts = counting

    class Waiting(type(engine)):
        def forward(self, plan, x):
            other = Thread(target=lambda: counts.append(subband.dwt(IMAGE[:4], "sym3")))
            counts.clear()
            other.start()
            other.join()
            assert len(counts) == 1  # the result of the other thread, and no call of ours
            return super().forward(plan, x)

    subband.dwt(IMAGE, "db3", engine=Waiting())


def test_no_engine_is_the_one_that_is_set():
    np.testing.assert_array_equal(subband.dwt(IMAGE, "db2", engine=None)[0], subband.dwt(IMAGE, "db2")[0])


def test_unknown_engines_are_refused():
    with pytest.raises(UnknownEngineError, match="cpus"):
        subband.dwt2(IMAGE, "haar", engine="cpus")
    with pytest.raises(ArgumentTypeError, match="engine=7"):
        subband.wavedec(IMAGE, "haar", engine=7)
    assert isinstance(get_engine(), Engine)
    # and nothing of that stays
    assert subband.dwt(IMAGE[0], "haar")[0].shape == (8,)
