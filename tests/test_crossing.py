"""How many functions and modules of ours a call crosses: the short way matters as much as the kernel.

``python tests/test_crossing.py`` prints the numbers; with ``--names`` also what is crossed.
"""

import sys
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

import subband
from subband import data
from subband.engines import get_threads, set_threads
from subband.enhance import Denoise
from subband.pipeline import Pipeline

SOURCE = Path(subband.__file__).parent


@contextmanager
def one_thread():
    """Let nobody help for a while, which others do or not as the machine is busy."""
    threads = get_threads()
    set_threads(1)
    try:
        yield
    finally:
        set_threads(threads)


def find_crossed(call):
    """Return module and name of each function of ours that runs in this thread while something is called."""
    codes = set()

    def note(frame, event, _):
        if event == "call":
            codes.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    own = (code for code in codes if Path(code.co_filename).is_relative_to(SOURCE))
    # a comprehension is part of the function that it stands in
    named = (code for code in own if not code.co_name.startswith("<"))
    return sorted({(Path(code.co_filename).relative_to(SOURCE).as_posix(), code.co_qualname) for code in named})


def cross_denoise():
    """Return what denoising an image crosses, when all is prepared."""
    image = data.camera()
    with one_thread():
        subband.denoise(image)
        return find_crossed(lambda: subband.denoise(image))


def cross_frame():
    """Return what a frame of a video crosses, after the first ones."""
    results = Pipeline(Denoise(), engine="cpu").process(data.photograph() for _ in range(5))
    with one_thread(), closing(results):
        for _ in range(3):
            next(results)
        return find_crossed(lambda: next(results))


def count(crossed):
    return len(crossed), len({module for module, _ in crossed})


WAYS = {"denoise(image)": cross_denoise, "a frame of a video": cross_frame}
#: Functions and modules that may be crossed; lower them with every step that is saved.
MOST = {"denoise(image)": (122, 31), "a frame of a video": (98, 25)}


@pytest.mark.parametrize("way", WAYS)
def test_the_way_becomes_no_longer(way):
    functions, modules = count(WAYS[way]())
    assert 10 < functions <= MOST[way][0]
    assert 5 < modules <= MOST[way][1]


def test_what_is_not_ours_is_not_counted():
    assert find_crossed(lambda: np.median([1, 2, 3])) == []
    assert ("data/readers.py", "camera") in find_crossed(data.camera)


if __name__ == "__main__":
    for name, cross in WAYS.items():
        found = cross()
        print("{}: {} functions in {} modules".format(name, *count(found)))
        if "--names" in sys.argv:
            print(*("  {}: {}".format(*each) for each in found), sep="\n")
