"""VC-2 streams as sources and sinks of frames."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from subband.errors import ArgumentError, FormatError
from subband.media import (
    ColourTags,
    DamagedError,
    DamageWarning,
    Frame,
    LossWarning,
    SourceInfo,
    open_sink,
    open_source,
)

pytest.importorskip("av")

INFO = SourceInfo(
    "film", (48, 64, 3), np.dtype("uint8"), colours="ycbcr", rate=Fraction(30), chroma_steps=(2, 2),
    tags=ColourTags(5, False, 6, 1),
)  # fmt: skip


def draw(info, number=0):
    rng = np.random.default_rng(number)
    top = (1 << info.bits) - 1
    pixels = rng.integers(0, top + 1, info.shape)
    if info.colours == "ycbcr":
        down, across = info.chroma_steps
        for channel in (1, 2):
            plane = pixels[::down, ::across, channel]
            pixels[..., channel] = plane.repeat(down, 0).repeat(across, 1)[: info.shape[0], : info.shape[1]]
        if info.dtype == np.uint16:
            pixels = pixels << 16 - info.bits
    elif info.dtype == np.uint16:
        pixels = pixels * 65535 // top
    return Frame(pixels.astype(info.dtype), number)


def write(path, info, count=3, **options):
    frames = [draw(info, number) for number in range(count)]
    with open_sink(path, info, **options) as sink:
        for frame in frames:
            sink.write(frame)
    return frames


@pytest.mark.parametrize(
    "info",
    [
        INFO,
        replace(INFO, chroma_steps=(1, 2), dtype=np.dtype("uint16"), bits=10),
        replace(INFO, chroma_steps=(1, 1), dtype=np.dtype("uint16"), bits=12, tags=ColourTags(9, True, 9, 16)),
        replace(INFO, field_order="bottom", chroma_steps=(1, 2)),
        replace(INFO, colours="rgb", chroma_steps=(1, 1), tags=ColourTags(0)),
        replace(INFO, shape=(47, 63, 3), chroma_steps=(1, 1)),
    ],
)
def test_frames_come_back(tmp_path, info):
    path = tmp_path / "video.vc2"
    frames = write(path, info, quality=100)
    with open_source(path, colours="ycbcr") as source:
        found = list(source)
        assert (source.info.shape, source.info.dtype, source.info.bits) == (info.shape, info.dtype, info.bits)
        assert (source.info.count, source.info.rate, source.info.colours) == (3, info.rate, info.colours)
        assert source.info.field_order == info.field_order
        assert source.info.chroma_steps == info.chroma_steps
    for frame, known in zip(found, frames, strict=True):
        np.testing.assert_array_equal(frame.pixels, known.pixels)
    assert [frame.time for frame in found] == [0, pytest.approx(1 / 30), pytest.approx(2 / 30)]


def test_tags_come_back(tmp_path):
    write(tmp_path / "video.vc2", replace(INFO, tags=ColourTags(9, True, 9, 16), pixel_aspect=Fraction(10, 11)))
    with open_source(tmp_path / "video.vc2") as source:
        assert source.info.tags == ColourTags(9, True, 9, 16)
        assert source.info.pixel_aspect == Fraction(10, 11)


def test_fields_of_shared_chroma_come_back(tmp_path):
    info = replace(INFO, field_order="top")
    frame = draw(replace(INFO, chroma_steps=(1, 2)))
    pixels = frame.pixels.copy()
    # rows of a field share their chroma
    for field in (0, 1):
        rows = pixels[field::2]
        rows[1::2, :, 1:] = rows[0::2, :, 1:]
    with open_sink(tmp_path / "video.vc2", info, quality=100) as sink:
        sink.write(Frame(pixels, metadata={"fields": "top"}))
    with open_source(tmp_path / "video.vc2", colours="ycbcr") as source:
        (found,) = source
    np.testing.assert_array_equal(found.pixels, pixels)
    assert found.metadata["fields"] == "top"


def test_grey_is_coded_with_neutral_chroma(tmp_path):
    info = replace(INFO, shape=(48, 64), colours="grey", chroma_steps=(1, 1))
    frames = write(tmp_path / "video.vc2", info, quality=100)
    with open_source(tmp_path / "video.vc2", colours="rgb") as source:
        found = next(iter(source)).pixels
    assert np.abs(found.astype(int) - frames[0].pixels[..., None]).max() <= 2


def test_a_lower_quality_is_smaller(tmp_path):
    sizes = []
    for quality in (100, 75, 40):
        path = tmp_path / f"{quality}.vc2"
        write(path, INFO, quality=quality)
        sizes.append(path.stat().st_size)
    assert sizes == sorted(sizes, reverse=True)


def test_damage_is_told_where_it_lies(tmp_path):
    path = tmp_path / "video.vc2"
    write(path, INFO)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3 - 100])
    with open_source(path) as source, pytest.raises(DamagedError, match="tolerant") as caught:
        list(source)
    assert caught.value.frames == 1
    with open_source(path, tolerant=True) as source, pytest.warns(DamageWarning):
        assert len(list(source)) == 2


def test_what_is_no_stream_is_refused(tmp_path):
    path = tmp_path / "video.vc2"
    path.write_bytes(b"nothing that is VC-2")
    with pytest.raises(FormatError, match="VC-2"):
        open_source(path)
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="empty"):
        open_source(path)
    with pytest.raises(ArgumentError, match="one codec"):
        open_sink(tmp_path / "other.vc2", INFO, codec="h264")
    with pytest.raises(ArgumentError, match="quality=101"):
        open_sink(tmp_path / "other.vc2", INFO, quality=101)


def test_what_is_lost_is_named(tmp_path):
    with pytest.warns(LossWarning, match="keeps no opacity"):
        open_sink(tmp_path / "video.vc2", replace(INFO, has_alpha=True)).abort()
    assert not list(tmp_path.iterdir())
