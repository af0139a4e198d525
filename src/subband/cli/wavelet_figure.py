"""A figure of a wavelet: its functions as curves, its filters as stems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from subband.bench.figures import BLUE, ORANGE, Figure, Panel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from subband.wavelets import ContinuousWavelet, Wavelet

__all__ = ["draw_wavelet"]

# Samples lie 2**-8 apart: finer than a pixel for every wavelet of the catalogue.
_LEVEL = 8


def draw_wavelet(wavelet: Wavelet | ContinuousWavelet) -> Figure:
    """Draw a wavelet of either kind.

    Parameters
    ----------
    wavelet : Wavelet or ContinuousWavelet
        For an orthogonal wavelet one pair of functions is drawn; for a biorthogonal one the pair of the
        analysis and that of the synthesis, each to its own scale; for a continuous one its real and imaginary
        part.

    Returns
    -------
    Figure
        Not yet written to a file.
    """
    title = f"{wavelet.name}: {wavelet.family_name}"
    discrete: Any = wavelet
    if not hasattr(discrete, "dec_lo"):
        return Figure(title, [[_draw_continuous(wavelet)]], (760, 420))
    *functions, x = discrete.wavefun(level=_LEVEL)
    sides = [", analysis", ", synthesis"] if len(functions) > 2 else [""]
    rows = [
        [
            _draw_function(f"scaling function{side}", "phi(x)", x, functions[2 * pair], BLUE),
            _draw_function(f"wavelet{side}", "psi(x)", x, functions[2 * pair + 1], ORANGE),
        ]
        for pair, side in enumerate(sides)
    ]
    for prefix, side in (("dec", "analysis"), ("rec", "synthesis")):
        low, high = f"{prefix}_lo", f"{prefix}_hi"
        rows.append(
            [
                _draw_filter(f"low-pass filter, {side}", low, getattr(discrete, low), BLUE),
                _draw_filter(f"high-pass filter, {side}", high, getattr(discrete, high), ORANGE),
            ]
        )
    return Figure(title, rows)


def _draw_function(title: str, label: str, x: Iterable[float], y: Iterable[float], colour: str) -> Panel:
    panel = Panel(title, "x", label)
    panel.add_curve(x, y, colour)
    return panel


def _draw_filter(title: str, name: str, taps: Iterable[float], colour: str) -> Panel:
    panel = Panel(title, "n", f"{name}[n]")
    panel.add_stems(taps, colour)
    return panel


def _draw_continuous(wavelet: Any) -> Panel:
    psi, x = wavelet.wavefun(level=10)
    panel = Panel("wavelet", "x", "psi(x)")
    if wavelet.complex_cwt:
        panel.add_curve(x, psi.real, BLUE, "real part")
        panel.add_curve(x, psi.imag, ORANGE, "imaginary part")
    else:
        panel.add_curve(x, psi, BLUE)
    return panel
