"""Video made plane by plane with PyAV alone, so that what is tested does not make what it is tested with."""

from fractions import Fraction

import numpy as np
import pytest


@pytest.fixture(scope="session")
def av():
    return pytest.importorskip("av", reason="PyAV is not installed: pip install 'subband[video]'")


def view_plane(plane, itemsize=1):
    dtype = np.uint8 if itemsize == 1 else np.uint16
    return np.frombuffer(plane, dtype).reshape(plane.height, -1)[:, : plane.width]


@pytest.fixture(scope="session")
def write_planes(av):
    """Give a function that writes lists of planes without loss."""

    def write(path, frames, pixel_format, *, codec="ffv1", rate=25, field_order=None):
        from subband.media.video_fields import FieldMarker

        marker = FieldMarker()
        with av.open(str(path), "w") as container:
            stream = container.add_stream(codec, rate=rate)
            stream.height, stream.width = frames[0][0].shape
            stream.pix_fmt = pixel_format
            if field_order:
                marker.prepare(stream.codec_context, codec, container.format.name, field_order)
            for number, planes in enumerate(frames):
                frame = av.VideoFrame(stream.width, stream.height, pixel_format)
                for plane, values in zip(frame.planes, planes, strict=True):
                    view_plane(plane, values.dtype.itemsize)[...] = values
                frame.pts, frame.time_base = number, 1 / Fraction(rate)
                container.mux(stream.encode(marker.mark(frame, field_order) if field_order else frame))
            container.mux(stream.encode())
        return path

    return write


@pytest.fixture(scope="session")
def read_planes(av):
    """Give a function that returns the planes of all frames."""

    def read(path):
        with av.open(str(path)) as container:
            return [
                [view_plane(plane, 2 if frame.format.name.endswith("le") else 1).copy() for plane in frame.planes]
                for frame in container.decode(video=0)
            ]

    return read
