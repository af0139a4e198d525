"""The tree of exceptions, and that it is the one drawn."""

import inspect
import re

import pytest

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
