"""Colours of figures that Sphinx draws: without a background, and legible on white and on dark pages."""

from __future__ import annotations

from typing import Any

#: As light on white as it is dark on the theme's dark background.
INK = "#7c7f85"

#: Settings of matplotlib.
COLOURS = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def set_colours(gallery_conf: dict[str, Any], fname: str) -> None:  # noqa: ARG001 - called by sphinx-gallery
    """Set the colours for an example of the gallery; sphinx-gallery calls it before each of them."""
    import matplotlib as mpl

    mpl.rcParams.update(COLOURS)
