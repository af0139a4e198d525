"""Edges at several scales."""

import numpy as np
import pytest

from subband import data
from subband.bench.edges import make_scene, score_edges
from subband.edit.edges import EdgeFinder, find_edges
from subband.engines import get_engine
from subband.errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    LevelError,
    MissingExtraError,
    NoDeviceError,
    ShapeError,
)

PICTURE = data.photograph()[100:165, 60:151]


def find_engine(name):
    try:
        return get_engine(name)
    except (MissingExtraError, NoDeviceError) as missing:
        pytest.skip(str(missing))


def make_ball(shape, centre, radius):
    grid = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    return np.linalg.norm(grid - np.asarray(centre), axis=-1) - radius


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_step_is_found_between_its_samples_with_its_height(axis, level):
    picture = np.zeros((41, 37))
    picture[(slice(None),) * axis + (slice(17, None),)] = 80
    edges = find_edges(picture, level=level, finest=level)
    rows = np.unique(np.nonzero(edges.mask)[axis])
    np.testing.assert_array_equal(rows, [16])
    assert edges.mask.sum() == picture.shape[1 - axis]
    np.testing.assert_allclose(edges.modulus[edges.mask], 80, rtol=1e-5)
    np.testing.assert_allclose(edges.angle[edges.mask], [np.pi / 2, 0][axis], atol=1e-5)
    assert (edges.scales[edges.mask] == 1).all()


def test_chains_go_through_all_scales_where_there_is_an_edge():
    picture = 100.0 * (make_ball((64, 64), (31, 33), 18) < 0)
    edges = find_edges(picture, level=3)
    assert (edges.scales[edges.mask] == 3).all()
    assert np.abs(make_ball((64, 64), (30.5, 32.5), 18)[edges.mask]).max() < 1


def test_the_gradient_points_uphill():
    picture = 100.0 * (make_ball((64, 64), (32, 32), 20) < 0)
    edges = find_edges(picture, level=2)
    for row, column in np.argwhere(edges.mask):
        outwards = np.array([row - 31.5, column - 31.5])
        assert edges.gradient[:, row, column] @ outwards < -0.85 * np.linalg.norm(outwards) * edges.modulus[row, column]


def test_noise_is_measured_and_kept_out():
    noise = np.random.default_rng(0).normal(0, 12, (256, 256))
    edges = find_edges(noise)
    assert edges.noise == pytest.approx(12, rel=0.03)
    assert edges.mask.mean() < 1e-3
    for level, deviation in enumerate(edges.deviations, start=4 - len(edges.deviations)):
        found = find_edges(noise, level=level, finest=level)
        assert found.gradient.std() == pytest.approx(deviation, rel=0.15)


@pytest.mark.parametrize(("sigma", "precision", "recall"), [(0, 0.99, 0.99), (10, 0.97, 0.97), (20, 0.93, 0.94)])
def test_precision_and_recall_on_a_phantom(sigma, precision, recall):
    scene = make_scene()
    picture = scene.picture + np.random.default_rng(1).normal(0, sigma, scene.picture.shape)
    score = score_edges(scene, find_edges(picture).mask)
    assert score.precision > precision
    assert score.recall > recall


def test_a_ball_in_a_volume():
    shape, centre, radius = (41, 44, 48), (20, 22, 24), 10
    depth = make_ball(shape, centre, radius)
    volume = 50 + 100 * np.clip(0.5 - depth, 0, 1)
    volume += np.random.default_rng(0).normal(0, 8, shape)
    edges = find_edges(volume.astype(np.float32))
    assert edges.mask.shape == shape
    away = np.abs(make_ball(shape, np.subtract(centre, 0.5), radius))
    assert (away[edges.mask] < 1.5).mean() > 0.98
    assert edges.mask[away < 0.4].mean() > 0.8
    with pytest.raises(ShapeError, match="use `gradient`"):
        _ = edges.angle


def test_a_volume_of_three_columns_is_one_if_told_so():
    volume = np.zeros((12, 14, 3))
    volume[6:] = 9
    assert find_edges(volume, level=1).mask.shape == (12, 14)
    assert find_edges(volume, level=1, volume=True).mask.shape == volume.shape


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (2, 3), (7, 5), (33, 65)])
def test_odd_and_tiny_sizes(shape):
    picture = np.random.default_rng(0).normal(size=shape)
    edges = find_edges(picture, level=2)
    assert edges.mask.shape == edges.modulus.shape == shape


@pytest.mark.parametrize("name", ["grey", "colour", "deep", "float"])
def test_depths_show_the_same_edges(name):
    picture = {
        "grey": PICTURE[..., 1],
        "colour": PICTURE,
        "deep": PICTURE.astype(np.uint16) * 257,
        "float": (PICTURE / 255).astype(np.float32),
    }[name]
    finder = EdgeFinder()
    overlay = finder.apply(picture)
    assert overlay.shape == (*picture.shape[:2], 3)
    assert overlay.dtype == picture.dtype
    mask = finder.find(picture).mask
    assert 0 < mask.mean() < 0.3
    whole = picture if picture.ndim == 3 else np.repeat(picture[..., None], 3, axis=2)
    np.testing.assert_array_equal(overlay[~mask], whole[~mask])
    if name in ("deep", "float"):
        assert (mask == finder.find(PICTURE).mask).mean() > 0.998


def test_every_kind_of_picture_gets_its_overlay(picture):
    finder = EdgeFinder(level=2)
    overlay = finder.apply(picture)
    has_alpha = picture.ndim == 3 and picture.shape[2] == 4
    assert overlay.shape == (*picture.shape[:2], 4 if has_alpha else 3)
    assert overlay.dtype == picture.dtype
    mask = finder.find(picture, volume=False).mask
    assert mask.shape == picture.shape[:2]
    whole = picture if picture.ndim == 3 else picture[..., np.newaxis]
    np.testing.assert_array_equal(overlay[~mask], np.broadcast_to(whole, overlay.shape)[~mask])
    if has_alpha:
        np.testing.assert_array_equal(overlay[..., 3], picture[..., 3])


def test_edges_of_equal_brightness_show_by_their_channels():
    picture = np.full((32, 32, 3), 100.0)
    picture[:, 16:, 0] += 0.587 * 80
    picture[:, 16:, 1] -= 0.299 * 80
    settings = {"level": 2, "sigma": 1.0}
    assert not find_edges(picture, **settings).mask.any()
    assert find_edges(picture, channels="strongest", **settings).mask[:, 15].all()


@pytest.mark.parametrize("engine", ["cpu", pytest.param("opencl", marks=pytest.mark.opencl)])
@pytest.mark.parametrize("kind", ["grey", "colour", "volume"])
def test_engines_find_the_same(engine, kind):
    x = {"grey": PICTURE[..., 0], "colour": PICTURE, "volume": PICTURE[:20, :24].transpose(2, 0, 1).repeat(5, 0)}[kind]
    finder = EdgeFinder(level=2, finest=1, channels="strongest")
    expected = finder.find(x, engine="reference")
    found = finder.find(x, engine=find_engine(engine))
    np.testing.assert_allclose(found.modulus, expected.modulus, atol=2e-3)
    np.testing.assert_allclose(found.gradient, expected.gradient, atol=2e-3)
    assert found.noise == pytest.approx(expected.noise, rel=1e-3, abs=1e-4)
    # equal neighbours may be told apart by rounding
    assert (found.mask == expected.mask).mean() > 0.997


def test_the_overlay_can_be_faint_and_the_picture_faded():
    picture = np.full((16, 16), 100, np.uint8)
    picture[:, 8:] = 200
    edges = find_edges(picture, level=1)
    faint = edges.overlay(picture, (0, 0, 200), opacity=0.5)
    np.testing.assert_array_equal(faint[4, 7], [50, 50, 150])
    faded = edges.overlay(picture, (0, 0, 200), fade=0.5)
    np.testing.assert_array_equal(faded[4, 3], [178] * 3)
    np.testing.assert_array_equal(faded[4, 7], [0, 0, 200])


def test_contrast_persistence_and_length_leave_out():
    picture = np.zeros((64, 64))
    picture[:, 20:] += 10
    picture[:, 40:] += 100
    both, strong = find_edges(picture), find_edges(picture, contrast=30)
    assert both.mask[:, 19].all()
    assert both.mask[:, 39].all()
    assert not strong.mask[:, 19].any()
    assert strong.mask[:, 39].all()
    picture[:] = 0
    picture[30:32, 30:32] = 50
    assert find_edges(picture, level=1).mask.any()
    assert not find_edges(picture, level=1, shortest=20).mask.any()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"wavelet": "db2"}, ArgumentError, "no smoothed first derivative"),
        ({"wavelet": "bior3.1"}, ArgumentError, "no smoothed first derivative"),
        ({"level": 0}, LevelError, "level=0"),
        ({"level": 2, "finest": 3}, LevelError, "use 1 to 2"),
        ({"level": 2, "persistence": 3}, LevelError, "use 1 to 2"),
        ({"threshold": float("nan")}, ArgumentError, "threshold=nan"),
        ({"weak": 2.0}, ArgumentError, "from 0 to 1"),
        ({"sigma": "much"}, ArgumentTypeError, "not a number"),
        ({"channels": "all"}, ArgumentError, "brightness, strongest"),
        ({"colour": (1, 2)}, ArgumentError, "three numbers"),
        ({"colour": (1, "red", 2)}, ArgumentError, "three numbers"),
    ],
)
def test_bad_settings(settings, error, message):
    with pytest.raises(error, match=message):
        EdgeFinder(**settings)


def test_bad_pictures():
    with pytest.raises(ArgumentError, match=r"1 values that are not finite, the first at \(2, 3\)"):
        find_edges(np.where(np.arange(20).reshape(4, 5) == 13, np.nan, 1.0))
    with pytest.raises(ShapeError, match=r"\(4,\)"):
        find_edges(np.zeros(4))
    with pytest.raises(ShapeError, match="empty"):
        find_edges(np.zeros((0, 4)))
    with pytest.raises(DtypeError, match="complex"):
        find_edges(np.zeros((4, 4), complex))
    with pytest.raises(ShapeError, match="draw edges over the image"):
        find_edges(np.zeros((4, 4))).overlay(np.zeros((5, 4)))
    with pytest.raises(ShapeError, match="draw edges over the image"):
        find_edges(np.zeros((4, 4))).overlay(np.zeros((4, 4, 2)))
    with pytest.raises(DtypeError, match="does not say what white is"):
        find_edges(np.zeros((4, 4))).overlay(np.zeros((4, 4), np.int64))
    with pytest.raises(ArgumentError, match="opacity=2 is out of range"):
        find_edges(np.zeros((4, 4))).overlay(np.zeros((4, 4)), opacity=2)
    with pytest.raises(ArgumentTypeError, match="'treshold' is not a setting; did you mean 'threshold'"):
        find_edges(np.zeros((4, 4)), treshold=3)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_numbers_that_single_precision_cannot_square(scale):
    with pytest.raises(ArgumentError, match="scale it"):
        find_edges(scale * np.eye(8))
    assert not find_edges(np.full((8, 8), 1e-3)).mask.any()


def test_scales_larger_than_the_picture():
    # such margins would be thousands of times the picture
    with pytest.raises(LevelError, match="level=12 is too coarse for 20 × 21; use 1 to 6"):
        find_edges(np.zeros((20, 21)), level=12)
    with pytest.raises(LevelError, match="too coarse for 16 × 8 × 9; use 1 to 3"):
        find_edges(np.zeros((16, 8, 9)), level=4)
    assert find_edges(np.zeros((1, 1)), level=6).mask.shape == (1, 1)
    assert find_edges(np.zeros((512, 8)), level=7).mask.shape == (512, 8)


def test_edges_of_32_bits_are_as_white_as_others():
    picture = np.zeros((8, 8), np.uint32)
    picture[:, 4:] = 2**31
    np.testing.assert_array_equal(find_edges(picture, level=1).overlay(picture)[2, 3], [2**32 - 1, 673720360, 0])


@pytest.mark.parametrize("wavelet", ["haar", "bior1.3", "bior1.5"])
def test_other_wavelets(wavelet):
    picture = np.zeros((40, 40))
    picture[:, 20:] = 10
    edges = find_edges(picture, wavelet=wavelet, level=2)
    assert edges.mask[:, 19].all()
    np.testing.assert_allclose(edges.modulus[:, 19], 10, rtol=1e-5)


def test_settings_are_values():
    assert EdgeFinder(level=2) == EdgeFinder(level=2)
    assert hash(EdgeFinder()) == hash(EdgeFinder())
    assert EdgeFinder(colour=[1, 2, 3]).colour == (1.0, 2.0, 3.0)
