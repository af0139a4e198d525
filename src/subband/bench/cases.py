"""The cases of ``subband bench cpu`` and their speed targets.

A case is called the same way in `subband` and in PyWavelets, because the two have the same vocabulary; so a case
takes the library to call as an argument. The cases of devices are in `subband.bench.device_cases`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any, Protocol, TypeVar

from subband.engines.measuring.harness import draw_on_host
from subband.errors import ArgumentError
from subband.typing import Array

__all__ = ["CPU_CASES", "MOST_MEMORY", "PYWAVELETS", "Case", "Target", "select_cases"]

#: What the peer on the CPU is called.
PYWAVELETS = "PyWavelets"

#: One level of these is expected to take little more than reading and writing: times as fast as PyWavelets, and copies.
_FUSED = ("haar", "db2", "cdf97", "bior4.4")

#: Peak of memory that a call may add, as a multiple of what it returns.
MOST_MEMORY = 1.3

_SMALL, _FULL_HD, _LARGE = (512, 512), (1080, 1920), (8192, 8192)
_VOLUME, _SIGNAL, _SHORT = (256, 256, 256), (4 * 2**20,), (64,)

# From here on memory is worth measuring: below it, the pages of the interpreter itself come and go by as much.
_MEASURABLE_SIZE = 4 * 2**20


@dataclass(frozen=True)
class Target:
    """The speed and memory targets of a case; None where there is none.

    Attributes
    ----------
    speedups : dict of str to float
        How many times as fast as each peer it should be, at least; a peer that was not measured does not count.
    copies : float or None
        How many plain copies it may take, at most.
    bandwidth : float or None
        How near to the speed of a plain copy it should be, at least: the same the other way round.
    seconds : float or None
        How long it may take, at most.

    Examples
    --------
    >>> print(Target({"PyWavelets": 30}, copies=2.2))
    ≥ 30× PyWavelets, ≤ 2.2× copy
    >>> print(Target(bandwidth=0.88, seconds=2.1e-4))
    ≥ 0.88 of copy, ≤ 210 µs
    """

    speedups: Mapping[str, float] = field(default_factory=dict)
    copies: float | None = None
    bandwidth: float | None = None
    seconds: float | None = None

    def is_met(self, ours: float, peers: Mapping[str, float], copy: float) -> bool:
        """Return whether times in seconds meet the target.

        Examples
        --------
        >>> Target({"PyWavelets": 30}, copies=2.2).is_met(2.0, {"PyWavelets": 64.0}, copy=1.0)
        True
        >>> Target({"PyWavelets": 30}, copies=2.2).is_met(2.0, {"PyWavelets": 64.0}, copy=0.5)
        False
        """
        return (
            all(peers[name] >= factor * ours for name, factor in self.speedups.items() if name in peers)
            and (self.copies is None or ours <= self.copies * copy)
            and (self.bandwidth is None or copy >= self.bandwidth * ours)
            and (self.seconds is None or ours <= self.seconds)
        )

    def restrict(self, peers: Iterable[str]) -> Target:
        """Return the part of the target that can be judged where only these peers were measured."""
        return replace(self, speedups={name: self.speedups[name] for name in peers if name in self.speedups})

    def __bool__(self) -> bool:
        return bool(self.speedups) or any(x is not None for x in (self.copies, self.bandwidth, self.seconds))

    def __str__(self) -> str:
        parts = [f"≥ {factor:g}× {name}" for name, factor in self.speedups.items()]
        if self.copies is not None:
            parts.append(f"≤ {self.copies:g}× copy")
        if self.bandwidth is not None:
            parts.append(f"≥ {self.bandwidth:g} of copy")
        if self.seconds is not None:
            parts.append(f"≤ {self.seconds * 1e6:g} µs")
        return ", ".join(parts)


@dataclass(frozen=True)
class Case:
    """One transform of one array.

    Attributes
    ----------
    shape : tuple of int
        Of the array.
    wavelet, mode : str
        By name, as a user would give them.
    level : int
        Number of levels.
    inverse : bool
        Whether the way back is measured.
    is_quick : bool
        Whether it is part of the short run.
    dtype : str
        Of the array.
    axes : tuple of int or None
        The axes that are transformed, all if None.

    Examples
    --------
    >>> case = Case((1080, 1920), "db4", level=5, inverse=True)
    >>> case.name
    '2-D 1080x1920 db4 periodization 5-level inverse'
    >>> print(case.target)
    ≥ 30× PyWavelets
    """

    shape: tuple[int, ...]
    wavelet: str = "bior4.4"
    mode: str = "periodization"
    level: int = 1
    inverse: bool = False
    is_quick: bool = False
    dtype: str = "float32"
    axes: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        """The case in one line, which `select_cases` searches."""
        size = "x".join(map(str, self.shape))
        direction = "inverse" if self.inverse else "forward"
        parts = [f"{self.dimensions}-D", size, self.wavelet, self.mode, f"{self.level}-level", direction]
        if self.dtype != "float32":
            parts.append(self.dtype)
        if self.dimensions < len(self.shape):
            parts.append("interleaved" if self.transformed[-1] < len(self.shape) - 1 else "planar")
        return " ".join(parts)

    @property
    def transformed(self) -> tuple[int, ...]:
        """The axes that are transformed."""
        return tuple(range(len(self.shape))) if self.axes is None else self.axes

    @property
    def dimensions(self) -> int:
        """How many axes are transformed."""
        return len(self.transformed)

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

        dimensions = self.dimensions
        if self.shape == _SHORT:
            return Target(seconds=12e-6)
        if dimensions != 2:
            return Target({PYWAVELETS: 6 if dimensions == 1 else 30})
        if Wavelet(self.wavelet).dec_len > 10:
            return Target({PYWAVELETS: 10})
        if self.level > 1 or self.size < prod(_FULL_HD):
            return Target({PYWAVELETS: 30})
        if self.wavelet not in _FUSED:
            return Target({PYWAVELETS: 30}, copies=2.2)
        return (
            Target({PYWAVELETS: 60}, copies=1.6) if self.size >= prod(_LARGE) else Target({PYWAVELETS: 40}, copies=2.0)
        )

    def make_samples(self, seed: int = 0) -> Array:
        """Draw the array that is transformed."""
        return draw_on_host(self.shape, "float32", seed)

    def prepare(self, library: Any, samples: Array) -> Callable[[], Any]:
        """Return the measured call as a function without arguments.

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
        return self.bind(library, self.make_input(library, samples))

    def make_input(self, library: Any, samples: Any) -> Any:
        """Return the input: the samples, or for inverses the coefficients that `library` makes of them."""
        return self._bind_forward(library, samples)() if self.inverse else samples

    def bind(self, library: Any, given: Any) -> Callable[[], Any]:
        """Return the measured call as a function without arguments.

        Parameters
        ----------
        library : module
            `subband` or `pywt`.
        given : array, Pyramid, list, tuple or dict
            As `make_input` returns it.
        """
        return self._bind_inverse(library, given) if self.inverse else self._bind_forward(library, given)

    def _bind_forward(self, library: Any, samples: Any) -> Callable[[], Any]:
        if self.mode == "whole":
            return partial(library.decompose, samples, self.wavelet, self.level, self.mode, **self._options)
        if self.level == 1:
            return partial(getattr(library, f"dwt{self._suffix}"), samples, self.wavelet, self.mode, **self._options)
        function = getattr(library, f"wavedec{self._suffix}")
        return partial(function, samples, self.wavelet, self.mode, self.level, **self._options)

    def _bind_inverse(self, library: Any, coefficients: Any) -> Callable[[], Any]:
        if self.mode == "whole":
            return partial(library.reconstruct, coefficients)
        if self.level > 1:
            function = getattr(library, f"waverec{self._suffix}")
            return partial(function, coefficients, self.wavelet, self.mode, **self._options)
        if self.dimensions == 1:
            return partial(library.idwt, *coefficients, self.wavelet, self.mode)
        return partial(getattr(library, f"idwt{self._suffix}"), coefficients, self.wavelet, self.mode, **self._options)

    @property
    def _options(self) -> dict[str, Any]:
        """The axes, where not all are transformed."""
        return {} if self.axes is None else {"axes": self.axes}

    @property
    def _suffix(self) -> str:
        """The suffix of the functions for so many axes."""
        return {1: "", 2: "2"}.get(self.dimensions, "n")


def _list_cases() -> Iterable[Case]:
    """List the forward cases of the CPU."""
    for shape in (_SMALL, _FULL_HD, _LARGE):
        for level in (1, 5):
            yield Case(shape, level=level, is_quick=shape != _LARGE)
    yield Case(_FULL_HD, "cdf97", "whole", is_quick=True)
    yield Case(_FULL_HD, "cdf97", "whole", level=5)
    yield Case(_LARGE, "cdf97", "whole")
    for wavelet in ("haar", "db2"):
        yield Case(_LARGE, wavelet)
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


class Named(Protocol):
    """What can be chosen by its name."""

    @property
    def name(self) -> str:
        """All of it in one line."""

    @property
    def is_quick(self) -> bool:
        """Whether it is part of the short run."""


AnyCase = TypeVar("AnyCase", bound=Named)

#: Every case of ``subband bench cpu``, each followed by its inverse.
CPU_CASES: tuple[Case, ...] = tuple(
    case for forward in _list_cases() for case in (forward, replace(forward, inverse=True))
)


def select_cases(
    cases: Sequence[AnyCase], *, is_quick: bool = False, patterns: Sequence[str] = ()
) -> tuple[AnyCase, ...]:
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
