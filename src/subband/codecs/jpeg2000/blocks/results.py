"""What the encoder of code-blocks returns."""

from __future__ import annotations

from dataclasses import dataclass

from subband.typing import Array

__all__ = ["EncodedBlocks"]


@dataclass(frozen=True)
class EncodedBlocks:
    """The bytes of code-blocks, and what rate control has to know of them.

    Attributes
    ----------
    data : ndarray of uint8
        All bytes, those of one block behind those of another.
    starts : ndarray of int64, shape (n,)
        Where each block begins in `data`.
    planes : ndarray of int32, shape (n,)
        Bit planes from the highest that is not empty; 0 for a block of zeros.
    passes : ndarray of int32, shape (n,)
        Coding passes: three a plane, but one in the highest; of high-throughput blocks three at most.
    ends : ndarray of int32, shape (n, most)
        How many bytes of the block suffice for the passes up to each; behind the last pass the number stays.
    gains : ndarray of float64, shape (n, most)
        By how much these passes lower the squared error.
    """

    data: Array
    starts: Array
    planes: Array
    passes: Array
    ends: Array
    gains: Array
