"""What is measured, and what is expected of it.

A case is called the same way in `subband` and in PyWavelets, because the two have the same vocabulary; so a case
takes the library to call as an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from subband.errors import ArgumentError
from subband.typing import Array

__all__ = ["CPU_CASES", "MOST_MEMORY", "Case", "Target", "select_cases"]

#: Peak of memory that a call may add, as a multiple of what it returns.
MOST_MEMORY = 1.3

_SMALL, _FULL_HD, _LARGE = (512, 512), (1080, 1920), (8192, 8192)
_VOLUME, _SIGNAL, _SHORT = (256, 256, 256), (4 * 2**20,), (64,)

# From here on memory is worth measuring: below it, the pages of the interpreter itself come and go by as much.
_MEASURABLE_SIZE = 4 * 2**20


@dataclass(frozen=True)
class Target:
    """What is expected of a case; None where nothing is.

    Attributes
    ----------
    speedup : float or None
        How many times as fast as the peer it should be, at least.
    copies : float or None
        How many plain copies it may take, at most.
    seconds : float or None
        How long it may take, at most.

    Examples
    --------
    >>> print(Target(speedup=30, copies=2.2))
    ≥ 30× peer, ≤ 2.2× copy
    """

    speedup: float | None = None
    copies: float | None = None
    seconds: float | None = None

    def is_met(self, ours: float, peer: float, copy: float) -> bool:
        """Say whether three times in seconds meet the target.

        Examples
        --------
        >>> Target(speedup=30, copies=2.2).is_met(ours=2.0, peer=64.0, copy=1.0)
        True
        >>> Target(speedup=30, copies=2.2).is_met(ours=2.0, peer=64.0, copy=0.5)
        False
        """
        return (
            (self.speedup is None or peer >= self.speedup * ours)
            and (self.copies is None or ours <= self.copies * copy)
            and (self.seconds is None or ours <= self.seconds)
        )

    def __str__(self) -> str:
        parts = []
        if self.speedup is not None:
            parts.append(f"≥ {self.speedup:g}× peer")
        if self.copies is not None:
            parts.append(f"≤ {self.copies:g}× copy")
        if self.seconds is not None:
            parts.append(f"≤ {self.seconds * 1e6:g} µs")
        return ", ".join(parts)


@dataclass(frozen=True)
class Case:
    """One transform of one array of float32.

    Attributes
    ----------
    shape : tuple of int
        All axes are transformed.
    wavelet, mode : str
        By name, as a user would give them.
    level : int
        Number of levels.
    inverse : bool
        Whether the way back is measured.
    is_quick : bool
        Whether it is part of the short run.

    Examples
    --------
    >>> case = Case((1080, 1920), "db4", level=5, inverse=True)
    >>> case.name
    '2-D 1080x1920 db4 periodization 5-level inverse'
    >>> print(case.target)
    ≥ 30× peer
    """

    shape: tuple[int, ...]
    wavelet: str = "bior4.4"
    mode: str = "periodization"
    level: int = 1
    inverse: bool = False
    is_quick: bool = False

    @property
    def name(self) -> str:
        """All of it in one line, which `select_cases` searches."""
        size = "x".join(map(str, self.shape))
        direction = "inverse" if self.inverse else "forward"
        return f"{len(self.shape)}-D {size} {self.wavelet} {self.mode} {self.level}-level {direction}"

    @property
    def size(self) -> int:
        """Number of samples."""
        return prod(self.shape)

    @property
    def is_measurable(self) -> bool:
        """Whether the memory it takes stands out."""
        return self.size >= _MEASURABLE_SIZE

    @property
    def peer(self) -> Case:
        """The nearest thing that PyWavelets has: itself, but for the mode that PyWavelets lacks."""
        return replace(self, wavelet="bior4.4", mode="periodization") if self.mode == "whole" else self

    @property
    def target(self) -> Target:
        """What is expected of it."""
        from subband.wavelets import Wavelet

        dimensions = len(self.shape)
        if self.shape == _SHORT:
            return Target(seconds=12e-6)
        if dimensions != 2:
            return Target(speedup=4 if dimensions == 1 else 8)
        if Wavelet(self.wavelet).dec_len > 10:
            return Target(speedup=10)
        is_bound_by_memory = self.level == 1 and self.size >= prod(_FULL_HD)
        return Target(speedup=30, copies=2.2 if is_bound_by_memory else None)

    def make_samples(self, seed: int = 0) -> Array:
        """Draw the array that is transformed."""
        samples = np.empty(self.shape, np.float32)
        # In place, so that no wider array stands beside it when memory is measured.
        np.random.default_rng(seed).random(out=samples, dtype=np.float32)
        samples -= np.float32(0.5)
        return samples

    def prepare(self, library: Any, samples: Array) -> Callable[[], Any]:
        """Return what is measured as a function without arguments.

        Parameters
        ----------
        library : module
            `subband` or `pywt`.
        samples : ndarray
            As `make_samples` returns it. For an inverse, the coefficients are computed here, by the same library.

        Examples
        --------
        >>> import subband
        >>> case = Case((8, 8), "haar")
        >>> approximation, details = case.prepare(subband, case.make_samples())()
        >>> approximation.shape
        (4, 4)
        """
        if self.mode == "whole":
            way = partial(library.decompose, samples, self.wavelet, self.level, self.mode)
        elif self.level == 1:
            way = partial(getattr(library, f"dwt{self._suffix}"), samples, self.wavelet, self.mode)
        else:
            way = partial(getattr(library, f"wavedec{self._suffix}"), samples, self.wavelet, self.mode, self.level)
        return self.prepare_inverse(library, way()) if self.inverse else way

    def prepare_inverse(self, library: Any, coefficients: Any) -> Callable[[], Any]:
        """Return the way back as a function without arguments.

        Parameters
        ----------
        library : module
            `subband` or `pywt`.
        coefficients : Pyramid, list, tuple or dict
            As the way there returns them.
        """
        if self.mode == "whole":
            return partial(library.reconstruct, coefficients)
        if self.level > 1:
            return partial(getattr(library, f"waverec{self._suffix}"), coefficients, self.wavelet, self.mode)
        if len(self.shape) == 1:
            return partial(library.idwt, *coefficients, self.wavelet, self.mode)
        return partial(getattr(library, f"idwt{self._suffix}"), coefficients, self.wavelet, self.mode)

    @property
    def _suffix(self) -> str:
        """How the functions for so many axes are called."""
        return {1: "", 2: "2"}.get(len(self.shape), "n")


def _list_cases() -> Iterable[Case]:
    """List the forward cases of the CPU."""
    for shape in (_SMALL, _FULL_HD, _LARGE):
        for level in (1, 5):
            yield Case(shape, level=level, is_quick=shape != _LARGE)
    yield Case(_FULL_HD, "cdf97", "whole", is_quick=True)
    yield Case(_FULL_HD, "cdf97", "whole", level=5)
    yield Case(_LARGE, "cdf97", "whole")
    for wavelet in ("haar", "db2", "db4", "sym8", "coif5", "db20"):
        yield Case(_FULL_HD, wavelet, is_quick=wavelet in ("haar", "db20"))
    yield Case(_FULL_HD, mode="symmetric", is_quick=True)
    yield Case(_FULL_HD, mode="symmetric", level=5)
    yield Case(_FULL_HD, "db4", "symmetric")
    yield Case(_VOLUME, is_quick=True)
    yield Case(_VOLUME, level=3)
    yield Case(_SIGNAL, "db4", "symmetric")
    yield Case(_SIGNAL, "db4", "symmetric", level=10, is_quick=True)
    yield Case(_SHORT, "db4", "symmetric", is_quick=True)


#: Every case of ``subband bench cpu``, each followed by its inverse.
CPU_CASES: tuple[Case, ...] = tuple(
    case for forward in _list_cases() for case in (forward, replace(forward, inverse=True))
)


def select_cases(cases: Sequence[Case], *, is_quick: bool = False, patterns: Sequence[str] = ()) -> tuple[Case, ...]:
    """Choose some of the cases.

    Parameters
    ----------
    cases : sequence of Case
        To choose from.
    is_quick : bool
        Leave out those that take long.
    patterns : sequence of str
        Keep those whose name holds all words of at least one pattern; all if there is none.

    Raises
    ------
    ArgumentError
        If none is left.

    Examples
    --------
    >>> [case.name for case in select_cases(CPU_CASES, patterns=["db20 forward"])]
    ['2-D 1080x1920 db20 periodization 1-level forward']
    """
    wanted = [pattern.lower().split() for pattern in patterns] or [[]]
    chosen = tuple(
        case
        for case in cases
        if (case.is_quick or not is_quick) and any(all(word in case.name.lower() for word in words) for words in wanted)
    )
    if not chosen:
        raise ArgumentError(
            f"no case has a name with the words {' or '.join(map(repr, patterns))}; names look like {cases[0].name!r}"
        )
    return chosen
