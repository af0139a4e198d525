"""Draw the images of the start page: `python docs/draw_landing.py`."""

from __future__ import annotations

import numpy as np
from draw_editing import draw_beans, draw_night
from matplotlib.figure import Figure
from panels import IMAGES, save_figure
from PIL import Image, ImageDraw, ImageFont

import subband
from subband.edit import stylise
from subband.media import open_source
from subband.outputs import open_output

#: Of the image of a door, in pixels.
DOOR = (560, 210)


def draw_denoising() -> None:
    """Draw a photograph before and after."""
    clean = subband.data.photograph()
    noisy = np.clip(clean + np.random.default_rng(0).normal(0, 30, clean.shape), 0, 255).astype(np.uint8)
    better = subband.denoise(noisy)
    image = Image.new("RGB", (2 * 446 + 4, 372), "#888")
    draw = ImageDraw.Draw(image)
    for left, name, pixels in ((0, "before", noisy), (450, "after", better)):
        image.paste(Image.fromarray(pixels[:300, 75:435]).resize((446, 372), Image.Resampling.LANCZOS), (left, 0))
        draw.rectangle((left + 10, 330, left + 168, 360), fill="#000")
        label = f"{name}, {subband.psnr(pixels, clean):.1f} dB"
        draw.text((left + 89, 345), label, "#fff", ImageFont.load_default(19), anchor="mm")
    with open_output(IMAGES / "landing-denoise.jpg", overwrite=True) as file:
        image.save(file, "JPEG", quality=84, optimize=True)


def draw_bands() -> None:
    """Draw an image, its bands, and the image from a twentieth of its coefficients."""
    image = subband.data.camera()
    pyramid = subband.decompose(image.astype(np.float32), "cdf97", level=3)
    figure = Figure(figsize=(8.1, 2.9), layout="constrained")
    panels = figure.subplots(1, 3)
    panels[0].imshow(image, cmap="gray", vmin=0, vmax=255)
    subband.plot.mosaic(pyramid, panels[1], gain=8)
    panels[2].imshow(pyramid.keep(0.05).reconstruct(), cmap="gray", vmin=0, vmax=255)
    for axes, title in zip(panels, ("image", "three levels of bands", "from 5 % of the coefficients"), strict=True):
        axes.set_title(title, fontsize=10)
        axes.axis("off")
    save_figure(figure, "landing-bands.jpg")


def draw_doors() -> None:
    """Draw one wide image for each kind of reader."""
    phantom = subband.data.ultrasound((420, 560))
    scan = phantom.scan(seed=0)
    cleaned = subband.enhance.Enhancer([subband.enhance.Denoise(level=4)], noise="log-speckle").apply(scan)
    save_door("science", np.repeat(split(scan, cleaned)[..., np.newaxis], 3, axis=-1)[90:300])

    with open_source(subband.data.clip_path()) as source:
        frame = next(iter(source)).pixels
    noisy = np.clip(frame + np.random.default_rng(1).normal(0, 30, frame.shape), 0, 255).astype(np.uint8)
    save_door("video", split(noisy, subband.denoise(noisy))[60:300])

    camera = subband.data.camera().astype(np.float32)
    bands = subband.decompose(camera, "cdf97", level=2)
    shown = [np.clip(128 + 3 * bands[level, key], 0, 255) for level in (2, 1) for key in ("ad", "da", "dd")]
    tiles = [np.asarray(Image.fromarray(each.astype(np.uint8)).resize((210, 210))) for each in shown[:3]]
    save_door("learning", np.repeat(np.hstack(tiles)[..., np.newaxis], 3, axis=-1))

    painting, beans = draw_night(560), draw_beans()
    save_door("art", split(painting, stylise(painting, beans, rule="max", strength=0.8, level=4))[60:270])


def split(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the left half of one image and the right half of another, with a white line between."""
    middle = before.shape[1] // 2
    joined = before.copy()
    joined[:, middle:] = after[:, middle:]
    joined[:, middle - 1 : middle + 1] = 255
    return joined


def save_door(name: str, pixels: np.ndarray) -> None:
    """Write an image for a card."""
    image = Image.fromarray(pixels)
    height = round(image.width * DOOR[1] / DOOR[0])
    top = max(0, (image.height - height) // 2)
    with open_output(IMAGES / f"door-{name}.jpg", overwrite=True) as file:
        cropped = image.crop((0, top, image.width, min(image.height, top + height)))
        cropped.resize(DOOR, Image.Resampling.LANCZOS).save(file, "JPEG", quality=84, optimize=True)


if __name__ == "__main__":
    for draw in (draw_denoising, draw_bands, draw_doors):
        draw()
