"""The wavelet transform of an image: components into the planes of a layout, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from subband.codecs.vc2.parameters import Layout, Plane, TransformParameters, count_bits
from subband.codecs.vc2.wavelets import WAVELETS
from subband.engines.cpu.lifting import LOOPS, schedule_steps, tabulate_steps
from subband.engines.threads import run_tasks
from subband.schedule.sweeps import cut_range
from subband.typing import Array

__all__ = ["analyse", "choose_dtype", "synthesise"]

# What a task takes at a time: about so many numbers in rows, and so many columns, of which a few rows fit the cache.
_TOGETHER, _STRIP = 1 << 16, 512

# Numbers of a task that undoes a level: much more than are computed twice, where tasks meet.
_PART = 1 << 18


def choose_dtype(parameters: TransformParameters, bits: Sequence[int]) -> np.dtype[Any]:
    """Return the integers that hold all sums of a transform.

    Examples
    --------
    >>> parameters = TransformParameters(1, 1, 3, 0, (1, 1))
    >>> choose_dtype(parameters, (10, 10)).name, choose_dtype(parameters, (24, 24)).name
    ('int32', 'int64')
    """
    return np.dtype(np.int32 if count_bits(parameters, max(bits)) <= 31 else np.int64)


def analyse(
    samples: Sequence[Array], middles: Sequence[int], layout: Layout, parameters: TransformParameters, out: Array
) -> None:
    """Transform the components of an image.

    Parameters
    ----------
    samples : sequence of ndarray
        Rows × columns of each component, uint8 or uint16, C-contiguous.
    middles : sequence of int
        What is taken away from the samples of each.
    layout : Layout
        Where the coefficients go.
    parameters : TransformParameters
        Wavelets and levels.
    out : ndarray
        Receives the coefficients, of the dtype of `choose_dtype`.
    """
    if not layout.planes[0]:
        for component, plane in enumerate(samples):
            begin = int(layout.bands[component, 1])
            out[begin : begin + plane.size] = plane.reshape(-1).astype(out.dtype) - middles[component]
        return
    bits = WAVELETS[parameters.wavelet_ho].shift
    wavelets = parameters.wavelet_ho, parameters.wavelet
    along, down = (tabulate_steps(WAVELETS[wavelet].steps, "forward", out.dtype.name) for wavelet in wavelets)
    for level in range(len(layout.planes[0])):
        planes = [component[level] for component in layout.planes]
        if level == 0:
            sources = [
                (_freeze(x), 0, x.shape[1], x.shape[0], x.shape[1], middle)
                for x, middle in zip(samples, middles, strict=True)
            ]
        else:
            finer = [component[level - 1] for component in layout.planes]
            sources = [
                (out, above.begin, above.columns * (2 if above.is_2d else 1), plane.rows, plane.columns, 0)
                for above, plane in zip(finer, planes, strict=True)
            ]
        arguments = [
            (*source, bits, out, plane.begin, plane.columns, along)
            for source, plane in zip(sources, planes, strict=True)
        ]
        _run_rows(LOOPS.forward_rows, arguments, planes, [plane.rows for plane in planes])
        if planes[0].is_2d:
            _run_columns(LOOPS.forward_columns, planes, out, down)


def synthesise(
    coefficients: Array,
    layout: Layout,
    parameters: TransformParameters,
    bits: Sequence[int],
    out: Sequence[Array],
) -> None:
    """Undo `analyse`: fill `out`. Of the coefficients, those of bands stay as they are.

    Parameters
    ----------
    coefficients : ndarray
        All of a layout.
    layout, parameters
        As for `analyse`.
    bits : sequence of int
        Of the samples of each component, which are clipped to what these hold.
    out : sequence of ndarray
        Rows × columns of each component, C-contiguous.
    """
    if not layout.planes[0]:
        for component, x in enumerate(out):
            begin, half = int(layout.bands[component, 1]), 1 << bits[component] - 1
            x[...] = np.clip(coefficients[begin : begin + x.size], -half, half - 1).reshape(x.shape) + half
        return
    shift = WAVELETS[parameters.wavelet_ho].shift
    wavelets = parameters.wavelet_ho, parameters.wavelet
    along, down = (tabulate_steps(WAVELETS[wavelet].steps, "inverse", coefficients.dtype.name) for wavelet in wavelets)
    limit = int(np.iinfo(coefficients.dtype).max)
    reach = schedule_steps(WAVELETS[parameters.wavelet].steps, "inverse")
    for level in range(len(layout.planes[0]) - 1, -1, -1):
        planes = [component[level] for component in layout.planes]
        targets: list[tuple[Any, ...]] = []
        clips, rows = [], []
        for component, plane in enumerate(planes):
            if level == 0:
                half, x = 1 << bits[component] - 1, out[component]
                targets.append((x.reshape(-1), 0, x.shape[1]))
                clips.append((x.shape[1], shift, -half, half - 1, half))
                rows.append(x.shape[0])
            else:
                finer = layout.planes[component][level - 1]
                targets.append((coefficients, finer.begin, finer.columns * (2 if finer.is_2d else 1)))
                clips.append((plane.columns, shift, -limit, limit, 0))
                rows.append(plane.rows)
        arguments: list[tuple[Any, ...]] = []
        for plane, target, height, clip in zip(planes, targets, rows, clips, strict=True):
            if plane.is_2d:
                head = coefficients, plane.begin, plane.columns, plane.rows, down
                arguments.append((*head, -reach.first, reach.last, reach.depth, along, *target, height, *clip))
            else:
                arguments.append((coefficients, plane.begin, plane.columns, along, *target, *clip))
        if planes[0].is_2d:
            _run_pairs(arguments, planes)
        else:
            _run_rows(LOOPS.inverse_rows, arguments, planes, rows)


def _run_pairs(arguments: Sequence[tuple[Any, ...]], planes: Sequence[Plane]) -> None:
    """Undo a level of every component, in parts of some pairs of rows."""

    def run(component: int, first: int, last: int) -> None:
        LOOPS.inverse_level(*arguments[component], first, last)

    run_tasks(
        run,
        [
            (component, *part)
            for component, plane in enumerate(planes)
            for part in cut_range(plane.rows // 2, max(plane.rows * plane.columns // _PART, 1))
        ],
    )


def _run_rows(
    work: Callable[..., object], arguments: Sequence[tuple[Any, ...]], planes: Sequence[Plane], rows: Sequence[int]
) -> None:
    """Run a loop over all rows of every component, whose other arguments are given."""

    def run(component: int, first: int, last: int) -> None:
        work(*arguments[component], first, last)

    run_tasks(run, _share_rows(planes, rows))


def _freeze(samples: Array) -> Array:
    """Return samples in one row that cannot be written to: Numba would compile once more for one that can."""
    flat = samples.reshape(-1).view()
    flat.flags.writeable = False
    return flat


def _share_rows(planes: Sequence[Plane], rows: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return tasks for rows: component, first, and the one behind the last."""
    tasks = []
    for component, (plane, count) in enumerate(zip(planes, rows, strict=True)):
        together = max(_TOGETHER // plane.columns, 1)
        tasks += [(component, first, min(first + together, count)) for first in range(0, count, together)]
    return tasks


def _run_columns(kernel: Any, planes: Sequence[Plane], coefficients: Array, steps: Array) -> None:
    """Run a kernel on strips of columns."""

    def work(component: int, first: int, last: int) -> None:
        plane = planes[component]
        kernel(coefficients, plane.begin, plane.columns, plane.rows, steps, first, last)

    run_tasks(
        work,
        [
            (component, first, min(first + _STRIP, plane.columns))
            for component, plane in enumerate(planes)
            for first in range(0, plane.columns, _STRIP)
        ],
    )
