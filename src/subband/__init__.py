"""Wavelet transforms for signals, images, video and volumes.

The functions have the names, arguments and results of PyWavelets; `subband.engines` computes them.
"""

from __future__ import annotations

import typing as _typing

from subband import data, errors
from subband._version import __version__
from subband.arrays.kinds import register_integration as _register_integration
from subband.engines import get_engine, get_threads, set_engine, set_threads
from subband.engines.memory import release_memory
from subband.pyramid import Pyramid
from subband.transforms import (
    BaseNode,
    FswavedecnResult,
    Modes,
    Node,
    Node2D,
    NodeND,
    WaveletPacket,
    WaveletPacket2D,
    WaveletPacketND,
    array_to_coeffs,
    coeffs_to_array,
    cwt,
    decompose,
    decompose_adjoint,
    downcoef,
    dwt,
    dwt2,
    dwt_coeff_len,
    dwt_max_level,
    dwtn,
    dwtn_max_level,
    fswavedecn,
    fswaverecn,
    icwt,
    idwt,
    idwt2,
    idwtn,
    imra,
    imra2,
    imran,
    iswt,
    iswt2,
    iswtn,
    mra,
    mra2,
    mran,
    pad,
    ravel_coeffs,
    reconstruct,
    reconstruct_adjoint,
    swt,
    swt2,
    swt_max_level,
    swtn,
    threshold,
    threshold_firm,
    unravel_coeffs,
    upcoef,
    wavedec,
    wavedec2,
    wavedecn,
    wavedecn_shapes,
    wavedecn_size,
    waverec,
    waverec2,
    waverecn,
)
from subband.wavelets import (
    ContinuousWavelet,
    DiscreteContinuousWavelet,
    LiftingScheme,
    Step,
    Wavelet,
    central_frequency,
    centrfrq,
    families,
    frequency2scale,
    integrate_wavelet,
    intwave,
    orthfilt,
    orthogonal_filter_bank,
    qmf,
    scal2frq,
    scale2frequency,
    wavelist,
)

if _typing.TYPE_CHECKING:
    from subband.enhance import Enhancer, denoise
    from subband.transforms.dual_tree import DualTreePyramid, dtcwt, idtcwt

__all__ = [
    "BaseNode",
    "ContinuousWavelet",
    "DiscreteContinuousWavelet",
    "DualTreePyramid",
    "Enhancer",
    "FswavedecnResult",
    "LiftingScheme",
    "Modes",
    "Node",
    "Node2D",
    "NodeND",
    "Pyramid",
    "Step",
    "Wavelet",
    "WaveletPacket",
    "WaveletPacket2D",
    "WaveletPacketND",
    "__version__",
    "array_to_coeffs",
    "central_frequency",
    "centrfrq",
    "coeffs_to_array",
    "cwt",
    "data",
    "decompose",
    "decompose_adjoint",
    "denoise",
    "downcoef",
    "dtcwt",
    "dwt",
    "dwt2",
    "dwt_coeff_len",
    "dwt_max_level",
    "dwtn",
    "dwtn_max_level",
    "errors",
    "families",
    "frequency2scale",
    "fswavedecn",
    "fswaverecn",
    "get_engine",
    "get_threads",
    "icwt",
    "idtcwt",
    "idwt",
    "idwt2",
    "idwtn",
    "imra",
    "imra2",
    "imran",
    "integrate_wavelet",
    "intwave",
    "iswt",
    "iswt2",
    "iswtn",
    "mra",
    "mra2",
    "mran",
    "orthfilt",
    "orthogonal_filter_bank",
    "pad",
    "qmf",
    "ravel_coeffs",
    "reconstruct",
    "reconstruct_adjoint",
    "release_memory",
    "scal2frq",
    "scale2frequency",
    "set_engine",
    "set_threads",
    "swt",
    "swt2",
    "swt_max_level",
    "swtn",
    "threshold",
    "threshold_firm",
    "unravel_coeffs",
    "upcoef",
    "wavedec",
    "wavedec2",
    "wavedecn",
    "wavedecn_shapes",
    "wavedecn_size",
    "wavelist",
    "waverec",
    "waverec2",
    "waverecn",
]

#: Names whose modules are imported when somebody asks for them: the transforms of PyWavelets do not need them.
_LATER = ("DualTreePyramid", "Enhancer", "denoise", "dtcwt", "idtcwt")


def _load_dask() -> _typing.Any:
    from subband.integrations.dask import dispatch

    return dispatch


def _load_torch() -> _typing.Any:
    from subband.integrations.torch import engine

    return engine


_register_integration("dask.array.Array", _load_dask)
_register_integration("torch.Tensor", _load_torch)


def __getattr__(name: str) -> _typing.Any:
    if name in ("Enhancer", "denoise"):
        from subband import enhance as module
    elif name in _LATER:
        from subband.transforms import dual_tree as module  # type: ignore[no-redef]  # whichever has the name
    else:
        raise AttributeError(f"module 'subband' has no attribute {name!r}")
    # the next one who asks finds it without a call
    found = globals()[name] = getattr(module, name)
    return found


def __dir__() -> list[str]:
    return __all__
