"""What we write, OpenJPEG reads, and what OpenJPEG writes, we read; over settings drawn from a seeded generator."""

import io
import shutil
import subprocess
from dataclasses import dataclass

import numpy as np
import pytest
from PIL import Image, ImageCms

from subband.codecs.jpeg2000 import decode, encode, imread, read_header, transcode
from subband.media import read_still, write_still

imagecodecs = pytest.importorskip("imagecodecs")

ORDERS = ("LRCP", "RLCP", "RPCL", "PCRL", "CPRL")
STYLES = ("bypass", "reset", "terminate", "causal", "predictable", "segmentation")


def draw_size(rng, largest):
    rows, columns = (int(rng.integers(1, length + 1)) for length in largest)
    # thin pictures have bands without samples
    if rng.random() < 0.1:
        rows = int(rng.integers(1, 4))
    if rng.random() < 0.1:
        columns = int(rng.integers(1, 4))
    return rows, columns


def draw_picture(rng, rows, columns, components, bits, is_signed=False):
    """Draw waves, a checkerboard and noise, so that every pass has something to do."""
    y, x = np.mgrid[0:rows, 0:columns]
    peak = (1 << bits) - 1
    planes = []
    for number in range(components):
        across, down = rng.uniform(0.01, 0.2, 2)
        waves = 0.5 + 0.35 * np.sin(x * across + number) * np.cos(y * down - number)
        board = 0.1 * ((x // 7 + y // 5) % 2)
        planes.append(np.clip(np.rint((waves + board + rng.normal(0, 0.03, x.shape)) * peak), 0, peak))
    values = np.stack(planes, -1).astype(np.int64) - (1 << (bits - 1) if is_signed else 0)
    values = values.astype(f"{'int' if is_signed else 'uint'}{8 if bits <= 8 else 16}")
    return values[..., 0] if components == 1 else values


@dataclass
class Case:
    picture: np.ndarray
    bits: int
    options: dict
    is_lossless: bool


def draw_case(seed):
    """Draw a picture and the settings of our encoder."""
    rng = np.random.default_rng(seed)
    rows, columns = draw_size(rng, (500, 700) if rng.random() < 0.06 else (90, 120))
    bits = int(rng.choice([1, 2, 4, 5, 8, 8, 8, 8, 10, 12, 16, 16]))
    components = int(rng.choice([1, 1, 3, 3, 3, 4, 2, 5]))
    options = {"progression": str(rng.choice(ORDERS))}
    if rng.random() < 0.5:
        options["levels"] = int(rng.integers(0, 8))
    if rng.random() < 0.4:
        options["tile"] = tuple(int(rng.integers(max(8, side // 4), side + 20)) for side in (rows, columns))
    if rng.random() < 0.5:
        high = int(rng.integers(2, 8))
        options["block"] = (1 << high, 1 << int(rng.integers(2, min(10, 12 - high) + 1)))
    if rng.random() < 0.4:
        count = int(rng.integers(1, 4))
        options["precincts"] = [tuple(1 << int(side) for side in rng.integers(4, 9, 2)) for _ in range(count)]
    if rng.random() < 0.5:
        options["layers"] = int(rng.integers(1, 6))
    options |= {name: True for name in ("sop", "eph", "plt", "tlm") if rng.random() < 0.3}
    if rng.random() < 0.4:
        options["style"] = [name for name in STYLES if rng.random() < 0.35]
    if rng.random() < 0.25:
        options["origin"] = tuple(map(int, rng.integers(0, 40, 2)))
        tile = options.get("tile", (1000, 1000))
        if rng.random() < 0.5 or "tile" in options:
            ranges = zip(options["origin"], tile, strict=True)
            options["tile_origin"] = tuple(int(rng.integers(max(0, at - side + 1), at + 1)) for at, side in ranges)
    if components >= 3 and rng.random() < 0.2:
        options["colour"] = False
    kind = str(rng.choice(["lossless", "lossless", "rate", "psnr", "step"]))
    if kind == "rate":
        options["rate"] = float(rng.uniform(0.3, 4) * components)
    elif kind == "psnr":
        options["psnr"] = float(rng.uniform(28, 50))
    elif kind == "step":
        options |= {"lossless": False, "step": float(rng.uniform(0.002, 0.05) * 2**bits)}
    picture = draw_picture(rng, rows, columns, components, bits, rng.random() < 0.15)
    return Case(picture, bits, options, kind == "lossless")


def allow_difference(bits):
    """One grey level; at 16 bits OpenJPEG is up to 4 off double precision, and ours is not: see the test below."""
    return 1 + 6e-5 * 2**bits


def measure_difference(a, b):
    assert a.shape == b.shape
    return np.abs(a.astype(np.int64) - b.astype(np.int64)).max(initial=0)


@pytest.mark.parametrize("rate", [1.0, 4.0, 8.0])
def test_sixteen_bits_are_within_a_level_of_double_precision(rate):
    rng = np.random.default_rng(0)
    picture = np.clip(np.linspace(0, 65535, 96 * 128).reshape(96, 128) + rng.normal(0, 900, (96, 128)), 0, 65535)
    data = encode(picture.astype(np.uint16), rate=rate)
    exact = imread(io.BytesIO(data), engine="reference")
    assert measure_difference(imread(io.BytesIO(data)), exact) <= 1


@pytest.mark.parametrize("seed", range(150))
def test_openjpeg_reads_what_we_write(seed):
    case = draw_case(seed)
    data = encode(case.picture, bits=case.bits, **case.options)
    theirs, ours = np.asarray(imagecodecs.jpeg2k_decode(data)), imread(io.BytesIO(data))
    if case.is_lossless:
        np.testing.assert_array_equal(theirs, case.picture)
        np.testing.assert_array_equal(ours, case.picture)
    else:
        assert measure_difference(theirs, ours) <= allow_difference(case.bits)
    if (
        case.options.get("levels") != 0
        and "psnr" in case.options
        and min(case.picture.shape[:2]) > 16
        and case.bits > 4
    ):
        error = np.mean((ours.astype(float) - case.picture) ** 2)
        assert 10 * np.log10((2**case.bits - 1) ** 2 / error) > case.options["psnr"] - 0.5


@pytest.mark.parametrize("seed", range(3000, 3020))
def test_pillow_reads_what_we_write(seed):
    case = draw_case(seed)
    components = 1 if case.picture.ndim == 2 else case.picture.shape[2]
    picture = draw_picture(np.random.default_rng(seed), *case.picture.shape[:2], min(components, 4), 8)
    data = encode(picture, **case.options)
    theirs = np.asarray(Image.open(io.BytesIO(data)))
    if case.is_lossless:
        np.testing.assert_array_equal(theirs, picture)
    else:
        assert measure_difference(theirs, imread(io.BytesIO(data))) <= 1


@pytest.mark.parametrize("seed", range(150))
def test_files_are_valid(seed, tmp_path):
    case = draw_case(seed)
    check_file(encode(case.picture, bits=case.bits, dpi=300.0 if seed % 2 else None, **case.options), tmp_path)


@pytest.mark.parametrize("seed", range(0, 150, 5))
def test_ffmpeg_reads_what_we_write(seed):
    av = pytest.importorskip("av")
    case = draw_case(seed)
    # it has no formats of two and five components, nor of signed ones, and takes subsampled tiles for others
    components = min(1 if case.picture.ndim == 2 else case.picture.shape[2], 4)
    components = {2: 1}.get(components, components)
    picture = draw_picture(np.random.default_rng(seed), *case.picture.shape[:2], components, 8)
    options = {name: value for name, value in case.options.items() if name not in ("origin", "tile_origin", "style")}
    data = encode(picture, **options)
    with av.open(io.BytesIO(data)) as container:
        frame = next(container.decode(video=0))
    found = frame.to_ndarray(format={1: "gray", 3: "rgb24", 4: "rgba"}[components])
    if case.is_lossless:
        np.testing.assert_array_equal(found, picture)
    else:
        assert measure_difference(found, imread(io.BytesIO(data))) <= 1


@pytest.mark.parametrize("seed", range(5000, 5040))
def test_high_throughput_files_are_valid(seed, tmp_path):
    case = draw_ht_case(seed)
    check_file(encode(case.picture, bits=case.bits, **case.options), tmp_path, "jph")


def test_boxes_are_valid(tmp_path):
    picture = draw_picture(np.random.default_rng(0), 50, 60, 3, 8)
    red, green, blue = (picture[..., number] for number in range(3))
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    check_file(encode(picture, icc=profile), tmp_path)
    check_file(encode([red, green[::2, ::2], blue[::2, ::2]], space="ycc"), tmp_path)
    check_file(encode([red, green > 100, blue], bits=[8, 1, 8]), tmp_path)
    check_file(encode(np.dstack([picture, red]), dpi=(72.0, 96.5)), tmp_path)
    check_file(encode(np.dstack([picture, picture])), tmp_path)
    check_file(encode(picture[..., :2]), tmp_path)


def check_file(data, folder, form="jp2"):
    jpylyzer = pytest.importorskip("jpylyzer.jpylyzer")
    path = folder / f"picture.{form}"
    path.write_bytes(data)
    found = jpylyzer.checkOneFile(str(path), form)
    failed = [element.tag for element in found.find("tests").iter() if (element.text or "").strip() == "False"]
    assert found.findtext("isValid") == "True", failed


@pytest.mark.parametrize("seed", range(1000, 1050))
def test_we_read_what_pillow_writes(seed):
    rng = np.random.default_rng(seed)
    rows, columns = draw_size(rng, (500, 700) if rng.random() < 0.06 else (90, 120))
    components = int(rng.choice([1, 2, 3, 3, 4]))
    bits = 16 if components == 1 and rng.random() < 0.3 else 8
    picture = draw_picture(rng, rows, columns, components, bits)
    is_lossless = bool(rng.random() < 0.5)
    options = {
        "irreversible": not is_lossless,
        "progression": str(rng.choice(ORDERS)),
        "no_jp2": bool(rng.random() < 0.5),
        "mct": int(components >= 3 and rng.random() < 0.7),
        "num_resolutions": int(rng.integers(1, max(1, min(rows, columns)).bit_length() + 1)),
    }
    if rng.random() < 0.5:
        options["tile_size"] = tuple(int(rng.integers(max(8, side // 3), side + 20)) for side in (columns, rows))
        # OpenJPEG stops the whole process where 9/7 meets a single row or column
        least = min(side % tile or tile for side, tile in zip((columns, rows), options["tile_size"], strict=True))
        options["num_resolutions"] = max(1, min(options["num_resolutions"], least.bit_length() - 1))
    if rng.random() < 0.5:
        high = int(rng.integers(2, 7))
        options["codeblock_size"] = (1 << int(rng.integers(2, min(10, 12 - high) + 1)), 1 << high)
    if rng.random() < 0.4:
        options["precinct_size"] = tuple(1 << int(side) for side in rng.integers(6, 9, 2))
        options.setdefault("codeblock_size", (32, 32))
        options["codeblock_size"] = tuple(min(side, 32) for side in options["codeblock_size"])
    if not is_lossless:
        options |= {"quality_mode": "rates", "quality_layers": sorted(map(float, rng.uniform(2, 40, 3)), reverse=True)}
    if rng.random() < 0.3:
        options["plt"] = True
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG2000", **options)
    theirs = np.asarray(imagecodecs.jpeg2k_decode(file.getvalue()))
    ours = imread(io.BytesIO(file.getvalue()))
    if is_lossless:
        np.testing.assert_array_equal(ours, picture)
    else:
        assert measure_difference(ours, theirs) <= allow_difference(bits)


@pytest.mark.parametrize("seed", range(2000, 2040))
def test_we_read_what_imagecodecs_writes(seed):
    rng = np.random.default_rng(seed)
    rows, columns = draw_size(rng, (90, 120))
    bits = int(rng.choice([1, 3, 8, 8, 10, 12, 16]))
    components = int(rng.choice([1, 3, 4, 5]))
    picture = draw_picture(rng, rows, columns, components, bits, bits in (8, 16) and rng.random() < 0.2)
    is_lossless = bool(rng.random() < 0.6)
    options = {
        "reversible": is_lossless,
        "codecformat": str(rng.choice(["jp2", "j2k"])),
        "bitspersample": bits if picture.dtype.kind == "u" else None,
        "resolutions": int(rng.integers(1, min(6, max(1, min(rows, columns)).bit_length()) + 1)),
        "level": None if is_lossless else float(rng.uniform(30, 60)),
        "mct": bool(components == 3 and rng.random() < 0.7),
    }
    data = imagecodecs.jpeg2k_encode(picture, **options)
    ours, theirs = imread(io.BytesIO(data)), np.asarray(imagecodecs.jpeg2k_decode(data))
    if is_lossless:
        np.testing.assert_array_equal(ours, picture)
    else:
        assert measure_difference(ours, theirs) <= allow_difference(bits)


@pytest.mark.parametrize("ht", [False, True], ids=["Part 1", "HT"])
@pytest.mark.parametrize(("steps", "is_lossless"), [((2, 2), True), ((1, 2), True), ((2, 2), False)])
def test_subsampled_components(steps, is_lossless, ht):
    av = pytest.importorskip("av")
    rng = np.random.default_rng(0)
    whole = draw_picture(rng, 101, 75, 3, 8)
    planes = [np.ascontiguousarray(whole[..., 0]), *(whole[:: steps[0], :: steps[1], each].copy() for each in (1, 2))]
    data = encode(planes, space="ycc", ht=ht, **({} if is_lossless else {"psnr": 45.0}))
    picture = decode(data)
    assert picture.steps == ((1, 1), steps, steps)
    # left to itself, it takes what begins like a .jph for a film
    with av.open(io.BytesIO(data), format="j2k_pipe") as container:
        frame = next(container.decode(video=0))
    for own, theirs, original in zip(picture.planes, frame.planes, planes, strict=True):
        rows, columns = original.shape
        found = np.frombuffer(theirs, np.uint8).reshape(theirs.height, theirs.line_size)[:rows, :columns]
        if is_lossless:
            np.testing.assert_array_equal(own, original)
            np.testing.assert_array_equal(found, original)
        else:
            assert measure_difference(own, found) <= 1


def draw_ht_case(seed):
    """Draw a picture and settings of high-throughput blocks that OpenJPH knows, which has no layers.

    It lets what is above white or below black wrap around, so that lossy pictures stay away from both.
    """
    case = draw_case(seed)
    options = {name: value for name, value in case.options.items() if name != "layers"} | {"ht": True}
    options["style"] = [name for name in options.get("style", ()) if name == "causal"]
    picture = case.picture
    if not case.is_lossless:
        picture = picture // 2 + (0 if picture.dtype.kind == "i" else (1 << case.bits) // 4)
    return Case(picture.astype(case.picture.dtype), case.bits, options, case.is_lossless)


@pytest.mark.parametrize("seed", range(5000, 5200))
def test_openjph_reads_what_we_write(seed):
    case = draw_ht_case(seed)
    data = encode(case.picture, bits=case.bits, form="j2k", **case.options)
    theirs, ours = np.asarray(imagecodecs.htj2k_decode(data, planar=False)), imread(io.BytesIO(data))
    if case.is_lossless:
        np.testing.assert_array_equal(ours, case.picture)
        np.testing.assert_array_equal(theirs, case.picture)
    else:
        assert measure_difference(theirs, ours) <= allow_difference(case.bits)


@pytest.mark.parametrize("block", [(4, 4), (4, 1024), (1024, 4), (64, 64)], ids=str)
@pytest.mark.parametrize("size", [(1, 2100), (2100, 1), (131, 1027), (1025, 67)], ids=str)
def test_openjph_reads_noise_of_every_depth(size, block):
    """Blocks that nothing can shorten take the most room that there is."""
    rng = np.random.default_rng(0)
    for bits in range(1, 17):
        picture = rng.integers(0, 1 << bits, size).astype(np.uint8 if bits <= 8 else np.uint16)
        options = {"levels": bits % 4, "block": block, "style": ["causal"][: bits % 2]}
        data = encode(picture, bits=bits, ht=True, form="j2k", **options)
        found = np.asarray(imagecodecs.htj2k_decode(data, planar=False)).reshape(size)
        np.testing.assert_array_equal(found, picture)
        np.testing.assert_array_equal(decode(data).samples, picture)


@pytest.mark.parametrize("seed", range(5000, 5030))
def test_openjpeg_reads_high_throughput_blocks(seed):
    case = draw_ht_case(seed)
    data = encode(case.picture, bits=case.bits, **case.options)
    theirs, ours = np.asarray(imagecodecs.jpeg2k_decode(data)), imread(io.BytesIO(data))
    assert measure_difference(theirs, ours) <= (0 if case.is_lossless else allow_difference(case.bits))


@pytest.mark.parametrize("is_lossless", [True, False])
@pytest.mark.parametrize("size", [(1, 1), (1, 300), (300, 2), (257, 511), (4096, 4096)], ids=str)
def test_the_smallest_and_the_largest_sizes_and_levels_go_both_ways(size, is_lossless):
    piece = draw_picture(np.random.default_rng(8), *(min(side, 512) for side in size), 1, 8) // 2 + 64
    picture = np.tile(piece, [side // min(side, 512) for side in size])
    ours = encode(picture, ht=True, levels=8, form="j2k", **({} if is_lossless else {"step": 2.0}))
    level = {} if is_lossless else {"level": 0.005}
    theirs = imagecodecs.htj2k_encode(picture, reversible=is_lossless, resolutions=8, **level)
    for data in (ours, theirs):
        found, own = np.asarray(imagecodecs.htj2k_decode(data, planar=False)), imread(io.BytesIO(data))
        assert measure_difference(found.reshape(size), own) <= (0 if is_lossless else 1)
        assert not is_lossless or np.array_equal(own, picture)


@pytest.mark.skipif(shutil.which("ojph_expand") is None, reason="Debian's openjph-tools is not installed")
@pytest.mark.parametrize("steps", [(2, 2), (1, 2), (2, 1)], ids=str)
def test_openjph_reads_subsampled_components(steps, tmp_path):
    whole = draw_picture(np.random.default_rng(9), 101, 75, 3, 8)
    planes = [whole[..., 0], *(whole[:: steps[0], :: steps[1], each] for each in (1, 2))]
    (tmp_path / "in.j2c").write_bytes(encode(planes, ht=True, form="j2k"))
    command = ["ojph_expand", "-i", "in.j2c", "-o", "out.yuv"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    found = np.fromfile(tmp_path / "out.yuv", np.uint8)
    np.testing.assert_array_equal(found, np.concatenate([plane.ravel() for plane in planes]))


@pytest.mark.parametrize("seed", range(0, 150, 3))
def test_transcoding_loses_nothing_and_openjph_reads_it(seed):
    case = draw_case(seed)
    data = encode(case.picture, bits=case.bits, form="j2k", **case.options)
    fast = transcode(data)
    for other in (fast, transcode(fast, ht=False)):
        np.testing.assert_array_equal(decode(other).samples, decode(data).samples)
    if case.is_lossless:
        np.testing.assert_array_equal(imagecodecs.htj2k_decode(fast, planar=False), case.picture)


@pytest.mark.parametrize("seed", range(6000, 6120))
def test_we_read_what_openjph_writes(seed):
    rng = np.random.default_rng(seed)
    rows, columns = draw_size(rng, (500, 700) if rng.random() < 0.06 else (90, 120))
    components = int(rng.choice([1, 1, 3, 3, 4]))
    bits = int(rng.choice([8, 8, 16]))
    picture = draw_picture(rng, rows, columns, components, bits, rng.random() < 0.15)
    is_lossless = bool(rng.random() < 0.5)
    if not is_lossless:
        picture = (picture // 2 + (0 if picture.dtype.kind == "i" else (1 << bits) // 4)).astype(picture.dtype)
    options = {"reversible": is_lossless, "resolutions": int(rng.integers(0, 9))}
    if not is_lossless:
        options["level"] = float(rng.uniform(0.0005, 0.05))
    if rng.random() < 0.5:
        options["tile"] = tuple(int(rng.integers(max(8, side // 3), side + 20)) for side in (rows, columns))
    if rng.random() < 0.3:
        options["tlm"] = True
    data = imagecodecs.htj2k_encode(picture, **options)
    ours, theirs = imread(io.BytesIO(data)), np.asarray(imagecodecs.htj2k_decode(data, planar=False))
    if is_lossless:
        np.testing.assert_array_equal(ours, picture)
    else:
        assert measure_difference(ours, theirs) <= allow_difference(bits)


@pytest.mark.skipif(shutil.which("ojph_compress") is None, reason="Debian's openjph-tools is not installed")
@pytest.mark.parametrize("seed", range(7000, 7040))
def test_we_read_what_openjph_writes_with_all_its_options(seed, tmp_path):
    rng = np.random.default_rng(seed)
    rows, columns = (int(side) for side in rng.integers(8, 120, 2))
    across, down = (int(step) for step in rng.choice([1, 2], 2))
    bits = int(rng.choice([8, 10, 12, 16]))
    whole = draw_picture(rng, rows, columns, 3, bits)
    planes = [whole[..., 0], *(whole[::down, ::across, each] for each in (1, 2))]
    x, y, block = (int(side) for side in (*rng.integers(0, 3, 2), rng.integers(2, 7)))
    tile = (columns, rows) if rng.random() < 0.5 else (columns // 2 + 3, rows // 2 + 1)
    (tmp_path / "in.yuv").write_bytes(
        b"".join(plane.astype("<u1" if bits == 8 else "<u2").tobytes() for plane in planes)
    )
    command = [
        "ojph_compress", "-i", "in.yuv", "-o", "out.j2c", "-num_decomps", str(rng.integers(0, 6)),
        "-reversible", "true", "-prog_order", str(rng.choice(ORDERS)),
        "-block_size", f"{{{1 << block},{1 << int(rng.integers(2, min(10, 12 - block) + 1))}}}",
        "-precincts", f"{{{1 << (6 + x)},{1 << (6 + y)}}}", "-tile_size", f"{{{tile[0]},{tile[1]}}}",
        "-dims", f"{{{columns},{rows}}}", "-num_comps", "3", "-signed", "false,false,false",
        "-bit_depth", ",".join([str(bits)] * 3), "-downsamp", f"{{1,1}},{{{across},{down}}},{{{across},{down}}}",
    ]  # fmt: skip
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    for own, plane in zip(decode(tmp_path / "out.j2c").planes, planes, strict=True):
        np.testing.assert_array_equal(own, plane)


def read_bands(rasterio, path):
    """Return what GDAL reads, as rows × columns × bands or without these."""
    with rasterio.open(path, driver="JP2OpenJPEG") as file:
        bands = file.read()
    return bands[0] if len(bands) == 1 else np.moveaxis(bands, 0, -1)


@pytest.mark.filterwarnings("ignore:.*no geotransform")
@pytest.mark.parametrize("seed", range(0, 150, 5))
def test_gdal_reads_what_we_write(seed, tmp_path):
    rasterio = pytest.importorskip("rasterio", reason="GDAL comes with rasterio, which is not installed")
    case = draw_case(seed)
    # it reads images from the origin of the grid alone, and takes 8 bits with a sign for such without
    options = {name: value for name, value in case.options.items() if "origin" not in name}
    picture = case.picture.view(np.uint8) if case.picture.dtype == np.int8 else case.picture
    bits = 8 * picture.dtype.itemsize if case.picture.dtype == np.int8 else case.bits
    path = tmp_path / "image.jp2"
    path.write_bytes(encode(picture, bits=bits, **options))
    found = read_bands(rasterio, path)
    if case.is_lossless:
        np.testing.assert_array_equal(found, picture)
    else:
        assert measure_difference(found, imread(path)) <= allow_difference(bits)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_places_on_earth_stay(tmp_path):
    rasterio = pytest.importorskip("rasterio", reason="GDAL comes with rasterio, which is not installed")
    place = rasterio.transform.from_origin(500000.0, 5400000.0, 10.0, 10.0)
    pixels = np.random.default_rng(0).integers(0, 256, (3, 40, 50), dtype=np.uint8)
    first = tmp_path / "first.jp2"
    options = {"driver": "JP2OpenJPEG", "height": 40, "width": 50, "count": 3, "dtype": "uint8"}
    with rasterio.open(
        first, "w", crs="EPSG:32632", transform=place, QUALITY="100", REVERSIBLE="YES", **options
    ) as file:
        file.write(pixels)
    assert any(content.startswith(bytes.fromhex("b14bf8bd")) for _, content in read_header(first).extras)
    write_still(tmp_path / "second.jp2", read_still(first))
    (tmp_path / "third.jp2").write_bytes(encode(imread(first), boxes=read_header(first).extras))
    for name in ("second.jp2", "third.jp2"):
        with rasterio.open(tmp_path / name) as file:
            assert file.crs.to_epsg() == 32632
            assert file.transform.almost_equals(place)
            np.testing.assert_array_equal(file.read(), pixels)
