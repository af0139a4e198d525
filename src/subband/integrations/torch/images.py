"""Transforms of images for training, as torchvision has them: modules that take tensors and images of Pillow.

They stand in ``torch.nn.Sequential`` and in ``Compose`` of torchvision, beside its own. A tensor is ``(..., channels,
rows, columns)`` or ``(rows, columns)``. Random numbers are drawn once a call, for all images of a batch, from Torch's
generator, so that ``torch.manual_seed`` repeats them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from subband.enhance import Denoise, Enhancer
from subband.errors import ArgumentError, ArgumentTypeError
from subband.integrations.torch.modules import Transform
from subband.integrations.torch.operators import merge, split
from subband.integrations.torch.specs import Modes, Wavelets

__all__ = ["DenoiseImage", "RandomBands"]

ImageT = TypeVar("ImageT")

#: Modes of Pillow whose samples are shades.
_MODES = ("L", "RGB", "RGBA", "F", "I;16")

#: Channels of a pixel of colour; one more says how opaque it is.
_COLOURS = 3


def _open(image: Any) -> tuple[Tensor, Callable[[Tensor], Any]]:
    """Return a tensor of channels × rows × columns, and what makes the caller's kind of image of another one."""
    if isinstance(image, Tensor):
        if image.ndim < 2:
            raise ArgumentError(f"image has the shape {tuple(image.shape)}; it needs rows and columns")
        return image, lambda changed: changed
    # whoever has an image of Pillow has imported it
    from PIL import Image

    if not isinstance(image, Image.Image):
        raise ArgumentTypeError(f"image is a {type(image).__name__}; use a tensor or an image of Pillow")
    if image.mode not in _MODES:
        raise ArgumentError(f"image has the mode {image.mode!r}; convert it first: image.convert('RGB')")
    pixels = torch.from_numpy(np.array(image))
    if pixels.ndim == 2:
        return pixels, lambda changed: Image.fromarray(changed.numpy())
    return pixels.permute(2, 0, 1), lambda changed: Image.fromarray(changed.permute(1, 2, 0).contiguous().numpy())


def _fit(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Return values of a dtype, rounded and clipped if it is one of integers."""
    if dtype.is_floating_point:
        return values.to(dtype)
    limits = torch.iinfo(dtype)
    return values.round().clamp(limits.min, limits.max).to(dtype)


class DenoiseImage(torch.nn.Module):
    """Denoise images, as `subband.denoise` does.

    Parameters
    ----------
    sigma : float, optional
        Standard deviation of the noise, in the units of the samples; measured in each image if left out.
    **settings
        Of `subband.enhance.Denoise`, such as ``method="wiener"``, ``wavelet="db4"``, ``level=3``, ``strength=1.2``.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If a setting cannot be used; if an image is no tensor and none of Pillow.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import DenoiseImage
    >>> noisy = torch.full((4, 3, 32, 32), 0.5) + 0.1 * torch.randn(4, 3, 32, 32)
    >>> denoise = DenoiseImage(level=2)
    >>> denoise(noisy).std() < noisy.std() / 2
    tensor(True)
    """

    def __init__(self, sigma: float | None = None, **settings: Any) -> None:
        super().__init__()
        self.enhancer = Enhancer(Denoise(**settings), sigma=sigma)

    def forward(self, image: ImageT) -> ImageT:
        """Return the image, of the same kind, shape and dtype."""
        pixels, restore = _open(image)
        if pixels.ndim == 2 or pixels.shape[-3] not in (_COLOURS, _COLOURS + 1):
            cleaned = self.enhancer.apply(pixels, axes=(-2, -1), channel_axis=None)
        else:
            colours, alpha = pixels[..., :_COLOURS, :, :], pixels[..., _COLOURS:, :, :]
            cleaned = torch.cat([self.enhancer.apply(colours, axes=(-2, -1), channel_axis=-3), alpha], dim=-3)
        result: ImageT = restore(cleaned)
        return result

    def extra_repr(self) -> str:
        """Return what the module was made with."""
        return str(self.enhancer)


class RandomBands(Transform):
    """Vary images in the wavelet domain: louder and softer bands, missing ones, noise of each band's own scale.

    Shapes stay where they are and brightness stays what it is, and texture, sharpness and noise change: what a network
    is to learn not to rely on.

    Parameters
    ----------
    gain : float
        Standard deviation of the logarithm of what each band of details is multiplied by.
    drop : float
        Probability that a band of details is left out.
    noise : float
        Standard deviation of the noise that is added to a band of details, in that of the band.
    p : float
        Probability that an image is changed at all.
    level : int
        Number of levels.
    wavelet : str or Wavelet
        The wavelet.
    mode : str, optional
        The boundary mode; the wavelet's own choice if left out.

    Raises
    ------
    ArgumentError
        If a number is negative, or a probability above 1; if an image is no tensor and none of Pillow.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import RandomBands
    >>> augment = RandomBands(gain=0.3, drop=0.1, level=2)
    >>> _ = torch.manual_seed(0)
    >>> image = torch.rand(3, 32, 32)
    >>> varied = augment(image)
    >>> varied.shape, bool(varied.mean().isclose(image.mean(), atol=0.05)), bool((varied != image).any())
    (torch.Size([3, 32, 32]), True, True)
    """

    def __init__(
        self,
        gain: float = 0.3,
        drop: float = 0.0,
        noise: float = 0.0,
        p: float = 1.0,
        *,
        level: int = 3,
        wavelet: Wavelets = "cdf97",
        mode: Modes | None = None,
    ) -> None:
        if level < 1:
            raise ArgumentError(f"level={level} has no details to vary; use 1 or more")
        for name, value, most in (("gain", gain, None), ("drop", drop, 1), ("noise", noise, None), ("p", p, 1)):
            if not value >= 0 or (most is not None and value > most):
                raise ArgumentError(f"{name}={value} is out of range; use a number from 0{' to 1' if most else ''}")
        super().__init__(wavelet, mode, 2, level)
        self.gain, self.drop, self.noise, self.p, self.level = gain, drop, noise, p, level

    def forward(self, image: ImageT) -> ImageT:
        """Return the varied image, of the same kind, shape and dtype."""
        pixels, restore = _open(image)
        if torch.rand(()) >= self.p:
            return image
        numbers = pixels if pixels.is_floating_point() else pixels.to(torch.float32)
        bands = split(numbers, self._number)
        varied = [bands[0], *(self._vary(band) for band in bands[1:])]
        result: ImageT = restore(_fit(merge(varied, self._number, list(numbers.shape)), pixels.dtype))
        return result

    def _vary(self, band: Tensor) -> Tensor:
        if torch.rand(()) < self.drop:
            return torch.zeros_like(band)
        changed = band * torch.exp(self.gain * torch.randn(())).item()
        if self.noise and band.numel() > 1:
            changed = changed + self.noise * band.std() * torch.randn_like(band)
        return changed

    def extra_repr(self) -> str:
        """Return what the module was made with."""
        own = ", ".join(f"{name}={getattr(self, name)}" for name in ("gain", "drop", "noise", "p", "level"))
        return f"{own}, {super().extra_repr()}"
