"""Figures as files."""

from pathlib import Path

import pytest
from PIL import Image

from subband.bench.figure import Figure, Panel
from subband.errors import ArgumentError


@pytest.fixture
def figure():
    panel = Panel("curve", "x", "y")
    panel.add_curve([0, 1], [0, 1])
    return Figure("One", [[panel]])


@pytest.mark.parametrize("kind", [str, Path])
def test_a_name_is_a_text_or_a_path(figure, tmp_path, kind):
    path = tmp_path / "plot.PNG"
    figure.save(kind(path))
    with Image.open(path) as picture:
        assert picture.size == figure.render().size


@pytest.mark.parametrize("kind", [str, Path])
def test_other_endings_are_refused(figure, tmp_path, kind):
    with pytest.raises(ArgumentError, match=r"'plot\.txt' does not end like a picture"):
        figure.save(kind(tmp_path / "plot.txt"))
    assert not list(tmp_path.iterdir())
