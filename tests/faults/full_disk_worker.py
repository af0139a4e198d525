"""Writes every format to disks that are full, at many sizes around the end; a process of its own for its limit.

``python full_disk_worker.py FOLDER`` prints a JSON object: for each ending that can be written, what went wrong.
"""

import contextlib
import json
import os
import resource
import sys
import traceback
from fractions import Fraction
from importlib import import_module
from itertools import count
from pathlib import Path

import numpy as np

from subband.errors import SubbandError
from subband.media import Frame, SourceInfo, open_sink
from subband.media.formats import list_formats

SIZES = 40
# Files of icons hold a dozen sizes of one, and take as long each time.
LARGE = 100_000
# Other names of formats that are tried under their usual one.
ALIASES = {
    ".avifs", ".bw", ".dib", ".icb", ".j2c", ".jfif", ".jpc", ".jpe", ".jpf", ".jpx", ".ps", ".rgba", ".vda", ".vst"
}  # fmt: skip
RNG = np.random.default_rng(0)


def list_endings():
    """Give every ending that formats have, and all of Pillow's: what can be written shows."""
    from PIL import Image

    found = {ending for form in list_formats() for ending in form.endings} | Image.registered_extensions().keys()
    return sorted(found - ALIASES)


def list_infos():
    """Give what formats may take, the most common first."""
    byte, deep = np.dtype(np.uint8), np.dtype(np.uint16)
    size = {"voxel_size": (2.0, 1.0, 1.0)}
    return [
        SourceInfo("film", (48, 64, 3), byte, rate=Fraction(25), count=3),
        SourceInfo("volume", (48, 64), deep, colours="grey", bits=16, count=3, **size),
        SourceInfo("volume", (48, 64), np.dtype(np.float32), colours="grey", bits=32, count=3, **size),
        SourceInfo("still", (48, 64, 3), byte, count=1),
        SourceInfo("still", (48, 64), byte, colours="grey", count=1),
        SourceInfo("still", (64, 64), np.dtype(np.float32), colours="grey", bits=32, count=1),
        SourceInfo("still", (48, 64, 3), deep, bits=16, count=1),
    ]


def make_frames(info):
    for number in range(info.count):
        values = RNG.random(info.shape)
        pixels = values.astype(info.dtype) if info.dtype.kind == "f" else (values * info.peak).astype(info.dtype)
        yield Frame(pixels, number, number / 25)


def write(path, info, frames):
    with open_sink(path, info, overwrite=True) as sink:
        for frame in frames:
            sink.write(frame)
    return type(sink)


def set_limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def measure(folder):
    """Return how much all files of a folder hold: a format may make several."""
    return {path.relative_to(folder): path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()}


def clear(folder):
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def choose_sizes(size):
    """Return limits: one after the other at the end, and wider apart before it."""
    count = SIZES if size < LARGE else SIZES // 8
    near = range(size - count // 2, size)
    far = np.linspace(0, max(0, size - count // 2), count - len(near)).astype(int)
    return sorted({max(0, int(limit)) for limit in (*near, *far)})


def try_ending(folder, ending):
    """Return what is wrong with how a format is written, and None if it cannot be written at all."""
    path = folder / f"result{ending}"
    wrongs, tried = [], set()
    for info in list_infos():
        frames = list(make_frames(info))
        try:
            kind = write(path, info, frames), info.is_colour and info.bits > 8
        except SubbandError:
            # not all formats take all there is
            clear(folder)
            continue
        made = measure(folder)
        clear(folder)
        if kind not in tried:
            tried.add(kind)
            wrongs += try_sizes(folder, path, info, frames, made)
    return wrongs if tried else None


def try_sizes(folder, path, info, frames, made):
    """Return what is wrong when a file is written that is as long as `made` says."""
    wrongs = []
    for number, limit in enumerate(choose_sizes(max(made.values()))):
        is_there = number % 2 == 1
        if is_there:
            path.write_bytes(b"mine")
        set_limit(limit)
        try:
            write(path, info, frames)
            ended = "as if all were well"
        except SubbandError:
            ended = ""
        except Exception as error:  # noqa: BLE001 - it is told
            ended = f"with {type(error).__name__}: {error}"
        finally:
            set_limit(resource.RLIM_INFINITY)
        left = measure(folder)
        if is_there and not (path.is_file() and path.read_bytes() == b"mine"):
            ended += " and without what was there before"
        elif is_there:
            del left[path.relative_to(folder)]
        if ended or left:
            wrongs.append(f"at {limit} of {made}: ended {ended or 'well'}, left {left}")
        clear(folder)
    return wrongs


def make_identifiers_alike():
    """Let all identifiers of DICOM have the same length: files are as long each time."""
    uid, numbers = import_module("pydicom.uid"), count(10**30)
    uid.generate_uid = lambda *_, **__: uid.UID(f"1.2.3.{next(numbers)}")


def main(folder):
    """Try each format in a process of its own, because some libraries end theirs."""
    for library in ("av", "h5py", "nibabel", "PIL.ImageCms", "subband.codecs.jpeg2000", "tifffile"):
        # once, not in every process
        with contextlib.suppress(ImportError):
            import_module(library)
    with contextlib.suppress(ImportError):
        make_identifiers_alike()
    report = {}
    for ending in list_endings():
        own = folder / f"of{ending}"
        own.mkdir()
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(receive)
            try:
                answer = try_ending(own, ending)
            except BaseException:  # noqa: BLE001 - it is told
                answer = [traceback.format_exc()]
            with os.fdopen(send, "w", encoding="utf-8") as pipe:
                json.dump(answer, pipe, default=str)
            # ends as programs end, where libraries tidy up
            sys.exit(0)
        os.close(send)
        with os.fdopen(receive, encoding="utf-8") as pipe:
            text = pipe.read()
        _, status = os.waitpid(child, 0)
        answer = json.loads(text) if text else []
        if status:
            answer = [*(answer or []), f"the process ended with {status}"]
        if answer is not None:
            report[ending] = answer
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
