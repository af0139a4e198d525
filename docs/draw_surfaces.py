"""Make the images of surfaces and of edges in editing.md: `python docs/draw_surfaces.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from subband import data
from subband.edit.edges import EdgeFinder
from subband.edit.surfaces import Reshaper, Surface, View, draw, draw_gains, parse_gains, shapes
from subband.outputs import open_output
from subband.typing import Array

IMAGES = Path(__file__).with_name("images")
HEADS = (
    ("as it is", ""),
    ("caricature", "3:1.7,4:1.5"),
    ("clay", "1:0,2:0.1,3:0.45"),
    ("goblin", "4h:1.9,5v:0.35,3:1.5"),
    ("sphinx", "5:0.45,4:0.7,2:1.6"),
    ("carved", "1:1.8,2:1.9,3:0.6"),
)
LANDS = (("as it is", ""), ("smoothed", "1:0,2:0,3:0.35"), ("ridges", "2:2.2,3:1.6,5:0.5"))
SIZE, LAND, BANDS, GAP, TEXT = (400, 330), (250, 330), 104, 14, 19


def draw_row(surface: Surface, settings: tuple[tuple[str, str], ...], size: tuple[int, int], view: View) -> Array:
    """Draw a surface with several gains, and the gains below."""
    reshaper = Reshaper(surface)
    cells = []
    for title, text in settings:
        gains, approximation = parse_gains(text, reshaper.level) if text else (np.ones((reshaper.level, 3)), 1.0)
        made = reshaper.reshape(gains, approximation)
        picture = Image.fromarray(draw(made, size, view, frame=surface))
        cell = Image.new("RGB", (size[1], size[0] + BANDS + GAP), "white")
        cell.paste(picture, (0, 0))
        cell.paste(Image.fromarray(draw_gains(gains, reshaper.level, BANDS)).convert("RGB"), (GAP, size[0] + GAP // 2))
        pen = ImageDraw.Draw(cell)
        pen.rectangle((GAP - 1, size[0] + GAP // 2 - 1, GAP + BANDS, size[0] + GAP // 2 + BANDS), outline="#999999")
        font = ImageFont.load_default(TEXT)
        pen.text((2 * GAP + BANDS, size[0] + GAP), title, fill="#222222", font=font)
        small = ImageFont.load_default(TEXT - 4)
        pen.multiline_text(
            (2 * GAP + BANDS, size[0] + GAP + 30), text.replace(",", "\n"), fill="#666666", font=small, spacing=3
        )
        cells.append(np.asarray(cell))
    return np.hstack(cells)


def make_surfaces() -> Image.Image:
    """Draw heads and a terrain, reshaped."""
    heads = draw_row(shapes.head(), HEADS, SIZE, View(turn=32, tilt=6, zoom=0.93))
    rows = [heads[:, : 3 * SIZE[1]], heads[:, 3 * SIZE[1] :], draw_row(shapes.terrain(), LANDS, LAND, View(205, 32))]
    return Image.fromarray(np.vstack(rows))


def make_edges() -> Image.Image:
    """Draw the edges of a photograph, and of the same under noise."""
    # with room for the noise at both ends
    photograph = np.rint(40 + data.photograph()[:370, 100:] * 0.69).astype(np.uint8)
    generator = np.random.default_rng(0)
    noisy = np.clip(photograph + generator.normal(0, 20, photograph.shape), 0, 255).astype(np.uint8)
    finder = EdgeFinder(contrast=5.0, shortest=12, colour=(0, 40, 255), fade=0.6)
    pictures = [photograph, finder.apply(photograph), noisy, finder.apply(noisy)]
    edge = np.full((photograph.shape[0], GAP, 3), 255, np.uint8)
    joined: list[Array] = []
    for picture in pictures:
        joined += [picture, edge]
    return Image.fromarray(np.hstack(joined[:-1]))


def main() -> None:
    """Write both pictures."""
    IMAGES.mkdir(exist_ok=True)
    edges = make_edges().quantize(64, dither=Image.Dither.NONE)
    for name, picture in (("editing-surfaces.png", make_surfaces()), ("editing-edges.png", edges)):
        with open_output(IMAGES / name, overwrite=True) as file:
            picture.save(file, "PNG", optimize=True)
    for name in ("editing-surfaces.png", "editing-edges.png"):
        print(f"{IMAGES / name}: {(IMAGES / name).stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
