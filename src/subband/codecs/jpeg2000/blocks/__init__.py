"""The block coder of JPEG 2000: quantised coefficients to bytes and back, one code-block at a time."""

from __future__ import annotations

from subband.codecs.jpeg2000.blocks.coder import decode_blocks, encode_blocks
from subband.codecs.jpeg2000.blocks.results import EncodedBlocks

__all__ = ["EncodedBlocks", "decode_blocks", "encode_blocks"]
