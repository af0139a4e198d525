"""Denoising of one frame of video in fused sweeps, from pixels to pixels.

What looks at each pixel or coefficient by itself is done by the sweeps, on rows that lie in the cache anyway. The first
level reads pixels and changes their colours, all channels of a row at once; coefficients shrink before they are
written; and the last level back writes pixels. So the planes of a frame, four times as large, never exist in memory.
"""

from __future__ import annotations

import numpy as np

from subband.engines.abilities import CPU
from subband.engines.cpu.frame_tables import attach_frame, point_to, tabulate_frame, tabulate_thresholds
from subband.engines.cpu.inputs import as_readable
from subband.engines.cpu.jobs import Job
from subband.engines.cpu.program import FRAME, tabulate_program
from subband.engines.cpu.sweep import ImageLayout, ImageSweep
from subband.engines.memory import allocate
from subband.errors import ArgumentError, DtypeError, ShapeError
from subband.plan import TransformPlan
from subband.schedule import schedule_level
from subband.typing import Array

__all__ = ["FrameProgram"]

_FLOAT = np.dtype(np.float32)

#: Stands for the samples of a sweep that reads or writes pixels instead.
_NO_SAMPLES = np.empty((1, 0, 0), _FLOAT)


class FrameProgram:
    """Shrinks the coefficients of frames of one shape. May be called from several threads at once.

    Parameters
    ----------
    plan : TransformPlan
        Of the planes, channels × rows × columns, along the last two axes; one channel or three. No level may amplify.
    matrices : pair of ndarray, optional
        Turn the three channels of a pixel into planes, and back. Left out, channels stay as they are.
    limits : tuple of ndarray
        Threshold, upper threshold and gain, each levels × bands × channels: of the bands ``ad``, ``da`` and ``dd``, the
        finest level first.
    mode : {"soft", "hard", "garrote", "firm"}
        The threshold.

    Examples
    --------
    >>> from subband.plan import transform_plan
    >>> from subband.wavelets import Wavelet
    >>> plan = transform_plan((1, 2, 4), (1, 2), (Wavelet("haar"),) * 2, ("symmetric",) * 2, 1)
    >>> low, gain = np.full((1, 3, 1), 5.0), np.ones((1, 3, 1))
    >>> program = FrameProgram(plan, None, (low, low, gain), "soft")
    >>> pixels = np.array([[10, 12, 90, 10], [10, 10, 10, 10]], np.uint8)[..., np.newaxis]
    >>> result = np.empty_like(pixels)
    >>> program(pixels, result)
    >>> result[..., 0]
    array([[10, 10, 82, 13],
           [10, 10, 13, 13]], dtype=uint8)
    """

    def __init__(
        self,
        plan: TransformPlan,
        matrices: tuple[Array, Array] | None,
        limits: tuple[Array, Array, Array],
        mode: str,
    ) -> None:
        if len(plan.shape) != 3 or plan.shape[0] not in (1, 3) or plan.axes != (1, 2):
            raise ArgumentError(
                f"plan is one of shape {plan.shape} along the axes {plan.axes}; frames need (1, rows, columns) or "
                "(3, rows, columns) along (1, 2)"
            )
        if any(level.amplifies for level in plan.levels):
            raise ArgumentError(f"plan is one of shape {plan.shape}, too small for the sweeps of single precision")
        self._plan = plan
        self._mode = mode
        self._values = tabulate_thresholds(*limits)
        self._matrices = matrices if matrices is not None else (np.eye(3), np.eye(3))
        self._layouts: list[ImageLayout] = []
        self._forward: list[Job] = []
        if plan.levels:
            self._lay_out()

    def __call__(self, pixels: Array, result: Array) -> None:
        """Do the work.

        Parameters
        ----------
        pixels : ndarray of uint8 or uint16
            Rows × columns × channels, of any strides.
        result : ndarray
            Of the same shape and dtype, C-contiguous; written to.
        """
        self._check(pixels, result)
        if self._plan.levels:
            self._sweep(as_readable(pixels.astype(result.dtype, copy=False)), result)
        else:
            result[...] = pixels

    def _check(self, pixels: Array, result: Array) -> None:
        """Refuse what the kernels, which know no more than addresses, would write past the end of."""
        shape = (*self._plan.shape[1:], self._plan.shape[0])
        if pixels.shape != shape or result.shape != shape:
            raise ShapeError(f"pixels has shape {pixels.shape} and result {result.shape}; the plan is for {shape}")
        if pixels.dtype.name not in ("uint8", "uint16") or result.dtype != pixels.dtype.newbyteorder("="):
            raise DtypeError(
                f"pixels has dtype {pixels.dtype} and result {result.dtype}; use uint8 or uint16, the same for both"
            )
        if not result.flags.carray:
            raise ArgumentError("result cannot be written to as it is; use a C-contiguous array, as from numpy.empty")

    def _lay_out(self) -> None:
        plan = self._plan
        channels = plan.shape[0]
        for level, values in zip(plan.levels, self._values, strict=True):
            (sweep,) = schedule_level(level, CPU).sweeps
            layout = ImageSweep(sweep).find_layout(level.shape, _FLOAT)
            frame = tabulate_frame(plan.shape, self._matrices[0], values, self._mode)
            rows = attach_frame(tabulate_program(sweep.plans[0], "forward", _FLOAT), frame)
            if not self._layouts:
                self._first_rows = rows
            # the first level takes all channels of a frame at a time
            taken = 1 if self._layouts else channels
            self._forward.append(layout.make_job("forward", rows, taken))
            self._layouts.append(layout)
        finest = tabulate_program(plan.levels[0].plans[0], "inverse", _FLOAT)
        self._last_rows = attach_frame(finest, tabulate_frame(plan.shape, self._matrices[1]))
        self._last = self._layouts[0].make_job("inverse", self._last_rows, channels)

    def _sweep(self, pixels: Array, result: Array) -> None:
        x = _NO_SAMPLES
        details: list[list[Array]] = []
        for layout, job in zip(self._layouts, self._forward, strict=True):
            bands = [allocate(shape, _FLOAT) for shape in layout.band_shapes]
            if not details:
                job = job.replace_table(point_to(pixels, "split", self._first_rows.ints, self._first_rows.ints[FRAME]))
            job.run(x, *bands)
            details.append(bands[1:])
            x = bands[0]
        for layout in reversed(self._layouts):
            # popped, so that a level is freed as soon as it is put together
            bands = [x, *details.pop()]
            if details:
                x = allocate(layout.shape, _FLOAT)
                layout.inverse.run(x, *bands)
            else:
                rows = self._last_rows
                job = self._last.replace_table(point_to(result, "join", rows.ints, rows.ints[FRAME]))
                job.run(_NO_SAMPLES, *bands)
