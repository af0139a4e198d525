"""A wavelet that is learnt: lifting steps whose taps are parameters.

Every step adds something to one half of the samples that is computed from the other half, so it can be undone whatever
the taps are: reconstruction is perfect before, during and after training.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from subband.boundary import extend
from subband.errors import ArgumentError, CoefficientsError, ShapeError
from subband.wavelets import LiftingScheme, Wavelet, WaveletLike, as_wavelet

__all__ = ["LearnedWavelet"]


class LearnedWavelet(nn.Module):
    """A transform along the last axes whose lifting steps are learnt.

    Parameters
    ----------
    wavelet : str or Wavelet
        What it begins with; it needs a lifting scheme, as all bundled wavelets but the longest have.
    level : int
        Number of levels, which share their taps.
    ndim : int
        How many of the last axes to transform.

    Attributes
    ----------
    taps : ParameterList
        The taps of each lifting step.
    log_scale : Parameter
        The logarithm of the factor of the low band, by which the high one is divided.

    Raises
    ------
    ArgumentError
        If the wavelet has no lifting scheme, or `level` or `ndim` is not positive.

    Notes
    -----
    Samples outside are mirrored about the outermost ones. For a symmetric wavelet, such as cdf97, the bands are those
    of mode ``whole`` to begin with.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import LearnedWavelet
    >>> net = LearnedWavelet("cdf53", level=2)
    >>> x = torch.randn(1, 33, 47)
    >>> bands = net(x)
    >>> len(bands), bands[0].shape
    (7, torch.Size([1, 9, 12]))
    >>> torch.allclose(net.inverse(bands), x, atol=1e-5)
    True
    >>> sum(taps.numel() for taps in net.taps)
    4
    """

    def __init__(self, wavelet: WaveletLike = "cdf97", level: int = 1, ndim: int = 2) -> None:
        super().__init__()
        if level < 1 or ndim < 1:
            raise ArgumentError(f"level={level} and ndim={ndim} transform nothing; use 1 or more of each")
        chosen = as_wavelet(wavelet)
        scheme = chosen.lifting
        if scheme is None:
            raise ArgumentError(
                f"wavelet {chosen.name!r} has no lifting scheme; begin with one such as 'cdf97' or 'db4'"
            )
        self.level, self.ndim = level, ndim
        self._scheme = scheme
        self.taps = nn.ParameterList([torch.tensor(step.taps) for step in scheme.steps])
        self.log_scale = nn.Parameter(torch.tensor(abs(scheme.scale_lo)).log())
        self._gain = scheme.scale_lo * scheme.scale_hi
        self._sign = 1.0 if scheme.scale_lo > 0 else -1.0

    def forward(self, x: Tensor) -> list[Tensor]:
        """Return the bands: the approximation, and the details from coarse to fine in the order of their keys."""
        if x.ndim < self.ndim:
            raise ShapeError(f"x has shape {tuple(x.shape)}; this takes at least {self.ndim} dimensions")
        details: list[Tensor] = []
        for _ in range(self.level):
            bands = [x]
            for axis in range(-self.ndim, 0):
                bands = [half for band in bands for half in self._split(band, axis)]
            x, *rest = bands
            details = rest + details
        return [x, *details]

    def inverse(self, bands: Sequence[Tensor]) -> Tensor:
        """Return the samples of all bands, exactly."""
        each = 2**self.ndim - 1
        if len(bands) != 1 + each * self.level:
            raise CoefficientsError(f"there are {len(bands)} bands; {self.level} levels have {1 + each * self.level}")
        x = bands[0]
        for start in range(1, len(bands), each):
            level = [x, *bands[start : start + each]]
            for axis in range(-1, -self.ndim - 1, -1):
                level = [self._merge(low, high, axis) for low, high in zip(level[::2], level[1::2], strict=True)]
            (x,) = level
        return x

    def export(self, name: str = "learnt") -> Wavelet:
        """Return the wavelet as it is now, for every function of subband.

        Examples
        --------
        >>> import numpy as np
        >>> import subband
        >>> from subband.integrations.torch import LearnedWavelet
        >>> wavelet = LearnedWavelet("db2").export()
        >>> np.allclose(subband.dwt(np.arange(8.0), wavelet)[0], subband.dwt(np.arange(8.0), "db2")[0], atol=1e-6)
        True
        """
        steps = tuple(
            type(step)(step.kind, step.start, tuple(taps.detach().double().tolist()))
            for step, taps in zip(self._scheme.steps, self.taps, strict=True)
        )
        low = self._sign * float(self.log_scale.detach().double().exp())
        scheme = LiftingScheme(steps, low, self._gain / low, self._scheme.shift_lo, self._scheme.shift_hi)
        return Wavelet.from_lifting(name, scheme)

    def extra_repr(self) -> str:
        """Return what the module was made with."""
        return f"level={self.level}, ndim={self.ndim}, {len(self.taps)} lifting steps"

    def _split(self, x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        x = x.movedim(axis, -1)
        low, high = x[..., ::2], x[..., 1::2]
        for step, taps in zip(self._scheme.steps, self.taps, strict=True):
            low, high = self._lift(step, taps, low, high, 1)
        scale = self._sign * self.log_scale.exp()
        return (low * scale).movedim(-1, axis), (high * (self._gain / scale)).movedim(-1, axis)

    def _merge(self, low: Tensor, high: Tensor, axis: int) -> Tensor:
        scale = self._sign * self.log_scale.exp()
        low, high = low.movedim(axis, -1) / scale, high.movedim(axis, -1) / (self._gain / scale)
        for step, taps in zip(reversed(self._scheme.steps), reversed(list(self.taps)), strict=True):
            low, high = self._lift(step, taps, low, high, -1)
        count = low.shape[-1] + high.shape[-1]
        padded = torch.nn.functional.pad(high, (0, low.shape[-1] - high.shape[-1]))
        return torch.stack((low, padded), -1).flatten(-2)[..., :count].movedim(-1, axis)

    def _lift(self, step: Any, taps: Tensor, low: Tensor, high: Tensor, sign: int) -> tuple[Tensor, Tensor]:
        """Add the filtered samples of one half to the other, or take them off."""
        is_predict = step.kind == "predict"
        source, goal = (low, high) if is_predict else (high, low)
        if not source.shape[-1] or not goal.shape[-1]:
            return low, high
        count = low.shape[-1] + high.shape[-1]
        start, stop = step.start, step.start + len(taps) - 1 + goal.shape[-1]
        # positions among all samples, mirrored there: those of one half stay in it
        positions = [2 * index + (not is_predict) for index in range(start, stop)]
        mirrored = extend("reflect", count, min(positions), max(positions) + 1).index
        chosen = torch.as_tensor(mirrored[::2] // 2, device=source.device)
        windows = source.index_select(-1, chosen).unfold(-1, len(taps), 1)
        goal = goal + sign * (windows @ taps.to(goal.dtype))
        return (low, goal) if is_predict else (goal, high)
