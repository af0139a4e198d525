"""Cameras through PyAV, and a test source that needs none."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from subband.errors import ArgumentError, DeviceError, NoDeviceError
from subband.media.base import Frame, Source, SourceInfo
from subband.media.faults import DamagedError, require
from subband.media.time_code import draw_time
from subband.media.video import FilmSource
from subband.typing import Array

__all__ = ["CameraSource", "TestSource", "is_camera"]

_SYSTEMS = {"linux": "video4linux2", "darwin": "avfoundation", "win32": "dshow"}
_TEST = re.compile(r"test:(?:(?P<columns>\d+)x(?P<rows>\d+))?(?:@(?P<rate>[\d./]+))?(?:\?(?P<options>.*))?")

_OPTIONS: dict[str, Callable[[str], Any]] = {
    "count": int, "seed": int, "bits": int, "noise": float, "clock": lambda text: bool(int(text)),
}  # fmt: skip


def is_camera(name: str) -> bool:
    """Tell whether a name is one of a camera, or of the test source.

    Examples
    --------
    >>> [is_camera(name) for name in ("camera:0", "/dev/video1", "test:64x48", "video.mp4")]
    [True, True, True, False]
    """
    return name.startswith(("camera:", "test:", "/dev/video"))


class CameraSource(Source):
    """A camera.

    Parameters
    ----------
    name : str
        ``"camera:0"`` for the first camera, ``"/dev/video0"`` on Linux, ``"camera:NAME"`` on Windows.
    size : tuple of int, optional
        Columns and rows to ask the camera for.
    rate : Fraction or float, optional
        Frames in a second to ask it for.
    count : int, optional
        How many frames to take; else for as long as it runs.
    colours, quick
        See `FilmSource`; a live image is better fast.
    container : optional
        An open container of PyAV to read instead of a device.

    Raises
    ------
    MissingExtraError
        If PyAV is not installed.
    NoDeviceError
        If there is no such camera, or another program has it.
    """

    def __init__(
        self,
        name: str,
        *,
        size: tuple[int, int] | None = None,
        rate: Fraction | float | None = None,
        count: int | None = None,
        colours: Literal["rgb", "ycbcr"] = "rgb",
        quick: bool = True,
        container: Any = None,
    ) -> None:
        self._name, self._count = name, count
        opened = _open_device(name, size, rate) if container is None else container
        try:
            # Several threads would hold back as many frames.
            self._video = FilmSource(name, colours=colours, quick=quick, threads=1, container=opened)
        except ValueError as error:
            raise NoDeviceError(f"the camera {name!r} gives no image: {error}") from error
        self.info = replace(self._video.info, kind="camera", count=count, duration=None, has_audio=False, origin=None)

    def __iter__(self) -> Iterator[Frame]:
        number = 0
        start: float | None = None
        try:
            for frame in self._video:
                # The clock of a camera began when the machine did.
                start = frame.time if start is None else start
                yield replace(frame, time=frame.time - start)
                number += 1
                if number == self._count:
                    return
        except DamagedError as error:
            raise DeviceError(f"the camera {self._name!r} is gone after {number} frames: {error}") from error
        raise DeviceError(f"the camera {self._name!r} is gone after {number} frames; plug it in and open it again")

    def close(self) -> None:
        """Close the camera."""
        self._video.close()


def _open_device(name: str, size: tuple[int, int] | None, rate: Fraction | float | None) -> Any:
    av = require("av", "reading cameras", "video")
    system = next((known for known in _SYSTEMS if sys.platform.startswith(known)), "linux")
    address = name.removeprefix("camera:") or "0"
    if system == "linux" and address.isdigit():
        address = f"/dev/video{address}"
    if system == "win32":
        address = f"video={address}"
    options = {"video_size": f"{size[0]}x{size[1]}"} if size is not None else {}
    if rate is not None:
        options["framerate"] = str(Fraction(rate).limit_denominator(1001))
    try:
        return av.open(address, format=_SYSTEMS[system], options=options)
    except (av.FFmpegError, ValueError) as error:
        raise NoDeviceError(
            f"the camera {name!r} cannot be opened: {error}; plug it in, or end programs that use it"
        ) from error


class TestSource(Source):
    """A moving pattern with noise, the same for the same seed.

    Each frame depends only on its number, so any of them can be made alone.

    Parameters
    ----------
    columns, rows : int
        Size of a frame.
    rate : Fraction or float
        Frames in a second.
    count : int, optional
        How many frames; without end if left out.
    seed : int
        Of the noise.
    noise : float
        Standard deviation, out of 255.
    bits : {8, 16}
        Of the pixels.
    clock : bool
        Draw the time at which a frame is made into it, so that `subband receive` tells how long it was on its way.
        Frames then come at their rate, as those of a camera do, and not as fast as they can be made.

    Examples
    --------
    >>> from subband.media import TestSource
    >>> source = TestSource(64, 48, count=3, seed=1)
    >>> [frame.pixels.shape for frame in source]
    [(48, 64, 3), (48, 64, 3), (48, 64, 3)]
    >>> TestSource.from_name("test:64x48@30?count=3&seed=1").info.rate
    Fraction(30, 1)
    """

    __test__ = False  # pytest takes classes whose name begins so for tests

    def __init__(
        self,
        columns: int = 640,
        rows: int = 480,
        rate: Fraction | float = 25,
        *,
        count: int | None = None,
        seed: int = 0,
        noise: float = 8.0,
        bits: int = 8,
        clock: bool = False,
    ) -> None:
        if columns < 1 or rows < 1:
            raise ArgumentError(f"columns={columns} and rows={rows} are not the size of a frame")
        if rate <= 0:
            raise ArgumentError(f"rate={rate} is not a positive number of frames per second")
        if bits not in (8, 16):
            raise ArgumentError(f"bits={bits} is neither 8 nor 16")
        if noise < 0:
            raise ArgumentError(f"noise={noise} is negative; 0 is none")
        rate = Fraction(rate).limit_denominator(1001)
        self._seed, self._noise, self._has_clock = seed, noise, clock
        self.info = SourceInfo(
            "camera",
            (rows, columns, 3),
            np.dtype(f"uint{bits}"),
            bits=bits,
            rate=rate,
            count=count,
            duration=None if count is None else float(count / rate),
        )
        down, across = np.mgrid[:rows, :columns].astype(np.float32)
        self._down, self._across = down, across

    @classmethod
    def from_name(cls, name: str) -> TestSource:
        """Make a source from a name such as ``test:640x480@25?count=100&seed=3&noise=8&bits=8&clock=1``.

        Raises
        ------
        ArgumentError
            If it is none.
        """
        match = _TEST.fullmatch(name)
        options: dict[str, Any] = {}
        try:
            if match is None:
                raise ValueError
            pairs = [pair.split("=") for pair in (match["options"] or "").split("&") if pair]
            for key, value in pairs:
                options[key] = _OPTIONS[key](value)
            size = (int(match["columns"] or 640), int(match["rows"] or 480))
            rate = Fraction(match["rate"] or 25)
        except (ValueError, KeyError, ZeroDivisionError):
            raise ArgumentError(
                f"{name!r} is no test source; write one like test:640x480@25?count=100&seed=3&noise=8&bits=8"
            ) from None
        return cls(*size, rate, **options)

    def make_clean(self, number: int) -> Array:
        """Return frame `number` without its noise, as float32."""
        rows, columns = self.info.shape[:2]
        moved = np.float32(number)
        waves = 128 + 60 * np.sin((self._across + 3 * moved) / 17) * np.cos((self._down - 2 * moved) / 23)
        slope = 255 * ((self._across + self._down + 4 * moved) % (rows + columns)) / (rows + columns)
        centre = (0.5 + 0.3 * np.sin(number / 9), 0.5 + 0.3 * np.cos(number / 11))
        distance = np.hypot(self._down / rows - centre[0], self._across / columns - centre[1])
        disc = np.where(distance < 0.15, np.float32(220), np.float32(40))
        clean = np.stack([waves, slope, disc], axis=-1).astype(np.float32)
        return clean * np.float32(self.info.peak / 255)

    def make_frame(self, number: int) -> Frame:
        """Return frame `number`."""
        values = self.make_clean(number)
        if self._noise:
            generator = np.random.Generator(np.random.Philox(key=[self._seed, number]))
            scale = np.float32(self._noise * self.info.peak / 255)
            values = values + scale * generator.standard_normal(values.shape, np.float32)
        frame = Frame(values, number, float(number / (self.info.rate or Fraction(25))))
        pixels = np.clip(np.rint(frame.pixels), 0, self.info.peak).astype(self.info.dtype)
        if self._has_clock:
            draw_time(pixels, time.time())
        return replace(frame, pixels=pixels)

    def __iter__(self) -> Iterator[Frame]:
        number, period, begin = 0, float(1 / (self.info.rate or Fraction(25))), time.monotonic()
        while self.info.count is None or number < self.info.count:
            if self._has_clock:
                time.sleep(max(begin + number * period - time.monotonic(), 0.0))
            yield self.make_frame(number)
            number += 1
