"""The sequence header: size, sampling, rate, range and colours of the video, over a base format of the standard."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeVar

from subband.codecs.vc2.bits import BitReader, BitWriter
from subband.errors import ArgumentError, CodecError

__all__ = ["HIGH_QUALITY", "LOW_DELAY", "SAMPLINGS", "Sampling", "SequenceHeader", "VideoFormat"]

T = TypeVar("T")

Sampling = Literal["4:4:4", "4:2:2", "4:2:0"]

#: Rows and columns of pixels that share their chroma, by name, in the order of the standard.
SAMPLINGS: dict[Sampling, tuple[int, int]] = {"4:4:4": (1, 1), "4:2:2": (1, 2), "4:2:0": (2, 2)}

#: Profiles.
LOW_DELAY, HIGH_QUALITY = 0, 3

#: Rates and shapes of pixels that have a number, from 1 on.
_RATES = tuple(
    Fraction(rate)
    for rate in (
        "24000/1001", "24", "25", "30000/1001", "30", "50", "60000/1001", "60", "15000/1001", "25/2", "48",
        "48000/1001", "96", "100", "120000/1001", "120",
    )
)  # fmt: skip
_ASPECTS = tuple(Fraction(*pair) for pair in ((1, 1), (10, 11), (12, 11), (40, 33), (16, 11), (4, 3)))

#: Offset and excursion of luma, then of chroma.
_RANGES = (
    (0, 255, 128, 255), (16, 219, 128, 224), (64, 876, 512, 896), (256, 3504, 2048, 3584), (0, 1023, 512, 1023),
    (0, 4095, 2048, 4095), (4096, 56064, 32768, 57344), (0, 65535, 32768, 65535),
)  # fmt: skip
# Decoders of version 2 know the first of them only, and likewise of the rates.
_OLD_RANGES, _OLD_RATES = 4, 11

#: Primaries, matrix and transfer function, by number from 0 on.
_COLOURS = ((0, 0, 0), (1, 1, 0), (2, 1, 0), (0, 0, 0), (3, 2, 3), (4, 4, 0), (4, 4, 4), (4, 4, 5))

#: Columns, rows, sampling, whether interlaced, top field first, and the numbers of rate, aspect, range and colours.
_BASES = (
    (640, 480, 2, 0, 0, 1, 1, 1, 0), (176, 120, 2, 0, 0, 9, 2, 1, 1), (176, 144, 2, 0, 1, 10, 3, 1, 2),
    (352, 240, 2, 0, 0, 9, 2, 1, 1), (352, 288, 2, 0, 1, 10, 3, 1, 2), (704, 480, 2, 0, 0, 9, 2, 1, 1),
    (704, 576, 2, 0, 1, 10, 3, 1, 2), (720, 480, 1, 1, 0, 4, 2, 3, 1), (720, 576, 1, 1, 1, 3, 3, 3, 2),
    (1280, 720, 1, 0, 1, 7, 1, 3, 3), (1280, 720, 1, 0, 1, 6, 1, 3, 3), (1920, 1080, 1, 1, 1, 4, 1, 3, 3),
    (1920, 1080, 1, 1, 1, 3, 1, 3, 3), (1920, 1080, 1, 0, 1, 7, 1, 3, 3), (1920, 1080, 1, 0, 1, 6, 1, 3, 3),
    (2048, 1080, 0, 0, 1, 2, 1, 4, 4), (4096, 2160, 0, 0, 1, 2, 1, 4, 4), (3840, 2160, 1, 0, 1, 7, 1, 3, 5),
    (3840, 2160, 1, 0, 1, 6, 1, 3, 5), (7680, 4320, 1, 0, 1, 7, 1, 3, 5), (7680, 4320, 1, 0, 1, 6, 1, 3, 5),
    (1920, 1080, 1, 0, 1, 1, 1, 3, 3), (720, 486, 1, 1, 0, 4, 2, 3, 3),
)  # fmt: skip

# Base formats to write over, by whether the top field comes first: nothing else in a header says that.
_UNDER = {False: 0, True: 2}


@dataclass(frozen=True)
class VideoFormat:
    """What the frames of a stream are.

    Attributes
    ----------
    columns, rows : int
        Of a frame.
    sampling : {"4:4:4", "4:2:2", "4:2:0"}
        How many pixels share their chroma.
    signal : tuple of int
        Offset and excursion of luma, then of chroma: (16, 219, 128, 224) for 8 bits of video, (0, 255, 128, 255) for
        those of full range.
    rate : Fraction
        Frames in a second.
    aspect : Fraction
        Width of a pixel by its height.
    is_interlaced, top_field_first : bool
        Whether the rows of a frame belong to two times, and whose is the first row.
    primaries, matrix, transfer : int
        Colours, in the standard's numbers: 0 for those of HDTV; matrix 3 is red, green and blue (in the order G, B, R).

    Examples
    --------
    >>> from subband.codecs.vc2 import VideoFormat
    >>> form = VideoFormat(1920, 1080, "4:2:2", VideoFormat.make_signal(10))
    >>> form.bits, form.plane_shapes
    ((10, 10), ((1080, 1920), (1080, 960), (1080, 960)))
    """

    columns: int
    rows: int
    sampling: Sampling = "4:2:0"
    signal: tuple[int, int, int, int] = _RANGES[1]
    rate: Fraction = Fraction(25)
    aspect: Fraction = Fraction(1)
    is_interlaced: bool = False
    top_field_first: bool = True
    primaries: int = 0
    matrix: int = 0
    transfer: int = 0

    def __post_init__(self) -> None:
        if self.columns < 1 or self.rows < 1:
            raise ArgumentError(f"{self.columns} × {self.rows} is no size of a frame; use 1 or more")
        if self.sampling not in SAMPLINGS:
            raise ArgumentError(f"sampling={self.sampling!r} is not known; use one of {', '.join(SAMPLINGS)}")
        if not all(1 <= bits <= 16 for bits in self.bits):
            raise ArgumentError(f"signal={self.signal} has {max(self.bits)} bits; use 1 to 16")

    @staticmethod
    def make_signal(bits: int, *, is_full: bool = False) -> tuple[int, int, int, int]:
        """Return offsets and excursions of samples of 8 to 16 bits.

        Examples
        --------
        >>> from subband.codecs.vc2 import VideoFormat
        >>> VideoFormat.make_signal(10), VideoFormat.make_signal(8, is_full=True)
        ((64, 876, 512, 896), (0, 255, 128, 255))
        """
        if not 8 <= bits <= 16:
            raise ArgumentError(f"bits={bits} is no depth of samples; use 8 to 16")
        if is_full:
            return 0, (1 << bits) - 1, 1 << (bits - 1), (1 << bits) - 1
        offset, luma, middle, chroma = (value << (bits - 8) for value in _RANGES[1])
        return offset, luma, middle, chroma

    @property
    def bits(self) -> tuple[int, int]:
        """Bits of luma and of chroma samples."""
        return self.signal[1].bit_length(), self.signal[3].bit_length()

    @property
    def plane_shapes(self) -> tuple[tuple[int, int], ...]:
        """Rows and columns of the three components of a frame."""
        down, across = SAMPLINGS[self.sampling]
        chroma = -(-self.rows // down), -(-self.columns // across)
        return (self.rows, self.columns), chroma, chroma


@dataclass(frozen=True)
class SequenceHeader:
    """All that a sequence header says.

    Attributes
    ----------
    video : VideoFormat
        The frames.
    is_fields : bool
        Whether each field is an image of its own.
    profile, major, minor, level : int
        What a decoder must be able to do.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from subband.codecs.vc2 import SequenceHeader, VideoFormat
    >>> header = SequenceHeader(VideoFormat(64, 48, rate=Fraction(7, 3)), major=2)
    >>> SequenceHeader.read(header.write()) == header
    True
    """

    video: VideoFormat
    is_fields: bool = False
    profile: int = HIGH_QUALITY
    major: int = 2
    minor: int = 0
    level: int = 0

    @property
    def image_shapes(self) -> tuple[tuple[int, int], ...]:
        """Rows and columns of the three components of an image: of a frame, or of a field."""
        shapes = self.video.plane_shapes
        return tuple((-(-rows // 2), columns) for rows, columns in shapes) if self.is_fields else shapes

    def write(self) -> bytes:
        """Return the bytes of the header; nothing but the order of fields is left to the base format."""
        video, bits = self.video, BitWriter()
        for number in (self.major, self.minor, self.profile, self.level, _UNDER[video.top_field_first]):
            bits.number(number)
        bits.choice(video.columns, video.rows)
        bits.choice(list(SAMPLINGS).index(video.sampling))
        bits.choice(int(video.is_interlaced))
        _write_known(bits, _RATES[:_OLD_RATES], video.rate, (video.rate.numerator, video.rate.denominator))
        _write_known(bits, _ASPECTS, video.aspect, (video.aspect.numerator, video.aspect.denominator))
        bits.choice(video.columns, video.rows, 0, 0)  # all of it is to be seen
        _write_known(bits, _RANGES[:_OLD_RANGES], video.signal, video.signal)
        bits.choice(0)
        for number in (video.primaries, video.matrix, video.transfer):
            bits.choice(number)
        bits.number(int(self.is_fields))
        return bits.finish()

    @classmethod
    def read(cls, data: bytes | memoryview) -> SequenceHeader:
        """Read a header.

        Raises
        ------
        CodecError
            If it ends early or holds what the standard does not know.
        """
        bits = BitReader(data, "the sequence header")
        major, minor, profile, level, base = (bits.number() for _ in range(5))
        if not 1 <= major <= 3:
            raise CodecError(f"the stream is of version {major}; versions 1 to 3 can be read")
        if profile not in (LOW_DELAY, HIGH_QUALITY):
            raise CodecError(f"profile {profile} is neither low delay (0) nor high quality (3), which can be read")
        if base >= len(_BASES):
            raise CodecError(f"base video format {base} is not known; they are numbered from 0 to {len(_BASES) - 1}")
        video = _read_video(bits, base)
        mode = _look_up((0, 1), bits.number(), "image coding mode")
        return cls(video, bool(mode), profile, major, minor, level)


def _read_video(bits: BitReader, base: int) -> VideoFormat:
    """Return a base format with what the header has instead of its values."""
    columns, rows, sampling, scan, top_first, rate, aspect, signal, colours = _BASES[base]
    ratio, shape, levels = _RATES[rate - 1], _ASPECTS[aspect - 1], _RANGES[signal - 1]
    primaries, matrix, transfer = _COLOURS[colours]
    if bits.flag():
        columns, rows = bits.number(), bits.number()
    if bits.flag():
        sampling = bits.number()
    if bits.flag():
        scan = bits.number()
    if bits.flag():
        ratio = _read_ratio(bits, _RATES, "frame rate")
    if bits.flag():
        shape = _read_ratio(bits, _ASPECTS, "pixel aspect ratio")
    if bits.flag():
        for _ in range(4):  # the clean area
            bits.number()
    if bits.flag():
        number = bits.number()
        if number:
            levels = _look_up(_RANGES, number - 1, "signal range")
        else:
            levels = bits.number(), bits.number(), bits.number(), bits.number()
    if bits.flag():
        number = bits.number()
        primaries, matrix, transfer = _look_up(_COLOURS, number, "colour specification")
        if number == 0:
            own = [bits.number() if bits.flag() else 0 for _ in range(3)]
            primaries, matrix, transfer = own
    if columns < 1 or rows < 1:
        raise CodecError(f"{columns} × {rows} is no size of a frame")
    if not all(1 <= excursion < 1 << 16 for excursion in (levels[1], levels[3])):
        raise CodecError(f"excursions of {levels[1]} and {levels[3]} are not from 1 to 65535")
    name = _look_up(tuple(SAMPLINGS), sampling, "sampling")
    interlaced = bool(_look_up((0, 1), scan, "scan format"))
    return VideoFormat(
        columns, rows, name, levels, ratio, shape, interlaced, bool(top_first), primaries, matrix, transfer
    )


def _write_known(bits: BitWriter, known: tuple[T, ...], value: T, numbers: tuple[int, ...]) -> None:
    """Write the number of a value, or the value itself."""
    if value in known:
        bits.choice(known.index(value) + 1)
    else:
        bits.choice(0, *numbers)


def _look_up(known: tuple[T, ...], number: int, name: str) -> T:
    if not 0 <= number < len(known):
        raise CodecError(f"{name} {number} is not known; they are numbered from 0 to {len(known) - 1}")
    return known[number]


def _read_ratio(bits: BitReader, known: tuple[Fraction, ...], name: str) -> Fraction:
    number = bits.number()
    if number:
        return _look_up(known, number - 1, name)
    numerator, denominator = bits.number(), bits.number()
    if numerator == 0 and denominator:
        return Fraction(1)  # not known, in the words of FFmpeg
    if denominator == 0:
        raise CodecError(f"{numerator}:{denominator} is no {name}")
    return Fraction(numerator, denominator)


def with_version(header: SequenceHeader, *, needs_third: bool) -> SequenceHeader:
    """Return a header whose version is the lowest that knows all of it; `needs_third` for fragments and the like."""
    video = header.video
    is_new = needs_third or max(video.primaries, video.matrix, video.transfer) > 3
    return replace(header, major=3 if is_new else 2 if header.profile == HIGH_QUALITY else 1)
