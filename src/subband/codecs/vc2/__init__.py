"""VC-2 (SMPTE ST 2042-1): video as wavelet coefficients, coded slice by slice with little delay."""

from __future__ import annotations

from subband.codecs.vc2.decoder import DecodedFrame, Decoder, decode
from subband.codecs.vc2.devices import DeviceImage
from subband.codecs.vc2.encoder import Encoder, Settings, encode
from subband.codecs.vc2.sequence import SequenceHeader, VideoFormat

__all__ = [
    "DecodedFrame",
    "Decoder",
    "DeviceImage",
    "Encoder",
    "SequenceHeader",
    "Settings",
    "VideoFormat",
    "decode",
    "encode",
]
