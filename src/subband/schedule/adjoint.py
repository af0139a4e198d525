"""Adjoints as plans: the transposed matrix of a level is a level of the dual wavelet.

A level extends the samples as its mode says and then filters. The transpose of filtering is to synthesise with the
analysis filters turned round, which is the inverse of the *dual* wavelet. The transpose of extending is to add each
made-up sample to those that it was made of, which changes few samples, near the ends. Whatever these have to be, there
are coefficients that the dual's inverse makes them from: those that its own analysis finds in them. So an adjoint is an
inverse, run by the same sweep, that reads a few mixtures of coefficients near the ends in place of the coefficients.

In the other direction coefficients count as zeros outside or are periodic, whose transpose is the same for samples;
only mode ``whole`` mirrors them, and there a few samples are mixtures.

A bank that does not reconstruct has no such coefficients. Its adjoint is an inverse of the wavelet that does nothing,
and all that it reads are mixtures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from subband.boundary import Extension, IndexArray, Mixture, WeightArray, is_expansive
from subband.errors import ArgumentError
from subband.pairs import PairFilter
from subband.plan import AxisPlan, LevelPlan, TransformPlan, axis_plan
from subband.stationary import StationaryPlan, stationary_plan
from subband.typing import Array
from subband.wavelets import Wavelet

__all__ = [
    "refuse_reversible",
    "transpose_all",
    "transpose_forward",
    "transpose_inverse",
    "transpose_stationary",
]

#: The ends of a long axis are those of one that is so many times as long as the filters.
_APART = 8

#: Weights below it are what rounding left of zeros.
_NEGLIGIBLE = 1e-14

#: What may be left of a fold, and how often the rest is looked at again: banks reconstruct more or less perfectly.
_LEFT, _ROUNDS = 1e-14, 12


class _Terms(NamedTuple):
    """A sparse matrix, entry by entry; entries at the same position add up."""

    rows: IndexArray
    columns: IndexArray
    weights: WeightArray


def refuse_reversible(is_reversible: bool) -> None:
    """Raise an error for transforms that have no adjoint."""
    if is_reversible:
        raise ArgumentError("a reversible transform rounds to integers and has no adjoint; leave reversible out")


@lru_cache(maxsize=4096)
def transpose_forward(plan: LevelPlan) -> LevelPlan:
    """Return the plan whose inverse is the adjoint of the forward direction.

    Examples
    --------
    >>> from subband.plan import level_plan
    >>> plan = level_plan((8,), (0,), (Wavelet("db2"),), ("symmetric",))
    >>> transpose_forward(plan).band_shapes
    {'a': (5,), 'd': (5,)}
    """
    return LevelPlan(plan.shape, plan.axes, tuple(map(_transpose_analysis, plan.plans)))


@lru_cache(maxsize=4096)
def transpose_inverse(plan: LevelPlan) -> LevelPlan:
    """Return the plan whose forward direction is the adjoint of the inverse."""
    return LevelPlan(plan.shape, plan.axes, tuple(map(_transpose_synthesis, plan.plans)))


@lru_cache(maxsize=1024)
def transpose_all(plan: TransformPlan, transpose: Callable[[LevelPlan], LevelPlan]) -> TransformPlan:
    """Return the same for all levels."""
    return replace(plan, levels=tuple(map(transpose, plan.levels)))


@lru_cache(maxsize=1024)
def transpose_stationary(plan: StationaryPlan) -> StationaryPlan:
    """Return the plan whose inverse is the adjoint of the forward direction, and the other way about."""
    # an undecimated inverse takes the mean of two reconstructions, which the adjoint adds
    wavelets = tuple(_dual_wavelet(axis.wavelet, 2.0) for axis in plan.plans)
    return stationary_plan(plan.shape, plan.axes, wavelets, plan.plans[0].step.bit_length())


@lru_cache(maxsize=256)
def _dual_wavelet(wavelet: Wavelet, gain: float = 1.0) -> Wavelet:
    """Return the wavelet whose synthesis filters are these analysis filters turned round, and the other way about."""
    dec_lo, dec_hi, rec_lo, rec_hi = (list(reversed(taps)) for taps in wavelet.filter_bank)
    analysis = [[tap / gain for tap in taps] for taps in (rec_lo, rec_hi)]
    synthesis = [[tap * gain for tap in taps] for taps in (dec_lo, dec_hi)]
    bank = [*analysis, *synthesis]
    # an orthogonal wavelet is its own dual
    return (
        wavelet
        if bank == [list(taps) for taps in wavelet.filter_bank]
        else Wavelet(f"dual of {wavelet.name}", filter_bank=bank)
    )


#: Even and odd samples are its coefficients.
_LAZY = Wavelet("lazy", filter_bank=[[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


@lru_cache(maxsize=4096)
def _transpose_analysis(plan: AxisPlan) -> AxisPlan:
    refuse_reversible(plan.integer is not None)
    dual = _dual_of(plan)
    if plan.mode == "zero":
        return dual
    short = _shorten(plan)
    found = _fold_analysis(short)
    if found is not None:
        return replace(dual, mode=plan.mode, coefficient_mixture=_lengthen(found, short.coded, plan.coded))
    return replace(_do_nothing(plan), coefficient_mixture=_replace_all(_list_analysis(plan), plan.coded))


@lru_cache(maxsize=4096)
def _transpose_synthesis(plan: AxisPlan) -> AxisPlan:
    refuse_reversible(plan.integer is not None)
    dual = _dual_of(plan)
    if plan.mode != "whole":
        return replace(dual, forward_mode="padded") if plan.mode == "periodization" else dual
    short = _shorten(plan)
    found = _fold_synthesis(short)
    if found is not None:
        return replace(dual, sample_mixture=_lengthen(found, short.length, plan.length))
    return replace(_do_nothing(plan), sample_mixture=_replace_all(_list_synthesis(plan), plan.length))


def _dual_of(plan: AxisPlan) -> AxisPlan:
    """Return the dual's level, with zeros outside for modes that have coefficients enough."""
    mode = "zero" if is_expansive(plan.mode) and plan.mode != "full" else plan.mode
    return axis_plan(_dual_wavelet(plan.wavelet), mode, plan.length)


def _do_nothing(plan: AxisPlan) -> AxisPlan:
    return replace(axis_plan(_LAZY, "zero", plan.length), low=plan.low, high=plan.high)


def _shorten(plan: AxisPlan) -> AxisPlan:
    """Return the plan of an axis that has the same ends and is no longer than need be."""
    length = _APART * plan.wavelet.dec_len
    return plan if plan.length <= length + 1 else axis_plan(plan.wavelet, plan.mode, length + plan.length % 2)


def _lengthen(terms: _Terms, short: int, long: int) -> Mixture | None:
    """Return what was found on a short axis for the ends of a long one."""
    if not terms.rows.size:
        return None
    rows, columns = (np.where(2 * index < short, index, index + long - short) for index in terms[:2])
    return Mixture(rows, columns, terms.weights)


@lru_cache(maxsize=1024)
def _fold_analysis(plan: AxisPlan) -> _Terms | None:
    dual = _dual_of(plan)
    return _find_fold(_list_analysis(plan), _list_synthesis(dual), _list_analysis(dual))


@lru_cache(maxsize=1024)
def _fold_synthesis(plan: AxisPlan) -> _Terms | None:
    dual = _dual_of(plan)
    return _find_fold(_list_synthesis(plan), _list_analysis(dual), _list_synthesis(dual))


def _find_fold(wanted: _Terms, inverse: _Terms, forward: _Terms) -> _Terms | None:
    """Return what has to be added to the identity for `inverse` of it to be the transpose of `wanted`, if it can be.

    `forward` undoes `inverse`, as far as the bank reconstructs.
    """
    apply, undo = _as_matrix(inverse), _as_matrix(forward)
    rest = _as_matrix(wanted).T - apply
    least = _LEFT * max(1.0, float(abs(rest).max()))
    fold = np.zeros((len(undo), rest.shape[1]))
    for _ in range(_ROUNDS):
        (rows,) = np.nonzero(rest.any(axis=1))
        added = undo[:, rows] @ rest[rows]
        fold += added
        (rows,) = np.nonzero(added.any(axis=1))
        rest -= apply[:, rows] @ added[rows]
        if abs(rest).max() <= least:
            rows, columns = np.nonzero(abs(fold) > _NEGLIGIBLE * max(1.0, float(abs(fold).max())))
            return _Terms(rows, columns, fold[rows, columns])
        rest[abs(rest) < _NEGLIGIBLE] = 0.0
    return None


def _replace_all(wanted: _Terms, count: int) -> Mixture:
    """Return what makes a sequence of so many numbers its product with the transpose of `wanted`."""
    numbers = np.arange(count)
    rows = np.concatenate([wanted.columns, numbers])
    order = np.argsort(rows, kind="stable")
    columns = np.concatenate([wanted.rows, numbers])
    return Mixture(rows[order], columns[order], np.concatenate([wanted.weights, -np.ones(count)])[order])


def _list_analysis(plan: AxisPlan) -> _Terms:
    """Return the matrix from samples to low and high coefficients in turn."""
    extension = plan.extend_samples(*plan.forward.reach(plan.low))
    return _list_terms(plan.forward, extension, plan.coded, plan.length)


def _list_synthesis(plan: AxisPlan) -> _Terms:
    """Return the matrix from low and high coefficients in turn to samples."""
    extension = plan.extend_coefficients(*plan.inverse.reach(plan.pairs))
    return _list_terms(plan.inverse, extension, plan.length, plan.coded)


def _list_terms(pair: PairFilter, extension: Extension, outputs: int, inputs: int) -> _Terms:
    rows = np.arange(outputs)[:, None]
    positions = rows - rows % 2 + np.arange(pair.width)
    taps = np.array(pair.taps)[np.arange(outputs) % 2]
    parts: list[tuple[Array, Array]] = [
        (extension.index[positions], extension.weight[positions]),
        (np.zeros_like(positions), extension.first[positions]),
        (np.full_like(positions, inputs - 1), extension.last[positions]),
    ]
    columns = np.concatenate([index.ravel() for index, _ in parts])
    weights = np.concatenate([(taps * weight).ravel() for _, weight in parts])
    all_rows = np.tile(np.broadcast_to(rows, positions.shape).ravel(), 3)
    used = weights != 0
    # the last row and column say how large the matrix is
    end = ([outputs - 1], [inputs - 1], [0.0])
    return _Terms(*(np.concatenate([a[used], b]) for a, b in zip((all_rows, columns, weights), end, strict=True)))


def _as_matrix(terms: _Terms) -> Array:
    matrix = np.zeros((int(terms.rows.max()) + 1, int(terms.columns.max()) + 1))
    np.add.at(matrix, terms[:2], terms.weights)
    return matrix
