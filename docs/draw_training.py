"""Draw the curves of training of tutorial-torch.md: run it from the root of the repository."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from subband.outputs import open_output

DOCS = Path(__file__).parent
TITLES = {"WaveletDenoise": "learnt thresholds, cdf97", "LearnedDenoiser": "learnt wavelet and thresholds"}


def main() -> None:
    """Run the programs of the page up to the curves, and draw these."""
    page = (DOCS / "tutorial-torch.md").read_text(encoding="utf-8").partition("## A network on bands")[0]
    names: dict[str, Any] = {"__name__": "__main__"}
    for program in re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        exec(program, names)
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.axhline(names["measure"](names["noisy_test"]), color="0.6", linestyle=":", label="noisy")
    for name, curve in names["curves"].items():
        axes.plot(range(1, len(curve) + 1), curve, label=TITLES[name])
    axes.set(xlabel="step of training", ylabel="PSNR of images kept for judging, dB")
    axes.legend()
    picture = BytesIO()
    FigureCanvasAgg(figure).print_png(picture)
    with open_output(DOCS / "images" / "tutorial-training.png", overwrite=True) as file:
        file.write(picture.getvalue())


if __name__ == "__main__":
    main()
