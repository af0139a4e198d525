"""How pixels become planes, and planes pixels, block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from subband.arrays import namespace
from subband.engines import Engine
from subband.engines.dispatch import engine_for
from subband.enhance.blockwise.statistics import Block
from subband.enhance.enhancer import Enhancer
from subband.enhance.layout import as_dtype, check_pixels
from subband.enhance.program import Program, prepare_program
from subband.errors import ArgumentError

__all__ = ["PixelForm"]


@dataclass(frozen=True)
class PixelForm:
    """How pixels become planes, and planes pixels.

    Attributes
    ----------
    enhancer : Enhancer
        Its noise model and colours count.
    space : tuple of int
        Of the whole array.
    channels : int
        How many planes belong to each other: 3 for colour, else 1.
    dtype : dtype
        Of the pixels.
    engine : str, Engine or None
        The engine that computes.
    """

    enhancer: Enhancer
    space: tuple[int, ...]
    channels: int
    dtype: np.dtype[Any]
    engine: str | Engine | None = None

    @property
    def read_dtype(self) -> np.dtype[Any]:
        """Of the pixels as filters read them."""
        dtype: np.dtype[Any] = check_pixels(np.empty(1, self.dtype), "image").dtype
        return dtype

    @property
    def plane_dtype(self) -> np.dtype[Any]:
        """Of the planes."""
        return np.dtype(np.float64 if self.read_dtype == np.float64 else np.float32)

    @property
    def result_dtype(self) -> np.dtype[Any]:
        """Of the pixels that come of planes."""
        dtype: np.dtype[Any] = as_dtype(np.empty(0, self.read_dtype), self.dtype).dtype
        return dtype

    def enter(self, _block: Block, pixels: Any) -> Any:
        """Turn a block of pixels, channels first, into planes."""
        pixels = check_pixels(pixels, "image")
        if pixels.dtype.kind == "f":
            _refuse_nonfinite(pixels)
        return self._reshape(pixels, lambda each: self._program(each)._enter(each), is_entering=True)

    def leave(self, _block: Block, planes: Any) -> Any:
        """Turn a block of planes into pixels."""

        def work(each: Any) -> Any:
            return self._program(each)._leave(each, self.read_dtype, None)

        # integers that filters do not write are rounded afterwards
        return as_dtype(self._reshape(planes, work, is_entering=False), self.dtype)

    def _program(self, block: Any) -> Program:
        return prepare_program(
            self.enhancer, self.space, self.channels, engine_for(block, self.engine), self.channels == 3
        )

    def _reshape(self, block: Any, work: Callable[[Any], Any], *, is_entering: bool) -> Any:
        """Work on pixels whose channels come last, or on planes whose channels come first, and put axes back."""
        xp = namespace(block, "an image")
        shape, count = block.shape, len(self.space)
        flat = block.reshape(-1, self.channels, *shape[len(shape) - count :])
        results = []
        for each in flat:
            given = xp.ascontiguousarray(xp.moveaxis(each, 0, -1) if is_entering else each)
            result = work(given)
            results.append(result if is_entering else xp.moveaxis(result, -1, 0))
        stacked = results[0][np.newaxis] if len(results) == 1 else xp.stack(results)
        return xp.ascontiguousarray(stacked).reshape(shape)


def _refuse_nonfinite(pixels: Any) -> None:
    total = float(pixels.sum(dtype=np.float64))
    if np.isfinite(total):
        return
    xp = namespace(pixels, "an image")
    count = int((~xp.isfinite(pixels)).sum())
    if count:
        raise ArgumentError(
            f"image has {count} pixels in one chunk that are NaN or infinite; use nonfinite='mask' to leave them as "
            "they are, or replace them, as with dask.array.nan_to_num(x)"
        )
