"""The transforms, in the vocabulary of PyWavelets.

One level of one axis is `dwt`; the suffixes ``2`` and ``n`` are for images and for any axes; ``wavedec`` and
``waverec`` run several levels, ``swt`` does not decimate, packets split the details too.
"""

from __future__ import annotations

from subband.transforms.adjoint import decompose_adjoint, reconstruct_adjoint
from subband.transforms.continuous import cwt, icwt
from subband.transforms.decomposition import decompose, reconstruct
from subband.transforms.lengths import (
    dwt_coeff_len,
    dwt_max_level,
    dwtn_max_level,
    wavedecn_shapes,
    wavedecn_size,
)
from subband.transforms.modes import Modes
from subband.transforms.mra import imra, imra2, imran, mra, mra2, mran
from subband.transforms.multidim import dwt2, dwtn, idwt2, idwtn
from subband.transforms.multilevel import wavedec, wavedec2, wavedecn, waverec, waverec2, waverecn
from subband.transforms.oneband import downcoef, upcoef
from subband.transforms.onedim import dwt, idwt
from subband.transforms.packet_base import BaseNode
from subband.transforms.packet_nodes import Node, Node2D, NodeND
from subband.transforms.packets import WaveletPacket, WaveletPacket2D, WaveletPacketND
from subband.transforms.packing import array_to_coeffs, coeffs_to_array
from subband.transforms.padding import pad
from subband.transforms.ravelling import ravel_coeffs, unravel_coeffs
from subband.transforms.separable import FswavedecnResult, fswavedecn, fswaverecn
from subband.transforms.stationary import iswt, iswt2, iswtn, swt, swt2, swtn
from subband.transforms.stationary_levels import swt_max_level
from subband.transforms.thresholding import threshold, threshold_firm

__all__ = [
    "BaseNode",
    "FswavedecnResult",
    "Modes",
    "Node",
    "Node2D",
    "NodeND",
    "WaveletPacket",
    "WaveletPacket2D",
    "WaveletPacketND",
    "array_to_coeffs",
    "coeffs_to_array",
    "cwt",
    "decompose",
    "decompose_adjoint",
    "downcoef",
    "dwt",
    "dwt2",
    "dwt_coeff_len",
    "dwt_max_level",
    "dwtn",
    "dwtn_max_level",
    "fswavedecn",
    "fswaverecn",
    "icwt",
    "idwt",
    "idwt2",
    "idwtn",
    "imra",
    "imra2",
    "imran",
    "iswt",
    "iswt2",
    "iswtn",
    "mra",
    "mra2",
    "mran",
    "pad",
    "ravel_coeffs",
    "reconstruct",
    "reconstruct_adjoint",
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
    "waverec",
    "waverec2",
    "waverecn",
]
