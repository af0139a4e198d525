"""What tools have in common that make another image of each frame."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np
from PIL import Image

from subband.media.formats import find_format
from subband.studio.controls import Control, Scalar, Settings, choose, lower_level
from subband.studio.tools.base import Inputs, Shown, Tool, Work
from subband.typing import Array

__all__ = [
    "VIEWS",
    "ImageTool",
    "fit_image",
    "format_reading",
    "format_script",
    "name_source",
]

#: What is shown.
VIEWS = (("synthesis", "Result"), ("split", "Before and after"))

#: The control that chooses between them.
VIEW = choose("view", "View", "synthesis", VIEWS, group="View")


class ImageTool(Tool):
    """From a frame to another image of the same size."""

    @property
    @abstractmethod
    def controls(self) -> tuple[Control, ...]:
        """All settings, in the order of the page."""

    @abstractmethod
    def make(self, settings: Settings, inputs: Inputs) -> Callable[[Array], Array]:
        """Return what makes an image of a frame."""

    def prepare(self, settings: Settings, inputs: Inputs) -> Work:
        """Return what is done to each frame."""
        change = self.make(settings, inputs)

        def work(pixels: Array, number: int) -> Shown:  # noqa: ARG001 - every frame is treated alike
            start = perf_counter()
            result = change(pixels)
            seconds = {"filter": perf_counter() - start}
            images = (("result", result), ("before", pixels)) if settings["view"] == "split" else (("result", result),)
            return Shown(images, (), seconds, pair=(pixels, result))

        return work

    def correct(self, settings: dict[str, Scalar], shape: tuple[int, ...] | None) -> Iterator[str]:
        """Lower the number of levels until an image has room for them."""
        level = settings.get("level")
        if shape is None or not isinstance(level, int):
            return
        level = lower_level(level, lambda each: self.check_level({**settings, "level": each}, shape))
        if level != settings["level"]:
            yield f"{shape[1]} × {shape[0]} pixels have {level} levels at most with {settings.get('wavelet')}."
            settings["level"] = level

    def check_level(self, settings: Settings, shape: tuple[int, ...]) -> None:
        """Raise a LevelError if an image has fewer levels."""


def fit_image(pixels: Array, shape: tuple[int, ...]) -> Array:
    """Return an image stretched to the shape of a frame, in grey or colours as that is.

    Examples
    --------
    >>> fit_image(np.zeros((8, 8), np.uint8), (4, 6, 3)).shape
    (4, 6, 3)
    """
    image = Image.fromarray(pixels).convert("RGB" if len(shape) == 3 else "L")
    size = (shape[1], shape[0])
    return np.asarray(image if image.size == size else image.resize(size, Image.Resampling.BICUBIC))


def name_source(text: Scalar, usual: str) -> str:
    """Return what the file of a further image may be called.

    Examples
    --------
    >>> name_source("sample:camera", "texture.png"), name_source("upload:xyz", "texture.png")
    ('camera.png', 'texture.png')
    """
    kind, _, name = str(text).partition(":")
    if kind == "upload" or not name:
        return usual
    return name if "." in name else f"{name}.png"


def is_video(name: str) -> bool:
    """Tell whether a file is video, by its name.

    Examples
    --------
    >>> is_video("clip.mp4"), is_video("photo.png")
    (True, False)
    """
    form = find_format(name)
    return form is not None and form.kinds == ("video",)


def format_script(imports: str, setup: str, call: str, name: str, target: str) -> str:
    """Return Python that applies a call on ``image`` to a still or a video.

    Examples
    --------
    >>> print(format_script("", "", "image[::-1]", "in.png", "out.png"))
    from pathlib import Path
    from subband.media import Still, read_still, write_still
    <BLANKLINE>
    image = read_still(Path('in.png')).pixels
    write_still(Path('out.png'), Still(image[::-1]))
    """
    if is_video(name):
        return (
            f"{imports}from subband.media import open_sink, open_source\n\n{setup}"
            f"with open_source({name!r}) as source, open_sink({target!r}, source.info) as sink:\n"
            "    for frame in source:\n"
            "        image = frame.pixels\n"
            f"        sink.write(frame.replace_pixels({call}))"
        )
    return (
        f"from pathlib import Path\n{imports}from subband.media import Still, read_still, write_still\n\n{setup}"
        f"image = read_still(Path({name!r})).pixels\n"
        f"write_still(Path({target!r}), Still({call}))"
    )


def format_reading(name: str) -> str:
    """Return Python that reads the first frame of a file."""
    return f"next(iter(open_source({name!r}))).pixels"
