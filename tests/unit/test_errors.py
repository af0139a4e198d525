"""The tree of exceptions, and that it is the one drawn."""

import inspect
import re

import numpy as np
import pytest
import pywt

import subband
from subband import errors

CLASSES = [getattr(errors, name) for name in errors.__all__ if inspect.isclass(getattr(errors, name))]


def read_tree():
    """Return the drawn names, each with the one it hangs from."""
    above, parents = [], {}
    for line in errors.__doc__.splitlines():
        found = re.match(r"    ([│├└─ ]*)([A-Z]\w+Error)\b", line)
        if found:
            depth = len(found[1]) // 4
            above[depth:] = [found[2]]
            parents[found[2]] = above[depth - 1] if depth else None
    return parents


def test_all_are_drawn():
    assert set(read_tree()) == {kind.__name__ for kind in CLASSES}


@pytest.mark.parametrize("kind", CLASSES)
def test_each_hangs_where_it_is_drawn(kind):
    parent = read_tree()[kind.__name__]
    assert kind.__bases__[0].__name__ == (parent or "Exception")


WRONG = {
    "level": lambda library: library.wavedec([1.0] * 16, "haar", level=2.5),
    "level of two": lambda library: library.wavedec2([[1.0, 2.0]] * 2, "haar", level="2"),
    "axis": lambda library: library.dwt([1.0, 2.0], "haar", axis="a"),
    "part": lambda library: library.downcoef(1, [1.0, 2.0], "haar"),
    "other part": lambda library: library.upcoef(1, [1.0, 2.0], "haar"),
    "take": lambda library: library.upcoef("a", [1.0, 2.0], "haar", take="b"),
    "no coefficients": lambda library: library.idwt2(None, "haar"),
    "no details": lambda library: library.idwt2(([[1.0]], None), "haar"),
    "no list": lambda library: library.waverecn(None, "haar"),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_arguments_of_a_wrong_type_are_type_errors_as_in_pywavelets(call):
    for library in (pywt, subband):
        with pytest.raises(TypeError) as caught:
            call(library)
    assert isinstance(caught.value, errors.SubbandError)


@pytest.mark.parametrize("refused", [np.ma.masked_array([1.0, 2.0], [False, True]), np.array([1, 2], object)])
def test_what_holds_no_plain_numbers_is_refused_with_a_way_out(refused):
    """PyWavelets computes what is under a mask as if it counted."""
    assert len(pywt.dwt(refused, "haar")[0]) == 1
    with pytest.raises(errors.DtypeError, match=r"filled\(|astype\(float\)"):
        subband.dwt(refused, "haar")


def test_none_is_hidden_elsewhere():
    """What users see in a traceback they can import."""
    hidden = []
    todo = [errors.SubbandError]
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        if kind.__name__.startswith("_"):
            hidden.append(kind)
    assert hidden == []
