"""Wavelet transforms for signals, images, video and volumes.

The functions have the names, arguments and results of PyWavelets; `subband.engines` computes them.
"""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

from subband import data, errors
from subband._version import __version__
from subband.arrays.kinds import register_integration as _register_integration
from subband.engines import get_engine, get_threads, set_engine, set_threads
from subband.engines.memory import release_memory
from subband.pyramid import Pyramid
from subband.pyramid import register_method as _register_method
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
from subband.transforms.decomposition import make_pyramid as _make_pyramid
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
    from subband import boundary as boundary
    from subband import codecs as codecs
    from subband import edit as edit
    from subband import engines as engines
    from subband import enhance as enhance
    from subband import integrations as integrations
    from subband import media as media
    from subband import pipeline as pipeline
    from subband import plan as plan
    from subband import plot as plot
    from subband import pyramid as pyramid
    from subband import quality as quality
    from subband import sklearn as sklearn
    from subband import testing as testing
    from subband import torch as torch
    from subband import transforms as transforms
    from subband import wavelets as wavelets
    from subband import xarray as xarray
    from subband.codecs import jpeg2000 as jpeg2000
    from subband.codecs import vc2 as vc2
    from subband.enhance import Enhancer, denoise, estimate_sigma
    from subband.media import imread, imwrite
    from subband.pipeline import enhance_file
    from subband.quality import psnr, ssim
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
    "enhance_file",
    "errors",
    "estimate_sigma",
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
    "imread",
    "imwrite",
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
    "psnr",
    "qmf",
    "ravel_coeffs",
    "reconstruct",
    "reconstruct_adjoint",
    "release_memory",
    "scal2frq",
    "scale2frequency",
    "set_engine",
    "set_threads",
    "ssim",
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
_LATER = {
    "DualTreePyramid": "transforms.dual_tree",
    "Enhancer": "enhance",
    "denoise": "enhance",
    "dtcwt": "transforms.dual_tree",
    "enhance_file": "pipeline",
    "estimate_sigma": "enhance",
    "idtcwt": "transforms.dual_tree",
    "imread": "media",
    "imwrite": "media",
    "psnr": "quality",
    "ssim": "quality",
}

#: Modules that are known by a shorter name, too.
_SHORT = {"jpeg2000": "codecs.jpeg2000", "vc2": "codecs.vc2"}

#: Modules for users that are imported when somebody asks for them.
_MODULES = (
    "boundary",
    "codecs",
    "edit",
    "engines",
    "enhance",
    "integrations",
    "media",
    "pipeline",
    "plan",
    "plot",
    "pyramid",
    "quality",
    "sklearn",
    "testing",
    "torch",
    "transforms",
    "wavelets",
    "xarray",
)


def _load_dask() -> _typing.Any:
    from subband.integrations.dask import dispatch

    return dispatch


def _load_torch() -> _typing.Any:
    from subband.integrations.torch import engine

    return engine


def _load_plot() -> _typing.Any:
    from subband.plot import mosaic

    return mosaic


_register_method("from_pywavelets", lambda: _make_pyramid)
_register_method("plot", _load_plot)
_register_method("reconstruct", lambda: reconstruct)
_register_method("threshold", lambda: threshold)
_register_integration("dask.array.Array", _load_dask)
_register_integration("torch.Tensor", _load_torch)


def __getattr__(name: str) -> _typing.Any:
    if name in _MODULES:
        return _import_module(f"subband.{name}")
    if name in _SHORT:
        return _import_module(f"subband.{_SHORT[name]}")
    if name not in _LATER:
        raise AttributeError(f"module 'subband' has no attribute {name!r}")
    # the next one who asks finds it without a call
    found = globals()[name] = getattr(_import_module(f"subband.{_LATER[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, *_SHORT})
