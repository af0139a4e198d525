"""The preview: the source that a page looks at, the frame that is shown, and whether the next one follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from time import perf_counter
from typing import Any

from subband.errors import ArgumentError
from subband.pipeline.units import choose_scale
from subband.studio.camera import CAMERA_INFO, decode_camera_frame
from subband.studio.large import LARGE
from subband.studio.levels import PLAIN, Levels, Window
from subband.studio.library import Item, describe_info
from subband.studio.planes import draw_planes
from subband.studio.player import Clock, DisplayFrame, Player

__all__ = ["Preview"]


class Preview:
    """What one page looks at: a still, a video or its camera; everything here happens in the thread of its session.

    Attributes
    ----------
    frame : DisplayFrame or None
        The frame that is shown.
    is_playing, is_camera : bool
        Whether frames follow each other, and whether they come from the page.
    speed : float
        How fast they do, as a multiple of their rate; backwards below 0.
    dropped : int
        Frames that were left out because they had become too late.

    Examples
    --------
    >>> from subband.studio.library import Library
    >>> preview = Preview()
    >>> preview.open(Library([]).find({"kind": "sample", "name": "camera"}))
    >>> preview.shape, preview.is_moving, preview.file_name
    ((512, 512), False, 'camera.png')
    >>> preview.close()
    """

    def __init__(self) -> None:
        self.frame: DisplayFrame | None = None
        self.is_playing = False
        self.is_camera = False
        self.speed = 1.0
        self.dropped = 0
        self._player: Player | None = None
        self._clock = Clock(1.0)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the frames, as soon as there is one."""
        return None if self.frame is None else self.frame.pixels.shape

    @property
    def is_large(self) -> bool:
        """Whether frames are so large that only what is seen of them is sent."""
        return self.frame is not None and prod(self.frame.pixels.shape[:2]) > LARGE

    @property
    def is_moving(self) -> bool:
        """Whether one frame follows the other."""
        return self.is_playing and (self.is_camera or self._video is not None)

    @property
    def file_name(self) -> str:
        """What the file is called, or would be."""
        # threads of engines may come here while another source is opened
        player = self._player
        return "image.png" if player is None else player.item.file_name

    @property
    def _video(self) -> Player | None:
        return self._player if self._player is not None and self._player.is_video else None

    def open(self, item: Item) -> None:
        """Show another source; if it cannot be read, the old one stays.

        Raises
        ------
        ArgumentError, FormatError, OSError
            If it cannot be read.
        """
        player = Player(item)
        try:
            # the first slice of a body is often air
            frame = player.seek((player.count or 0) // 2) if player.is_volume else player.take()
            if frame is None:
                raise ArgumentError(f"{item.title!r} holds no frame")
        except BaseException:
            player.close()
            raise
        self.close()
        self._player, self.frame = player, frame
        self._clock = Clock(player.rate)
        self._clock.restart(perf_counter())
        self.speed = 1.0
        self.is_playing = player.is_video and not player.is_volume

    def open_camera(self) -> None:
        """Show what the page sends."""
        self.close()
        self.is_camera = self.is_playing = True

    def close(self) -> None:
        """Close the source."""
        if self._player is not None:
            self._player.close()
        self._player = self.frame = None
        self.is_playing = self.is_camera = False

    def find_due(self, *, is_fast: bool) -> float | None:
        """Return when the next frame of a video is due; None if none is."""
        if not self.is_playing or self._video is None:
            return None
        return 0.0 if is_fast else self._clock.due

    def take(self, now: float, *, is_fast: bool) -> bool:
        """Show the next frame of a video; False at its end."""
        assert self._player is not None
        skipped = self._clock.advance(now)
        if is_fast:
            self._clock.start(now)
            skipped = 0
        self.dropped += skipped
        found = self._player.take(skipped) if self.speed > 0 else self._player.take_back(skipped)
        self.is_playing = found is not None
        self.frame = found or self.frame
        return self.is_playing

    def prefetch(self) -> None:
        """Decode the next frame of a video that plays."""
        if self.is_playing and self._video is not None and self.speed > 0:
            self._video.prefetch()

    def take_camera(self, header: dict[str, Any], payload: memoryview) -> None:
        """Show a frame of the camera.

        Raises
        ------
        FormatError
            If it is none.
        """
        start = perf_counter()
        pixels = decode_camera_frame(header, payload)
        number = 0 if self.frame is None else self.frame.number + 1
        self.frame = DisplayFrame(pixels, number, perf_counter() - start)

    def play(self, speed: float = 1.0) -> None:
        """Let frames follow each other, from the beginning if the end was reached."""
        self.is_playing = self.is_camera or self._video is not None
        self.speed = speed
        if self._video is not None:
            self._clock = Clock(self._video.rate * abs(speed))
            if speed > 0 and not self._video.is_looping and self._video.is_at_end:
                self.frame = self._video.seek(self._video.start)
        self.resume()

    def resume(self) -> None:
        """Let the next frame be due now, after a pause."""
        self._clock.start(perf_counter())

    def pause(self) -> None:
        """Stay at the frame that is shown."""
        self.is_playing = False

    def step(self, *, is_back: bool = False) -> None:
        """Stop, and show the next frame, or the one before."""
        self.is_playing = False
        if self._video is not None:
            found = self._video.take_back() if is_back else self._video.take()
            self.frame = found or self.frame

    def limit(self, start: int, stop: int | None) -> None:
        """Play only a part of a video, from a first frame to a last."""
        if self._video is not None:
            self._video.start, self._video.stop = start, stop

    def seek(self, position: int, is_wanted: Callable[[], bool]) -> None:
        """Show the frame at another position; see `Player.seek`."""
        if self._player is not None:
            self.frame = self._player.seek(position, is_wanted) or self.frame
            self._clock.restart(perf_counter())

    def turn(self, axis: int) -> None:
        """Show a volume along another axis; see `Player.turn`."""
        if self._player is not None:
            self.is_playing = False
            self.frame = self._player.turn(axis) or self.frame

    def draw_planes(self, point: Sequence[int], window: Window) -> list[dict[str, Any]]:
        """Return the three planes of a volume that cross in a point, as near to it as can be; below 0 is the middle."""
        if self._player is None:
            raise ArgumentError("nothing is open, and has planes")
        volume = self._player.volume
        lengths = zip(point, volume.shape[:3], strict=True)
        inside = [length // 2 if each < 0 else min(each, length - 1) for each, length in lengths]
        return draw_planes(volume, inside, window, self._player.voxel_size)

    def add_block(self) -> None:
        """Have the slices around the one that is shown with it."""
        if self._player is not None and self.frame is not None:
            self.frame = self._player.add_block(self.frame)

    def loop(self, *, is_on: bool) -> None:
        """Begin again after the last frame, or stop there."""
        if self._player is not None:
            self._player.is_looping = is_on

    @property
    def levels(self) -> Levels:
        """What is black and white in the source."""
        return PLAIN if self.frame is None else self.frame.levels

    @property
    def file_scale(self) -> float:
        """What settings are multiplied by to mean to the whole file what they mean to the frames that are shown.

        Outside the studio, white is the largest number that a file can hold, and that of a volume is 255.
        """
        player = self._player
        if player is None or self.levels == PLAIN:
            return 1.0
        return self.levels.scale / choose_scale(player.info)

    def find_damage(self) -> str:
        """Return what is wrong with the file, as far as it was read; empty if nothing is."""
        return "" if self._player is None else self._player.item.hide_path(self._player.damage)

    def describe_source(self) -> dict[str, Any]:
        """Return what the page is told about the source."""
        if self._player is not None:
            item = self._player.item
            info = describe_info(self._player.info, item)
            plane = {"scale": self.levels.scale, "axis": self._player.axis, "depth": self._player.depth}
            return {"source": item.describe(), "info": {**info, **plane}}
        rows, columns = (0, 0) if self.shape is None else self.shape[:2]
        return {"source": {"kind": "camera"}, "info": {**CAMERA_INFO, "width": columns, "height": rows}}

    def describe(self) -> dict[str, Any]:
        """Return what the page is told about where it is."""
        player = self._player
        return {
            "playing": self.is_playing,
            "loop": player.is_looping if player is not None else True,
            "speed": self.speed,
            "position": self.frame.number if self.frame is not None else 0,
            "count": player.count if player is not None else None,
            "part": [player.start, player.stop] if player is not None else None,
        }
