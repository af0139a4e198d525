"""Transforms of several levels as modules: pyramids of bands and wavelet packets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from subband.errors import ArgumentError, ArgumentTypeError, CoefficientsError
from subband.integrations.torch.modules import Transform
from subband.integrations.torch.operators import merge, split
from subband.integrations.torch.specs import ANY_SHAPE, Modes, Wavelets, with_level

__all__ = ["WaveDec2", "WaveRec2", "WaveletPackets2"]

#: ``[cA, (cH, cV, cD) of the coarsest level, …]``
Coefficients = list[Any]


class WaveDec2(Transform):
    """All levels along the last two axes, as `subband.wavedec2`.

    Parameters
    ----------
    level : int
        Number of levels.
    wavelet : str or Wavelet, or one for each axis
        The wavelet.
    mode : str, or one for each axis
        The boundary mode.

    Raises
    ------
    ArgumentError
        If `level` is not positive.

    See Also
    --------
    WaveRec2 : The inverse.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import WaveDec2, WaveRec2
    >>> x = torch.randn(2, 3, 32, 48)
    >>> low, coarse, fine = WaveDec2(2, "db2")(x)
    >>> low.shape, fine[0].shape
    (torch.Size([2, 3, 10, 14]), torch.Size([2, 3, 17, 25]))
    >>> torch.allclose(WaveRec2("db2")([low, coarse, fine]), x, atol=1e-5)
    True
    """

    def __init__(self, level: int = 3, wavelet: Wavelets = "haar", mode: Modes = "symmetric") -> None:
        _check_level(level)
        super().__init__(wavelet, mode, 2, level)
        self.level = level

    def forward(self, x: Tensor) -> Coefficients:
        """Return ``[cA, (cH, cV, cD) of the coarsest level, …]``."""
        low, *details = split(x, self._number)
        rows = [details[start : start + 3] for start in range(0, len(details), 3)]
        return [low, *((horizontal, vertical, diagonal) for vertical, horizontal, diagonal in rows)]

    def extra_repr(self) -> str:
        """Return what the module was made with."""
        return f"{self.level}, {super().extra_repr()}"


class WaveRec2(Transform):
    """The inverse of `WaveDec2`, as `subband.waverec2`, for any number of levels.

    Parameters
    ----------
    wavelet, mode
        As for `WaveDec2`.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import WaveDec2, WaveRec2
    >>> x = torch.randn(1, 33, 47)
    >>> WaveRec2("cdf97", "whole")(WaveDec2(3, "cdf97", "whole")(x)).shape
    torch.Size([1, 33, 47])
    """

    def __init__(self, wavelet: Wavelets = "haar", mode: Modes = "symmetric") -> None:
        super().__init__(wavelet, mode, 2, None)

    def forward(self, coeffs: Sequence[Any]) -> Tensor:
        """Return the samples; an odd axis comes back with one more, except in mode ``whole``."""
        try:
            low, *details = coeffs
            bands = [band for horizontal, vertical, diagonal in details for band in (vertical, horizontal, diagonal)]
        except (TypeError, ValueError):
            raise CoefficientsError("coeffs is not of the form [cA, (cH, cV, cD), …], which WaveDec2 returns") from None
        if not bands:
            raise CoefficientsError("coeffs has no details; give what WaveDec2 returned")
        # the gradient has as many levels as these, which may be more than are useful
        return merge([low, *bands], with_level(self._number, len(details)), ANY_SHAPE)


class WaveletPackets2(Transform):
    """All wavelet packets of a level along the last two axes, as channels.

    Every band is split again, so that all have the same shape and frequency bands are equally wide.

    Parameters
    ----------
    level : int
        Number of levels.
    wavelet, mode
        As for `WaveDec2`.

    Raises
    ------
    ArgumentError
        If `level` is not positive, or the mode is ``whole``, in which bands differ in shape.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import WaveletPackets2
    >>> packets = WaveletPackets2(2, "haar")
    >>> packets(torch.ones(8, 3, 32, 32)).shape
    torch.Size([8, 3, 16, 8, 8])
    >>> packets.paths[:6]
    ['aa', 'ah', 'av', 'ad', 'ha', 'hh']
    """

    def __init__(self, level: int = 2, wavelet: Wavelets = "haar", mode: Modes = "symmetric") -> None:
        _check_level(level)
        super().__init__(wavelet, mode, 2, 1)
        if "whole" in self._spec.modes:
            raise ArgumentError("mode='whole' gives bands of different shapes; use 'periodization' or 'symmetric'")
        self.level = level
        #: The path of each packet, as `subband.WaveletPacket2D` names them.
        self.paths = [""]
        for _ in range(level):
            self.paths = [path + letter for path in self.paths for letter in "ahvd"]

    def forward(self, x: Tensor) -> Tensor:
        """Return the packets of ``(..., rows, columns)`` as ``(..., 4**level, rows, columns)``."""
        packets = x.unsqueeze(-3)
        for _ in range(self.level):
            low, vertical, horizontal, diagonal = split(packets, self._number)
            packets = torch.stack((low, horizontal, vertical, diagonal), -3).flatten(-4, -3)
        return packets

    def extra_repr(self) -> str:
        """Return what the module was made with."""
        return f"{self.level}, {super().extra_repr()}"


def _check_level(level: int) -> None:
    if not hasattr(level, "__index__"):
        raise ArgumentTypeError(f"level={level!r} is no whole number; levels come first here, and then the wavelet")
    if level < 1:
        raise ArgumentError(f"level={level} transforms nothing; use 1 or more")
