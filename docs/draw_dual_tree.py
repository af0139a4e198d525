"""Draw the figures of dual-tree.md: run it from the root of the repository."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from subband import DualTreePyramid, data, dtcwt, idtcwt, wavedec
from subband.outputs import open_output

IMAGES = Path(__file__).parent / "images"
FILTERS = ("near_sym_b", "qshift_c")
LEVELS = 5
SHIFTS = 32


def main() -> None:
    """Draw both figures."""
    _save(draw_orientations(), "dual-tree-orientations.png")
    _save(draw_shifts(), "dual-tree-shifts.png")


def draw_orientations() -> Figure:
    """Draw the wavelet of each orientation, and below it the magnitudes that a photograph has there."""
    pyramid = dtcwt(data.camera().astype(np.float32), *FILTERS, level=3)
    zero = dtcwt(np.zeros((64, 64)), *FILTERS, level=3)
    figure = Figure(figsize=(9, 4.8), layout="constrained")
    axes = figure.subplots(3, 6, gridspec_kw={"height_ratios": [1, 1, 1.6]})
    assert pyramid.angles is not None
    for number, angle in enumerate(pyramid.angles):
        for row, unit in enumerate((1, 1j)):
            band = np.zeros_like(zero.highpasses[2])
            band[4, 4, number] = unit
            alone = DualTreePyramid(zero.lowpass, [None, None, band], zero.plan)
            axes[row, number].imshow(idtcwt(alone)[16:56, 16:56], cmap="gray")
        magnitude = np.abs(pyramid.highpasses[1][..., number])
        axes[2, number].imshow(magnitude, cmap="gray", vmax=np.quantile(np.abs(pyramid.highpasses[1]), 0.99))
        axes[0, number].set_title(f"{angle}°", fontsize=10)
    for row, title in enumerate(("real part", "imaginary part", "magnitude, level 2")):
        axes[row, 0].set_ylabel(title, fontsize=9)
    for each in axes.flat:
        each.set(xticks=[], yticks=[])
    return figure


def draw_shifts() -> Figure:
    """Draw the coefficients of a step in several positions, and the energy of each level over the position."""
    transforms: dict[str, Callable[[Any], list[Any]]] = {
        "wavedec, sym8": lambda x: wavedec(x, "sym8", level=LEVELS)[:0:-1],
        f"dtcwt, {', '.join(FILTERS)}": lambda x: [
            np.abs(band[:, 0]) for band in dtcwt(x, *FILTERS, LEVELS).highpasses
        ],
    }
    figure = Figure(figsize=(8, 5.2), layout="constrained")
    axes = figure.subplots(2, 2, sharey="row")
    steps = [(np.arange(1024) >= 512 + shift).astype(float) for shift in range(SHIFTS)]
    for column, (title, transform) in enumerate(transforms.items()):
        coefficients = [transform(step) for step in steps]
        for shift in range(0, 16, 2):
            band = coefficients[shift][3]
            axes[0, column].plot(np.arange(band.size)[20:46], band[20:46], linewidth=1, color=f"C{shift // 2}")
        axes[0, column].set(title=title, xlabel="coefficient of level 4, for 8 positions of a step")
        for level in range(LEVELS):
            energy = np.array([np.square(each[level][_middle(each[level])]).sum() for each in coefficients])
            axes[1, column].plot(energy / energy.mean(), label=f"level {level + 1}")
        axes[1, column].set(xlabel="position of the step, samples", ylabel="energy over its mean" if not column else "")
    axes[1, 1].legend(ncols=2, fontsize=8, loc="lower right")
    return figure


def _middle(band: Any) -> slice:
    return slice(len(band) // 4, 3 * len(band) // 4)


def _save(figure: Figure, name: str) -> None:
    picture = BytesIO()
    FigureCanvasAgg(figure).print_png(picture)
    with open_output(IMAGES / name, overwrite=True) as file:
        file.write(picture.getvalue())


if __name__ == "__main__":
    main()
