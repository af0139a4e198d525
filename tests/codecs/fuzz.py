"""Decode damaged files: ``python tests/codecs/fuzz.py 20000`` makes as many, each from its number alone.

The whole files come from four encoders: ours, OpenJPEG, OpenJPH and FFmpeg; ours have blocks of Part 1 and of Part 15,
those of OpenJPH of Part 15. Every damaged one has to end in a picture of the size that its header tells, with or
without a warning, or in a `CodecError`, within bounded time and memory. What does not is told with its number;
``fuzz.py 1 --first NUMBER`` repeats it. ``fuzz.py 500000`` and ``fuzz.py 500000 --first 500000`` share a million.
"""

from __future__ import annotations

import io
import sys
import warnings
from functools import lru_cache

import av
import fuzzing
import imagecodecs
import numpy as np

from subband.codecs.jpeg2000 import CodecWarning, decode, encode
from subband.errors import CodecError

MOST_SAMPLES = 1 << 22
MOST_SECONDS = 2.0
MOST_BYTES = 1 << 30

_SETTINGS = (
    {},
    {"form": "j2k", "levels": 3, "block": (16, 16)},
    {"rate": 1.5, "layers": 3, "progression": "RLCP", "sop": True, "eph": True},
    {"psnr": 35.0, "progression": "RPCL", "precincts": [(32, 32)], "plt": True, "tlm": True, "tile": (40, 40)},
    {"progression": "PCRL", "tile": (33, 29), "style": ["bypass", "segmentation"], "levels": 2},
    {"progression": "CPRL", "style": ["terminate", "predictable", "reset", "causal"], "layers": 2, "sop": True},
    {"form": "j2k", "lossless": False, "step": 4.0, "origin": (7, 13), "tile": (48, 31), "tile_origin": (3, 5)},
    {"ht": True},
    {"ht": True, "form": "j2k", "rate": [1.0, 3.0], "block": (16, 32), "tile": (40, 57), "style": ["causal"]},
)
# Files that are damaged: each kind of image with several settings of ours, and some of each other encoder.
_OURS, _THEIRS = 36, 12
_FILES = _OURS + 3 * _THEIRS


@lru_cache(maxsize=128)
def make_file(number: int) -> bytes:
    """Return one of a few whole files."""
    if number >= _OURS:
        makers = (_write_with_openjpeg, _write_with_openjph, _write_with_ffmpeg)
        return makers[(number - _OURS) // _THEIRS](number)
    values, bits = _draw_image(number)
    return encode(values, bits=bits, **_SETTINGS[number % len(_SETTINGS)])


def _write_with_openjpeg(number: int) -> bytes:
    values, bits = _draw_image(number)
    return bytes(
        imagecodecs.jpeg2k_encode(
            values, bitspersample=bits, codecformat=("jp2", "j2k")[number % 2], level=None if number % 3 else 40.0,
            reversible=number % 3 > 0, resolutions=1 + number % 6,
        )
    )  # fmt: skip


def _write_with_openjph(number: int) -> bytes:
    # it knows neither two components nor depths other than those of the dtype
    values, _ = _draw_image(6 + number % 4)
    options = {"tile": (40, 33)} if number % 4 == 1 else {}
    level = {} if number % 3 else {"level": 0.01}
    return bytes(
        imagecodecs.htj2k_encode(values, reversible=number % 3 > 0, resolutions=number % 6, **level, **options)
    )


def _write_with_ffmpeg(number: int) -> bytes:
    values, _ = _draw_image(number % 2)
    values = np.ascontiguousarray(values.squeeze())
    frame = av.VideoFrame.from_ndarray(values, format="rgb24" if values.ndim == 3 else "gray")
    target = io.BytesIO()
    with av.open(target, "w", format="image2pipe") as container:
        stream = container.add_stream("jpeg2000", rate=1)
        stream.width, stream.height, stream.pix_fmt = frame.width, frame.height, frame.format.name
        stream.options = {"format": ("jp2", "j2k")[number % 2], "pred": str(number % 3 % 2)}
        for packet in [*stream.encode(frame), *stream.encode()]:
            container.mux(packet)
    return target.getvalue()


def _draw_image(number: int) -> tuple[np.ndarray, int]:
    """Return waves and noise, and how many bits they have."""
    rng = np.random.default_rng(number)
    rows, columns = (int(side) for side in rng.integers(20, 90, 2))
    components, bits = [(1, 8), (3, 8), (4, 8), (1, 16), (3, 12), (2, 1)][number % 6]
    y, x = np.mgrid[0:rows, 0:columns]
    planes = [
        np.sin(x / (3 + each)) * np.cos(y / (5 + each)) + rng.normal(0, 0.1, x.shape) for each in range(components)
    ]
    values = np.clip(np.rint((np.stack(planes, -1) / 2.6 + 0.5) * (2**bits - 1)), 0, 2**bits - 1)
    return values.astype(np.uint8 if bits <= 8 else np.uint16), bits


def damage_file(number: int) -> bytes:
    """Return a damaged file, always the same for a number."""
    rng = np.random.default_rng([77, number])
    data = bytearray(make_file(int(rng.integers(_FILES))))
    for _ in range(int(rng.integers(1, 4))):
        # the first bytes say most, so that they are hit most
        reach = len(data) if rng.random() < 0.5 else min(len(data), 250)
        at = int(rng.integers(max(reach, 1)))
        kind = int(rng.integers(8))
        if kind == 0:
            del data[at:]
        elif kind == 1 and data:
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 2 and data:
            data[at] = int(rng.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF]))
        elif kind == 3:
            data[at : at + int(rng.integers(1, 9))] = rng.bytes(int(rng.integers(1, 9)))
        elif kind == 4:
            del data[at : at + int(rng.integers(1, 60))]
        elif kind == 5:
            data[at:at] = rng.bytes(int(rng.integers(1, 60)))
        elif kind == 6:
            start = int(rng.integers(max(len(data), 1)))
            data[at : at + 40] = data[start : start + 40]
        else:
            width = int(rng.choice([2, 4]))
            data[at : at + width] = int(rng.integers(1 << (8 * width))).to_bytes(width, "big")
    return bytes(data)


def try_file(data: bytes) -> str:
    """Decode a file; return what became of it, and raise whatever must not happen."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", CodecWarning)
        try:
            picture = decode(data, most_pixels=MOST_SAMPLES)
        except CodecError:
            result = "error"
        else:
            result = "warning" if caught else "picture"
            header = picture.header
            for plane, (down, across) in zip(picture.planes, picture.steps, strict=True):
                rows, columns = plane.shape
                assert rows * down < header.height + 2 * down, f"{rows} rows of {header.height}"
                assert rows * down > header.height - 2 * down, f"{rows} rows of {header.height}"
                assert columns * across < header.width + 2 * across, f"{columns} columns of {header.width}"
                assert columns * across > header.width - 2 * across, f"{columns} columns of {header.width}"
    return result


def run(count: int, first: int = 0, seconds: float | None = None) -> fuzzing.Outcome:
    """Try files one after the other; see `fuzzing.run`."""
    # what is compiled on the way counts for no file
    for number in range(_FILES):
        decode(make_file(number))
    return fuzzing.run(
        lambda number: try_file(damage_file(number)), count, first, seconds, most_seconds=MOST_SECONDS,
        most_bytes=MOST_BYTES,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(fuzzing.main(run, __doc__))
