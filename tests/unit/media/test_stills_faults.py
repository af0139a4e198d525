"""Damage in any format of still ends in an error of ours, or in an image; never in a traceback of a library."""

import contextlib
import io

import numpy as np
import pytest
from PIL import Image

from subband.errors import SubbandError
from subband.media import Frame, OutputError, SourceInfo, Still, open_sink, open_source, read_still, write_still

# Pillow warns of damage that it reads past, and of formats that it means to drop.
pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (24, 32, 3), dtype=np.uint8)
Image.init()
FORMATS = sorted({form: ending for ending, form in Image.registered_extensions().items() if form in Image.SAVE}.items())


def list_contents(form):
    """Encode an image in every mode that Pillow writes in a format."""
    for mode in ("RGB", "L", "P", "RGBA", "1", "I;16"):
        file = io.BytesIO()
        image = Image.fromarray(COLOUR[..., 0].astype(np.uint16)) if mode == "I;16" else Image.fromarray(COLOUR)
        try:
            (image if mode == "I;16" else image.convert(mode)).save(file, form)
        except (OSError, ValueError, KeyError, AttributeError):
            continue
        yield mode, file.getvalue()


def spoil(content, number):
    """Cut a file off, or change some of its bytes, most of them at its head."""
    if number % 3 == 0:
        return content[: RNG.integers(0, len(content))]
    spoiled = bytearray(content)
    reach = min(len(content), (64, 400, 10**6)[number % 3])
    for place in RNG.integers(0, reach, 1 + 2 * (number % 4)):
        spoiled[place] = RNG.integers(0, 256)
    return bytes(spoiled)


@pytest.mark.parametrize(("form", "ending"), FORMATS)
def test_spoiled_files_of_every_format_of_pillow(tmp_path, form, ending):
    path = tmp_path / f"image{ending}"
    for _, content in list_contents(form):
        for number in range(6):
            path.write_bytes(spoil(content, number))
            for read in (read_still, open_source):
                with contextlib.suppress(SubbandError):
                    result = read(path, most_pixels=10**6)
                    if read is open_source:
                        result.close()


WRITTEN = {
    "8": [".avif", ".bmp", ".gif", ".ico", ".jp2", ".jpg", ".pam", ".png", ".ppm", ".qoi", ".tga", ".tiff", ".webp"],
    "16": [".jp2", ".pam", ".png", ".ppm", ".tiff"],
    "float": [".exr", ".pfm", ".tiff"],
    "moving": [".apng", ".avif", ".gif", ".webp"],
}


def write(path, depth):
    if depth == "moving":
        with open_sink(path, SourceInfo("film", COLOUR.shape, COLOUR.dtype, count=3, rate=10)) as sink:
            for number in range(3):
                sink.write(Frame(np.roll(COLOUR, number, axis=0), number, number / 10))
        return
    pixels = {"8": COLOUR, "16": COLOUR.astype(np.uint16) * 257, "float": COLOUR.astype(np.float32) / 255}[depth]
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x829A] = 0.125
    write_still(path, Still(pixels, exif=exif.tobytes(), metadata={"compression": "tiff_lzw"}))


@pytest.mark.parametrize(("depth", "ending"), [(depth, ending) for depth in WRITTEN for ending in WRITTEN[depth]])
def test_full_disk_leaves_nothing(tmp_path, av, depth, ending):
    resource = pytest.importorskip("resource", reason="this system has no limit on the size of files")
    path = tmp_path / f"image{ending}"
    write(path, depth)
    size = path.stat().st_size
    path.unlink()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in [*range(size - 30, size), size // 2, 8, 0]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            with pytest.raises(OutputError, match=r"cannot be written: files of this size are not allowed"):
                write(path, depth)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["image.png", "image.exr", "image.heic", "image.cr2", "image.tif", "image"])
@pytest.mark.parametrize(
    "content", [b"", b"\0", b"II*\0", b"MM\0*\0\0\0\x08", b"II+\0", b"P6", b"PF", b"P7\n", b"#?RADIANCE\n"]
)
def test_beginnings_alone(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    for read in (read_still, open_source):
        with pytest.raises(SubbandError, match=name):
            read(path)


@pytest.mark.parametrize("start", ["762f3101", "0000001866747970686569630000000068656963", "4655"])
def test_beginnings_with_nothing_behind(tmp_path, start):
    path = tmp_path / "image.bin"
    path.write_bytes(bytes.fromhex(start) + bytes(64))
    for read in (read_still, open_source):
        with pytest.raises(SubbandError, match=r"image\.bin"):
            read(path)
