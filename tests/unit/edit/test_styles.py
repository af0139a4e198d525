"""Bumps of one picture on another."""

import numpy as np
import pytest

from subband import data, decompose, reconstruct
from subband.edit import Style, Stylist, stylise
from subband.enhance.colour import from_ycbcr, to_ycbcr
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError, LevelError, ShapeError

PICTURE = data.photograph()[100:171, 120:217]
TEXTURE = data.ascent()[200:271, 200:297]
BANDS = {"h": "da", "v": "ad", "d": "dd"}


@pytest.mark.parametrize("rule", ["max", "add", "mix"])
def test_strength_zero_gives_the_picture_back(picture, assert_same, rule):
    assert_same(stylise(picture, TEXTURE, rule=rule, strength=0))


@pytest.mark.parametrize("colour", ["ycbcr", "opponents", "rgb"])
def test_a_texture_without_bumps_changes_nothing(picture, assert_same, colour):
    assert_same(stylise(picture, np.full((50, 40), 90, np.uint8), colour=colour))


@pytest.mark.parametrize("colour", ["ycbcr", "rgb"])
def test_nothing_changes_on_engines(engine, colour):
    for texture, strength in ((TEXTURE, 0), (np.full((50, 40), 90, np.uint8), 1)):
        result = stylise(PICTURE, texture, strength=strength, colour=colour, engine=engine)
        np.testing.assert_array_equal(result, PICTURE)


def test_every_kind_of_picture_is_changed(picture):
    result = stylise(picture, TEXTURE, rule="add", level=1)
    assert result.shape == picture.shape
    assert result.dtype == picture.dtype
    if picture.shape[2:] == (4,):
        np.testing.assert_array_equal(result[..., 3], picture[..., 3])
        assert (result[..., :3] != picture[..., :3]).any()
    elif picture.shape[:2] != (1, 1):
        assert (result != picture).any()


@pytest.mark.parametrize("settings", [{}, {"rule": "add"}, {"rule": "mix"}, {"colour": "rgb"}, {"colour": "opponents"}])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_engines_agree(engine, settings, dtype):
    scale = {"uint8": 1, "uint16": 257}.get(dtype, 1 / 255)
    picture = (PICTURE.astype(float) * scale).astype(dtype)
    expected = stylise(picture, TEXTURE, strength=0.7, engine="reference", **settings)
    result = stylise(picture, TEXTURE, strength=0.7, engine=engine, **settings)
    allowed = {"uint8": 1, "uint16": 1, "float32": 1e-5, "float64": 1e-12}[dtype]
    np.testing.assert_allclose(result.astype(float), expected.astype(float), atol=allowed, rtol=0)
    if dtype == "uint8":
        assert np.mean(result != expected) < 1e-3


@pytest.mark.parametrize("rule", ["max", "add", "mix"])
@pytest.mark.parametrize(("levels", "orientations"), [(None, "hvd"), ((1, 3), "hv"), ((2,), "d")])
def test_it_is_what_the_formula_says(rule, levels, orientations):
    picture, strength = PICTURE.astype(np.float64) / 255, 0.6
    planes = to_ycbcr(picture)
    own = decompose(planes[0], "cdf97", 3)
    other = decompose(TEXTURE / 255, "cdf97", 3)
    keys = [BANDS[letter] for letter in orientations]

    def combine(band, level, key):
        if key not in keys or (levels is not None and level not in levels):
            return band
        theirs = strength * other.details[3 - level][key]
        if rule == "max":
            return np.where(np.abs(theirs) > np.abs(band), theirs, band)
        return band + theirs if rule == "add" else (1 - strength) * band + theirs

    planes[0] = reconstruct(own.map(combine))
    result = stylise(picture, TEXTURE, rule=rule, strength=strength, level=3, levels=levels, orientations=orientations)
    np.testing.assert_allclose(result, from_ycbcr(planes), atol=1e-12)


def test_no_colour_of_the_texture_comes_along():
    texture = np.dstack([TEXTURE, TEXTURE // 2, np.zeros_like(TEXTURE)])
    picture = PICTURE.astype(np.float64) / 255
    _, *before = to_ycbcr(picture)
    _, *after = to_ycbcr(stylise(picture, texture))
    np.testing.assert_allclose(after, before, atol=1e-12)
    _, *after = to_ycbcr(stylise(picture, texture, colour="rgb"))
    assert np.abs(np.subtract(after, before)).max() > 0.05


def test_shading_of_the_texture_stays_behind():
    ramp = np.linspace(0, 255, 256).astype(np.uint8)[:, np.newaxis].repeat(256, axis=1)
    flat = np.full((256, 256), 128, np.uint8)
    assert np.abs(stylise(flat, ramp, level=3).astype(int) - 128)[32:-32].max() <= 1


@pytest.mark.parametrize("fit", ["tile", "mirror", "stretch"])
def test_textures_of_other_sizes(fit):
    small, large = TEXTURE[:20, :30], data.camera()
    for texture in (small, large):
        result = stylise(PICTURE, texture, fit=fit)
        assert result.shape == PICTURE.shape
        assert (result != PICTURE).any()
    assert stylise(PICTURE, large, fit="crop").shape == PICTURE.shape
    with pytest.raises(ShapeError, match="fit='tile'"):
        stylise(PICTURE, small, fit="crop")


def test_depths_are_matched():
    expected = stylise(PICTURE, TEXTURE).astype(float)
    deep = stylise(PICTURE, TEXTURE.astype(np.uint16) * 257)
    np.testing.assert_allclose(deep, expected, atol=1)
    fine = stylise(PICTURE.astype(np.uint16) * 257, TEXTURE)
    np.testing.assert_allclose(fine / 257, expected, atol=0.51)
    of_floats = stylise(PICTURE.astype(np.float32), TEXTURE, white=255)
    np.testing.assert_allclose(np.clip(of_floats, 0, 255), expected, atol=0.51)


def test_grey_and_colour_together():
    colours = np.dstack([TEXTURE] * 3)
    np.testing.assert_array_equal(stylise(PICTURE, colours), stylise(PICTURE, TEXTURE))
    grey = np.ascontiguousarray(PICTURE[..., 0])
    np.testing.assert_allclose(stylise(grey, colours).astype(int), stylise(grey, TEXTURE), atol=1)
    for colour in ("rgb", "opponents"):
        same = stylise(PICTURE, colours, colour=colour), stylise(PICTURE, TEXTURE, colour=colour)
        np.testing.assert_array_equal(*same)


def test_arrays_of_torch_come_back_as_such(engine):
    torch = pytest.importorskip("torch")
    expected = stylise(PICTURE, TEXTURE, engine=engine)
    for texture in (TEXTURE, torch.from_numpy(TEXTURE.copy())):
        result = stylise(torch.from_numpy(PICTURE.copy()), texture, engine=engine)
        assert isinstance(result, torch.Tensor)
        np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.opencl
def test_arrays_of_opencl_stay_there(engine):
    if engine != "opencl":
        pytest.skip("those of the host stay on the host")
    from subband.engines import get_engine

    device = get_engine("opencl").device
    expected = stylise(PICTURE, TEXTURE, engine="opencl")
    result = stylise(device.upload(PICTURE), device.upload(TEXTURE[..., np.newaxis].repeat(3, axis=2)))
    assert device.owns(result)
    np.testing.assert_allclose(result.get().astype(int), expected, atol=1)
    assert device.owns(stylise(device.upload(PICTURE), TEXTURE))
    with pytest.raises(ArgumentTypeError, match="texture is on opencl"):
        stylise(PICTURE, device.upload(PICTURE), engine="cpu")


def test_inputs_are_not_written_to():
    picture, texture = PICTURE.astype(np.float32) / 255, TEXTURE.astype(np.float32) / 255
    before = picture.copy(), texture.copy()
    stylise(picture, texture)
    np.testing.assert_array_equal(picture, before[0])
    np.testing.assert_array_equal(texture, before[1])


def test_a_stylist_keeps_its_texture_ready(monkeypatch):
    stylist = Stylist(TEXTURE, strength=0.3)
    first = stylist.apply(PICTURE)
    calls = []
    monkeypatch.setattr(Stylist, "_transform_texture", lambda *_: calls.append(1))
    np.testing.assert_array_equal(stylist.apply(PICTURE), first)
    louder = stylist.adjust(strength=0.9, rule="mix")
    assert (louder.apply(PICTURE) != first).any()
    assert stylist.style.strength == 0.3
    assert not calls


def test_styles_are_keys():
    assert len({Style(), Style(strength=1), Style(levels=[1, 2]), Style(levels=(2, 1))}) == 2


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"rule": "addd"}, ArgumentError, "did you mean 'add'"),
        ({"colour": "hsv"}, ArgumentError, "ycbcr"),
        ({"fit": "bend"}, ArgumentError, "stretch"),
        ({"strength": -1}, ArgumentError, "strength=-1"),
        ({"strength": "much"}, ArgumentError, "strength='much'"),
        ({"orientations": "x"}, ArgumentError, "'hvd'"),
        ({"levels": (0,)}, LevelError, "finest is 1"),
        ({"levels": "all"}, LevelError, "such as"),
        ({"levels": (1.5,)}, LevelError, "such as"),
        ({"levels": (4,), "level": 2}, ArgumentError, "beyond level=2"),
        ({"level": 20}, LevelError, "maximum"),
        ({"level": "3", "levels": (1,)}, LevelError, "not a number of levels"),
        ({"white": 0}, ArgumentError, "white=0"),
        ({"rules": "max"}, ArgumentTypeError, "'rules' is not a setting; did you mean 'rule'"),
        ({"wavelet": "cdf98"}, ArgumentError, "cdf97"),
    ],
)
def test_settings_that_are_refused(settings, kind, words):
    with pytest.raises(kind, match=words):
        stylise(PICTURE, TEXTURE, **settings)


def test_pictures_that_are_refused():
    with pytest.raises(ShapeError, match="picture has shape"):
        stylise(np.zeros((4, 5, 6)), TEXTURE)
    with pytest.raises(ShapeError, match="texture has shape"):
        stylise(PICTURE, np.zeros(7))
    with pytest.raises(DtypeError, match="texture"):
        stylise(PICTURE, TEXTURE.astype(complex))
    with pytest.raises(ArgumentError, match="picture has pixels that are NaN"):
        stylise(np.full((8, 8), np.nan), TEXTURE)
    with pytest.raises(ArgumentTypeError, match="give a Style"):
        stylise(PICTURE, TEXTURE, {"rule": "max"})


def test_integers_of_64_bits_need_a_white():
    wide = PICTURE.astype(np.int64)
    for picture in (wide, wide.tolist()):
        with pytest.raises(ArgumentError, match="picture holds int64, which does not say what white is"):
            stylise(picture, TEXTURE)
        result = stylise(picture, TEXTURE, white=255)
        np.testing.assert_allclose(result.clip(0, 255), stylise(PICTURE, TEXTURE), atol=0.51)


def test_a_texture_is_kept_as_it_was():
    texture = TEXTURE.copy()
    stylist = Stylist(texture)
    texture[...] = 0
    np.testing.assert_array_equal(stylist.apply(PICTURE), stylise(PICTURE, TEXTURE))
