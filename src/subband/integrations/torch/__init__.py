"""Transforms of PyTorch's tensors with gradients, as functions and as modules.

The last axes of a tensor are transformed, and those before, such as batch and channels, are carried along. Gradients
are computed by running the adjoint transform (see `subband.decompose_adjoint`) and not by following every step, so that
a backward pass costs about as much as a forward one and keeps nothing in between. They have gradients themselves, of
any order. Tensors stay on their device, and work is queued on Torch's current stream.

Every transform is one operator to ``torch.compile``, which neither looks inside nor has to stop for it.
"""

from __future__ import annotations

from importlib.util import find_spec

from subband.errors import MissingExtraError

if find_spec("torch") is None:
    raise MissingExtraError("subband.integrations.torch", "torch")

from subband.integrations.torch.functions import decompose, dwt2, dwtn, idwt2, idwtn, reconstruct
from subband.integrations.torch.images import DenoiseImage, RandomBands
from subband.integrations.torch.layers import WaveDec2, WaveletPackets2, WaveRec2
from subband.integrations.torch.learned import LearnedWavelet
from subband.integrations.torch.modules import DWT2, IDWT2, DWTn, IDWTn, WaveletDenoise

__all__ = [
    "DWT2",
    "IDWT2",
    "DWTn",
    "DenoiseImage",
    "IDWTn",
    "LearnedWavelet",
    "RandomBands",
    "WaveDec2",
    "WaveRec2",
    "WaveletDenoise",
    "WaveletPackets2",
    "decompose",
    "dwt2",
    "dwtn",
    "idwt2",
    "idwtn",
    "reconstruct",
]
