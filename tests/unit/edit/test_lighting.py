"""Texture and light apart, and together again."""

import numpy as np
import pytest

from subband import data, decompose, reconstruct
from subband.edit import Lighting, Relighter, decouple, recombine, relight
from subband.errors import ArgumentError, ArgumentTypeError, LevelError, ShapeError

PICTURE = data.photograph()[100:171, 120:217]
SETTINGS = [{}, {"colour": "rgb"}, {"gamma": 2.2}, {"gamma": 2.2, "colour": "rgb"}, {"strength": 0.5, "floor": 0.2}]


def as_dtype(picture, dtype):
    return (picture.astype(float) * {"uint8": 1, "uint16": 257}.get(dtype, 1 / 255)).astype(dtype)


def make_unevenly_lit(size=256):
    """Return a texture, a light and their product."""
    rows, columns = np.mgrid[:size, :size] / size
    texture = 1 + 0.3 * np.sin(np.mgrid[:size, :size].sum(axis=0) * 1.3)
    light = 0.15 + 0.6 * np.exp(-((rows - 0.3) ** 2 + (columns - 0.4) ** 2) / 0.18)
    return texture, light, (texture * light * 0.8).astype(np.float64)


@pytest.mark.parametrize("output", [{}, {"gamma": 2.2}, {"colour": "rgb"}])
def test_strength_zero_gives_the_picture_back(picture, assert_same, output):
    assert_same(Relighter(strength=0, **output).apply(picture))


def test_strength_zero_on_engines(engine):
    np.testing.assert_array_equal(Relighter(strength=0, engine=engine).apply(PICTURE), PICTURE)


@pytest.mark.parametrize("settings", SETTINGS)
def test_factors_multiply_to_the_picture(picture, settings):
    decal, light = decouple(picture, **settings)
    colours = picture[..., :3] if picture.ndim == 3 else picture
    assert decal.shape == light.shape == colours.shape
    assert decal.dtype == light.dtype == (np.float64 if picture.dtype in (np.float64, np.int32) else np.float32)
    assert light.min() > 0
    expected = colours.astype(float)
    np.testing.assert_allclose(decal * light, expected, atol=1e-6 * max(expected.max(), 1e-9), rtol=0)


@pytest.mark.parametrize("settings", SETTINGS)
def test_factors_multiply_to_the_picture_on_engines(engine, settings):
    decal, light = decouple(PICTURE, engine=engine, **settings)
    np.testing.assert_allclose(decal * light, PICTURE, atol=1e-3, rtol=0)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_engines_agree(engine, settings, dtype):
    picture = as_dtype(PICTURE, dtype)
    # by little light, and by a root of it, rounding is divided too
    allowed = {"uint8": 1, "uint16": 4, "float32": 2e-4, "float64": 1e-12}[dtype]
    for output in ("decal", "light"):
        expected = Relighter(output=output, engine="reference", **settings).apply(picture)
        result = Relighter(output=output, engine=engine, **settings).apply(picture)
        np.testing.assert_allclose(result.astype(float), expected.astype(float), atol=allowed, rtol=0)
        if dtype == "uint8":
            assert np.mean(result != expected) < 1e-3


def test_light_is_what_the_coarsest_band_gives_back():
    picture = PICTURE[..., 0].astype(np.float64) / 255
    pyramid = decompose(picture, "cdf97", 3)
    light = reconstruct(pyramid.map(lambda band, level, key: band if "d" not in key else np.zeros_like(band)))
    np.testing.assert_allclose(decouple(picture, level=3).light, np.maximum(light, 0.02), atol=1e-12)


@pytest.mark.parametrize("gamma", [1.0, 2.2])
def test_a_decal_is_evenly_lit(gamma):
    _, light, picture = make_unevenly_lit()
    found = decouple(picture, level=4, gamma=gamma)
    inner = np.s_[16:-16, 16:-16]
    blocks = found.decal[inner].reshape(14, 16, 14, 16).mean(axis=(1, 3))
    before = picture[inner].reshape(14, 16, 14, 16).mean(axis=(1, 3))
    assert blocks.std() / blocks.mean() < 0.01
    assert before.std() / before.mean() > 0.3
    ratio = found.light[inner] / light[inner]
    assert ratio.std() / ratio.mean() < 0.01


def test_grey_light_leaves_the_colours():
    picture = PICTURE.astype(np.float64) / 255 + 0.05
    decal, light = decouple(picture)
    np.testing.assert_array_equal(light[..., 0], light[..., 2])
    np.testing.assert_allclose(decal[..., 0] / decal[..., 1], picture[..., 0] / picture[..., 1], rtol=1e-9)
    _, light = decouple(picture, colour="rgb")
    assert np.abs(light[..., 0] - light[..., 2]).max() > 0.01


def test_darkness_is_divided_safely(engine):
    picture = np.zeros((40, 50, 3), np.uint8)
    np.testing.assert_array_equal(Relighter(engine=engine).apply(picture), picture)
    picture[10:20, 10:20] = 255
    decal, light = decouple(picture, engine=engine)
    assert np.isfinite(decal).all()
    assert light.min() >= 0.02 * 255 * 0.999


def test_new_light(engine):
    texture, _, picture = make_unevenly_lit(128)
    evening = np.linspace(0.2, 0.9, 128)[np.newaxis].repeat(128, axis=0)
    result = relight(picture, evening, level=4, engine=engine)
    inner = np.s_[20:-20, 20:-20]
    ratio = result[inner] / (texture * evening)[inner]
    assert ratio.std() / ratio.mean() < 0.06
    # the light that was there gives the picture back
    np.testing.assert_allclose(
        relight(picture, decouple(picture, level=4).light, level=4, engine=engine), picture, atol=1e-9
    )


def test_new_light_of_other_sizes_depths_and_colours(picture):
    whole = picture.dtype.kind in "iu"
    white = np.iinfo(picture.dtype).max if whole else 1.0
    light = np.full((2, 3), white / 2 + 0.25 * whole, picture.dtype)
    result = relight(picture, light)
    assert result.shape == picture.shape
    assert result.dtype == picture.dtype
    if whole and picture.shape[2:] in ((3,), (4,)):
        coloured = np.full((1, 1, 3), 100, np.uint8)
        assert relight(picture, coloured).dtype == picture.dtype


def test_files_of_bytes_recombine():
    smooth = (data.photograph()[::2, ::2] // 2 + 64).astype(np.uint8)
    decal, light = (Relighter(output=output, level=4).apply(smooth) for output in ("decal", "light"))
    assert decal.dtype == light.dtype == np.uint8
    difference = np.abs(recombine(decal, light).astype(int) - smooth)
    # where nothing was clipped, only rounding is lost
    assert np.quantile(difference, 0.99) <= 2
    np.testing.assert_array_equal(recombine(decal, light, exposure=0.5), recombine(decal, light))


def test_recombine_on_engines(engine):
    decal, light = decouple(PICTURE.astype(np.float64))
    np.testing.assert_allclose(recombine(decal, light, engine=engine), PICTURE, atol=1e-9)


def test_alpha_stays():
    alpha = np.arange(PICTURE[..., 0].size, dtype=np.uint8).reshape(PICTURE.shape[:2])
    result = Relighter().apply(np.dstack([PICTURE, alpha]))
    np.testing.assert_array_equal(result[..., 3], alpha)
    np.testing.assert_array_equal(result[..., :3], Relighter().apply(PICTURE))


def test_arrays_of_torch_come_back_as_such(engine):
    torch = pytest.importorskip("torch")
    there = torch.from_numpy(PICTURE.copy())
    result = Relighter(engine=engine).apply(there)
    assert isinstance(result, torch.Tensor)
    np.testing.assert_array_equal(result.numpy(), Relighter(engine=engine).apply(PICTURE))
    decal, light = decouple(there, engine=engine)
    assert isinstance(decal, torch.Tensor)
    assert isinstance(light, torch.Tensor)
    assert isinstance(recombine(decal, light), torch.Tensor)
    assert isinstance(relight(there, there, engine=engine), torch.Tensor)


@pytest.mark.opencl
def test_arrays_of_opencl_stay_there(engine):
    if engine != "opencl":
        pytest.skip("those of the host stay on the host")
    from subband.engines import get_engine

    device = get_engine("opencl").device
    there = device.upload(PICTURE)
    result = Relighter().apply(there)
    assert device.owns(result)
    np.testing.assert_array_equal(result.get(), Relighter(engine="opencl").apply(PICTURE))
    decal, light = decouple(there)
    np.testing.assert_allclose(recombine(decal, light).get(), PICTURE, atol=1e-3)
    np.testing.assert_array_equal(there.get(), PICTURE)


def test_inputs_are_not_written_to():
    picture = PICTURE.astype(np.float32) / 255
    before = picture.copy()
    relight(picture, picture)
    recombine(*decouple(picture))
    np.testing.assert_array_equal(picture, before)


def test_levels_follow_the_size():
    assert Lighting().plan((1, 1080, 1920)).level == 6
    assert Lighting().plan((1, 512, 512)).level == 5
    assert Lighting().plan((1, 16, 4000)).level == 1


def test_lightings_are_keys():
    assert len({Lighting(), Lighting(level=None), Lighting(gamma=2.2)}) == 2
    assert Relighter(level=3).adjust(gamma=2.0).lighting == Lighting(level=3, gamma=2.0)


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"floor": 0}, ArgumentError, "zero light"),
        ({"strength": 2}, ArgumentError, "strength=2"),
        ({"gamma": 0}, ArgumentError, "linear light"),
        ({"exposure": 0}, ArgumentError, "part of white"),
        ({"colour": "lab"}, ArgumentError, "ycbcr"),
        ({"output": "decl"}, ArgumentError, "did you mean 'decal'"),
        ({"level": 30}, LevelError, "maximum"),
        ({"levels": 3}, ArgumentTypeError, "'levels' is not a setting"),
    ],
)
def test_settings_that_are_refused(settings, kind, words):
    with pytest.raises(kind, match=words):
        Relighter(**settings).apply(PICTURE)


def test_lights_that_do_not_fit():
    with pytest.raises(ShapeError, match="light is in colour"):
        relight(PICTURE[..., 0], PICTURE)
    with pytest.raises(ArgumentError, match="give both as integers"):
        recombine(PICTURE, np.ones((2, 2)))
    with pytest.raises(ShapeError, match="light has shape"):
        recombine(PICTURE, np.ones(5, np.uint8))


def test_integers_of_64_bits_need_a_white():
    wide = PICTURE.astype(np.int64)
    with pytest.raises(ArgumentError, match="does not say what white is"):
        relight(wide, wide)
    np.testing.assert_allclose(relight(wide, wide, white=255).clip(0, 255), relight(PICTURE, PICTURE), atol=0.51)
