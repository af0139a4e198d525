"""JPEG 2000 (ISO/IEC 15444-1) and HTJ2K (15444-15): still images as wavelet coefficients, coded block by block."""

from __future__ import annotations

from subband.codecs.jpeg2000.coding import Times
from subband.codecs.jpeg2000.decoder import decode
from subband.codecs.jpeg2000.device_decoder import Decoder
from subband.codecs.jpeg2000.device_encoder import Encoder
from subband.codecs.jpeg2000.faults import CodecWarning
from subband.codecs.jpeg2000.files import Colours, encode, imread, imwrite
from subband.codecs.jpeg2000.header import Header, read_header
from subband.codecs.jpeg2000.inspection import Element, inspect
from subband.codecs.jpeg2000.lazy import LazyImage
from subband.codecs.jpeg2000.lazy import open_image as open  # noqa: A004 - as one opens files with other libraries
from subband.codecs.jpeg2000.parameters import Order, Progression
from subband.codecs.jpeg2000.picture import Picture
from subband.codecs.jpeg2000.rows import imwrite_rows
from subband.codecs.jpeg2000.settings import Settings
from subband.codecs.jpeg2000.transcoding import transcode

__all__ = [
    "CodecWarning",
    "Colours",
    "Decoder",
    "Element",
    "Encoder",
    "Header",
    "LazyImage",
    "Order",
    "Picture",
    "Progression",
    "Settings",
    "Times",
    "decode",
    "encode",
    "imread",
    "imwrite",
    "imwrite_rows",
    "inspect",
    "open",
    "read_header",
    "transcode",
]
