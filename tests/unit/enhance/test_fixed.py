"""Coefficients in 8 to 16 bits: the numbers of the paper, what comes back, and where its claim holds."""

import numpy as np
import pytest

from subband import Pyramid, Wavelet, data, decompose, reconstruct
from subband.enhance.fixed import FixedPoint
from subband.errors import SubbandError

ROOT2, ROOT3 = np.sqrt(2), np.sqrt(3)

#: Table 1 of the paper.
HAAR = (np.array([1, 1]) / ROOT2, np.array([1, -1]) / ROOT2)
DAUBECHIES = (
    np.array([1 + ROOT3, 3 + ROOT3, 3 - ROOT3, 1 - ROOT3]) / (4 * ROOT2),
    np.array([1 - ROOT3, -3 + ROOT3, 3 + ROOT3, -1 - ROOT3]) / (4 * ROOT2),
)
PAPER = pytest.mark.parametrize(("wavelet", "filters"), [("haar", HAAR), ("db2", DAUBECHIES)], ids=["haar", "db2"])

#: Photographs, noise, and only black and white: all that makes roundings large.
PICTURES = {
    "camera": data.camera(),
    "ascent": data.ascent(),
    "noise": np.random.default_rng(0).integers(0, 256, (512, 512)).astype(np.uint8),
    "extremes": (np.random.default_rng(1).integers(0, 2, (512, 512)) * 255).astype(np.uint8),
}


def make_pixels(shape, dtype):
    return np.random.default_rng(2).integers(0, np.iinfo(dtype).max, shape, endpoint=True).astype(dtype)


def find_error(fixed, picture, level, axes=(-2, -1)):
    """Return the largest difference after the way there and back."""
    back = fixed.inverse(fixed.forward(picture, level, axes))
    assert back.dtype == picture.dtype
    assert back.shape == picture.shape
    return int(np.abs(back.astype(np.int64) - picture).max())


def find_largest_error(fixed, level):
    return max(find_error(fixed, picture, level) for picture in PICTURES.values())


@PAPER
def test_scale_and_bias_are_those_of_section_6(wavelet, filters):
    fixed = FixedPoint(wavelet)
    for taps, scaling, inverse in zip(filters, (fixed.low, fixed.high), fixed.compensation, strict=True):
        negative, positive = np.minimum(taps, 0).sum(), np.maximum(taps, 0).sum()
        scale = 1 / (positive - negative)
        assert scaling == pytest.approx((scale, -negative * scale))
        assert inverse == pytest.approx((1 / scale, negative * taps[0::2].sum(), negative * taps[1::2].sum()))


@PAPER
def test_one_level_is_that_of_equation_18(wavelet, filters):
    signal = make_pixels(64, np.uint8)
    bands = FixedPoint(wavelet, 8, "periodic").forward(signal, 1, axes=0)
    for taps, band in zip(filters, (bands.approximation, bands.details[0]["d"]), strict=True):
        scale = 1 / np.abs(taps).sum()
        # Our coefficients begin a filter's length less two earlier than the paper's, which begin at the first sample.
        windows = np.stack([np.roll(signal.astype(float), -k)[::2] for k in range(len(taps))])
        exact = scale * (taps @ windows) + 256 * -np.minimum(taps, 0).sum() * scale
        held = band[len(taps) // 2 - 1 :][: exact.size]
        assert np.abs(held - np.clip(exact, 0, 255)).max() <= 0.5 + 1e-6


@PAPER
def test_compensation_of_equation_20(wavelet, filters):
    # The inverse written out as the paper does, from bands that are not rounded.
    signal = np.random.default_rng(0).random(32)
    total = np.zeros(32)
    fixed = FixedPoint(wavelet)
    for taps, (scale, bias), inverse in zip(filters, (fixed.low, fixed.high), fixed.compensation, strict=True):
        windows = np.stack([np.roll(signal, -k)[::2] for k in range(len(taps))])
        held = scale * (taps @ windows) + bias
        assert held.min() >= 0
        assert held.max() < 1
        spread = np.zeros(32)
        spread[::2] = held
        filtered = sum(tap * np.roll(spread, k) for k, tap in enumerate(taps))
        total += inverse.scale * filtered + np.tile([inverse.even, inverse.odd], 16)
    np.testing.assert_allclose(total, signal, atol=1e-12)


@pytest.mark.parametrize("wavelet", ["haar", "db2", "sym5", "cdf97", "bior2.2"])
@pytest.mark.parametrize("bits", [8, 16])
def test_the_worst_samples_reach_both_ends_of_the_range(wavelet, bits):
    fixed = FixedPoint(wavelet, bits, "periodic")
    top = 2**bits - 1
    for key, taps in (("a", Wavelet(wavelet).dec_lo), ("d", Wavelet(wavelet).dec_hi)):
        for sign, end in ((1, top), (-1, 0)):
            signal = np.where(np.array(taps)[::-1] * sign > 0, top, 0).astype(fixed.dtype)
            bands = {name: band for _, name, band in fixed.forward(signal, 1, axes=0).bands()}
            # The exact sum is up to half a unit off the end, and may be rounded either way.
            assert abs(int(bands[key][len(taps) // 2 - 1]) - end) <= 1


@pytest.mark.parametrize("bits", [8, 11, 16])
@pytest.mark.parametrize("wavelet", ["haar", "db2", "cdf97"])
def test_zero_is_held_exactly_in_every_band_of_details(wavelet, bits):
    fixed = FixedPoint(wavelet, bits)
    pyramid = fixed.forward(np.full((40, 40), 200, np.uint8), level=3)
    for level, key, band in pyramid.bands():
        if "d" in key:
            assert (band == 1 << (8 * fixed.dtype.itemsize - 1)).all()
            assert fixed.scaling(level, key).bias == pytest.approx(0.5)


# Where the paper's claim holds.


@pytest.mark.parametrize("level", [1, 2, 4, 9])
def test_bytes_come_back_exactly_from_16_bits_of_haar(level):
    assert find_largest_error(FixedPoint("haar"), level) == 0
    assert FixedPoint("haar").bound_error(level) < 128


@pytest.mark.parametrize("level", [1, 2, 4, 7])
def test_bytes_come_back_exactly_from_16_bits_of_daubechies(level):
    assert find_largest_error(FixedPoint("db2"), level) == 0


def test_exactness_is_certain_up_to_27_levels_of_haar_and_4_of_daubechies():
    assert FixedPoint("haar").bound_error(27) < 128 < FixedPoint("haar").bound_error(28)
    assert FixedPoint("db2").bound_error(4) < 128 < FixedPoint("db2").bound_error(5)


@pytest.mark.parametrize(
    ("wavelet", "level", "bits"),
    [("haar", 1, 9), ("haar", 2, 10), ("haar", 9, 11), ("db2", 1, 10), ("db2", 2, 11), ("db2", 4, 13), ("db2", 7, 14)],
)
def test_bytes_are_right_within_a_unit_from_so_many_bits_and_no_fewer(wavelet, level, bits):
    assert find_largest_error(FixedPoint(wavelet, bits), level) == 1
    assert find_largest_error(FixedPoint(wavelet, bits - 1), level) > 1


@pytest.mark.parametrize(("wavelet", "level"), [("haar", 9), ("db2", 4)])
@pytest.mark.parametrize("bits", [8, 16])
def test_coefficients_differ_in_the_last_bit_only(wavelet, level, bits):
    fixed = FixedPoint(wavelet, bits)
    unit = 2.0**-bits
    differences = []
    for picture in PICTURES.values():
        held, exact = fixed.forward(picture, level), decompose(picture / 256, wavelet, level)
        for (number, key, band), (_, _, numbers) in zip(held.bands(), exact.bands(), strict=True):
            scale, bias = fixed.scaling(number, key)
            difference = band / 2.0 ** (8 * fixed.dtype.itemsize) - unit * np.rint((scale * numbers + bias) / unit)
            differences.append(np.abs(difference / unit).ravel().round())
    differences = np.concatenate(differences)
    assert differences.max() <= 2
    assert np.mean(differences > 1) < 1e-5


# Where it does not hold.


def test_every_pair_of_bytes_is_right_within_a_unit_after_a_level_of_haar_along_one_axis():
    pairs = np.stack(np.meshgrid(*[np.arange(256, dtype=np.uint8)] * 2), axis=-1)
    assert find_error(FixedPoint("haar", 8), pairs, 1, axes=-1) == 1


def test_every_four_bytes_are_right_within_one_unit_along_one_axis_and_two_along_two():
    # Roundings depend on the last three bits, and clamping on the ends of the range.
    values = np.r_[0:8, 120:128, 248:256].astype(np.uint8)
    fours = np.stack(np.meshgrid(*[values] * 4), axis=-1)
    assert find_error(FixedPoint("haar", 8), fours, 2, axes=-1) == 1
    assert find_error(FixedPoint("haar", 8), fours.reshape(-1, 2, 2), 1) == 2


def test_one_level_of_daubechies_is_right_within_a_unit_along_one_axis():
    assert FixedPoint("db2", 8).bound_error(1, dimensions=1) < 2
    assert max(find_error(FixedPoint("db2", 8), picture, 1, axes=-1) for picture in PICTURES.values()) == 1


@pytest.mark.parametrize(
    ("wavelet", "level", "error"),
    [("haar", 2, 4), ("haar", 4, 8), ("haar", 9, 10), ("db2", 1, 4), ("db2", 2, 10), ("db2", 4, 27)],
)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_as_many_bits_as_pixels_are_not_enough(wavelet, level, error, dtype):
    fixed = FixedPoint(wavelet, 8 * np.dtype(dtype).itemsize)
    pictures = [picture.astype(dtype) * (np.iinfo(dtype).max // 255) for picture in PICTURES.values()]
    found = max(find_error(fixed, picture, level) for picture in [*pictures, make_pixels((512, 512), dtype)])
    assert abs(found - error) <= 0.2 * error
    assert found <= fixed.bound_error(level)


def test_low_part_alone_leaves_the_range_with_daubechies_but_not_with_haar():
    # A frame buffer would clamp it before the high part comes.
    edge = np.repeat([0.0, 1.0], 33)
    for wavelet, overshoot in (("haar", 0.0), ("db2", 0.1083)):
        smooth = decompose(edge, wavelet, 1).map(lambda band, level, key: band * ("d" not in key))
        assert -reconstruct(smooth).min() == pytest.approx(overshoot, abs=1e-4)
        assert find_error(FixedPoint(wavelet, 8), (edge * 255).astype(np.uint8), 1, axes=0) <= 1


def test_pictures_do_not_become_brighter():
    # Rounding halves up would add a third of a unit a level.
    picture = PICTURES["noise"]
    fixed = FixedPoint("haar", 8)
    back = fixed.inverse(fixed.forward(picture, 4))
    assert abs(np.mean(back.astype(float) - picture)) < 0.1


# Everything else.


@pytest.mark.parametrize("wavelet", ["haar", "db2", "db4", "sym5", "cdf97", "cdf53", "bior3.3", "coif1"])
@pytest.mark.parametrize("mode", [None, "symmetric", "reflect", "constant", "periodic", "periodization"])
@pytest.mark.parametrize("shape", [(37, 52), (1, 9), (2, 3), (1, 1)])
def test_any_wavelet_mode_and_size(wavelet, mode, shape):
    fixed = FixedPoint(wavelet, mode=mode)
    for level in (1, 2) if min(shape) > 30 else (1,):
        error = find_error(fixed, make_pixels(shape, np.uint16), level)
        assert error <= fixed.bound_error(level)
        assert find_error(fixed, make_pixels(shape, np.uint8), level) == 0


@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("wavelet", ["haar", "db2", "cdf97"])
def test_numbers_are_those_of_decompose(wavelet, level):
    picture = data.camera()[:95, :121]
    fixed = FixedPoint(wavelet)
    found, right = fixed.unscale(fixed.forward(picture, level)), decompose(picture, wavelet, level)
    assert repr(found) == repr(right)
    for (number, key, band), (_, _, exact) in zip(found.bands(), right.bands(), strict=True):
        unit = 256 / 65536 / fixed.scaling(number, key).scale
        assert np.abs(band - exact).max() <= unit * (1.1 * level + 0.5)
    assert np.abs(reconstruct(found) - picture).max() < 0.1


def test_axes_are_those_of_a_volume_or_a_batch():
    volume = make_pixels((9, 20, 14), np.uint8)
    fixed = FixedPoint("db2")
    assert find_error(fixed, volume, 2, axes=(0, 1, 2)) == 0
    assert fixed.forward(volume, 1, axes=(0, 1, 2)).approximation.shape == (6, 11, 8)
    slices = fixed.forward(volume, 2)
    single = fixed.forward(volume[3], 2)
    for (_, _, many), (_, _, one) in zip(slices.bands(), single.bands(), strict=True):
        np.testing.assert_array_equal(many[3], one)
    colour = fixed.forward(np.moveaxis(volume, 0, 2), 2, axes=(0, 1))
    np.testing.assert_array_equal(np.moveaxis(colour.approximation, 2, 0), slices.approximation)


def test_lines_come_before_columns():
    fixed = FixedPoint("haar", 8)
    # Means of lines are 0 and 1.5, held as 2, whose mean is 1; those of columns are 0.5, held as 0, and 1.
    square = np.array([[0, 0], [1, 2]], np.uint8)
    assert fixed.forward(square, 1).approximation.item() == 1
    assert fixed.forward(square.T, 1).approximation.item() == 0


def test_blocks_make_no_difference(monkeypatch):
    picture = make_pixels((3, 70, 90), np.uint8)
    fixed = FixedPoint("db2", 8)
    whole = fixed.forward(picture, 2)
    monkeypatch.setattr("subband.enhance.fixed_lanes._BLOCK", 500)
    monkeypatch.setattr("subband.enhance.fixed_lanes._LEAST_COLUMNS", 3)
    pieces = fixed.forward(picture, 2)
    for (_, _, one), (_, _, other) in zip(whole.bands(), pieces.bands(), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(fixed.inverse(pieces), fixed.inverse(whole))


def test_strides_and_byte_order_make_no_difference():
    picture = make_pixels((60, 40), np.uint16)
    fixed = FixedPoint("db2")
    right = fixed.forward(picture, 2)
    for other in (picture.astype(">u2"), np.asfortranarray(picture), np.repeat(picture, 2, axis=1)[:, ::2]):
        for (_, _, one), (_, _, two) in zip(right.bands(), fixed.forward(other, 2).bands(), strict=True):
            np.testing.assert_array_equal(one, two)
    assert fixed.forward(picture.astype(">u2"), 2).dtype == np.uint16


@pytest.mark.parametrize("bits", range(8, 17))
def test_only_so_many_bits_are_used(bits):
    fixed = FixedPoint("db2", bits)
    width = 8 * fixed.dtype.itemsize
    assert fixed.dtype == (np.uint8 if bits == 8 else np.uint16)
    for _, _, band in fixed.forward(data.camera(), 2).bands():
        assert band.dtype == fixed.dtype
        assert not (band & ((1 << (width - bits)) - 1)).any()
    # What is used is not less: the last bit takes both values.
    assert np.unique(band >> (width - bits) & 1).size == 2


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_real_numbers(dtype):
    picture = np.random.default_rng(0).random((33, 20)).astype(dtype)
    picture[0, :2] = 0, 1
    fixed = FixedPoint("haar")
    back = fixed.inverse(fixed.forward(picture, 3))
    assert back.dtype == dtype
    assert np.abs(back.astype(float) - picture).max() <= (fixed.bound_error(3) + 1) / 65536 + np.finfo(dtype).eps


def test_pyramid_can_be_saved_changed_and_shown(tmp_path):
    fixed = FixedPoint("haar", 8)
    pyramid = fixed.forward(data.camera(), 2)
    pyramid.save(tmp_path / "camera.npz")
    loaded = Pyramid.load(tmp_path / "camera.npz")
    np.testing.assert_array_equal(fixed.inverse(loaded), fixed.inverse(pyramid))
    assert pyramid.mosaic().dtype == np.uint8
    smooth = pyramid.map(lambda band, level, key: band if "d" not in key else np.full_like(band, 128))
    blocks = fixed.inverse(smooth).reshape(128, 4, 128, 4)
    assert (blocks == blocks[:, :1, :, :1]).all()


def test_changed_bands_are_clamped_not_wrapped():
    fixed = FixedPoint("haar", 8)
    pyramid = fixed.forward(np.full((4, 4), 250, np.uint8), 1)
    louder = pyramid.map(lambda band, level, key: band if "d" not in key else np.full_like(band, 255))
    assert fixed.inverse(louder).max() == 255


def test_integers_stand_for_the_same_number_whatever_the_bits():
    coarse, fine = FixedPoint("db2", 12), FixedPoint("db2", 16)
    assert np.abs(fine.inverse(coarse.forward(data.camera(), 1)).astype(int) - data.camera()).max() <= 1


def test_level_left_out_is_all_that_are_useful():
    assert FixedPoint("haar").forward(data.camera()).level == 9
    assert FixedPoint("db2").forward(data.camera()).level == 7


def test_nothing_is_changed_in_place():
    picture = data.camera()
    for level in (0, 1):
        pyramid = FixedPoint("haar", 8).forward(picture, level)
        back = FixedPoint("haar", 8).inverse(pyramid)
        back[...] = 0
        np.testing.assert_array_equal(picture, data.camera())
        assert pyramid.approximation.any()


HAAR_8 = FixedPoint("haar", 8)
PIXELS = make_pixels((16, 16), np.uint8)
PYRAMID = HAAR_8.forward(PIXELS, 1)
OWN = Wavelet("own", filter_bank=[[1, 2], [3, 4], [5, 6], [7, 8]])


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: FixedPoint("hair"), ValueError, "'hair'; did you mean 'haar'"),
        (lambda: FixedPoint(OWN), ValueError, "'own' is not known to reconstruct perfectly; .*biorthogonal = True"),
        (lambda: FixedPoint("haar", 7), ValueError, "bits=7 .* 8, which is uint8, to 16"),
        (lambda: FixedPoint("haar", 17), ValueError, "bits=17"),
        (lambda: FixedPoint("haar", 8.0), ValueError, r"bits=8\.0"),
        (lambda: FixedPoint("haar", mode="zero"), ValueError, "mode='zero' makes up numbers .* use one of symmetric"),
        (lambda: FixedPoint("haar", mode="smooth"), ValueError, "mode='smooth' makes up numbers"),
        (lambda: FixedPoint("db2", mode="whole"), ValueError, "mode='whole' needs symmetric filters"),
        (lambda: FixedPoint("haar", mode="mirror"), ValueError, "mode='mirror' is not a boundary mode"),
        (lambda: HAAR_8.forward(PIXELS.astype(np.uint16), 1), TypeError, "dtype uint16, which 8 bits .* use bits=16"),
        (lambda: HAAR_8.forward(PIXELS.astype(int), 1), TypeError, "dtype int64, .* convert it if .* uint8 or uint16"),
        (lambda: HAAR_8.forward(PIXELS > 3, 1), TypeError, "dtype bool"),
        (lambda: HAAR_8.forward("abc", 1), TypeError, "holds no numbers"),
        (lambda: HAAR_8.forward(PIXELS / 100, 1), ValueError, r"from 0.* to 2\.5.*; .* scale or clip"),
        (lambda: HAAR_8.forward(PIXELS / 255 - 0.5, 1), ValueError, "from -0"),
        (lambda: HAAR_8.forward(np.full((4, 4), np.nan), 1), ValueError, "not finite; .* from 0 to 1"),
        (lambda: HAAR_8.forward(np.full((4, 4), np.inf), 1), ValueError, "not finite"),
        (lambda: HAAR_8.forward(np.zeros((0, 4), np.uint8), 1), ValueError, r"shape \(0, 4\); .* at least 1 pixel"),
        (lambda: HAAR_8.forward(np.zeros(4, np.uint8), 1), ValueError, "axis=-2 is out of range"),
        (lambda: HAAR_8.forward(np.uint8(3), 1), ValueError, "single number"),
        (lambda: HAAR_8.forward(PIXELS, 1, axes=()), ValueError, "is empty; name at least one axis"),
        (lambda: HAAR_8.forward(PIXELS, 1, axes=(0, 0)), ValueError, "names axis 0 twice"),
        (lambda: HAAR_8.forward(PIXELS, 5), ValueError, "level=5 is too large for axis 0 of length 16 .* maximum is 4"),
        (lambda: HAAR_8.forward(PIXELS, -1), ValueError, "level=-1"),
        (lambda: HAAR_8.inverse(PIXELS), TypeError, "pyramid is a ndarray; give what `forward` returned"),
        (lambda: FixedPoint("db2", 8).inverse(PYRAMID), ValueError, "'haar'.* which FixedPoint.*'db2'.* has not made"),
        (lambda: FixedPoint("haar", 8, "periodic").inverse(PYRAMID), ValueError, "has not made; use the one that has"),
        (lambda: FixedPoint("haar").inverse(PYRAMID), TypeError, "'aa' of level 1 holds uint8; 16 bits are uint16"),
        (lambda: HAAR_8.inverse(decompose(PIXELS, "haar", 1)), TypeError, "'aa' of level 1 holds float64"),
        (lambda: HAAR_8.inverse(decompose(PIXELS, "haar", 1, stationary=True)), ValueError, "has not made"),
        (
            lambda: FixedPoint("cdf53").inverse(decompose(PIXELS, "cdf53", 1, reversible=True)),
            ValueError,
            "has not made",
        ),
        (lambda: HAAR_8.unscale(PIXELS), TypeError, "pyramid is a ndarray"),
        (lambda: HAAR_8.scaling(-1, "aa"), ValueError, "level=-1 is not a number of levels"),
        (lambda: HAAR_8.scaling(1.5, "aa"), ValueError, r"level=1\.5"),
        (lambda: HAAR_8.scaling(1, "ax"), ValueError, "key='ax' names no band of level 1"),
        (lambda: HAAR_8.scaling(0, "ad"), ValueError, "key='ad' names no band of level 0"),
        (lambda: HAAR_8.bound_error(-1), ValueError, "level=-1"),
        (lambda: HAAR_8.bound_error(1, -2), ValueError, "dimensions=-2"),
    ],
)
def test_refusals(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert isinstance(caught.value, SubbandError)
