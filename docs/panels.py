"""Images side by side under short titles, saved as JPEG, for the scripts that draw the figures of pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from subband.outputs import open_output

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"


def run_page(name: str, until: str = "\0") -> dict[str, Any]:
    """Run the programs of a page, up to a heading, and return the names that they leave."""
    text = (DOCS / name).read_text(encoding="utf-8").partition(until)[0]
    names: dict[str, Any] = {"__name__": "__main__"}
    for program in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        exec(program, names)
    return names


def make_panels(images: Mapping[str, Any], height: float = 2.6, limits: tuple[float, float] = (0, 255)) -> Figure:
    """Return a figure with one panel for each image, by title."""
    ratios = [image.shape[1] / image.shape[0] for image in images.values()]
    figure = Figure(figsize=(height * sum(ratios), height + 0.3), layout="constrained")
    panels = figure.subplots(1, len(images), width_ratios=ratios, squeeze=False)[0]
    for axes, (title, image) in zip(panels, images.items(), strict=True):
        axes.imshow(image, cmap="gray", vmin=limits[0], vmax=limits[1], interpolation="nearest")
        axes.set_title(title, fontsize=10)
        axes.axis("off")
    return figure


def save_figure(figure: Figure, name: str, dpi: int = 110) -> None:
    """Write a figure among the images of the pages, as JPEG or PNG by its name."""
    ending = Path(name).suffix[1:]
    file = BytesIO()
    FigureCanvasAgg(figure)
    options = {"quality": 86, "optimize": True} if ending == "jpg" else {"optimize": True}
    figure.savefig(file, format=ending, dpi=dpi, pil_kwargs=options)
    with open_output(IMAGES / name, overwrite=True) as output:
        output.write(file.getvalue())
