"""Playback: the frames of a source, from any position and again if asked for, and the clock of their rate."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter

from subband.errors import ArgumentError, FormatError
from subband.media import Frame, Source, SourceInfo
from subband.media.faults import DamageWarning
from subband.media.video import FilmSource
from subband.media.volumes import VolumeSource
from subband.studio.levels import PLAIN, Levels, as_pixels, measure_levels
from subband.studio.library import Item
from subband.studio.planes import load_volume, turn_volume
from subband.typing import Array

__all__ = ["Clock", "DisplayFrame", "Player", "Slab"]

#: Frames that are left out at once where computing is slower than the video.
_MOST_SKIPPED = 8
#: Seconds that a video may lag behind before its clock is set anew.
_LONGEST_LAG = 0.5
_USUAL_RATE = 25.0
#: Slices per second.
_SLICE_RATE = 10.0
#: Frames between two looks at whether somebody wants to go elsewhere.
_STRIDE = 8
#: Frames that are kept for steps back, however large they are.
_FEWEST_KEPT = 8
#: Frames that are decoded one after the other sooner than one is sought.
_NEAR = 24
#: Slices on either side of one that is filtered in three dimensions.
_AROUND = 12
#: Bytes of frames that are kept for steps back.
_MOST_KEPT = 32 * 2**20


@dataclass(frozen=True)
class DisplayFrame:
    """A frame in its own depth.

    Attributes
    ----------
    pixels : ndarray of uint8, uint16 or float32
        Rows × columns, or rows × columns × 3.
    number : int
        Its position in the video.
    seconds : float
        How long it took to decode.
    levels : Levels
        What is black and white in its source.
    block : Slab or None
        The slices around it, for filters in three dimensions.
    """

    pixels: Array
    number: int
    seconds: float
    levels: Levels = PLAIN
    block: Slab | None = None


@dataclass(frozen=True)
class Slab:
    """A slice of a volume with those around it.

    Attributes
    ----------
    values : ndarray
        Slices × rows × columns, or with colours.
    middle : int
        Which of them is shown.
    """

    values: Array
    middle: int


class Clock:
    """When the next frame is due.

    Parameters
    ----------
    rate : float
        Frames per second.

    Examples
    --------
    >>> clock = Clock(25.0)
    >>> clock.start(10.0)
    >>> clock.advance(10.0), round(clock.due, 2)
    (0, 10.04)
    >>> clock.advance(10.14), round(clock.due, 2)
    (2, 10.16)
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.due = 0.0

    def start(self, now: float) -> None:
        """Let the next frame be due now."""
        self.due = now

    def restart(self, now: float) -> None:
        """Let the next frame be due one interval after the one that is shown now."""
        self.due = now + 1 / self.rate

    def advance(self, now: float) -> int:
        """Note that a frame is taken now, and return how many before it are too late and left out."""
        skipped = min(max(int((now - self.due) * self.rate), 0), _MOST_SKIPPED)
        self.due += (skipped + 1) / self.rate
        if now - self.due > _LONGEST_LAG:
            self.due = now
        return skipped


class Player:
    """A source that can be walked through again, and looked at in any position.

    Parameters
    ----------
    item : Item
        What is opened.

    Attributes
    ----------
    is_looping : bool
        Whether the first frame follows the last.
    current : DisplayFrame or None
        The frame that is shown.
    count : int or None
        How many frames there are.
    start, stop : int, int or None
        The first frame of the part that is played, and the last.
    damage : str
        What is wrong with the file, as far as it was read.

    Notes
    -----
    Video is sought by its keyframes, slices of a volume are read one by one, and whatever has neither is decoded from
    its beginning. One frame is decoded ahead, while the one before is computed; the last ones are kept for steps back.
    """

    def __init__(self, item: Item) -> None:
        self.item = item
        self.is_looping = True
        self.current: DisplayFrame | None = None
        self.start = 0
        self.stop: int | None = None
        self.damage = ""
        self._source: Source | None = None
        self._frames: Iterator[Frame] = iter(())
        self._ahead: DisplayFrame | None = None
        self._kept: OrderedDict[int, DisplayFrame] = OrderedDict()
        self._levels: Levels | None = None
        #: The volume as it is stored while it is walked along another axis, and one of its volumes in memory.
        self._stored: VolumeSource | None = None
        self._volume: tuple[int, Array] | None = None
        self.axis = 0
        #: The number of the frame that is decoded next, and whether the last one has been.
        self._decoded = 0
        self.info = self._open()
        self.count = self.info.count
        self._is_counted = self.is_volume

    @property
    def rate(self) -> float:
        """Frames per second."""
        if self.is_volume:
            return _SLICE_RATE
        return float(self.info.rate) if self.info.rate else _USUAL_RATE

    @property
    def is_volume(self) -> bool:
        """Whether frames are slices."""
        return self.info.kind == "volume"

    @property
    def depth(self) -> int:
        """How many slices a volume has, as it is stored; 1 for anything else."""
        info = self.info if self._stored is None else self._stored.info
        return (info.count or 1) // info.groups if info.kind == "volume" else 1

    @property
    def voxel_size(self) -> tuple[float, float, float] | None:
        """The distances of slices, rows and columns of a volume, as it is stored."""
        return (self.info if self._stored is None else self._stored.info).voxel_size

    @property
    def is_video(self) -> bool:
        """Whether there is more than one frame."""
        return self.info.kind in ("film", "sequence") or (self.is_volume and self.info.count != 1)

    @property
    def is_at_end(self) -> bool:
        """Whether the last frame is shown."""
        return self.current is not None and self._last is not None and self.current.number >= self._last

    @property
    def _last(self) -> int | None:
        """The last frame that is played, as far as that is known."""
        ends = [end for end in (self.stop, None if self.count is None else self.count - 1) if end is not None]
        return min(ends) if ends else None

    def take(self, skipped: int = 0) -> DisplayFrame | None:
        """Return the next frame after some that are left out; None at the end of a video that is not repeated.

        The last frame of a video that is not repeated is never left out.
        """
        found: DisplayFrame | None = None
        for _ in range(skipped + 1):
            self.prefetch()
            if self._ahead is None:
                break
            self.current = found = self._ahead
            self._ahead = None
        return found

    def take_back(self, skipped: int = 0) -> DisplayFrame | None:
        """Return the frame before the one that is shown, after some that are left out; None at the beginning."""
        if self.current is None or self.current.number <= self.start:
            if not self.is_looping or self._last is None:
                return None
            return self.seek(self._last)
        return self.seek(max(self.current.number - 1 - skipped, self.start))

    def prefetch(self) -> None:
        """Decode the next frame, if that has not been done; of a video that is repeated, the first after the last."""
        if self._ahead is not None:
            return
        position = self.start if self.current is None else self.current.number + 1
        is_over = (self.stop is not None and position > self.stop) or (self._is_counted and position == self.count)
        if not is_over and position in self._kept:
            # after steps back, the source is ahead of what is shown
            self._ahead = replace(self._kept[position], seconds=0.0)
        elif not is_over:
            self._ahead = self._decode_at(position)
        if self._ahead is None and self.is_looping and self.is_video and self.current is not None:
            self._ahead = self._decode_at(self.start)

    def _decode_at(self, position: int) -> DisplayFrame | None:
        """Decode a frame that is not the next one of the source, perhaps; one after it if it is damaged."""
        if position != self._decoded:
            self._jump(position)
        while (frame := self._decode()) is not None and frame.number < position:
            pass
        return frame

    def _decode(self) -> DisplayFrame | None:
        begun = perf_counter()
        try:
            frame = next(self._frames, None)
        except DamageWarning:
            # where warnings are errors, too, a damaged video is shown as far as it goes
            frame = None
        if isinstance(self._source, FilmSource):
            self.damage = self.damage or self._source.damage
        if frame is None:
            if self._decoded:
                self.count, self._is_counted = self._decoded, True
            return None
        if frame.pixels.ndim not in (2, 3) or 0 in frame.pixels.shape:
            raise FormatError(f"a frame has the shape {frame.pixels.shape}, which is no image")
        self._decoded = frame.number + 1
        return self._keep(frame, begun)

    def _keep(self, frame: Frame, begun: float) -> DisplayFrame:
        """Return a frame as it is shown, and keep it for steps back."""
        pixels = as_pixels(frame.pixels)
        if self._levels is None:
            # of all frames alike, so that a video does not flicker
            self._levels = measure_levels(pixels, self.info.metadata.get("window"))
        shown = DisplayFrame(pixels, frame.number, perf_counter() - begun, self._levels)
        self._kept[frame.number] = shown
        self._kept.move_to_end(frame.number)
        while len(self._kept) > max(_MOST_KEPT // pixels.nbytes, _FEWEST_KEPT):
            self._kept.popitem(last=False)
        return shown

    def seek(self, position: int, is_wanted: Callable[[], bool] = lambda: True) -> DisplayFrame | None:
        """Return the frame at a position, or the last one if the video is shorter.

        Parameters
        ----------
        position : int
            Counted from 0.
        is_wanted : callable
            Asked now and then whether to go on; if not, the frame that was shown stays.
        """
        if self.current is not None and position == self.current.number:
            return self.current
        if not self.is_video:
            return self.current or self.take()
        if self._is_counted and self.count is not None:
            position = min(position, max(self.count - 1, 0))
        found = self._kept.get(position) or self._look_back(position)
        if found is None:
            # slices are read one by one, and those on the way would be read for nothing
            near = 1 if self.is_volume else _NEAR
            if not self._decoded <= position < self._decoded + near:
                self._jump(position, is_wanted)
                if self._decoded < 0:
                    return self.current
            while (frame := self._decode()) is not None:
                found = frame
                if frame.number >= position:
                    break
                if frame.number % _STRIDE == 0 and not is_wanted():
                    return self.current
        if found is not None:
            self.current, self._ahead = found, None
        return self.current

    def _look_back(self, position: int) -> DisplayFrame | None:
        """Return a frame that was decoded on the way to the one that was sought last, and not converted then."""
        begun, source = perf_counter(), self._source
        frame = source.look_back(position) if isinstance(source, FilmSource) else None
        return None if frame is None else self._keep(frame, begun)

    def _jump(self, position: int, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Let a frame be the next that is decoded; the first one if no other can be sought, and none if it is given up.

        A negative number of the next frame says that.
        """
        source = self._source
        if isinstance(source, VolumeSource):
            self._frames = source.walk(position, source.shape[0])
        elif isinstance(source, FilmSource) and position and source.go_to(position, is_wanted):
            self._frames = iter(source)
        elif not is_wanted():
            self._frames, position = iter(()), -1
        else:
            position = 0
            self._open()
        self._decoded = position

    @property
    def volume(self) -> Array:
        """The volume that is walked through, whole; of several in a file, the one of the slice that is shown.

        Raises
        ------
        ArgumentError
            If it is none, or too large.
        """
        source = self._stored or self._source
        if not isinstance(source, VolumeSource):
            raise ArgumentError("this is no volume, and has no other planes")
        depth = source.shape[0] // source.info.groups
        if self.axis == 0:
            group = 0 if self.current is None else self.current.number // depth
            if self._volume is None or self._volume[0] != group:
                self._volume = (group, load_volume(source, group))
        assert self._volume is not None
        return self._volume[1]

    def turn(self, axis: int) -> DisplayFrame | None:
        """Walk through a volume along another axis, 0 for slices, 1 for rows, 2 for columns, from its middle."""
        if axis == self.axis:
            return self.current
        volume = self.volume
        source = self._stored or self._source
        assert isinstance(source, VolumeSource)
        assert self._volume is not None
        self._stored = source if axis else None
        self._source = turn_volume(source, volume, axis) if axis else source
        self.info, self.axis = self._source.info, axis
        self.count, self.start, self.stop = self.info.count, 0, None
        self.current = self._ahead = None
        self._kept.clear()
        self._frames, self._decoded = iter(self._source), 0
        first = 0 if axis else self._volume[0] * volume.shape[0]
        return self.seek(first + volume.shape[axis] // 2)

    def add_block(self, frame: DisplayFrame) -> DisplayFrame:
        """Return a slice of a volume with those around it, of the same volume; any other frame as it is."""
        source = self._source
        if not isinstance(source, VolumeSource) or frame.block is not None or (self.count or 0) < 2:
            return frame
        depth = source.shape[0] // source.info.groups
        first = frame.number // depth * depth
        start, stop = max(first, frame.number - _AROUND), min(first + depth, frame.number + _AROUND + 1)
        return replace(frame, block=Slab(as_pixels(source.read_block(slice(start, stop))), frame.number - start))

    def close(self) -> None:
        """Close the file."""
        self._frames = iter(())
        self._ahead = None
        if self._stored is not None:
            self._stored.close()
            self._stored = None
        if self._source is not None:
            self._source.close()
            self._source = None

    def _open(self) -> SourceInfo:
        self.close()
        self._source = self.item.open()
        self._frames = iter(self._source)
        return self._source.info
