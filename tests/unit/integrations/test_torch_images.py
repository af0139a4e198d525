"""Transforms of images for training: tensors and images of Pillow, alone and in a row."""

import numpy as np
import pytest
from PIL import Image

import subband
from subband import data
from subband.errors import ArgumentError, ArgumentTypeError

torch = pytest.importorskip("torch")
modules = pytest.importorskip("subband.integrations.torch")
DenoiseImage, RandomBands = modules.DenoiseImage, modules.RandomBands

PHOTOGRAPH = data.photograph()[:48, :64]


def as_tensor(pixels):
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(pixels, -1, 0)))


@pytest.mark.parametrize("convert", [np.uint8, np.float32])
def test_denoise_is_that_of_subband(convert):
    pixels = PHOTOGRAPH.astype(convert)
    denoise = DenoiseImage(level=2, method="bayes")
    expected = subband.denoise(pixels, level=2, method="bayes")
    alone, batch = denoise(as_tensor(pixels)), denoise(torch.stack([as_tensor(pixels)] * 2))
    assert alone.dtype == batch.dtype == as_tensor(pixels).dtype
    for result in (alone, *batch):
        np.testing.assert_allclose(
            np.moveaxis(result.numpy(), 0, -1), expected, atol=1 if convert is np.uint8 else 1e-3
        )
    grey = denoise(as_tensor(pixels)[:1])
    np.testing.assert_allclose(grey[0], subband.denoise(pixels[..., 0], level=2, method="bayes"), atol=1)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "F"])
def test_images_of_pillow_come_back_as_such(mode):
    image = Image.fromarray(PHOTOGRAPH).convert(mode)
    chain = torch.nn.Sequential(DenoiseImage(level=2), RandomBands(level=2, gain=0.5))
    result = chain(image)
    assert (result.mode, result.size) == (mode, image.size)
    assert not np.array_equal(result, image)
    cleaned = DenoiseImage(level=2)(image)
    np.testing.assert_allclose(cleaned, subband.denoise(np.array(image), level=2), atol=1 if mode != "F" else 1e-3)


def test_augmentation_varies_details_and_not_brightness():
    image = as_tensor(PHOTOGRAPH).float() / 255
    torch.manual_seed(1)
    first, second = RandomBands()(image), RandomBands()(image)
    torch.manual_seed(1)
    assert torch.equal(RandomBands()(image), first)
    assert not torch.equal(first, second)
    coarse = [subband.decompose(each.numpy(), "cdf97", 3, axes=(1, 2)).approximation for each in (image, first)]
    np.testing.assert_allclose(*coarse, atol=1e-4)


def test_each_setting_does_what_it_says():
    image = as_tensor(PHOTOGRAPH).float()
    assert RandomBands(p=0)(image) is image
    torch.testing.assert_close(RandomBands(gain=0)(image), image, atol=1e-3, rtol=0)
    smooth = RandomBands(drop=1, level=2)(image)
    details = subband.decompose(smooth.numpy(), "cdf97", 2, axes=(1, 2))
    assert max(np.abs(band).max() for _, key, band in details.bands() if "d" in key) < 1e-3
    noisy = RandomBands(gain=0, noise=0.5)(image)
    assert noisy.std() > image.std()
    # brighter than white is clipped, not wrapped around
    loud = RandomBands(gain=2.0, level=1)(as_tensor(PHOTOGRAPH))
    assert loud.dtype == torch.uint8


def test_gradients_pass():
    image = torch.rand(2, 1, 16, 16, requires_grad=True)
    RandomBands(level=2)(image).square().sum().backward()
    assert image.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda: DenoiseImage()(np.zeros((4, 4))), ArgumentTypeError, "a tensor or an image of Pillow"),
        (lambda: DenoiseImage()(torch.zeros(4)), ArgumentError, "it needs rows and columns"),
        (lambda: RandomBands()(Image.new("P", (8, 8))), ArgumentError, "image.convert"),
        (lambda: RandomBands(drop=1.5), ArgumentError, "drop=1.5 is out of range; use a number from 0 to 1"),
        (lambda: RandomBands(gain=-1), ArgumentError, "gain=-1 is out of range; use a number from 0"),
        (lambda: RandomBands(level=0), ArgumentError, "level=0 has no details"),
    ],
)
def test_what_cannot_be(use, error, message):
    with pytest.raises(error, match=message):
        use()
