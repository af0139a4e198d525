"""What a wavelet is: filters, lifting steps, formulas, and the catalogue of their names.

`Wavelet` is a filter bank with all that is known about it, `LiftingScheme` the same as predict and update
steps, and `as_wavelet` the way from a name to either. `ContinuousWavelet` is a function for `cwt`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from subband.wavelets.catalogue import families, wavelist
from subband.wavelets.filterbank import FilterBank
from subband.wavelets.lifting import LiftingScheme, Step
from subband.wavelets.lookup import WaveletLike, as_wavelet, factorise
from subband.wavelets.wavelet import Wavelet

if TYPE_CHECKING:
    from subband.wavelets.continuous import ContinuousWavelet, DiscreteContinuousWavelet
    from subband.wavelets.frequency import (
        admissibility_constant,
        central_frequency,
        centrfrq,
        frequency2scale,
        integrate_wavelet,
        intwave,
        scal2frq,
        scale2frequency,
    )
    from subband.wavelets.quadrature import orthfilt, orthogonal_filter_bank, qmf

__all__ = [
    "ContinuousWavelet",
    "DiscreteContinuousWavelet",
    "FilterBank",
    "LiftingScheme",
    "Step",
    "Wavelet",
    "WaveletLike",
    "admissibility_constant",
    "as_wavelet",
    "central_frequency",
    "centrfrq",
    "factorise",
    "families",
    "frequency2scale",
    "integrate_wavelet",
    "intwave",
    "orthfilt",
    "orthogonal_filter_bank",
    "qmf",
    "scal2frq",
    "scale2frequency",
    "wavelist",
]

# Discrete transforms need none of these, so they are loaded when first asked for.
_MODULES = {
    "ContinuousWavelet": "continuous",
    "DiscreteContinuousWavelet": "continuous",
    "admissibility_constant": "frequency",
    "central_frequency": "frequency",
    "centrfrq": "frequency",
    "frequency2scale": "frequency",
    "integrate_wavelet": "frequency",
    "intwave": "frequency",
    "orthfilt": "quadrature",
    "orthogonal_filter_bank": "quadrature",
    "qmf": "quadrature",
    "scal2frq": "frequency",
    "scale2frequency": "frequency",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
