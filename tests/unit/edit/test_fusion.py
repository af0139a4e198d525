"""Several pictures of a scene become one."""

import numpy as np
import pytest

from subband import data
from subband.edit import Fuser, Fusion, fuse
from subband.enhance import Blur, Enhancer
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError, LevelError, ShapeError
from subband.quality import measure_psnr

PICTURE = data.photograph()[100:171, 120:217]


def blur_halves(picture, sigma=3.0):
    """Return a picture whose right half is out of focus, and one whose left half is."""
    blurred = Enhancer(Blur(sigma)).apply(picture)
    middle = picture.shape[1] // 2
    near, far = picture.copy(), picture.copy()
    near[:, middle:] = blurred[:, middle:]
    far[:, :middle] = blurred[:, :middle]
    return near, far


@pytest.mark.parametrize(
    "sharp",
    [data.camera(), data.ascent(), data.photograph(), data.photograph()[:301, :411].astype(np.uint16) * 257],
    ids=["camera", "ascent", "photograph", "deep and odd"],
)
@pytest.mark.parametrize("sigma", [2.0, 4.0])
def test_focus(sharp, sigma):
    near, far = blur_halves(sharp, sigma)
    white = np.iinfo(sharp.dtype).max
    reached = measure_psnr(fuse([near, far]), sharp, white)
    mean = measure_psnr((near.astype(float) + far) / 2, sharp, white)
    assert reached > 42
    assert reached > mean + 6


def test_consistency_keeps_strays_out():
    sharp = data.camera()[:128, :128]
    other = Enhancer(Blur(2.0)).apply(sharp)
    other[40:100:20, 40:100:20] = 255
    alone, checked = (fuse([sharp, other], window=1, consistency=size) for size in (1, 15))
    assert measure_psnr(checked, sharp, 255) > measure_psnr(alone, sharp, 255) + 6


def test_any_number_of_pictures():
    sharp = data.camera()[:200, :210]
    blurred = Enhancer(Blur(3.0)).apply(sharp)
    stack = []
    for part in range(5):
        each = blurred.copy()
        each[:, part * 42 : part * 42 + 42] = sharp[:, part * 42 : part * 42 + 42]
        stack.append(each)
    reached = measure_psnr(fuse(stack), sharp, 255)
    assert reached > 35
    assert reached > measure_psnr(np.mean(stack, axis=0), sharp, 255) + 6
    # which one comes first does not matter
    assert measure_psnr(fuse(stack[::-1]), sharp, 255) > reached - 2


def test_exposure():
    scene = (data.photograph()[::2, ::2] / 255) ** 2.2 + 0.02
    radiance = scene * np.geomspace(1 / 16, 16, scene.shape[1])[np.newaxis, :, np.newaxis]
    stack = [np.rint(255 * np.clip(radiance * gain, 0, 1) ** (1 / 2.2)).astype(np.uint8) for gain in (1 / 8, 1, 8)]
    result = fuse(stack, rule="exposure")

    def find_lost(picture):
        return np.mean((picture == 255).all(axis=2) | (picture < 20).all(axis=2))

    assert find_lost(result) < 0.5 * min(find_lost(each) for each in stack)
    # details of the darkest and of the brightest parts are there
    parts = np.array_split(np.arange(scene.shape[1]), 6)
    for part, best in ((parts[0], stack[2]), (parts[-1], stack[0])):
        fine = [np.abs(np.diff(each[:, part].astype(float), axis=0)).mean() for each in (result, best)]
        assert fine[0] > 0.8 * fine[1]


@pytest.mark.parametrize("rule", ["focus", "exposure"])
def test_the_same_picture_twice_comes_back(picture, assert_same, rule):
    assert_same(fuse([picture, picture], rule=rule))


def test_strength_zero_gives_the_first_back(picture, assert_same):
    assert_same(fuse([picture, picture[::-1, ::-1]], strength=0))


def test_the_same_picture_twice_on_engines(engine):
    np.testing.assert_array_equal(fuse([PICTURE] * 2, level=2, engine=engine), PICTURE)
    np.testing.assert_array_equal(fuse([PICTURE, PICTURE[::-1]], strength=0, engine=engine), PICTURE)


def test_strength_is_a_share():
    near, far = (each.astype(np.float64) for each in blur_halves(PICTURE))
    expected = 0.3 * fuse([near, far]) + 0.7 * near
    np.testing.assert_allclose(fuse([near, far], strength=0.3), expected, atol=1e-9)


@pytest.mark.parametrize("rule", ["focus", "exposure"])
@pytest.mark.parametrize("dtype", ["uint8", "float64"])
def test_engines_agree(engine, rule, dtype):
    stack = [each.astype(dtype) for each in blur_halves(PICTURE)]
    expected = fuse(stack, rule=rule, level=2, white=255, engine="reference").astype(float)
    difference = np.abs(fuse(stack, rule=rule, level=2, white=255, engine=engine) - expected)
    # activities that are nearly the same may be decided differently in single precision
    assert np.mean(difference > (1 if dtype == "uint8" else 1e-9)) < 0.005
    assert difference.max() < 30


def test_a_shifted_stack_gives_a_shifted_result():
    near, far = blur_halves(data.camera()[:160, :160])
    whole = fuse([near, far], level=3).astype(int)
    part = fuse([near[1:, 3:], far[1:, 3:]], level=3).astype(int)
    inner = np.s_[40:-40, 40:-40]
    np.testing.assert_allclose(part[inner], whole[1:, 3:][inner], atol=1)


def test_alpha_is_that_of_the_first():
    alpha = np.arange(PICTURE[..., 0].size, dtype=np.uint8).reshape(PICTURE.shape[:2])
    stack = [np.dstack([PICTURE, alpha]), np.dstack([PICTURE, 255 - alpha])]
    np.testing.assert_array_equal(fuse(stack)[..., 3], alpha)


def test_arrays_of_torch_come_back_as_such(engine):
    torch = pytest.importorskip("torch")
    stack = blur_halves(PICTURE)
    result = fuse([torch.from_numpy(each) for each in stack], level=2, engine=engine)
    assert isinstance(result, torch.Tensor)
    np.testing.assert_array_equal(result.numpy(), fuse(stack, level=2, engine=engine))


@pytest.mark.opencl
def test_arrays_of_opencl_stay_there(engine):
    if engine != "opencl":
        pytest.skip("those of the host stay on the host")
    from subband.engines import get_engine

    device = get_engine("opencl").device
    stack = blur_halves(PICTURE)
    result = fuse([device.upload(each) for each in stack], level=2)
    assert device.owns(result)
    np.testing.assert_array_equal(result.get(), fuse(stack, level=2, engine="opencl"))


def test_inputs_are_not_written_to():
    stack = [each.astype(np.float32) for each in blur_halves(PICTURE)]
    before = [each.copy() for each in stack]
    fuse(stack)
    fuse(stack, strength=0)[...] = 0
    for each, was in zip(stack, before, strict=True):
        np.testing.assert_array_equal(each, was)


def test_fusions_are_keys():
    assert len({Fusion(), Fusion(window=5), Fusion(rule="exposure")}) == 2
    assert Fuser(window=3).adjust(rule="exposure").fusion == Fusion(window=3, rule="exposure")


@pytest.mark.parametrize(
    ("pictures", "settings", "kind", "words"),
    [
        ([PICTURE], {}, ArgumentError, "at least two"),
        ([], {}, ArgumentError, "at least two"),
        (3, {}, ArgumentTypeError, "list of images"),
        (PICTURE, {}, ShapeError, "one image of shape"),
        ([PICTURE, PICTURE[1:]], {}, ShapeError, r"70 × 97 .* same, aligned"),
        ([PICTURE, PICTURE[..., 0]], {}, ShapeError, "in grey"),
        ([PICTURE, PICTURE.astype(np.uint16)], {}, DtypeError, "one dtype"),
        ([PICTURE, PICTURE], {"rule": "focsu"}, ArgumentError, "did you mean 'focus'"),
        ([PICTURE, PICTURE], {"window": 4}, ArgumentError, "odd number"),
        ([PICTURE, PICTURE], {"consistency": 99}, ArgumentError, "odd number"),
        ([PICTURE, PICTURE], {"level": 9}, LevelError, "use 1 to 2"),
        ([PICTURE, PICTURE], {"level": "2"}, LevelError, "not a number of levels"),
        ([PICTURE, PICTURE], {"strength": 1.5}, ArgumentError, "strength"),
    ],
)
def test_what_is_refused(pictures, settings, kind, words):
    with pytest.raises(kind, match=words):
        fuse(pictures, **settings)
