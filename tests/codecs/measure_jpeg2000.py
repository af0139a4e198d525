"""Times of JPEG 2000 beside OpenJPH and OpenJPEG: ``python tests/codecs/measure_jpeg2000.py`` takes about two minutes.

Both libraries are called through imagecodecs, and Pillow where tiles are written. Calls take turns; of each the least
time counts, of the clock and of the processor. Every file is decoded by the other side before its times do. Verdicts
are those of the clock; ``--processor`` takes the processor's, which mean something beside other programs, and leave out
what threads gain. OpenJPH has no threads in imagecodecs; OpenJPEG gets as many as we have.

``--window 16384`` looks at a window of 512 × 512 of a tiled file of that size instead, and tells which part it takes of
the time and of the bytes of the whole.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import imagecodecs
import numpy as np
from PIL import Image

from subband import data
from subband.codecs import jpeg2000
from subband.codecs.jpeg2000 import decode, encode
from subband.engines import get_threads

Calls = dict[str, Callable[[], object]]


def make_image(size: int, components: int) -> np.ndarray:
    """Return a photograph, mirrored as often as it takes."""
    photo = data.photograph()
    photo = photo if components == 3 else photo[..., 1]
    times = [-(-size // side) for side in photo.shape[:2]]
    rows = np.concatenate([photo[:: 1 - 2 * (number % 2)] for number in range(times[0])])
    whole = np.concatenate([rows[:, :: 1 - 2 * (number % 2)] for number in range(times[1])], axis=1)
    return np.ascontiguousarray(whole[:size, :size])


def take_turns(calls: Calls, rounds: int) -> dict[str, np.ndarray]:
    """Return the least time of each call, of the clock and of the processor."""
    best = {name: np.full(2, np.inf) for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            begin = np.array([time.perf_counter(), time.process_time()])
            call()
            taken = np.array([time.perf_counter(), time.process_time()]) - begin
            # the first round warms up
            best[name] = np.minimum(best[name], taken if number else np.inf)
    return best


def compare_large(size: int, components: int, threads: int) -> tuple[Calls, list[tuple[str, str, str, float]]]:
    """Return the calls for one large image, and which of them are compared, with what is expected."""
    image = make_image(size, components)
    fast, plain = encode(image, ht=True, form="j2k"), encode(image, form="j2k")
    np.testing.assert_array_equal(imagecodecs.htj2k_decode(fast, planar=False), image)
    np.testing.assert_array_equal(imagecodecs.jpeg2k_decode(plain), image)
    np.testing.assert_array_equal(decode(fast).samples, image)
    options = {"level": 0, "reversible": True, "codecformat": "j2k", "numthreads": threads}
    calls: Calls = {
        "HT encode": lambda: encode(image, ht=True, form="j2k"),
        "OpenJPH encode": lambda: imagecodecs.htj2k_encode(image, reversible=True),
        "HT decode": lambda: decode(fast),
        "OpenJPH decode": lambda: imagecodecs.htj2k_decode(fast, planar=False),
        "Part 1 encode": lambda: encode(image, form="j2k"),
        "OpenJPEG encode": lambda: imagecodecs.jpeg2k_encode(image, **options),
        "Part 1 decode": lambda: decode(plain),
        "OpenJPEG decode": lambda: imagecodecs.jpeg2k_decode(plain, numthreads=threads),
    }
    kind = f"{size}² {'grey' if components == 1 else 'RGB'}"
    pairs = [(kind, f"HT {verb}", f"OpenJPH {verb}", 1.0) for verb in ("encode", "decode")]
    pairs += [(kind, f"HT {verb}", f"Part 1 {verb}", 6.0) for verb in ("encode", "decode")]
    pairs += [(kind, "Part 1 encode", "OpenJPEG encode", 2.0), (kind, "Part 1 decode", "OpenJPEG decode", 1.8)]
    return calls, pairs


def compare_small(size: int, tile: int | None, threads: int) -> tuple[Calls, list[tuple[str, str, str, float]]]:
    """Return the same for a small image, or for small tiles."""
    image = make_image(size, 1)
    settings = {"form": "j2k"} | ({} if tile is None else {"tile": (tile, tile)})
    plain = encode(image, **settings)
    np.testing.assert_array_equal(imagecodecs.jpeg2k_decode(plain), image)
    picture = Image.fromarray(image)
    theirs = {"irreversible": False, "no_jp2": True} | ({} if tile is None else {"tile_size": (tile, tile)})
    calls: Calls = {
        "encode": lambda: encode(image, **settings),
        "OpenJPEG encode": lambda: picture.save(io.BytesIO(), "JPEG2000", **theirs),
        "decode": lambda: decode(plain),
        "OpenJPEG decode": lambda: imagecodecs.jpeg2k_decode(plain, numthreads=threads),
    }
    kind = f"{size}²" + ("" if tile is None else f" in {tile}² tiles")
    return calls, [(kind, verb, f"OpenJPEG {verb}", 1.0) for verb in ("encode", "decode")]


def measure_window(size: int, rounds: int, window: int = 512, tile: int = 512) -> None:
    """Tell which part of a large file a window takes that lies across four tiles."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.jph"
        jpeg2000.imwrite_rows(path, [make_image(size, 1)], size, tile=(tile, tile))
        first = size // 2 - window // 2 + tile // 4
        last = first + window
        calls: Calls = {
            "window": lambda: jpeg2000.open(path)[first:last, first:last],
            "whole": lambda: jpeg2000.open(path, most_pixels=size**2)[...],
        }
        found = take_turns(calls, rounds)
        parts = jpeg2000.open(path).file.stream.tile_parts
        across = range(first // tile, (last - 1) // tile + 1)
        needed = parts.find(row * -(-size // tile) + column for row in across for column in across)
        read = sum(part.stop - part.start for several in needed.values() for part in several)
        shares = (*(100 * found["window"] / found["whole"]), 100 * read / path.stat().st_size)
    print(f"{window}² of {size}² in {tile}² tiles: {1e3 * found['window'][0]:.1f} ms of {found['whole'][0]:.2f} s, "
          f"{shares[0]:.2f} % of the time ({shares[1]:.2f} % of the processor's), {shares[2]:.2f} % of the bytes"
          f" (at most 2: {'met' if max(shares) <= 2 else 'missed'})")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--window", type=int, metavar="SIZE")
    arguments = parser.parse_args()
    if arguments.window:
        measure_window(arguments.window, arguments.rounds)
        return
    threads = get_threads()
    print(f"{threads} threads, milliseconds of the clock (and of the processor)")
    cases = [compare_large(arguments.size, components, threads) for components in (1, 3)]
    cases += [compare_small(size, None, threads) for size in (32, 128, 256)]
    cases += [compare_small(1024, tile, threads) for tile in (16, 64, 128)]
    for calls, pairs in cases:
        found = take_turns(calls, arguments.rounds)
        for kind, ours, theirs, least in pairs:
            speeds = found[theirs] / found[ours]
            verdict = "met" if speeds[int(arguments.processor)] >= least else "missed"
            own, other = (f"{1e3 * wall:8.1f} ({1e3 * busy:6.1f})" for wall, busy in (found[ours], found[theirs]))
            print(f"{kind:20} {ours:14} {own}  {theirs:16} {other}  {speeds[0]:5.2f} ({speeds[1]:5.2f}) times as fast"
                  f" (at least {least}: {verdict})", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
