"""Draw the figures of the tutorials by running their programs: `python docs/draw_tutorials.py [picture torch …]`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from panels import make_panels, run_page, save_figure

import subband

TITLES = {"WaveletDenoise": "learnt thresholds, cdf97", "LearnedDenoiser": "learnt wavelet and thresholds"}


def draw_picture() -> None:
    """Draw a photograph before and after, and the bands that the page speaks of."""
    names = run_page("tutorial-picture.md", "## What happens inside")
    crop = np.s_[10:250, 110:350]
    images = {
        title: image[crop]
        for title, image in (
            ("clean", names["clean"]),
            (f"noisy, {subband.psnr(names['noisy'], names['clean']):.1f} dB", names["noisy"]),
            (f"denoised, {subband.psnr(names['better'], names['clean']):.1f} dB", names["better"]),
        )
    }
    save_figure(make_panels(images), "tutorial-picture.jpg")

    names = run_page("tutorial-picture.md", "## A chain of stages")
    pyramid = names["pyramid"]
    kept = pyramid.threshold(1.5 * names["sigma"], mode="soft")
    figure = Figure(figsize=(7.2, 3.9), layout="constrained")
    for axes, each, title in zip(
        figure.subplots(1, 2), (pyramid, kept), ("bands of the noisy image", "after the threshold"), strict=True
    ):
        subband.plot.mosaic(each, axes, gain=4)
        axes.set_title(title, fontsize=10)
    save_figure(figure, "tutorial-bands.jpg")


def draw_ultrasound() -> None:
    """Draw the phantom, a scan of it, and what the filter makes of the scan."""
    names = run_page("tutorial-ultrasound.md", "## A stream of frames")
    truth, scan, cleaned = names["truth"], names["frames"][0], names["cleaned"][0]
    images = {
        "true echoes": truth,
        f"scan, {subband.psnr(scan, truth, peak=255):.1f} dB": scan,
        f"cleaned, {subband.psnr(cleaned, truth, peak=255):.1f} dB": cleaned,
    }
    figure = make_panels(images)
    for axes in figure.axes[1:]:
        shown = cleaned if axes is figure.axes[2] else scan
        contrast = np.mean([region.measure_contrast(shown) for region in names["phantom"].regions])
        axes.text(4, 248, f"mean contrast of cysts {contrast:.1f}", color="white", fontsize=8)
    save_figure(figure, "tutorial-ultrasound.jpg")


def draw_volume() -> None:
    """Draw slices of a volume along two axes, before and after."""
    names = run_page("tutorial-volume.md", "Transforms of volumes")
    volumes = {"true object": names["ball"], "scan": names["scan"], "denoised": names["better"]}
    figure = Figure(figsize=(7.4, 4.6), layout="constrained")
    grid = figure.subplots(2, 3, height_ratios=(64, 48))
    for column, (title, volume) in enumerate(volumes.items()):
        for row, image in enumerate((volume[24], volume[:, 32])):
            grid[row, column].imshow(image, cmap="gray", vmin=-0.3, vmax=1.3, interpolation="nearest")
            grid[row, column].set(xticks=[], yticks=[])
        grid[0, column].set_title(title, fontsize=10)
    for row, title in enumerate(("slice, rows × columns", "slice, depth × columns")):
        grid[row, 0].set_ylabel(title, fontsize=9)
    save_figure(figure, "tutorial-volume.jpg")


def draw_torch() -> None:
    """Draw the curves of training, patches before and after, and an image whose missing pixels were filled in."""
    names = run_page("tutorial-torch.md", "## Save, move, compile")
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.axhline(names["measure"](names["noisy_test"]), color="0.6", linestyle=":", label="noisy")
    for name, title in TITLES.items():
        curve = names["curves"][name]
        axes.plot(range(1, len(curve) + 1), curve, label=title)
    axes.set(xlabel="training step", ylabel="PSNR on held-out images, dB")
    axes.legend()
    save_figure(figure, "tutorial-training.png", dpi=100)

    def join(patches: Any) -> np.ndarray:
        return np.hstack([patch[0] for patch in patches.detach().numpy()[2:5]])

    with names["torch"].no_grad():
        images = {
            "clean": join(names["test"]),
            "noisy": join(names["noisy_test"]),
            "three learnt thresholds": join(names["layer"](names["noisy_test"])),
            "network on bands": join(names["network"](names["noisy_test"])),
        }
    figure = Figure(figsize=(7.4, 3.1), layout="constrained")
    for axes, (title, image) in zip(figure.subplots(2, 2).flat, images.items(), strict=True):
        axes.imshow(image, cmap="gray", vmin=0, vmax=1)
        axes.set_title(title, fontsize=10)
        axes.axis("off")
    save_figure(figure, "tutorial-torch.jpg")

    image, known = names["image"][0, 0].numpy(), names["known"][0, 0].numpy()
    filled = names["guess"].detach().numpy()[0, 0]
    panels = {"image": image, "40 % of its pixels missing": image * known, "filled in": filled}
    save_figure(make_panels(panels, limits=(0, 1)), "tutorial-missing.jpg")


DRAWN = {"picture": draw_picture, "ultrasound": draw_ultrasound, "volume": draw_volume, "torch": draw_torch}

if __name__ == "__main__":
    for name in sys.argv[1:] or DRAWN:
        DRAWN[name]()
