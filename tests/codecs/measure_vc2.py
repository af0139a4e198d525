"""Measure VC-2 on a quiet machine: ``measure_vc2.py speed`` beside FFmpeg, ``measure_vc2.py link`` over the loopback.

The frames of the link show the time, so that the delay from the call that sends a frame to the loop that has it is
measured. Sender and receiver are two processes with one core each; nothing dropped, no slice missing and a median delay
of less than two frames is what ``is_met`` says. ``measure_vc2.py lossy`` loses packets on the way,
and lets them overtake each other; ``measure_vc2.py profile`` tells what each stage takes of one core.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from heapq import heappop, heappush

import numpy as np

from subband.codecs.vc2 import Decoder, Encoder, Settings, VideoFormat
from subband.codecs.vc2 import decoder as decoding
from subband.codecs.vc2 import encoder as encoding
from subband.codecs.vc2.rtp import Depacketiser, Packetiser
from subband.codecs.vc2.stream import HEADER, find_units
from subband.media import Frame, SourceInfo, open_sink
from subband.media.link import LinkSource
from subband.media.time_code import draw_time, measure_delay
from subband.media.vc2 import FrameMaker, PlaneMaker
from subband.quality import measure_psnr

# The time is drawn into the first rows, which are not judged.
ROWS_OF_CODE = 192

# Bytes of slices that are sent while others are coded, and packets that are handed on at a time, as the link has it.
STRIP, TOGETHER = 1 << 16, 64

# Frames while kernels are loaded, which do not count for what the sender spends.
WARMING = 10


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


def feed_all(reader, pieces):
    """Return all that comes out of a reader that is fed piece by piece."""
    return [found for piece in pieces for found in reader.feed(piece)]


def decode_all(decoder, data):
    """Return the frames of a stream."""
    return feed_all(decoder, find_units(data))


def measure_speed(columns: int, rows: int, rounds: int) -> dict[str, float]:
    """Encode and decode in turn with FFmpeg; return the shortest times in milliseconds, and those of the processor."""
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

    def time_call(name, call, *arguments):
        begin, spent = time.perf_counter(), time.process_time()
        result = call(*arguments)
        times[name].append(1e3 * (time.perf_counter() - begin))
        times.setdefault(f"{name}_processor", []).append(1e3 * (time.process_time() - spent))
        return result

    for number in range(rounds):
        frame = av.VideoFrame(columns, rows, "yuv422p10le")
        frame.pts = number
        for plane, values in zip(frame.planes, planes[number % 4], strict=True):
            np.frombuffer(plane, np.uint16).reshape(plane.height, -1)[:, : plane.width] = values
        data = time_call("encode", ours.encode, planes[number % 4])
        packets = time_call("encode_ffmpeg", theirs.encode, frame)
        (mine,) = time_call("decode", decode_all, decoder, data)
        for packet in packets:
            time_call("decode_ffmpeg", reader.decode, av.Packet(bytes(packet)))
        assert np.abs(mine.planes[0].astype(int) - planes[number % 4][0]).max() < 200
    return {name: round(min(found), 2) for name, found in times.items()}


def profile(columns: int, rows: int, rounds: int, rate: float, wavelet: str) -> dict[str, float]:
    """Return the processor's milliseconds of each stage of a frame, without the system's part of sending: medians."""
    made = PlaneMaker(make_info(columns, rows))
    encoder, decoder = Encoder(made.video, Settings(rate=rate, wavelet=wavelet)), Decoder(tolerant=True)
    packetiser, depacketiser = Packetiser(1), Depacketiser()
    frames, maker = draw(columns, rows), FrameMaker(made.video, "ycbcr")
    times: dict[str, list[float]] = {}

    def time_call(name, call, *arguments, **options):
        begin = time.process_time()
        result = call(*arguments, **options)
        times.setdefault(name, []).append(1e3 * (time.process_time() - begin))
        return result

    def time_calls(module, *names):
        for name in names:
            own = getattr(module, name)
            setattr(module, name, partial(time_call, f"  {name}", own))

    time_calls(encoding, "analyse", "fit_quantisers", "encode_slices")
    time_calls(decoding, "decode_slices", "synthesise")
    totals: dict[str, list[float]] = {}
    for number in range(rounds):
        times.clear()
        planes = time_call("split", made.make, Frame(frames[number % 4], number))
        packets = packetiser.make([(HEADER, encoder.header.write())], 3600 * number)
        strips = encoder.code_images(planes, STRIP)
        while (image := time_call("encode", next, strips, None)) is not None:
            packets += time_call("packets", packetiser.cut, image, 3600 * number)
        found = []
        for first in range(0, len(packets), TOGETHER):
            units = time_call("sort", feed_all, depacketiser, packets[first : first + TOGETHER])
            found += time_call("decode", feed_all, decoder, units)
        time_call("join", maker.make, found[0], number)
        for name, spent in times.items():
            totals.setdefault(name, []).append(sum(spent))
    return {name: round(float(np.median(found)), 2) for name, found in totals.items()}


def make_info(columns: int, rows: int) -> SourceInfo:
    """Return what the frames of `draw` are."""
    return SourceInfo(
        "camera", (rows, columns, 3), np.dtype("uint16"), colours="ycbcr", bits=10, rate=Fraction(25),
        chroma_steps=(1, 2),
    )  # fmt: skip


def receive(port: int, columns: int, rows: int, is_judged: bool) -> None:
    """Print how long frames were on their way, what was lost, and what this process took.

    Frames are judged by their PSNR of luma, with that of the frame that was sent: complete ones, and those of which
    slices are missing, apart.
    """
    delays, before, ratios, memory = [], 0, ([], []), []
    known = [frame[..., 0] for frame in draw(columns, rows)] if is_judged else []
    print("ready", flush=True)
    with LinkSource(f"rtp://:{port}", colours="ycbcr", timeout=5) as source:
        begin = time.process_time()
        for frame in source:
            delay = measure_delay(frame.pixels, time.time())
            if delay is not None:
                delays.append(1e3 * delay)
            is_torn, before = source.missing > before, source.missing
            if known:
                luma = frame.pixels[ROWS_OF_CODE:, :, 0]
                ratios[is_torn].append(max(measure_psnr(luma, own[ROWS_OF_CODE:], 65535) for own in known))
                memory.append(int(open("/proc/self/statm").read().split()[1]) >> 8)  # noqa: SIM115, PTH123
        spent = time.process_time() - begin
        found = {
            "received": frame.number + 1,
            "missing": source.missing,
            "receiver_ms": round(1e3 * spent / len(delays), 1),
        }
        found |= {name: value for name, value in asdict(source.count).items() if name != "images"}
    found |= {"median_ms": round(float(np.median(delays)), 1), "p95_ms": round(float(np.percentile(delays, 95)), 1)}
    found["most_ms"] = round(max(delays), 1)
    if known:
        found |= {
            name: round(float(np.mean(own)), 2) if own else None
            for name, own in zip(("psnr", "psnr_concealed"), ratios, strict=True)
        }
        found |= {"worst_concealed": round(min(ratios[1]), 2) if ratios[1] else None, "torn_frames": len(ratios[1])}
        found |= {"memory_mib": [memory[len(memory) // 4], memory[-1]]}
    print(json.dumps(found))


def measure_link(given: argparse.Namespace, columns: int, rows: int, *, is_lossy: bool) -> dict[str, float]:
    """Send frames that show the time at 25 fps to another process, each on a core of its own; return what arrived."""
    frames, count = draw(columns, rows), given.count or 1500
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    words = [sys.executable, __file__, "receive", "--port", str(given.port), "--size", given.size]
    words = [*(["taskset", "-c", str(cores[-1])] if cores else []), *words, *(["--judge"] if is_lossy else [])]
    receiver = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    port = given.port
    if is_lossy:
        port += 1
        loss = ["--loss", str(given.loss), "--jitter", str(given.jitter)]
        between = subprocess.Popen([sys.executable, __file__, "relay", "--port", str(given.port), *loss])
    if cores:
        os.sched_setaffinity(0, cores[:1])
    # it has loaded what it needs, and then binds its port
    assert receiver.stdout is not None
    assert receiver.stdout.readline() == "ready\n"
    time.sleep(1)
    settings = Settings(rate=given.rate, wavelet=given.wavelet)
    with open_sink(f"rtp://127.0.0.1:{port}", make_info(columns, rows), settings=settings, pace=given.pace) as sink:
        begin, spent, late = time.monotonic(), 0.0, 0.0
        for number in range(count):
            if number == WARMING:
                spent = time.process_time()
            frame = frames[number % len(frames)]
            due = begin + number / 25
            late = max(late, time.monotonic() - due)
            time.sleep(max(due - time.monotonic(), 0))
            draw_time(frame, time.time())
            sink.write(Frame(frame, number))
        spent = time.process_time() - spent
    found = json.loads(receiver.communicate(timeout=60)[0])
    if is_lossy:
        between.terminate()
    return {
        "sent": count,
        "dropped": count - found["received"],
        "is_met": found["received"] == count and not found["missing"] and found["median_ms"] < 80,
        "sender_ms": round(1e3 * spent / (count - WARMING), 1),
        "latest_ms": round(1e3 * late, 1),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    } | found


def relay(port: int, target: int, loss: float, jitter: float) -> None:
    """Pass packets on, some of them never and each after a time of its own, so that they overtake each other."""
    rng = np.random.default_rng(0)
    waiting: list[tuple[float, int, bytes]] = []
    count = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
        taken.bind(("127.0.0.1", port))
        while True:
            now = time.monotonic()
            while waiting and waiting[0][0] <= now:
                taken.sendto(heappop(waiting)[2], ("127.0.0.1", target))
            taken.settimeout(max(waiting[0][0] - now, 1e-4) if waiting else 0.1)
            with suppress(TimeoutError, ConnectionError):
                packet = taken.recv(1 << 16)
                count += 1
                if rng.random() >= loss:
                    heappush(waiting, (time.monotonic() + jitter * rng.random(), count, packet))


def main() -> None:
    """Read the arguments, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("speed", "profile", "link", "lossy", "receive", "relay"))
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--rate", type=float, default=200e6)
    parser.add_argument("--wavelet", default="dd137")
    parser.add_argument("--pace", type=float, default=2.0)
    parser.add_argument("--port", type=int, default=5044)
    parser.add_argument("--loss", type=float, default=0.01)
    parser.add_argument("--jitter", type=float, default=0.02)
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    columns, rows = map(int, given.size.split("x"))
    if given.what == "receive":
        receive(given.port, columns, rows, given.judge)
    elif given.what == "relay":
        relay(given.port + 1, given.port, given.loss, given.jitter)
    elif given.what == "speed":
        print(json.dumps(measure_speed(columns, rows, given.count or 20)))
    elif given.what == "profile":
        for name, spent in profile(columns, rows, given.count or 20, given.rate, given.wavelet).items():
            print(f"{name:18} {spent:6.2f} ms")
    else:
        print(json.dumps(measure_link(given, columns, rows, is_lossy=given.what == "lossy")))


if __name__ == "__main__":
    main()
