"""A chain, described once, does the same to every kind of picture."""

import gc
import json
import weakref
from dataclasses import replace

import numpy as np
import pytest

from subband import data
from subband.arrays import to_host
from subband.engines import get_engine
from subband.enhance import Blur, Denoise, Enhancer, Gaussian, LogSpeckle, PoissonGaussian, Sharpen, Shrink, Speckle
from subband.enhance.methods import list_methods
from subband.enhance.program import Program
from subband.enhance.stages import FORMS
from subband.errors import SubbandError

METHODS = [method.name for method in list_methods()]

PICTURE = data.photograph()[100:196, 60:188]
GREY = np.ascontiguousarray(PICTURE[..., 1])


def add_noise(picture, sigma=20.0):
    return picture + np.random.default_rng(1).normal(0, sigma, picture.shape).astype(np.float32)


def measure_error(one, other):
    return float(np.mean(np.square(one.astype(np.float64) - other.astype(np.float64))))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_removes_noise_in_every_form(method, form):
    noisy = add_noise(GREY)
    result = Enhancer(Denoise(method, form=form, mode="soft"), sigma=20.0).apply(noisy)
    worst = 0.75 if method == "visu" else 0.5
    assert measure_error(result, GREY) < worst * measure_error(noisy, GREY)


@pytest.mark.parametrize("method", METHODS)
def test_the_cpu_does_what_the_reference_does(method):
    noisy = add_noise(PICTURE[:50, :61])
    enhancer = Enhancer(Denoise(method))
    fast, slow = (enhancer.apply(noisy, engine=engine) for engine in ("cpu", "reference"))
    # a risk that is as small at two thresholds may choose another one
    assert measure_error(fast, slow) < 1e-3


def test_integers_come_back_rounded_and_clipped():
    noisy = np.clip(add_noise(PICTURE, 30), 0, 255).astype(np.uint8)
    for pixels in (noisy, noisy.astype(np.uint16) * 257):
        result = Enhancer().apply(pixels)
        assert result.dtype == pixels.dtype
        exact = Enhancer().apply(pixels.astype(np.float64))
        limit = np.iinfo(pixels.dtype).max
        # half a step of rounding, and float32 beside float64
        assert np.abs(result - np.clip(exact, 0, limit)).max() <= 0.5 + 2e-6 * limit


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "bool"])
def test_dtypes(dtype):
    result = Enhancer().apply((GREY > 100).astype(dtype))
    assert result.dtype == {"bool": "float32", "int64": "float64"}.get(dtype, dtype)


def test_alpha_comes_back_as_it_was():
    alpha = np.random.default_rng(0).integers(0, 256, (*PICTURE.shape[:2], 1), dtype=np.uint8)
    result = Enhancer().apply(np.concatenate([PICTURE, alpha], axis=-1))
    np.testing.assert_array_equal(result[..., 3:], alpha)
    np.testing.assert_array_equal(result[..., :3], Enhancer().apply(PICTURE))


def test_channels_may_come_first():
    noisy = add_noise(PICTURE)
    first = Enhancer().apply(np.moveaxis(noisy, -1, 0), channel_axis=0)
    np.testing.assert_allclose(np.moveaxis(first, 0, -1), Enhancer().apply(noisy), rtol=1e-5, atol=1e-3)


def test_pictures_of_a_stack_have_nothing_to_do_with_each_other():
    stack = np.stack([add_noise(GREY), 3 * add_noise(GREY[::-1])])
    together = Enhancer().apply(stack, axes=(1, 2), channel_axis=None)
    for one, picture in zip(together, stack, strict=True):
        np.testing.assert_allclose(one, Enhancer().apply(picture), rtol=1e-5, atol=1e-2)


def test_three_grey_pictures_are_no_colours():
    stack = np.stack([add_noise(GREY), add_noise(GREY[::-1]), add_noise(GREY[:, ::-1])])
    together = Enhancer().apply(stack, axes=(1, 2), channel_axis=None)
    for one, picture in zip(together, stack, strict=True):
        np.testing.assert_allclose(one, Enhancer().apply(picture), rtol=1e-5, atol=1e-2)


def test_a_stack_of_pictures_in_colour():
    stack = np.stack([add_noise(PICTURE), 2 * add_noise(PICTURE[::-1])])
    for axes, pictures in (((1, 2), stack), ((-3, -2), stack)):
        together = Enhancer(sigma=(20.0, 20.0, 20.0)).apply(pictures, axes=axes, channel_axis=-1)
        for one, picture in zip(together, stack, strict=True):
            np.testing.assert_array_equal(one, Enhancer(sigma=(20.0, 20.0, 20.0)).apply(picture))


@pytest.mark.parametrize("dtype", ["u2", "f4", "f8"])
def test_the_order_of_bytes_does_not_matter(dtype):
    picture = np.clip(add_noise(GREY), 0, 255).astype(dtype)
    np.testing.assert_array_equal(Enhancer().apply(picture.astype(f">{dtype}")), Enhancer().apply(picture))


@pytest.mark.parametrize("method", METHODS)
def test_units_do_not_matter(method):
    noisy = add_noise(GREY.astype(np.float64))
    for unit in (1e-9, 1e6):
        result = Enhancer(Denoise(method)).apply(noisy * unit) / unit
        np.testing.assert_allclose(result, Enhancer(Denoise(method)).apply(noisy), atol=1e-3)


def test_axes_of_pictures_with_alpha():
    rgba = np.dstack([add_noise(PICTURE), np.full(GREY.shape, 7, np.float32)])
    swapped = Enhancer(sigma=20.0).apply(rgba, axes=(1, 0))
    np.testing.assert_allclose(swapped, Enhancer(sigma=20.0).apply(rgba), atol=1e-2)
    rows = Enhancer(sigma=20.0).apply(rgba, axes=0)
    np.testing.assert_array_equal(rows[..., 3], 7)
    assert measure_error(rows, swapped) > 1


def test_axes_may_be_counted_from_the_end():
    stack = add_noise(np.zeros((10, 32, 4), np.float32))
    np.testing.assert_array_equal(Enhancer().apply(stack, axes=(-2, -1)), Enhancer().apply(stack, axes=(1, 2)))


@pytest.mark.parametrize("form", FORMS)
def test_noise_is_measured_where_the_mask_says(form):
    noise = np.random.default_rng(0).normal(0, 20, (256, 256))
    mask = np.zeros(noise.shape, bool)
    mask[:, 180:] = True
    left = Enhancer(Denoise("visu", form=form)).apply(noise, mask=mask)[mask]
    assert np.std(left) < 3


def test_filters_of_a_guided_stage_count():
    stages = [Denoise("wiener", level=2, strength=0, filters=filters) for filters in ((), (Blur(5, "approximation"),))]
    results = [Enhancer(stage).apply(GREY.astype(np.float64)) for stage in stages]
    assert measure_error(*results) > 10


@pytest.mark.parametrize(
    "filters",
    [
        (),
        (Sharpen(1.0, at="details"),),
        (Blur(2.0, "approximation"),),
        (Blur(1.0, "between"), Sharpen(1.0, at="between")),
    ],
)
@pytest.mark.parametrize(
    "stage",
    [
        Shrink("haar", 3, "soft", 10.0, form="undecimated"),
        Denoise("visu", "haar", 3, form="undecimated"),
        Denoise("wiener", level=3),
    ],
    ids=["shrink", "visu", "wiener"],
)
def test_one_border_sees_nothing_of_the_other(stage, filters):
    enhancer = Enhancer(replace(stage, filters=filters), sigma=20.0)
    picture = add_noise(GREY)
    other = picture.copy()
    other[:, :4] = 255 - other[:, :4]
    other[:4] = 0
    found = enhancer.apply(other) - enhancer.apply(picture)
    assert np.abs(found[:4, :4]).max() > 10
    np.testing.assert_allclose(found[-8:, -8:], 0, atol=1e-4)


def test_a_volume_gains_more_than_its_slices():
    rows, columns = np.mgrid[:40, :44]
    slices = [100 * (np.hypot(rows - 20, columns - 20 - depth / 4) < 12) for depth in range(24)]
    volume = np.stack(slices).astype(np.float32)
    noisy = volume + np.random.default_rng(0).normal(0, 25, volume.shape).astype(np.float32)
    whole = Enhancer().apply(noisy)
    single = Enhancer().apply(noisy, axes=(1, 2))
    assert measure_error(whole, volume) < 0.8 * measure_error(single, volume) < 0.3 * measure_error(noisy, volume)


def test_film_is_enhanced_frame_by_frame_or_as_a_block_in_time():
    clean = np.stack([PICTURE[:48, 2 * number : 2 * number + 64] for number in range(8)])
    noisy = np.clip(clean + np.random.default_rng(0).normal(0, 20, clean.shape), 0, 255).astype(np.uint8)
    block = Enhancer(sigma=20.0).apply(noisy, channel_axis=-1)
    frames = np.stack([Enhancer(sigma=20.0).apply(frame) for frame in noisy])
    assert block.shape == noisy.shape
    for result in (block, frames):
        assert measure_error(result, clean) < 0.6 * measure_error(noisy, clean)
    assert measure_error(block, frames) > 1


def test_a_signal():
    clean = np.repeat([0.0, 50.0, 20.0, 80.0], 200)
    noisy = add_noise(clean, 8)
    assert measure_error(Enhancer().apply(noisy), clean) < 0.4 * measure_error(noisy, clean)


class TestUnknownPixels:
    def test_nan_is_refused_with_its_place(self):
        picture = GREY.astype(np.float32)
        picture[3, 7] = np.nan
        picture[5, 1] = np.inf
        with pytest.raises(SubbandError, match=r"2 pixels that are NaN or infinite, the first at \(3, 7\); use nonf"):
            Enhancer().apply(picture)

    def test_or_left_as_it_was_when_asked(self):
        noisy = add_noise(GREY)
        holes = noisy.copy()
        holes[10:14, 20:30] = np.nan
        holes[50, 50] = -np.inf
        result = Enhancer().apply(holes, nonfinite="mask")
        assert np.isnan(result[10:14, 20:30]).all()
        assert result[50, 50] == -np.inf
        known = np.isfinite(holes)
        assert np.isfinite(result[known]).all()
        assert measure_error(result[known], GREY[known]) < 1.1 * measure_error(Enhancer().apply(noisy), GREY)

    def test_pixels_outside_the_mask_do_not_matter(self):
        noisy = add_noise(GREY)
        mask = np.ones(GREY.shape, bool)
        mask[:, :40] = False
        wild = noisy.copy()
        wild[:, :40] = np.random.default_rng(0).normal(0, 5000, (len(GREY), 40))
        result, other = (Enhancer().apply(picture, mask=mask) for picture in (noisy, wild))
        np.testing.assert_array_equal(result[mask], other[mask])
        np.testing.assert_array_equal(other[~mask], wild[~mask])

    def test_pixels_of_colour(self):
        picture = add_noise(PICTURE)
        picture[4, 5, 1] = np.nan
        result = Enhancer().apply(picture, nonfinite="mask")
        np.testing.assert_array_equal(result[4, 5], picture[4, 5])
        assert np.isfinite(np.delete(result.reshape(-1, 3), 4 * PICTURE.shape[1] + 5, axis=0)).all()

    def test_a_mask_of_integers(self):
        mask = np.ones(GREY.shape, np.uint8)
        mask[0, 0] = 0
        assert Enhancer().apply(GREY, mask=mask)[0, 0] == GREY[0, 0]


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (30, 1), (2, 2), (3, 3), (5, 4, 3), (1, 1, 4), (1, 1, 1), (7,)])
@pytest.mark.parametrize("method", METHODS)
def test_pictures_of_any_size(shape, method):
    noisy = add_noise(np.full(shape, 100.0, np.float32), 5)
    for sigma in (None, 5.0, 0.0):
        result = Enhancer(Denoise(method), sigma=sigma).apply(noisy)
        assert result.shape == shape
        assert np.isfinite(result).all()


@pytest.mark.parametrize("method", METHODS)
def test_constant_pictures_stay(method):
    np.testing.assert_allclose(Enhancer(Denoise(method)).apply(np.full((40, 50), 7.0)), 7.0, atol=1e-9)
    result = Enhancer(Denoise(method)).apply(np.full((40, 50, 3), 200, np.uint8))
    np.testing.assert_array_equal(result, 200)


@pytest.mark.parametrize("method", METHODS)
def test_no_noise_changes_nothing(method):
    np.testing.assert_allclose(Enhancer(Denoise(method), sigma=0).apply(GREY.astype(float)), GREY, atol=1e-9)
    np.testing.assert_allclose(Enhancer(Denoise(method, strength=0)).apply(GREY.astype(float)), GREY, atol=1e-9)


def test_noise_of_each_channel_may_differ():
    sigmas = (5.0, 40.0, 10.0)
    noisy = PICTURE + np.random.default_rng(0).normal(0, 1, PICTURE.shape) * sigmas
    told = Enhancer(sigma=sigmas, colour="rgb").apply(noisy)
    flat = Enhancer(sigma=10.0, colour="rgb").apply(noisy)
    assert measure_error(told, PICTURE) < measure_error(flat, PICTURE)


def test_the_strength_of_noise_follows_the_colours():
    noise = np.random.default_rng(0).normal(0, 10, (256, 256, 3))
    results = [Enhancer(Denoise("visu"), sigma=10.0, colour=colour).apply(noise) for colour in ("ycbcr", "opponents")]
    for result in results:
        # what is left is the approximation, wherever noise is known to be noise
        assert np.std(result) < 1.0


class TestModels:
    @pytest.mark.parametrize("model", [Speckle(), Speckle(4, "gamma"), PoissonGaussian(2.0, 0.0, 3.0), Gaussian(20.0)])
    def test_noise_of_its_own_kind_is_removed(self, model):
        clean = GREY.astype(np.float32) + 20
        noisy = model.add(clean, seed=0)
        result = Enhancer(Denoise("wiener"), model).apply(noisy)
        assert measure_error(result, clean) < 0.5 * measure_error(noisy, clean)
        assert float(result.mean()) == pytest.approx(float(clean.mean()), rel=0.03)

    def test_bytes_stay_bytes(self):
        clean = np.full((64, 64), 120, np.uint8)
        noisy = np.clip(Speckle(16).add(clean, seed=0), 0, 255).astype(np.uint8)
        result = Enhancer(Denoise(), Speckle(16)).apply(noisy)
        assert result.dtype == np.uint8
        assert abs(float(result.mean()) - 120) < 4

    def test_by_name(self):
        assert Enhancer(noise="log-speckle").model == LogSpeckle()


class TestChain:
    def test_stages_follow_each_other(self):
        blurred = Enhancer(Blur(1.5)).apply(GREY.astype(np.float32))
        both = Enhancer([Blur(1.5), Sharpen(0.5)]).apply(GREY.astype(np.float32))
        np.testing.assert_allclose(both, Enhancer(Sharpen(0.5)).apply(blurred), rtol=1e-5)

    def test_nothing_to_do(self):
        np.testing.assert_array_equal(Enhancer([]).apply(PICTURE), PICTURE)

    def test_sharpening_steepens_an_edge_and_blur_flattens_it(self):
        edge = np.repeat([[50.0, 150.0]], 8, axis=0).repeat(8, axis=1)
        assert np.ptp(Enhancer(Sharpen(0.2)).apply(edge)) > 100
        assert np.abs(np.diff(Enhancer(Blur(1)).apply(edge))).max() < 50

    @pytest.mark.parametrize("at", ["between", "approximation", "details"])
    @pytest.mark.parametrize("form", ["decimated", "undecimated"])
    def test_filters_between_the_transforms(self, at, form):
        picture = GREY.astype(np.float64)
        plain = Enhancer(Shrink(level=2, form=form)).apply(picture)
        np.testing.assert_allclose(plain, picture, atol=1e-6)
        filtered = Enhancer(Shrink(level=2, form=form, filters=(Blur(1.0, at),))).apply(picture)
        assert measure_error(filtered, picture) > 1

    def test_blurring_only_the_finest_details(self):
        picture = GREY.astype(np.float64)
        results = [
            Enhancer(Shrink(level=2, filters=(Blur(1.0, "details", levels),))).apply(picture)
            for levels in ((1,), (2,), (1, 2), None)
        ]
        np.testing.assert_array_equal(results[2], results[3])
        assert measure_error(results[0], results[1]) > 0.1

    def test_gains(self):
        picture = GREY.astype(np.float64)
        smooth = Enhancer(Shrink(level=1, gains=0.0)).apply(picture)
        sharp = Enhancer(Shrink(level=1, gains=2.0)).apply(picture)
        np.testing.assert_allclose(smooth + sharp, 2 * picture, atol=1e-6)

    def test_half_precision_is_asked_for_on_the_host_too(self):
        np.testing.assert_array_equal(Enhancer(precision="float16").apply(GREY), Enhancer().apply(GREY))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Enhancer("denoise"), r"stages\[0\] is a str; use Denoise"),
        (lambda: Enhancer(Blur(1, "details")), r"stages\[0\] works at='details', inside a transform"),
        (lambda: Enhancer(noise="thunder"), "thunder"),
        (lambda: Enhancer(colour="cmyk"), "colour='cmyk' is not known; use one of opponents, ycbcr, rgb"),
        (lambda: Enhancer(precision="int8"), "precision='int8' is not known"),
        (lambda: Enhancer(sigma=-1), "sigma=-1 is not a standard deviation; use 0 or more"),
        (lambda: Enhancer(sigma="much"), "sigma='much' is not a number"),
        (lambda: Enhancer(sigma=[1, 2]).apply(PICTURE), "sigma has 2 entries, and the image has 3 channels"),
        (lambda: Enhancer().apply(GREY, mask=np.ones((3, 3), bool)), r"mask has shape \(3, 3\), and the image has"),
        (lambda: Enhancer().apply(GREY, mask=np.zeros(GREY.shape)), "mask leaves no pixel"),
        (lambda: Enhancer().apply(GREY, nonfinite="ignore"), "nonfinite='ignore' is not known"),
        (lambda: Enhancer().apply(GREY, channel_axis=5), "channel_axis=5 is not an axis of an array of 2"),
        (lambda: Enhancer().apply(GREY, channel_axis="last"), "channel_axis='last' is not the number"),
        (lambda: Enhancer().apply(GREY, axes=(0, 0)), r"axes=\(0, 0\) name an axis twice"),
        (lambda: Enhancer().apply(np.zeros((2, 2, 2, 2))), "4 axes of space; it can have 1 to 3: name them with axes"),
        (
            lambda: Enhancer().apply(np.zeros((8, 9, 2))),
            r"shape \(8, 9, 2\).*grey and alpha.*channel_axis=None",
        ),
        (lambda: Enhancer().apply(np.zeros((0, 3))), "at least 1 pixel"),
        (lambda: Enhancer().apply(GREY + 1j), r"dtype complex.*image\.real"),
        (lambda: Enhancer(Denoise(level=40)).apply(PICTURE), "level=40 is too large for axis 0 of length 96"),
        (lambda: Enhancer(Shrink(level=40)).apply(GREY), "level=40 is too large for axis 0 of length 96"),
        (lambda: Enhancer().view(GREY, "inside"), "view='inside' is not known; use one of synthesis"),
        (lambda: Enhancer().view(np.zeros((8, 8, 8))), r"a view needs rows × columns"),
        (lambda: Enhancer(Blur()).view(GREY, "analysis"), "does not transform"),
        (lambda: Enhancer(Shrink(gains=[[[1], [2], [3]]])).apply(np.zeros((8, 8, 8))), "3 axes are transformed"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(SubbandError, match=message):
        call()


class TestDescription:
    CHAINS = (
        Enhancer(),
        Enhancer([Blur(2.0), Denoise("wiener", "sym4", 3, level_weights=(1, 0.5)), Sharpen(0.25, "diagonal")]),
        Enhancer(Shrink(threshold=[[4.0, 8.0, 8.0]], filters=(Blur(1.0, "details", (1,)),)), colour="ycbcr"),
        Enhancer(noise=LogSpeckle(50.0), sigma=12.5, precision="float16"),
        Enhancer(noise=PoissonGaussian(2.0, sigma=1.5), sigma=(1.0, 2.0, 3.0)),
        Enhancer([]),
    )

    @pytest.mark.parametrize("enhancer", CHAINS, ids=str)
    def test_there_and_back(self, enhancer):
        assert Enhancer.from_toml(enhancer.to_toml()) == enhancer
        assert Enhancer.from_dict(json.loads(json.dumps(enhancer.to_dict()))) == enhancer
        assert eval(repr(enhancer)) == enhancer

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("stages = 3", "stages is 3; it needs a list of tables"),
            ("[[stages]]\nkind = 'denose'", r"stages\[0\] has kind='denose'.*'denoise'"),
            ("[[stages]]\nmethod = 'bayes'", r"stages\[0\] has kind=None; use one of denoise"),
            ("[[stages]]\nkind = 'blur'\nsize = 2", r"stages\[0\] has no 'size'; it can have sigma"),
            ("[[stages]]\nkind = 'blur'\nsigma = -2", r"stages\[0\]: sigma=-2 is not positive"),
            ("[[stages]]\nkind = 'denoise'\nfilters = 1", r"stages\[0\].filters is 1"),
            ("colours = 'rgb'", "the description has no 'colours'.*'colour'"),
            ("noise = { model = 'snow' }", "noise has model='snow'"),
            ("noise = [", "is not TOML"),
        ],
    )
    def test_mistakes_are_named(self, text, message):
        with pytest.raises(SubbandError, match=message):
            Enhancer.from_toml(text)

    def test_wavelets_of_ones_own_cannot_be_written(self):
        import subband

        own = subband.Wavelet("own", filter_bank=subband.Wavelet("db2").filter_bank)
        with pytest.raises(SubbandError, match="wavelet 'own' is your own"):
            Enhancer(Denoise(wavelet=own)).to_toml()


class TestViews:
    @pytest.mark.parametrize("picture", [GREY, PICTURE, PICTURE.astype(np.float32) / 255], ids=["grey", "rgb", "float"])
    def test_views_are_pictures_of_the_same_size(self, picture):
        enhancer = Enhancer(Denoise(level=2))
        shape = picture.shape
        views = {view: enhancer.view(picture, view) for view in ("synthesis", "analysis", "filtered-analysis")}
        for pixels in views.values():
            assert pixels.shape == shape
            assert pixels.dtype == np.uint8
        assert len({pixels.tobytes() for pixels in views.values()}) == 3

    def test_the_corner_is_the_picture_in_small(self):
        view = Enhancer(Shrink(level=1)).view(PICTURE, "analysis")
        small = PICTURE.reshape(48, 2, 64, 2, 3).mean(axis=(1, 3))
        # but for the label, and what the wavelet makes of edges
        assert np.median(np.abs(view[16:48, :64].astype(float) - small[16:])) < 6

    def test_details_lie_around_mid_grey(self):
        view = Enhancer(Shrink(level=1)).view(np.full((64, 64, 3), 90, np.uint8), "analysis")
        assert np.median(view[32:, 32:]) in (127, 128)

    def test_filtered_details_are_fewer(self):
        noisy = np.clip(add_noise(GREY), 0, 255).astype(np.uint8)
        enhancer = Enhancer(Shrink(level=1, threshold=1000.0))
        assert np.ptp(enhancer.view(noisy, "analysis")[70:, 80:]) > 20
        assert np.ptp(enhancer.view(noisy, "filtered-analysis")[70:, 80:]) == 0

    def test_bands_are_labelled(self):
        flat = np.full((128, 128), 60, np.uint8)
        labelled = Enhancer(Shrink(level=2)).view(flat, "analysis")
        # light letters on black in the corner of each of seven bands
        for row, column in ((0, 0), (0, 32), (32, 0), (32, 32), (0, 64), (64, 0), (64, 64)):
            corner = labelled[row : row + 16, column : column + 30]
            assert corner.max() > 200
            assert corner.min() == 0


def test_arrays_of_torch_come_back_as_such():
    torch = pytest.importorskip("torch")
    result = Enhancer().apply(torch.from_numpy(PICTURE))
    assert isinstance(result, torch.Tensor)
    np.testing.assert_array_equal(to_host(result), Enhancer().apply(PICTURE))


def test_a_program_is_gone_as_soon_as_nobody_has_it():
    # it may hold memory of a device, which a collection of garbage would free too late
    chain = Enhancer([Blur(), Denoise("wiener", level=2), Shrink(threshold=3.0)])
    program = Program(chain, (32, 32), 1, get_engine("cpu"))
    program.run(np.zeros((32, 32, 1), np.float32))
    gone = weakref.ref(program)
    gc.disable()
    try:
        del program
        assert gone() is None
    finally:
        gc.enable()


def test_two_channels_are_what_they_are_said_to_be():
    two = np.dstack([GREY, GREY[::-1]])
    channels = Enhancer().apply(two, channel_axis=-1)
    np.testing.assert_array_equal(channels, Enhancer().apply(two, axes=(0, 1)))
    assert Enhancer().apply(two, channel_axis=None).shape == two.shape
    assert (Enhancer().apply(two, channel_axis=None) != channels).any()
