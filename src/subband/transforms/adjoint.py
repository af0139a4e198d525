"""Adjoints of transforms: the transposed matrix, applied without forming a matrix.

``<decompose(x), y>`` equals ``<x, decompose_adjoint(y)>`` for all ``x`` and ``y``. Gradients of anything that is
computed from coefficients flow back to the samples by it, and iterative solvers need it. For orthogonal wavelets in
mode ``periodization`` it is the inverse; in general it is not.

An adjoint is a plan that engines run like any other; see `subband.schedule.adjoint`.
"""

from __future__ import annotations

from typing import Any

from subband.arrays import as_computable, pad_zeros
from subband.engines import Engine
from subband.engines.dispatch import call_natively, engine_for
from subband.errors import ArgumentTypeError, ShapeError
from subband.plan import TransformPlan
from subband.pyramid import Pyramid
from subband.schedule.adjoint import refuse_reversible
from subband.schedule.levels import merge_levels, split_levels
from subband.stationary import StationaryTransformPlan
from subband.transforms.decomposition import as_computable_bands
from subband.transforms.padding import fold_axis
from subband.typing import Array

__all__ = ["decompose_adjoint", "reconstruct_adjoint"]


def decompose_adjoint(pyramid: Pyramid, engine: str | Engine | None = None) -> Array:
    """Apply the adjoint of `decompose`, which gradients need, to the bands of a pyramid.

    Parameters
    ----------
    pyramid : Pyramid
        Any bands, with the plan of the transform that is meant; a reversible one, which rounds, has no adjoint.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    array
        Of the shape of the array that was transformed.

    Raises
    ------
    ArgumentError
        If the transform is reversible.

    See Also
    --------
    reconstruct : The inverse, which is the same for orthogonal wavelets in mode ``periodization``.
    subband.integrations.torch : Transforms with gradients.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import decompose, decompose_adjoint
    >>> x, noise = np.arange(7.0), np.random.default_rng(0)
    >>> bands = decompose(x, "db2", level=1)
    >>> weights = bands.map(lambda band, level, key: noise.normal(size=band.shape))
    >>> product = sum(np.vdot(b, w) for (_, _, b), (_, _, w) in zip(bands.bands(), weights.bands()))
    >>> bool(np.isclose(product, np.vdot(x, decompose_adjoint(weights))))
    True
    """
    _check_plan(pyramid, Pyramid, "pyramid", "give what `decompose` returned")
    refuse_reversible(pyramid.plan.reversible)
    x: Array = call_natively(_decompose_adjoint, {0: "pyramid"}, (pyramid, engine), {}, engine)
    return x


def reconstruct_adjoint(
    x: Any, plan: TransformPlan | StationaryTransformPlan, engine: str | Engine | None = None
) -> Pyramid:
    """Apply the adjoint of `reconstruct` to an array.

    Parameters
    ----------
    x : array_like
        An array of the shape that is reconstructed.
    plan : TransformPlan or StationaryTransformPlan
        The ``plan`` of the pyramids that are meant; a reversible one, which rounds, has no adjoint.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    Pyramid
        Bands of the shapes that `reconstruct` takes.

    Raises
    ------
    ArgumentError
        If the transform is reversible.
    ShapeError
        If `x` has not the shape of the plan.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import decompose, reconstruct_adjoint
    >>> plan = decompose(np.zeros((5, 6)), "bior2.2", level=1).plan
    >>> reconstruct_adjoint(np.ones((5, 6)), plan).approximation.shape
    (5, 5)
    """
    _check_plan(plan, (TransformPlan, StationaryTransformPlan), "plan", "give the plan of a pyramid")
    refuse_reversible(plan.reversible)
    pyramid: Pyramid = call_natively(_reconstruct_adjoint, {0: "x"}, (x, plan, engine), {}, engine)
    return pyramid


def _check_plan(given: Any, kinds: type | tuple[type, ...], name: str, remedy: str) -> None:
    if not isinstance(given, kinds):
        raise ArgumentTypeError(f"{name} is a {type(given).__name__}; {remedy}")


def _decompose_adjoint(pyramid: Pyramid, engine: str | Engine | None) -> Array:
    plan = pyramid.plan
    x, details = as_computable_bands(pyramid)
    chosen = engine_for(x, engine)
    if isinstance(plan, StationaryTransformPlan):
        x = merge_levels(plan.levels, x, details, chosen.stationary_forward_adjoint)
        for axis, mode, margin in zip(plan.axes, plan.modes, plan.margins, strict=True):
            x = fold_axis(x, axis, mode, margin)
        return x
    return chosen.forward_adjoint_all(plan, x, details)


def _reconstruct_adjoint(x: Any, plan: TransformPlan | StationaryTransformPlan, engine: str | Engine | None) -> Pyramid:
    array = as_computable(x, "x")
    if array.shape != plan.shape:
        raise ShapeError(f"x has shape {array.shape}; the plan reconstructs arrays of shape {plan.shape}")
    chosen = engine_for(array, engine)
    if isinstance(plan, StationaryTransformPlan):
        widths = [(0, 0)] * array.ndim
        for axis, margin in zip(plan.axes, plan.margins, strict=True):
            widths[axis] = (margin, margin)
        array = pad_zeros(array, widths)
        return Pyramid(plan, *split_levels(plan.levels, array, chosen.stationary_inverse_adjoint))
    return Pyramid(plan, *chosen.inverse_adjoint_all(plan, array))
