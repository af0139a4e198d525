"""Clips that are made on the fly, with PyAV alone, so that what is tested does not make what it is tested with."""

from fractions import Fraction

import numpy as np
import pytest


def draw_frames(count, rows=48, columns=64, dtype=np.uint8):
    """Draw something that moves and that encoders like."""
    down, across = np.mgrid[:rows, :columns]
    scale = np.iinfo(dtype).max / 255
    return [
        (np.stack([across * 2 + number * 3, down * 3, (across + down) + 2 * number], axis=-1) % 256 * scale).astype(
            dtype
        )
        for number in range(count)
    ]


def encode(av, path, frames, codec, pixel_format, *, source="rgb24", rate=25, options=None, audio=None, **settings):
    """Write frames, and a tone if an encoder for it is named."""
    flags = settings.pop("container_options", {})
    rotation = settings.pop("rotation", None)
    with av.open(str(path), "w", options=flags) as container:
        stream = container.add_stream(codec, rate=rate, options=options or {})
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = pixel_format
        for name, value in settings.items():
            setattr(stream.codec_context, name, value)
        if rotation is not None:
            stream.set_display_rotation(rotation)
        # Opus knows only a few sampling rates.
        pitch = 48000 if audio == "libopus" else 44100
        sound = container.add_stream(audio, rate=pitch, layout="mono") if audio else None
        if sound is not None:
            sound.codec_context.bit_rate = 64000
        for number, pixels in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(pixels, format=source)
            frame.pts, frame.time_base = number, 1 / Fraction(rate)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
        if sound is not None:
            seconds = len(frames) / Fraction(rate)
            wave = np.sin(np.arange(int(seconds * pitch)) / pitch * 2 * np.pi * 440)
            formats = sound.codec_context.format.name
            for start in range(0, len(wave), 1024):
                part = wave[start : start + 1024]
                values = part.astype(np.float32) if formats.startswith("flt") else (part * 20000).astype(np.int16)
                chunk = av.AudioFrame.from_ndarray(values[None], format=formats, layout="mono")
                chunk.sample_rate, chunk.pts, chunk.time_base = pitch, start, Fraction(1, pitch)
                container.mux(sound.encode(chunk))
            container.mux(sound.encode())
    return path


@pytest.fixture(scope="session")
def av():
    return pytest.importorskip("av", reason="PyAV is not installed: pip install 'subband[video]'")


@pytest.fixture(scope="session")
def make_clip(av):
    """Give a function that writes a clip and returns its path."""

    def make(path, frames, codec="ffv1", pixel_format="bgr0", **settings):
        return encode(av, path, frames, codec, pixel_format, **settings)

    return make


@pytest.fixture(scope="session")
def draw():
    return draw_frames


@pytest.fixture(scope="session")
def hash_packets(av):
    """Give a function that lists the packets of sound in a file, as bytes."""

    def list_packets(path):
        with av.open(str(path)) as container:
            return [bytes(packet) for packet in container.demux(audio=0) if packet.size]

    return list_packets
