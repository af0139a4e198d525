"""Transforms as functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from subband.arrays import FunctionalArray, map_arrays
from subband.errors import ArgumentError, ArgumentTypeError, CoefficientsError
from subband.integrations.torch.operators import check_tensor, list_details, merge, split
from subband.integrations.torch.specs import ANY_SHAPE, Modes, Wavelets, find_number, make_spec
from subband.plan import list_keys, transform_plan
from subband.pyramid import Pyramid
from subband.stationary import stationary_transform_plan
from subband.transforms.decomposition import choose_level, run_plan
from subband.transforms.decomposition import reconstruct as reconstruct_arrays

__all__ = ["decompose", "dwt2", "dwtn", "idwt2", "idwtn", "reconstruct"]


def dwt2(x: Tensor, wavelet: Wavelets, mode: Modes = "symmetric") -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    """Transform one level along the last two axes.

    Parameters
    ----------
    x : Tensor of shape (..., rows, columns)
        Real or complex numbers.
    wavelet, mode
        As `subband.dwt2` takes them.

    Returns
    -------
    cA : Tensor
        The approximation.
    (cH, cV, cD) : tuple of Tensor
        Horizontal, vertical and diagonal details.

    Raises
    ------
    ArgumentTypeError
        If `x` is no tensor of real or complex numbers.
    ShapeError
        If `x` has fewer than two dimensions.

    See Also
    --------
    DWT2 : The same as a module.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import dwt2
    >>> x = torch.ones(8, 3, 32, 32, requires_grad=True)
    >>> cA, (cH, cV, cD) = dwt2(x, "haar")
    >>> cA.shape
    torch.Size([8, 3, 16, 16])
    >>> cA.sum().backward()
    >>> x.grad.shape
    torch.Size([8, 3, 32, 32])
    """
    low, vertical, horizontal, diagonal = split(x, find_number(wavelet, mode, 2, 1))
    return low, (horizontal, vertical, diagonal)


def idwt2(coeffs: tuple[Tensor, tuple[Tensor, Tensor, Tensor]], wavelet: Wavelets, mode: Modes = "symmetric") -> Tensor:
    """Undo `dwt2`.

    Parameters
    ----------
    coeffs : tuple
        ``cA, (cH, cV, cD)`` as `dwt2` returns them.
    wavelet, mode
        As in the forward transform.

    Returns
    -------
    Tensor
        The samples. An odd axis comes back with one more sample, except in mode ``whole``.

    Raises
    ------
    CoefficientsError
        If the bands do not belong together.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import dwt2, idwt2
    >>> x = torch.arange(12.0).reshape(3, 4)
    >>> torch.allclose(idwt2(dwt2(x, "cdf53", "whole"), "cdf53", "whole"), x, atol=1e-5)
    True
    """
    return merge(list_details(coeffs), find_number(wavelet, mode, 2, 1), ANY_SHAPE)


def dwtn(x: Tensor, wavelet: Wavelets, mode: Modes = "symmetric", ndim: int | None = None) -> dict[str, Tensor]:
    """Transform one level along the last `ndim` axes.

    Parameters
    ----------
    x : Tensor
        Real or complex numbers.
    wavelet, mode
        As `subband.dwtn` takes them.
    ndim : int, optional
        How many axes to transform, all by default.

    Returns
    -------
    dict of str to Tensor
        The bands, ``'aa'`` to ``'dd'`` for two axes.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import dwtn
    >>> {key: tuple(band.shape) for key, band in dwtn(torch.ones(2, 8, 6), "haar", ndim=2).items()}
    {'aa': (2, 4, 3), 'ad': (2, 4, 3), 'da': (2, 4, 3), 'dd': (2, 4, 3)}
    """
    count = x.ndim if ndim is None else ndim
    return dict(zip(list_keys(count), split(x, find_number(wavelet, mode, count, 1)), strict=True))


def idwtn(coeffs: Mapping[str, Tensor], wavelet: Wavelets, mode: Modes = "symmetric") -> Tensor:
    """Undo `dwtn`.

    Parameters
    ----------
    coeffs : dict of str to Tensor
        All bands, as `dwtn` returns them.
    wavelet, mode
        As in the forward transform.

    Returns
    -------
    Tensor
        The samples. An odd axis comes back with one more sample, except in mode ``whole``.

    Raises
    ------
    CoefficientsError
        If a band is missing, or the bands do not belong together.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import dwtn, idwtn
    >>> x = torch.arange(24.0).reshape(2, 3, 4)
    >>> torch.allclose(idwtn(dwtn(x, "cdf97", "whole"), "cdf97", "whole"), x, atol=1e-5)
    True
    """
    count = len(next(iter(coeffs), ""))
    if set(coeffs) != set(list_keys(count)) or not count:
        raise CoefficientsError(f"coeffs has the bands {sorted(coeffs)}; put torch.zeros for those that are missing")
    return merge([coeffs[key] for key in list_keys(count)], find_number(wavelet, mode, count, 1), ANY_SHAPE)


@torch.compiler.disable
def decompose(
    x: Tensor,
    wavelet: Wavelets = "cdf97",
    level: int | None = None,
    mode: Modes | None = None,
    ndim: int | None = None,
    *,
    stationary: bool = False,
) -> Pyramid:
    """Transform a tensor into a pyramid of bands.

    Parameters
    ----------
    x : Tensor
        Real or complex numbers.
    wavelet, level, mode, stationary
        As `subband.decompose` takes them.
    ndim : int, optional
        How many of the last axes to transform, all by default.

    Returns
    -------
    Pyramid
        The bands, tensors through which gradients flow.

    See Also
    --------
    reconstruct : The inverse.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import decompose, reconstruct
    >>> x = torch.randn(4, 3, 33, 47, requires_grad=True)
    >>> pyramid = decompose(x, "cdf97", level=2, ndim=2)
    >>> smooth = reconstruct(pyramid.map(lambda band, level, key: band * 0.5 if "d" in key else band))
    >>> smooth.square().sum().backward()
    >>> smooth.shape == x.grad.shape
    True
    """
    check_tensor(x, "x")
    spec = make_spec(wavelet, mode, x.ndim if ndim is None else ndim, level)
    axes = spec.find_axes(x.shape)
    shape = tuple(x.shape)
    if level is None:
        level = choose_level(None, shape, axes, spec.wavelets, spec.modes, stationary)
    make = stationary_transform_plan if stationary else transform_plan
    plan = make(shape, axes, spec.wavelets, spec.modes, level)
    wrapped: Any = FunctionalArray(x)
    pyramid: Pyramid = map_arrays(run_plan(wrapped, plan), lambda band: band.array)
    return pyramid


@torch.compiler.disable
def reconstruct(pyramid: Pyramid) -> Tensor:
    """Turn a pyramid of tensors back into the tensor that it was made from.

    Parameters
    ----------
    pyramid : Pyramid
        As `decompose` or `Pyramid.map` returns it.

    Returns
    -------
    Tensor
        Of exactly the original shape.

    Raises
    ------
    ArgumentError
        If the transform was reversible, and so has no gradients.

    Examples
    --------
    >>> import torch
    >>> from subband.integrations.torch import decompose, reconstruct
    >>> x = torch.arange(35.0).reshape(5, 7)
    >>> torch.allclose(reconstruct(decompose(x, level=2)), x, atol=1e-4)
    True
    """
    if not isinstance(pyramid, Pyramid):
        raise ArgumentTypeError(f"pyramid is a {type(pyramid).__name__}; give what `decompose` returned")
    if pyramid.plan.reversible:
        raise ArgumentError("a reversible transform rounds and has no gradient; use subband.reconstruct")
    x: Tensor = reconstruct_arrays(pyramid)
    return x
