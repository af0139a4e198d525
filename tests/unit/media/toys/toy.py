"""A file format for tests, as anybody would add one: bare samples behind a line that says what they are."""

import json

import numpy as np

from subband.media.formats import Format
from subband.media.still import Still
from subband.media.volume_sinks import HeadedSink
from subband.media.volumes import open_array

MAGIC = b"TOY\0"


def describe(shape, dtype, *, is_volume):
    return MAGIC + json.dumps({"shape": shape, "dtype": str(dtype), "is_volume": is_volume}).encode() + b"\n"


def load(path):
    head, _, samples = path.read_bytes().removeprefix(MAGIC).partition(b"\n")
    found = json.loads(head)
    return np.frombuffer(samples, found["dtype"]).reshape(found["shape"]), found["is_volume"]


def read(path, most_pixels):
    return Still(load(path)[0])


def write(path, still, quality):
    path.write_bytes(describe(still.pixels.shape, still.pixels.dtype, is_volume=False) + still.pixels.tobytes())


def open_volume(path, reading):
    return open_array(load(path)[0], path, "toy")


def open_frames(path, reading):
    return open_volume(path, reading) if load(path)[1] else None


def create(path, info, writing):
    if info.kind != "volume":
        return None

    def describe_volume(info, count):
        return describe((count, *info.shape), info.dtype, is_volume=True)

    return HeadedSink(path, info, describe_volume, **writing.kept)


FORMATS = (
    Format(
        "Toy",
        (".toy",),
        ("still", "volume"),
        dtypes=("uint8", "uint16", "float32"),
        about="for tests",
        starts=(MAGIC,),
        read=read,
        write=write,
        open=open_frames,
        open_volume=open_volume,
        create=create,
    ),
)
