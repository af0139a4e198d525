"""Headers: what is written is read back, and what cannot be is refused."""

from fractions import Fraction

import numpy as np
import pytest

from subband.codecs.vc2.bits import BitReader, BitWriter
from subband.codecs.vc2.parameters import TransformParameters
from subband.codecs.vc2.rate import fit_quantisers, measure
from subband.codecs.vc2.sequence import HIGH_QUALITY, LOW_DELAY, SequenceHeader, VideoFormat
from subband.codecs.vc2.stream import UnitWriter, find_units
from subband.codecs.vc2.wavelets import WAVELETS, default_matrix
from subband.errors import ArgumentError, CodecError

tables = pytest.importorskip("vc2_data_tables")


@pytest.mark.parametrize("number", [0, 1, 2, 3, 6, 7, 1000, (1 << 32) - 2])
def test_numbers_come_back(number):
    writer = BitWriter()
    writer.number(number)
    writer.flag(True)
    reader = BitReader(writer.finish(), "x")
    assert (reader.number(), reader.flag()) == (number, True)


def test_numbers_that_end_early_or_never_are_refused():
    with pytest.raises(CodecError, match="x ends early"):
        BitReader(b"\0", "x").number()
    with pytest.raises(CodecError, match="more than 32 bits"):
        BitReader(bytes(20), "x").number()


@pytest.mark.parametrize(
    "video",
    [
        VideoFormat(1920, 1080, "4:2:2", VideoFormat.make_signal(10), Fraction(50)),
        VideoFormat(64, 48, "4:4:4", VideoFormat.make_signal(16, is_full=True), Fraction(7, 3), Fraction(10, 11)),
        VideoFormat(720, 576, "4:2:0", is_interlaced=True, top_field_first=False, primaries=4, matrix=4, transfer=5),
    ],
)
def test_sequence_headers_come_back(video):
    header = SequenceHeader(video, video.is_interlaced, major=3)
    assert SequenceHeader.read(header.write()) == header


def test_base_formats_are_those_of_the_standard():
    for index, base in tables.BASE_VIDEO_FORMAT_PARAMETERS.items():
        writer = BitWriter()
        for number in (2, 0, 3, 0, int(index)):
            writer.number(number)
        for _ in range(8):
            writer.flag(False)
        writer.number(0)
        video = SequenceHeader.read(writer.finish()).video
        rate = tables.PRESET_FRAME_RATES[base.frame_rate_index]
        aspect = tables.PRESET_PIXEL_ASPECT_RATIOS[base.pixel_aspect_ratio_index]
        colours = tables.PRESET_COLOR_SPECS[base.color_spec_index]
        assert (video.columns, video.rows) == (base.frame_width, base.frame_height)
        assert ["4:4:4", "4:2:2", "4:2:0"].index(video.sampling) == base.color_diff_format_index
        assert (video.is_interlaced, video.top_field_first) == (bool(base.source_sampling), base.top_field_first)
        assert (video.rate, video.aspect) == (Fraction(*rate), Fraction(*aspect))
        assert video.signal == tuple(tables.PRESET_SIGNAL_RANGES[base.signal_range_index])
        assert (video.primaries, video.matrix, video.transfer) == tuple(colours)


@pytest.mark.parametrize("name", ["PRESET_FRAME_RATES", "PRESET_PIXEL_ASPECT_RATIOS"])
def test_presets_are_those_of_the_standard(name):
    for index, value in getattr(tables, name).items():
        writer = BitWriter()
        for number in (3, 0, 3, 0, 0):
            writer.number(number)
        flags = 3 if name == "PRESET_FRAME_RATES" else 4
        for _ in range(flags):
            writer.flag(False)
        writer.choice(int(index))
        for _ in range(8 - flags - 1):
            writer.flag(False)
        writer.number(0)
        video = SequenceHeader.read(writer.finish()).video
        assert (video.rate if flags == 3 else video.aspect) == Fraction(*value)


def test_default_matrices_are_those_of_the_standard():
    for (vertical, horizontal, depth, depth_ho), levels in tables.QUANTISATION_MATRICES.items():
        known = tuple(value for level in sorted(levels) for value in levels[level].values())
        assert default_matrix(int(vertical), int(horizontal), depth, depth_ho) == known
        made = TransformParameters(int(vertical), int(horizontal), depth, depth_ho, (1, 1), matrix=known)
        assert TransformParameters.read(made.write(3), 3, HIGH_QUALITY)[0] == made


def test_wavelets_are_those_of_the_standard():
    for index, known in tables.LIFTING_FILTERS.items():
        wavelet = WAVELETS[int(index)]
        assert wavelet.shift == known.filter_bit_shift
        for step, stage in zip(wavelet.steps, reversed(known.stages), strict=True):
            is_odd = int(stage.lift_type) in (3, 4)
            sign = 1 if int(stage.lift_type) in (2, 4) else -1
            assert (step.kind == "predict") == is_odd
            assert step.start == stage.D - (0 if is_odd else 1)
            assert (list(step.taps), step.shift) == ([sign * tap for tap in stage.taps], stage.S)
            half = 1 << stage.S >> 1
            assert step.offset == (half if sign > 0 else max((1 << stage.S) - 1 - half, 0))


@pytest.mark.parametrize("major", [2, 3])
def test_parameters_come_back(major):
    asymmetric = {"wavelet_ho": 3, "depth_ho": 2} if major == 3 else {"wavelet_ho": 1, "depth_ho": 0}
    bands = 1 + 9 + asymmetric["depth_ho"]
    made = TransformParameters(1, depth=3, slices=(5, 7), prefix=3, scaler=4, matrix=tuple(range(bands)), **asymmetric)
    data = made.write(major)
    assert TransformParameters.read(data + b"more", major, HIGH_QUALITY) == (made, len(data))


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((9, 1, 1, 1, 0, 1), "wavelet 9"),
        ((1, 99, 1, 1, 0, 1), "99 levels"),
        ((1, 1, 0, 1, 0, 1), "0 × 1 slices"),
        ((1, 1, 1 << 15, 1 << 15, 0, 1), "slices"),
        ((1, 1, 1, 1, 0, 0), "units of 0"),
        ((1, 5, 1, 1, 0, 1), "no quantisation matrix"),
    ],
)
def test_parameters_that_cannot_be_are_refused(numbers, message):
    writer = BitWriter()
    for number in numbers:
        writer.number(number)
    writer.flag(False)
    with pytest.raises(CodecError, match=message):
        TransformParameters.read(writer.finish(), 2, HIGH_QUALITY)


def test_slices_of_low_delay_have_a_byte_at_least():
    writer = BitWriter()
    for number in (1, 1, 1, 1, 2, 3):
        writer.number(number)
    with pytest.raises(CodecError, match="shorter than one"):
        TransformParameters.read(writer.finish(), 1, LOW_DELAY)


def test_units_without_lengths_end_before_the_next():
    data = bytearray(UnitWriter().write([(0x20, b"first"), (0x30, b"second"), (0x10, b"")]))
    data[5:9] = bytes(4)
    assert [bytes(unit.payload) for unit in find_units(bytes(data))] == [b"first", b"second", b""]
    with pytest.raises(CodecError, match="no unit of VC-2 at byte 18"):
        list(find_units(UnitWriter().write([(0x20, b"first")]) + b"something else"))


@pytest.mark.parametrize("signal", [(0, 1 << 17, 0, 255)])
def test_formats_that_cannot_be_are_refused(signal):
    with pytest.raises(ArgumentError, match="18 bits"):
        VideoFormat(8, 8, signal=signal)


@pytest.mark.parametrize("guess", [0, 20, 116])
@pytest.mark.parametrize("budget", [100, 1000, 5000, 100000])
def test_quantisers_fill_the_budget(guess, budget):
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 200, (50, 3))
    calls = []

    def count(quantisers):
        return (weights * 2.0 ** (-quantisers[:, None] / 8)).astype(np.int64)

    def count_two(quantiser):
        calls.append(1)
        return np.array([count(np.full(50, each)) for each in (quantiser, max(quantiser - 1, 0))])

    quantisers, lengths = fit_quantisers(count_two, budget, guess)
    assert (lengths == count(quantisers)).all()
    coarsest = measure(count(np.full(50, 116)))
    assert measure(lengths) <= max(budget, coarsest)
    finer = count(np.maximum(quantisers - 1, 0))
    assert quantisers.max() == 0 or coarsest > budget or measure(finer) > budget
    assert len(calls) < 18
