"""What a tool of the studio is: its controls, and what it does to a frame under their settings.

A tool is prepared for settings and frames of one shape, once; what comes of it is called for each frame. Preparing may
take its time, and both happen in the thread of an engine, never in that of the server. A further tool is a class like
these in a file of its own, named in `subband.studio.tools.lookup`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from threading import Event
from typing import Any, ClassVar, TypeAlias

import numpy as np

from subband.engines import Engine
from subband.enhance import Enhancer
from subband.enhance.views import Region
from subband.errors import ArgumentError
from subband.media import Source, open_sink
from subband.pipeline import Progress
from subband.pipeline.files import OpenSource
from subband.pipeline.relay import relay_frames
from subband.studio.controls import Control, Scalar, Settings
from subband.studio.levels import PLAIN, Levels, Window, as_pixels, measure_levels
from subband.typing import Array

__all__ = ["Cut", "Equivalent", "Export", "Inputs", "Shown", "Tool", "Work"]


@dataclass(frozen=True)
class Shown:
    """What a tool made of a frame.

    Attributes
    ----------
    images : tuple of (str, ndarray)
        Roles, and pixels: those of ``"result"`` and ``"before"`` as the frame has them, others in 8 bits.
    bands : tuple
        Where the bands of a mosaic are.
    seconds : mapping
        How long each part of the work took.
    psnr, psnr_before : float or None
        Of the result and of the noisy frame against the clean one, if noise was added.
    pair : tuple of ndarray, optional
        The frame as it was filtered, and the result, in the numbers of the frame; the frame twice if bands are shown.
    removed : mapping, optional
        Of the difference between them: its ``mean`` and ``deviation``, and the ``reach`` that is shown from black to
        white.
    """

    images: tuple[tuple[str, Array], ...]
    bands: tuple[Region, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    psnr: float | None = None
    psnr_before: float | None = None
    pair: tuple[Array, Array] | None = None
    removed: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Cut:
    """A tool under some settings, for images that are so large that they are computed in parts.

    Attributes
    ----------
    enhancer : Enhancer
        What it does.
    make_noisy : callable
        Takes a frame and its number, and returns it with the noise that is to be removed.
    noise : tuple
        What that noise depends on besides.
    is_split : bool
        Whether the frame before the filter is shown, too.
    """

    enhancer: Enhancer
    make_noisy: Callable[[Array, int], Array]
    noise: tuple[Scalar, ...]
    is_split: bool


#: What a prepared tool does to a frame of a number; those that are deep take a slice with those around it, too.
Work: TypeAlias = Callable[[Any, int], Shown]


@dataclass(frozen=True)
class Inputs:
    """What a tool is prepared with besides its settings.

    Attributes
    ----------
    shape : tuple of int
        Of the frames.
    engine : Engine
        The engine that computes.
    load : callable
        Returns the image that a setting of kind ``source`` names.
    levels : Levels
        What is black and white in the frames.
    """

    shape: tuple[int, ...]
    engine: Engine
    load: Callable[[str], Array]
    levels: Levels = PLAIN


@dataclass(frozen=True)
class Equivalent:
    """How to do the same without the studio."""

    command: str
    python: str
    toml: str = ""

    def describe(self) -> dict[str, str]:
        """Return what the page is told."""
        return {"command": self.command, "python": self.python, "toml": self.toml}


@dataclass(frozen=True)
class Export:
    """A file that is to be made.

    Attributes
    ----------
    open : callable or None
        Opens the source with video in given colours, as `subband.pipeline.enhance_file` does; None for tools that need
        none.
    target : Path
        Where the file is to be.
    engine : Engine
        The engine that computes.
    load : callable
        As in `Inputs`.
    on_progress : callable
        Called after each frame.
    cancelled : Event
        Set to stop.
    scale : float
        What settings are multiplied by; see `subband.studio.preview.Preview.file_scale`.
    """

    open: OpenSource | None
    target: Path
    engine: Engine
    load: Callable[[str], Array]
    on_progress: Callable[[Progress], None]
    cancelled: Event
    scale: float = 1.0


class Tool(ABC):
    """A tab of the page."""

    name: ClassVar[str]
    title: ClassVar[str]
    #: How many images it takes.
    inputs: ClassVar[int] = 1
    #: Whether it works on what the page has opened.
    needs_source: ClassVar[bool] = True
    #: What results are called behind the name of the source.
    result: ClassVar[str] = "enhanced"
    #: Whether it takes frames of any depth; others are given what is on the screen, in 8 bits.
    is_deep: ClassVar[bool] = False
    #: Endings of exported files if they are not those of the source.
    endings: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def controls(self) -> tuple[Control, ...]:
        """All settings, in the order of the page."""

    @abstractmethod
    def prepare(self, settings: Settings, inputs: Inputs) -> Work:
        """Return what is done to each frame under settings that were resolved."""

    def cut(self, settings: Settings, inputs: Inputs) -> Cut | None:  # noqa: ARG002 - for tools that can
        """Return how a large image is computed in parts; None if only the whole can be."""
        return None

    @abstractmethod
    def format_equivalent(self, settings: Settings, name: str, scale: float = 1.0) -> Equivalent:
        """Return the command line, Python and TOML that do the same to a file of some name.

        `scale` is what settings are multiplied by for it; see `subband.studio.preview.Preview.file_scale`.
        """

    def correct(self, settings: dict[str, Scalar], shape: tuple[int, ...] | None) -> Iterator[str]:  # noqa: ARG002
        """Change settings that do not go together, or not with frames of a shape, and say so."""
        yield from ()

    def compose(self, settings: Settings, engine: Engine) -> tuple[dict[str, Any], list[bytes]]:  # noqa: ARG002
        """Return header and payload of what a tool shows that takes no frames.

        Raises
        ------
        ArgumentError
            If it takes frames.
        """
        raise ArgumentError(f"{self.title} shows frames, and there is none; open an image or a video")

    def export(self, settings: Settings, export: Export) -> None:
        """Make a file of a whole source.

        Raises
        ------
        ArgumentError
            If that cannot be done.
        """
        if export.open is None:
            raise ArgumentError(f"{self.title} makes no files")
        with export.open("rgb") as source:
            self._export_frames(settings, export, source)

    def _export_frames(self, settings: Settings, export: Export, source: Source) -> None:
        info = source.info
        work = self.prepare(settings, Inputs(info.shape, export.engine, export.load))
        frames = iter(source)
        first = next(frames)
        window = Window.read({}, measure_levels(as_pixels(first.pixels), info.metadata.get("window")))

        def change(pixels: Array, number: int) -> Array:
            return work(window.show(as_pixels(pixels)), number).images[0][1]

        shape = change(first.pixels, 0).shape
        result = replace(
            info,
            shape=shape,
            dtype=np.dtype(np.uint8),
            colours="rgb" if len(shape) == 3 else "grey",
            bits=8,
            has_alpha=False,
            pixel_format="",
        )
        relay_frames(
            chain([first], frames),
            lambda waiting: (change(pixels, number) for number, pixels in enumerate(waiting)),
            open_sink(export.target, result),
            count=info.count,
            on_progress=export.on_progress,
            cancelled=export.cancelled,
        )

    def measure_band(
        self,
        settings: Settings,  # noqa: ARG002 - for tools that have bands
        pixels: Array,  # noqa: ARG002
        number: int,  # noqa: ARG002
        band: str,  # noqa: ARG002
        levels: Levels,  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Return the histogram of a band of a frame, if the tool has bands."""
        return None

    def measure_bands(
        self,
        settings: Settings,  # noqa: ARG002 - for tools that have bands
        pixels: Array,  # noqa: ARG002
        levels: Levels,  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Return how strong all bands of a frame as it is filtered are, if the tool has bands."""
        return None

    def describe(self) -> dict[str, Any]:
        """Return what the page is told."""
        entry: dict[str, Any] = {
            "name": self.name,
            "title": self.title,
            "inputs": self.inputs,
            "controls": [control.describe() for control in self.controls],
        }
        return {**entry, "endings": list(self.endings)} if self.endings else entry
