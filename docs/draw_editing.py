"""Make the images of editing.md: bumps carried over, light taken away, and stacks fused.

Run it from anywhere; it writes ``docs/images/editing-*.png``. All pictures come with subband or are drawn here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from subband import data
from subband.edit import decouple, fuse, relight, stylise
from subband.enhance import Blur, Enhancer
from subband.outputs import open_output

IMAGES = Path(__file__).parent / "images"

#: Pixels between two pictures, and the colour there.
GAP, PAPER = 6, 255


def draw_beans(size: int = 256, count: int = 700, seed: int = 3) -> np.ndarray:
    """Return a heap of beans, lit from the upper left; it repeats without a seam."""
    generator = np.random.default_rng(seed)
    height = np.zeros((size, size))
    rows, columns = np.mgrid[:size, :size]
    for _ in range(count):
        row, column, turn = generator.uniform(0, size), generator.uniform(0, size), generator.uniform(0, np.pi)
        length = generator.uniform(13, 17)
        down = (rows - row + size / 2) % size - size / 2
        across = (columns - column + size / 2) % size - size / 2
        along, beside = np.cos(turn) * across + np.sin(turn) * down, np.cos(turn) * down - np.sin(turn) * across
        inside = 1 - (along / length) ** 2 - (beside / (0.55 * length)) ** 2
        bean = np.where(inside > 0, generator.uniform(0, 8) + 9 * np.sqrt(np.maximum(inside, 0)), 0)
        height = np.maximum(height, bean)
    slope_down, slope_across = (np.roll(height, -1, axis) - np.roll(height, 1, axis) for axis in (0, 1))
    shade = (slope_down + slope_across + 2.2) / np.sqrt(slope_down**2 + slope_across**2 + 2.2)
    shade = np.clip(0.25 + 0.36 * shade, 0, 1) * np.clip(0.35 + height / 14, 0, 1)
    return np.rint(255 * np.clip(shade[..., np.newaxis] * (1.0, 0.83, 0.45), 0, 1)).astype(np.uint8)


def draw_night(size: int = 256, seed: int = 5) -> np.ndarray:
    """Return a painting: a night sky of whirls and stars over hills."""
    generator = np.random.default_rng(seed)
    rows, columns = np.mgrid[:size, :size] / size
    down, across = 0.35 * np.cos(6 * columns), np.ones((size, size))
    for row, column, spin, reach in ((0.36, 0.45, 5.0, 0.15), (0.22, 0.72, -4.0, 0.1), (0.5, 0.12, -3.0, 0.1)):
        strength = spin * np.exp(-(((rows - row) ** 2 + (columns - column) ** 2) / reach**2))
        down = down + strength * (columns - column) / reach
        across = across - strength * (rows - row) / reach
    length = np.hypot(down, across) + 1e-9
    stroke = _smear(generator.normal(size=(size, size)), down / length, across / length)
    night, day = np.array((0.09, 0.15, 0.42)), np.array((0.55, 0.72, 0.88))
    painting = night + (day - night) * np.clip(0.42 + 0.22 * stroke - 0.25 * (rows - 0.4), 0, 1)[..., np.newaxis]
    for row, column, reach in (
        (0.1, 0.14, 0.06),
        (0.13, 0.46, 0.04),
        (0.14, 0.88, 0.09),
        (0.4, 0.9, 0.04),
        (0.3, 0.2, 0.05),
    ):
        away = np.hypot(rows - row, columns - column) / reach
        glow = np.exp(-(away**1.5)) * (0.85 + 0.15 * np.cos(7 * away))
        painting += glow[..., np.newaxis] * (np.array((1.0, 0.9, 0.5)) - painting)
    hills = 0.72 - 0.1 * np.sin(4 * columns + 0.8) - 0.04 * np.sin(11 * columns)
    below = np.clip((rows - hills) * size / 2, 0, 1)[..., np.newaxis]
    meadow = np.array((0.13, 0.27, 0.22)) * (1 + 0.25 * stroke)[..., np.newaxis]
    painting = painting * (1 - below) + meadow * below
    for row, column in ((0.84, 0.3), (0.87, 0.55), (0.82, 0.62), (0.9, 0.78), (0.88, 0.2)):
        house = (np.abs(rows - row) < 0.025) & (np.abs(columns - column) < 0.03)
        roof = (row - 0.06 < rows) & (rows < row - 0.02) & (np.abs(columns - column) < (rows - row + 0.06) * 0.9)
        window = (np.abs(rows - row) < 0.009) & (np.abs(columns - column) < 0.009)
        for where, colour in ((house, (0.35, 0.3, 0.36)), (roof, (0.2, 0.14, 0.2)), (window, (1.0, 0.85, 0.35))):
            painting[where] = colour
    return as_bytes(painting)


def draw_wall(size: int = 256, seed: int = 1) -> np.ndarray:
    """Return a wall of bricks, evenly lit; it repeats without a seam."""
    generator = np.random.default_rng(seed)
    rows, columns = np.mgrid[:size, :size]
    course = rows // 32
    shifted = (columns + 32 * (course % 2)) % size
    brick = shifted // 64
    joint = (rows % 32 < 4) | (shifted % 64 < 4)
    grain = np.real(np.fft.ifft2(np.fft.fft2(generator.normal(size=(size, size))) * _fall_off(size)))
    grain /= grain.std()
    tone = generator.uniform(0.75, 1.15, (size // 32, size // 64))[course % (size // 32), brick]
    bricks = np.stack([tone * weight for weight in (0.62, 0.33, 0.25)], axis=-1)
    wall = np.where(joint[..., np.newaxis], np.array((0.6, 0.57, 0.52)), bricks)
    edge = (rows % 32 == 4) | (shifted % 64 == 4)
    wall = wall * (1 + 0.13 * grain + 0.25 * edge)[..., np.newaxis]
    return np.clip(wall, 0, 1)


def draw_light(size: int = 256) -> np.ndarray:
    """Return the light of a lamp on the left, from 0 to 1."""
    rows, columns = np.mgrid[:size, :size] / size
    return 0.22 + 1.1 * np.exp(-((rows - 0.35) ** 2 / 0.35 + (columns - 0.3) ** 2 / 0.16))


def draw_spots(size: int = 256) -> np.ndarray:
    """Return a light in colour, as of a window and a lamp."""
    rows, columns = np.mgrid[:size, :size] / size
    window = np.exp(-(((columns - 0.25) / 0.2) ** 4 + ((rows - 0.45) / 0.35) ** 4))
    lamp = np.exp(-((rows - 0.85) ** 2 + (columns - 0.85) ** 2) / 0.08)
    colours = window[..., np.newaxis] * (0.6, 0.68, 0.8) + lamp[..., np.newaxis] * (0.7, 0.5, 0.28)
    return np.clip(0.12 + 0.85 * colours, 0, 1)


def make_style() -> Path:
    """Remake figure 8: a picture, a texture, and the picture with its bumps."""
    picture, texture = draw_night(), draw_beans()
    bumpy = stylise(picture, texture, rule="max", strength=0.8, level=4)
    return save("style", [each[:240, :240] for each in (picture, texture, bumpy)])


def make_rules() -> Path:
    """Show the rules, and that of the maximum on the finest and on the coarser levels alone."""
    picture, texture = draw_night()[30:222, 30:222], draw_beans()
    variants = [
        stylise(picture, texture, rule="add", strength=0.5, level=4),
        stylise(picture, texture, rule="mix", strength=0.6, level=4),
        stylise(picture, texture, strength=0.9, level=4, levels=(1, 2)),
        stylise(picture, texture, strength=0.9, level=4, levels=(3, 4)),
    ]
    return save("rules", variants)


def make_light() -> Path:
    """Remake figure 9: a wall under a lamp, the light, the wall without it, and under another."""
    picture = as_bytes(draw_wall(192) * draw_light(192)[..., np.newaxis])
    decal, light = decouple(picture, level=5, gamma=2.2)
    other = relight(picture, as_bytes(draw_spots(192)), level=5, gamma=2.2)
    return save("light", [picture, light, as_bytes(decal * 0.45), other])


def make_tiles() -> Path:
    """Show the wall and its decal as textures that are repeated."""
    picture = as_bytes(draw_wall() * draw_light()[..., np.newaxis])[::2, ::2]
    decal = as_bytes(decouple(picture, level=4, gamma=2.2).decal * 0.45)
    return save("tiles", [np.tile(each, (2, 3, 1)) for each in (picture, decal)])


def make_focus() -> Path:
    """Show two pictures, each half in focus, and the one fused of them."""
    sharp = data.photograph()[20:276, 120:376]
    blurred = Enhancer(Blur(3.0)).apply(sharp)
    near, far = sharp.copy(), sharp.copy()
    near[:, 128:], far[:, :128] = blurred[:, 128:], blurred[:, :128]
    return save("focus", [near, far, fuse([near, far])])


def make_exposure() -> Path:
    """Show three exposures of a scene of much contrast, and the one fused of them."""
    scene = (data.photograph()[20:212, 120:312] / 255) ** 2.2
    radiance = scene * np.geomspace(0.1, 12, 192)[np.newaxis, :, np.newaxis]
    stack = [as_bytes(np.clip(radiance * gain, 0, 1) ** (1 / 2.2)) for gain in (0.1, 0.8, 6)]
    return save("exposure", [*stack, fuse(stack, rule="exposure")])


def as_bytes(values: np.ndarray) -> np.ndarray:
    """Return numbers from 0 to 1 as a picture of 8 bits."""
    return np.rint(255 * np.clip(values, 0, 1)).astype(np.uint8)


def save(name: str, pictures: Sequence[np.ndarray], colours: int = 256) -> Path:
    """Write pictures side by side, with few colours, so that the file is small."""
    height = max(len(each) for each in pictures)
    parts: list[np.ndarray] = []
    for each in pictures:
        whole = each if each.dtype == np.uint8 else as_bytes(each / 255)
        parts += [np.full((height, GAP, 3), PAPER, np.uint8), whole]
    path = IMAGES / f"editing-{name}.png"
    joined = Image.fromarray(np.hstack(parts[1:]))
    with open_output(path, overwrite=True) as file:
        joined.quantize(colours, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return path


def _smear(noise: np.ndarray, down: np.ndarray, across: np.ndarray, steps: int = 14) -> np.ndarray:
    """Return noise drawn out along a field of directions, as a brush does."""
    size = len(noise)
    total = noise.copy()
    for sign in (-1, 1):
        row, column = np.mgrid[:size, :size].astype(float)
        for _ in range(steps):
            place = np.rint(row).astype(int) % size, np.rint(column).astype(int) % size
            row, column = row + sign * down[place], column + sign * across[place]
            total += noise[np.rint(row).astype(int) % size, np.rint(column).astype(int) % size]
    return (total - total.mean()) / total.std()


def _fall_off(size: int) -> np.ndarray:
    """Return what makes grain of noise: the finer, the weaker."""
    frequencies = np.fft.fftfreq(size)
    radius = np.hypot(frequencies[:, np.newaxis], frequencies)
    return 1 / (0.02 + radius)


if __name__ == "__main__":
    for make in (make_style, make_rules, make_light, make_tiles, make_focus, make_exposure):
        written = make()
        print(f"{written}: {written.stat().st_size / 1024:.0f} KiB")
