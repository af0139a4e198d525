"""The examples of the gallery: there are enough of them, and some run here; `make docs` runs them all."""

import ast
import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "examples"
EXAMPLES = sorted(FOLDER.glob("*/*.py"))

#: Short ones of several kinds.
RUN = ["one_level", "boundaries", "multiresolution", "thresholds", "lossless"]


def test_there_are_thirty_and_each_has_a_title_and_a_figure():
    assert len(EXAMPLES) >= 30
    for path in EXAMPLES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        title, line, _, *text = ast.get_docstring(tree).splitlines()
        assert line == "=" * len(title), path
        assert text, path
        assert "plt.show()" in ast.unparse(tree), path


@pytest.mark.parametrize("name", RUN)
def test_example_runs(name, monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    (path,) = FOLDER.glob(f"*/plot_*_{name}.py")
    try:
        runpy.run_path(str(path))
        assert plt.get_fignums()
    finally:
        plt.close("all")
