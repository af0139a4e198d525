"""Measure VC-2 on a quiet machine: ``measure_vc2.py speed`` beside FFmpeg, ``measure_vc2.py link`` over the loopback.

The frames of the link carry their number as a row of black and white blocks, so that the delay from the call that sends
a frame to the loop that has it is measured. Sender and receiver are two processes; ``taskset`` and
``SUBBAND_NUM_THREADS`` give each its core.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np

from subband.codecs.vc2 import Decoder, Encoder, Settings, VideoFormat
from subband.codecs.vc2.stream import find_units
from subband.media import Frame, SourceInfo, open_sink
from subband.media.link import LinkSource

BLOCKS, SIDE = 16, 32


def draw(columns: int, rows: int, count: int = 4) -> list[np.ndarray]:
    """Return frames of waves and noise: rows × columns × 3, Y'CbCr of 10 bits in 16."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:rows, :columns]
    frames = []
    for number in range(count):
        frame = np.empty((rows, columns, 3), np.uint16)
        waves = 512 + 200 * np.sin((x + 9 * number) / 37) * np.cos(y / 29) + rng.normal(0, 6, x.shape)
        frame[..., 0] = np.clip(waves, 64, 940)
        frame[..., 1] = frame[..., 2] = np.clip(512 + 90 * np.sin((x // 2 + number) / 31), 64, 960)
        frames.append(frame << 6)
    return frames


def measure_speed(columns: int, rows: int, rounds: int) -> dict[str, float]:
    """Encode and decode in turn with FFmpeg; return the shortest times in milliseconds."""
    import av

    video = VideoFormat(columns, rows, "4:2:2", VideoFormat.make_signal(10))
    rate = columns * rows * 2 * 10 * 25 // 5
    planes = [
        [(f[..., 0] >> 6).copy(), (f[:, ::2, 1] >> 6).copy(), (f[:, ::2, 2] >> 6).copy()] for f in draw(columns, rows)
    ]
    ours = Encoder(video, Settings(rate=rate, wavelet="dd97"))
    theirs = av.CodecContext.create("vc2", "w")
    theirs.width, theirs.height, theirs.pix_fmt, theirs.bit_rate = columns, rows, "yuv422p10le", rate
    theirs.time_base, theirs.framerate, theirs.thread_type = Fraction(1, 25), 25, "SLICE"
    theirs.options = {"strict": "-1"}
    reader = av.CodecContext.create("dirac", "r")
    reader.thread_type = "SLICE"
    decoder = Decoder()
    times: dict[str, list[float]] = {name: [] for name in ("encode", "encode_ffmpeg", "decode", "decode_ffmpeg")}

    def time_call(name, call):
        begin = time.perf_counter()
        result = call()
        times[name].append(1e3 * (time.perf_counter() - begin))
        return result

    for number in range(rounds):
        frame = av.VideoFrame(columns, rows, "yuv422p10le")
        frame.pts = number
        for plane, values in zip(frame.planes, planes[number % 4], strict=True):
            np.frombuffer(plane, np.uint16).reshape(plane.height, -1)[:, : plane.width] = values
        data = time_call("encode", lambda: ours.encode(planes[number % 4]))  # noqa: B023 - called at once
        packets = time_call("encode_ffmpeg", lambda: theirs.encode(frame))  # noqa: B023
        (mine,) = time_call("decode", lambda: [frame for unit in find_units(data) for frame in decoder.feed(unit)])  # noqa: B023
        for packet in packets:
            time_call("decode_ffmpeg", lambda: reader.decode(av.Packet(bytes(packet))))  # noqa: B023
        assert np.abs(mine.planes[0].astype(int) - planes[number % 4][0]).max() < 200
    return {name: round(min(found), 2) for name, found in times.items()}


def receive(port: int) -> None:
    """Print when each frame arrived, by its number, and what was lost."""
    times = []
    with LinkSource(f"rtp://:{port}", colours="ycbcr", timeout=5) as source:
        for frame in source:
            blocks = frame.pixels[8 : 8 + SIDE, 8 : 8 + BLOCKS * SIDE, 0].reshape(SIDE, BLOCKS, SIDE).mean((0, 2))
            times.append((sum(int(block > 32768) << k for k, block in enumerate(blocks)), time.monotonic()))
        print(json.dumps({"times": times, "lost": source.count.lost, "missing": source.missing}))


def measure_link(columns: int, rows: int, count: int, rate: float, wavelet: str, port: int) -> dict[str, float]:
    """Send frames at 25 fps to another process; return what arrived, and delays in milliseconds."""
    info = SourceInfo(
        "film", (rows, columns, 3), np.dtype("uint16"), colours="ycbcr", bits=10, rate=Fraction(25), chroma_steps=(1, 2)
    )
    frames = draw(columns, rows)
    words = [sys.executable, __file__, "receive", "--port", str(port)]
    cores = ["taskset", "-c", str(max(os.sched_getaffinity(0)))] if hasattr(os, "sched_getaffinity") else []
    receiver = subprocess.Popen([*cores, *words], stdout=subprocess.PIPE, text=True)
    time.sleep(3)
    sent = {}
    with open_sink(f"rtp://127.0.0.1:{port}", info, settings=Settings(rate=rate, wavelet=wavelet)) as sink:
        begin = time.monotonic()
        for number in range(count):
            frame = frames[number % len(frames)]
            for k in range(BLOCKS):
                left = 8 + SIDE * k
                frame[8 : 8 + SIDE, left : left + SIDE, 0] = (900 if number >> k & 1 else 100) << 6
            time.sleep(max(begin + number / 25 - time.monotonic(), 0))
            sent[number] = time.monotonic()
            sink.write(Frame(frame, number))
    found = json.loads(receiver.communicate(timeout=60)[0])
    # the first ones wait for the receiver to start
    late_half = [(number, at) for number, at in found["times"] if count // 2 <= number < count]
    delays = sorted(1e3 * (at - sent[number]) for number, at in late_half)
    assert delays, "nothing arrived"
    middle, late = delays[len(delays) // 2], delays[len(delays) * 95 // 100]
    return {"sent": count, "received": len(found["times"]), "lost": found["lost"], "missing": found["missing"],
            "median_ms": round(middle, 1), "p95_ms": round(late, 1)}  # fmt: skip


def main() -> None:
    """Read the arguments, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("speed", "link", "receive"))
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--rate", type=float, default=200e6)
    parser.add_argument("--wavelet", default="dd137")
    parser.add_argument("--port", type=int, default=5044)
    given = parser.parse_args()
    columns, rows = map(int, given.size.split("x"))
    if given.what == "receive":
        receive(given.port)
    elif given.what == "speed":
        print(measure_speed(columns, rows, given.count or 20))
    else:
        print(measure_link(columns, rows, given.count or 1500, given.rate, given.wavelet, given.port))


if __name__ == "__main__":
    main()
