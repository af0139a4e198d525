"""Filters and lifting steps on pairs of samples: the same form for the forward and the inverse transform.

Forward, the sequence ``u`` is the extended signal and the outputs ``p, q`` are low and high coefficients. Inverse,
``u`` holds low and high coefficients in turn and ``p, q`` are even and odd samples. An engine that can run this one
process runs every wavelet in every mode in both directions. It comes in two forms that give the same numbers:

- `PairFilter`: two filters, ``p[n] = sum_k taps[0][k] * u[2 n + first + k]`` and ``q[n]`` likewise;
- `PairLifting`: the same as lifting steps, for wavelets that have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from subband.typing import Array
from subband.wavelets import Wavelet

__all__ = ["Alignment", "Output", "PairFilter", "PairLifting", "PairStep", "align"]


@dataclass(frozen=True)
class Alignment:
    """Where a mode puts its outputs, against PyWavelets' convolution ``lo[n] = sum dec_lo[k] x[2n + 1 - k]``.

    The signal is read `delay` samples later; `low` and `high` coefficients are counted from there.
    """

    delay: int
    low: int
    high: int


def align(wavelet: Wavelet, mode: str) -> Alignment:
    """Return where `mode` puts the outputs of `wavelet`."""
    if mode == "periodization":
        centre = wavelet.dec_len // 2 - 1
        delay = centre % 2
        return Alignment(delay, (centre - delay) // 2, (centre - delay) // 2)
    if mode == "whole":
        low, high = _filter_centre(wavelet.dec_lo), _filter_centre(wavelet.dec_hi)
        delay = (low - 1) % 2
        return Alignment(delay, (low - 1 - delay) // 2, (high - delay) // 2)
    if mode == "full":
        return Alignment(0, wavelet.rec_len // 2 - 1, wavelet.rec_len // 2 - 1)
    return Alignment(0, 0, 0)


def _filter_centre(taps: Sequence[float]) -> int:
    """Return the index of the middle tap, zeros at the ends left out."""
    used = np.flatnonzero(np.asarray(taps))
    return int(used[0] + used[-1]) // 2


@dataclass(frozen=True)
class PairFilter:
    """Two filters of equal length that step over a sequence two samples at a time."""

    first: int
    taps: tuple[tuple[float, ...], tuple[float, ...]]

    @property
    def width(self) -> int:
        """Number of samples under the filters."""
        return len(self.taps[0])

    def reach(self, pairs: int) -> tuple[int, int]:
        """Return the range of positions read to make `pairs` pairs of outputs."""
        return self.first, 2 * (pairs - 1) + self.first + self.width

    def apply(self, u: Array) -> tuple[Array, Array]:
        """Return the two outputs along the last axis of a sequence, from the first position that is read on."""
        windows = np.lib.stride_tricks.sliding_window_view(u, self.width, axis=-1)[..., ::2, :]
        return windows @ np.array(self.taps[0]), windows @ np.array(self.taps[1])

    def apply_adjoint(self, p: Array, q: Array) -> Array:
        """Apply the transpose of `apply` to two outputs of the same length."""
        pairs = p.shape[-1]
        u = np.zeros((*p.shape[:-1], 2 * (pairs - 1) + self.width), p.dtype)
        for k, (tap_p, tap_q) in enumerate(zip(*self.taps, strict=True)):
            u[..., k : k + 2 * pairs - 1 : 2] += tap_p * p + tap_q * q
        return u

    @classmethod
    def forward(cls, wavelet: Wavelet, alignment: Alignment) -> PairFilter:
        """Return the analysis filters: signal in, low and high coefficients out."""
        delay = alignment.delay + 1
        return cls._from_terms(
            {2 * alignment.low + delay - k: tap for k, tap in enumerate(wavelet.dec_lo)},
            {2 * alignment.high + delay - k: tap for k, tap in enumerate(wavelet.dec_hi)},
        )

    @classmethod
    def inverse(cls, wavelet: Wavelet, alignment: Alignment) -> PairFilter:
        """Return the synthesis filters: low and high coefficients in turn in, even and odd samples out."""
        # x[i] = sum_m rec_lo[i - delay + L - 2 - 2 (m + low)] lo[m] + the same of hi, for i = 0 and 1
        outputs: tuple[dict[int, float], dict[int, float]] = ({}, {})
        branches = ((wavelet.rec_lo, alignment.low), (wavelet.rec_hi, alignment.high))
        for phase, terms in enumerate(outputs):
            base = phase - alignment.delay + wavelet.rec_len - 2
            for parity, (taps, shift) in enumerate(branches):
                for k in range(base % 2, len(taps), 2):
                    terms[2 * ((base - k) // 2 - shift) + parity] = taps[k]
        return cls._from_terms(*outputs)

    @classmethod
    def _from_terms(cls, p: dict[int, float], q: dict[int, float]) -> PairFilter:
        """Build from ``{position: weight}`` of the output pair 0, leaving out weights of zero at the ends."""
        used = [k for terms in (p, q) for k, weight in terms.items() if weight != 0.0] or [0]
        window = range(min(used), max(used) + 1)
        return cls(window.start, (tuple(p.get(k, 0.0) for k in window), tuple(q.get(k, 0.0) for k in window)))


class PairStep(NamedTuple):
    """``target[n] += sum_j taps[j] * other[n + start + j]``; the target is 0 for even members, 1 for odd ones."""

    target: int
    start: int
    taps: tuple[float, ...]


class Output(NamedTuple):
    """``scale * member[n + shift]``, the member being 0 for even and 1 for odd."""

    member: int
    shift: int
    scale: float


@dataclass(frozen=True)
class PairLifting:
    """Lifting steps on the pairs ``s[m] = scales[0] * u[2 m + even]`` and ``d[m] = scales[1] * u[2 m + odd]``."""

    even: int
    odd: int
    scales: tuple[float, float]
    steps: tuple[PairStep, ...]
    outputs: tuple[Output, Output]

    @classmethod
    def forward(cls, wavelet: Wavelet, alignment: Alignment) -> PairLifting | None:
        """Return the analysis steps, or None if the wavelet does not factor well."""
        scheme = wavelet.lifting
        if scheme is None:
            return None
        return cls(
            alignment.delay,
            alignment.delay + 1,
            (1.0, 1.0),
            tuple(PairStep(int(step.kind == "predict"), step.start, step.taps) for step in scheme.steps),
            (
                Output(0, alignment.low + scheme.shift_lo, scheme.scale_lo),
                Output(1, alignment.high + scheme.shift_hi, scheme.scale_hi),
            ),
        )

    @classmethod
    def inverse(cls, wavelet: Wavelet, alignment: Alignment) -> PairLifting | None:
        """Return the synthesis steps: the analysis steps undone in reverse."""
        scheme = wavelet.lifting
        if scheme is None:
            return None
        steps = tuple(
            PairStep(int(step.kind == "predict"), step.start, tuple(-tap for tap in step.taps))
            for step in reversed(scheme.steps)
        )
        # the delayed signal has even samples in d of the pair before, and odd ones in s
        outputs = (Output(0, 0, 1.0), Output(1, 0, 1.0))
        if alignment.delay:
            outputs = (Output(1, -1, 1.0), Output(0, 0, 1.0))
        return cls(
            -2 * (alignment.low + scheme.shift_lo),
            -2 * (alignment.high + scheme.shift_hi) + 1,
            (1.0 / scheme.scale_lo, 1.0 / scheme.scale_hi),
            steps,
            outputs,
        )
