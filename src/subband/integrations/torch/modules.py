"""Transforms as modules, and one that learns."""

from __future__ import annotations

from math import log
from typing import Any

import torch
from torch import Tensor, nn

from subband.errors import ArgumentError, CoefficientsError
from subband.integrations.torch.operators import list_details, merge, split
from subband.integrations.torch.specs import ANY_SHAPE, Modes, Wavelets, make_spec, number_of
from subband.plan import list_keys

__all__ = ["DWT2", "IDWT2", "DWTn", "IDWTn", "Transform", "WaveletDenoise"]


class Transform(nn.Module):
    """A module that transforms the last axes; subclasses say what they return."""

    def __init__(self, wavelet: Wavelets, mode: Modes | None, ndim: int, level: int | None) -> None:
        super().__init__()
        self._spec = make_spec(wavelet, mode, ndim, level)
        self._number = number_of(self._spec)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # numbers are given anew in every process
        self._number = number_of(self._spec)

    def extra_repr(self) -> str:
        """Return what the module was made with."""
        names = dict.fromkeys(repr(wavelet.name) for wavelet in self._spec.wavelets)
        return f"{', '.join(names)}, {', '.join(dict.fromkeys(self._spec.modes))}"


class DWT2(Transform):
    """One level along the last two axes, as `dwt2`.

    Parameters
    ----------
    wavelet : str or Wavelet, or one for each axis
        The wavelet.
    mode : str, or one for each axis
        The boundary mode.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import DWT2, IDWT2
    >>> layers = torch.nn.Sequential(DWT2("haar"), IDWT2("haar"))
    >>> layers(torch.ones(1, 3, 8, 8)).shape
    torch.Size([1, 3, 8, 8])
    """

    def __init__(self, wavelet: Wavelets = "haar", mode: Modes = "symmetric") -> None:
        super().__init__(wavelet, mode, 2, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
        """Return ``cA, (cH, cV, cD)``."""
        low, vertical, horizontal, diagonal = split(x, self._number)
        return low, (horizontal, vertical, diagonal)


class IDWT2(Transform):
    """The inverse of `DWT2`, as `idwt2`.

    Parameters
    ----------
    wavelet, mode
        As for `DWT2`.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import IDWT2
    >>> IDWT2("haar")((torch.ones(4, 4), (torch.zeros(4, 4),) * 3)).shape
    torch.Size([8, 8])
    """

    def __init__(self, wavelet: Wavelets = "haar", mode: Modes = "symmetric") -> None:
        super().__init__(wavelet, mode, 2, 1)

    def forward(self, coeffs: tuple[Tensor, tuple[Tensor, Tensor, Tensor]]) -> Tensor:
        """Return the samples of ``cA, (cH, cV, cD)``."""
        return merge(list_details(coeffs), self._number, ANY_SHAPE)


class DWTn(Transform):
    """One level along the last `ndim` axes, as `dwtn`.

    Parameters
    ----------
    ndim : int
        How many axes to transform.
    wavelet, mode
        As for `DWT2`.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import DWTn
    >>> sorted(DWTn(3, "haar")(torch.ones(1, 8, 8, 8)))
    ['aaa', 'aad', 'ada', 'add', 'daa', 'dad', 'dda', 'ddd']
    """

    def __init__(self, ndim: int, wavelet: Wavelets = "haar", mode: Modes = "symmetric") -> None:
        super().__init__(wavelet, mode, ndim, 1)
        self._keys = list_keys(ndim)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """Return the bands."""
        return dict(zip(self._keys, split(x, self._number), strict=True))


class IDWTn(Transform):
    """The inverse of `DWTn`, as `idwtn`.

    Parameters
    ----------
    ndim, wavelet, mode
        As for `DWTn`.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import DWTn, IDWTn
    >>> IDWTn(1, "haar")(DWTn(1, "haar")(torch.ones(2, 6))).shape
    torch.Size([2, 6])
    """

    def __init__(self, ndim: int, wavelet: Wavelets = "haar", mode: Modes = "symmetric") -> None:
        super().__init__(wavelet, mode, ndim, 1)
        self._keys = list_keys(ndim)

    def forward(self, coeffs: dict[str, Tensor]) -> Tensor:
        """Return the samples of all bands."""
        if set(coeffs) != set(self._keys):
            raise CoefficientsError(f"coeffs has the bands {sorted(coeffs)}; it needs {', '.join(self._keys)}")
        return merge([coeffs[key] for key in self._keys], self._number, ANY_SHAPE)


class WaveletDenoise(Transform):
    """Shrink the details of each level softly by a threshold that is learnt.

    Parameters
    ----------
    level : int
        Number of levels, and of thresholds.
    ndim : int
        How many of the last axes to transform.
    wavelet : str or Wavelet, or one for each axis
        The wavelet.
    mode : str, or one for each axis, optional
        The boundary mode; the wavelet's own choice if left out.
    threshold : float
        What all thresholds begin with, in the units of the samples; positive.

    Attributes
    ----------
    log_thresholds : Parameter of shape (level,)
        The logarithms of the thresholds, of the coarsest level first; as logarithms they stay positive.

    Raises
    ------
    ArgumentError
        If `level` is not positive or `threshold` is not.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import WaveletDenoise
    >>> layer = WaveletDenoise(level=2, threshold=0.1)
    >>> layer.thresholds.detach().round(decimals=3)
    tensor([0.1000, 0.1000])
    >>> noisy = torch.randn(4, 1, 33, 47)
    >>> layer(noisy).square().sum() < noisy.square().sum()
    tensor(True)
    """

    def __init__(
        self,
        level: int = 3,
        ndim: int = 2,
        wavelet: Wavelets = "cdf97",
        mode: Modes | None = None,
        threshold: float = 0.1,
    ) -> None:
        if level < 1:
            raise ArgumentError(f"level={level} has no details to shrink; use 1 or more")
        if not threshold > 0:
            raise ArgumentError(f"threshold={threshold} is not positive; use one such as 0.1")
        super().__init__(wavelet, mode, ndim, level)
        self.level = level
        self.log_thresholds = nn.Parameter(torch.full((level,), log(threshold)))

    @property
    def thresholds(self) -> Tensor:
        """The thresholds, of the coarsest level first."""
        return self.log_thresholds.exp()

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` with its details shrunk."""
        bands = split(x, self._number)
        each = (len(bands) - 1) // self.level
        shrunk = [bands[0]]
        for number, threshold in enumerate(self.thresholds):
            details = bands[1 + number * each : 1 + (number + 1) * each]
            shrunk += [_shrink(band, threshold.to(band.real.dtype)) for band in details]
        return merge(shrunk, self._number, list(x.shape))

    def extra_repr(self) -> str:
        """Return what the module was made with."""
        return f"level={self.level}, {super().extra_repr()}"


def _shrink(band: Tensor, threshold: Tensor) -> Tensor:
    """Take the threshold off every magnitude."""
    if band.is_complex():
        magnitude = band.abs()
        return band * (torch.relu(magnitude - threshold) / magnitude.clamp_min(torch.finfo(magnitude.dtype).tiny))
    return band.sign() * torch.relu(band.abs() - threshold)
