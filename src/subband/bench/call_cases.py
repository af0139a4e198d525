"""Every public function of PyWavelets that computes, and the sizes it is called with.

A recipe says how to call one function; a `CallCase` is a recipe with a size. Both libraries have the same vocabulary,
so that a recipe takes the library to call as an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from subband.typing import Array

__all__ = ["CALL_CASES", "EXCLUDED", "IMAGES", "SIGNALS", "CallCase"]

#: Shapes of signals and of images.
SIGNALS = ((16,), (64,), (256,), (1024,), (16384,))
IMAGES = ((16, 16), (64, 64), (256, 256), (512, 512))

#: Names of PyWavelets that are not measured, and why.
EXCLUDED = {
    "BaseNode": "made by packets, which are measured",
    "FswavedecnResult": "what fswavedecn returns, which is measured",
    "Modes": "a list of names",
    "Node": "made by WaveletPacket, which is measured",
    "Node2D": "made by WaveletPacket2D, which is measured",
    "NodeND": "made by WaveletPacketND, which is measured",
    "centrfrq": "the deprecated name of central_frequency",
    "data": "a module of example data",
    "intwave": "the deprecated name of integrate_wavelet",
    "orthfilt": "another name of orthogonal_filter_bank",
    "scal2frq": "the deprecated name of scale2frequency",
}

_WAVELET, _LEVELS = "db4", 3
_SCALES = np.arange(1, 33)
# The shapes that the quick run takes; of what has no size, all.
_QUICK = (SIGNALS[1], IMAGES[1])
# Filters of an orthogonal wavelet, of which others are made.
_FILTER = (0.48296291314469025, 0.836516303737469, 0.22414386804185735, -0.12940952255092145)

Give: TypeAlias = Callable[[Any, Array], Any]
Call: TypeAlias = Callable[[Any, Any], Any]
Read: TypeAlias = Callable[[Any], Any]


def _as_is(library: Any, x: Any) -> Any:  # noqa: ARG001 - what others make of the samples depends on the library
    return x


@dataclass(frozen=True)
class CallCase:
    """One call of one function.

    Attributes
    ----------
    function : str
        By the name that PyWavelets has for it.
    shape : tuple of int
        Of the samples; empty where there are none.
    call : callable
        Takes the library, and what `give` returned, and is measured.
    give : callable
        Makes of the library and the samples what the call takes.
    read : callable or None
        Makes of a result what is compared; the result itself if None.
    part : str
        What of it is called, if it is a class.

    Examples
    --------
    >>> CallCase("dwt", (1024,), lambda library, x: library.dwt(x, "db4")).name
    'dwt 1,024'
    """

    function: str
    shape: tuple[int, ...]
    call: Call
    give: Give = _as_is
    read: Read | None = None
    part: str = ""

    @property
    def label(self) -> str:
        """What is called."""
        return f"{self.function}{self.part}"

    @property
    def size(self) -> str:
        """The shape in words: ``'1,024'``, ``'64²'``, or nothing."""
        if not self.shape:
            return ""
        return f"{self.shape[0]:,}" if len(self.shape) == 1 else f"{self.shape[0]}²"

    @property
    def name(self) -> str:
        """All of it in one line."""
        return f"{self.label} {self.size}".strip()

    @property
    def is_quick(self) -> bool:
        """Whether it is part of the short run."""
        return not self.shape or self.shape in _QUICK

    @property
    def target(self) -> float:
        """How many times as fast as PyWavelets it should be, at least."""
        if self.function == "cwt":
            return 5.0
        return _TARGETS.get((self.function, prod(self.shape) if len(self.shape) == 1 else 0), 1.0)

    def draw(self) -> Array:
        """Return the samples."""
        return np.random.default_rng(0).normal(size=self.shape)

    def bind(self, library: Any, samples: Array) -> Callable[[], Any]:
        """Return the call of one library as a function without arguments."""
        given = self.give(library, samples)
        return lambda: self.call(library, given)


_TARGETS = {
    ("dwt", 64): 1.2,
    ("idwt", 64): 1.2,
    ("wavedec", 1024): 2.0,
    ("waverec", 1024): 2.0,
    ("wavedec", 16384): 4.0,
    ("waverec", 16384): 4.0,
}


def _vary(
    shapes: Sequence[tuple[int, ...]],
    function: str,
    call: Call,
    give: Give = _as_is,
    read: Read | None = None,
    part: str = "",
) -> Iterator[CallCase]:
    for shape in shapes:
        yield CallCase(function, shape, call, give, read, part)


def _list_signal_cases() -> Iterator[CallCase]:
    w, n = _WAVELET, _LEVELS
    yield from _vary(SIGNALS, "dwt", lambda lib, x: lib.dwt(x, w))
    yield from _vary(SIGNALS, "idwt", lambda lib, bands: lib.idwt(*bands, w), lambda lib, x: lib.dwt(x, w))
    yield from _vary(SIGNALS, "downcoef", lambda lib, x: lib.downcoef("d", x, w, level=2))
    yield from _vary(SIGNALS, "upcoef", lambda lib, x: lib.upcoef("d", x, w, level=2))
    yield from _vary(SIGNALS, "wavedec", lambda lib, x: lib.wavedec(x, w))
    yield from _vary(SIGNALS, "waverec", lambda lib, bands: lib.waverec(bands, w), lambda lib, x: lib.wavedec(x, w))
    yield from _vary(SIGNALS, "swt", lambda lib, x: lib.swt(x, w, n))
    yield from _vary(SIGNALS, "iswt", lambda lib, bands: lib.iswt(bands, w), lambda lib, x: lib.swt(x, w, n))
    yield from _vary(SIGNALS, "mra", lambda lib, x: lib.mra(x, w, n))
    yield from _vary(SIGNALS, "imra", lambda lib, parts: lib.imra(parts), lambda lib, x: lib.mra(x, w, n))
    yield from _vary(SIGNALS, "cwt", lambda lib, x: lib.cwt(x, _SCALES, "morl"))


def _list_image_cases() -> Iterator[CallCase]:
    w, n = _WAVELET, _LEVELS
    yield from _vary(IMAGES, "dwt2", lambda lib, x: lib.dwt2(x, w))
    yield from _vary(IMAGES, "idwt2", lambda lib, bands: lib.idwt2(bands, w), lambda lib, x: lib.dwt2(x, w))
    yield from _vary(IMAGES, "dwtn", lambda lib, x: lib.dwtn(x, w))
    yield from _vary(IMAGES, "idwtn", lambda lib, bands: lib.idwtn(bands, w), lambda lib, x: lib.dwtn(x, w))
    for kind in "2n":
        for forward, inverse in ((f"wavedec{kind}", f"waverec{kind}"), (f"swt{kind}", f"iswt{kind}")):
            split = _make_split(forward, n if forward.startswith("swt") else None)
            yield from _vary(IMAGES, forward, split)
            yield from _vary(IMAGES, inverse, _make_join(inverse), split)
        split = _make_split(f"mra{kind}", n)
        yield from _vary(IMAGES, f"mra{kind}", split)
        yield from _vary(IMAGES, f"imra{kind}", _make_sum(f"imra{kind}"), split)
    yield from _vary(IMAGES, "fswavedecn", lambda lib, x: lib.fswavedecn(x, w), read=lambda found: found.coeffs)
    yield from _vary(
        IMAGES, "fswaverecn", lambda lib, found: lib.fswaverecn(found), lambda lib, x: lib.fswavedecn(x, w)
    )


def _make_split(function: str, level: int | None) -> Call:
    """Return a call of a transform of several levels: all that there can be, or so many."""
    return lambda lib, x: getattr(lib, function)(x, _WAVELET, level=level)


def _make_join(function: str) -> Call:
    return lambda lib, bands: getattr(lib, function)(bands, _WAVELET)


def _make_sum(function: str) -> Call:
    """Return a call that gives the first part as a copy, because PyWavelets adds all others to it in place."""
    return lambda lib, parts: getattr(lib, function)([parts[0].copy(), *parts[1:]])


def _list_packet_cases() -> Iterator[CallCase]:
    for function, shapes in (
        ("WaveletPacket", SIGNALS),
        ("WaveletPacket2D", IMAGES),
        ("WaveletPacketND", IMAGES),
    ):

        def plant(lib: Any, x: Any, function: str = function) -> Any:
            # in this mode sizes are halved; from others, WaveletPacketND of PyWavelets cannot go back
            return getattr(lib, function)(x, _WAVELET, "periodization", maxlevel=2)

        def split(lib: Any, x: Any, plant: Call = plant) -> Any:
            return [node.data for node in _list_leaves(plant(lib, x))]

        def grow(lib: Any, x: Any, plant: Call = plant) -> Any:
            tree = plant(lib, x)
            _list_leaves(tree)
            return tree

        yield from _vary(shapes, function, split, part=".get_level")
        yield from _vary(shapes, function, lambda _, tree: tree.reconstruct(update=False), grow, part=".reconstruct")


def _list_leaves(tree: Any) -> Any:
    return tree.get_level(2) if hasattr(tree, "get_level") else tree.get_leaf_nodes(decompose=True)


def _list_value_cases() -> Iterator[CallCase]:
    """What is done with samples and coefficients beside transforms, in one dimension and in two."""
    for shapes, kind in ((SIGNALS, "wavedec"), (IMAGES, "wavedec2")):

        def split(lib: Any, x: Any, kind: str = kind) -> Any:
            return getattr(lib, kind)(x, _WAVELET)

        def pack(lib: Any, x: Any, split: Call = split) -> Any:
            return lib.coeffs_to_array(split(lib, x))

        def ravel(lib: Any, x: Any, split: Call = split) -> Any:
            return lib.ravel_coeffs(split(lib, x))

        def unpack(lib: Any, packed: Any, kind: str = kind) -> Any:
            return lib.array_to_coeffs(*packed, output_format=kind)

        def unravel(lib: Any, flat: Any, kind: str = kind) -> Any:
            return lib.unravel_coeffs(*flat, output_format=kind)

        yield from _vary(shapes, "threshold", lambda lib, x: lib.threshold(x, 0.5))
        yield from _vary(shapes, "threshold_firm", lambda lib, x: lib.threshold_firm(x, 0.5, 1.0))
        yield from _vary(shapes, "pad", lambda lib, x: lib.pad(x, 8, "symmetric"))
        yield from _vary(shapes, "coeffs_to_array", lambda lib, bands: lib.coeffs_to_array(bands), split)
        yield from _vary(shapes, "array_to_coeffs", unpack, pack)
        yield from _vary(shapes, "ravel_coeffs", lambda lib, bands: lib.ravel_coeffs(bands), split)
        yield from _vary(shapes, "unravel_coeffs", unravel, ravel)


def _list_small_cases() -> Iterator[CallCase]:
    """What takes no samples."""

    def add(function: str, call: Call, give: Give = _as_is, read: Read | None = None, part: str = "") -> CallCase:
        return CallCase(function, (), call, give, read, part)

    yield add("Wavelet", lambda lib, _: lib.Wavelet(_WAVELET), read=_read_wavelet)
    yield add("Wavelet", lambda _, wavelet: wavelet.wavefun(8), lambda lib, _: lib.Wavelet(_WAVELET), part=".wavefun")
    yield add("ContinuousWavelet", lambda lib, _: lib.ContinuousWavelet("morl"), read=_read_continuous)
    yield add(
        "ContinuousWavelet",
        lambda _, wavelet: wavelet.wavefun(8),
        lambda lib, _: lib.ContinuousWavelet("morl"),
        part=".wavefun",
    )
    yield add("DiscreteContinuousWavelet", lambda lib, _: lib.DiscreteContinuousWavelet("morl"), read=_read_continuous)
    yield add("wavelist", lambda lib, _: lib.wavelist(), read=_leave_own_out)
    yield add("families", lambda lib, _: lib.families(), read=_leave_own_out)
    yield add("qmf", lambda lib, _: lib.qmf(_FILTER))
    yield add("orthogonal_filter_bank", lambda lib, _: lib.orthogonal_filter_bank(_FILTER))
    yield add("central_frequency", lambda lib, _: lib.central_frequency(_WAVELET))
    yield add("integrate_wavelet", lambda lib, _: lib.integrate_wavelet(_WAVELET))
    yield add("scale2frequency", lambda lib, _: lib.scale2frequency("morl", _SCALES))
    yield add("frequency2scale", lambda lib, _: lib.frequency2scale("morl", 0.5 / _SCALES))
    yield add("dwt_max_level", lambda lib, _: lib.dwt_max_level(1024, _WAVELET))
    yield add("dwtn_max_level", lambda lib, _: lib.dwtn_max_level((512, 512), _WAVELET))
    yield add("swt_max_level", lambda lib, _: lib.swt_max_level(1024))
    yield add("dwt_coeff_len", lambda lib, _: lib.dwt_coeff_len(1024, 8, "symmetric"))
    yield add("wavedecn_shapes", lambda lib, _: lib.wavedecn_shapes((512, 512), _WAVELET))
    yield add(
        "wavedecn_size",
        lambda lib, shapes: lib.wavedecn_size(shapes),
        lambda lib, _: lib.wavedecn_shapes((512, 512), _WAVELET),
    )


def _read_wavelet(wavelet: Any) -> Any:
    return wavelet.name, wavelet.filter_bank


def _read_continuous(wavelet: Any) -> Any:
    return wavelet.name, wavelet.wavefun(4)


def _leave_own_out(names: Sequence[str]) -> list[str]:
    """Leave out the wavelets that only `subband` has."""
    return sorted(name for name in names if not name.startswith("cdf"))


#: Every case of ``subband bench calls``.
CALL_CASES: tuple[CallCase, ...] = (
    *_list_signal_cases(),
    *_list_image_cases(),
    *_list_packet_cases(),
    *_list_value_cases(),
    *_list_small_cases(),
)
