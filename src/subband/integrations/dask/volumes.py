"""Whole files: an array denoised from store to store, and the approximations of one as an OME-Zarr pyramid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from subband._version import __version__
from subband.enhance.blockwise import Findings
from subband.enhance.enhancer import Enhancer
from subband.enhance.layout import round_to
from subband.errors import LevelError
from subband.integrations.dask.engine import DaskEngine
from subband.integrations.dask.enhancement import enhance, measure
from subband.integrations.dask.jobs import JobReport, Observe, connect, run_job
from subband.integrations.dask.storage import StoredArray, open_array
from subband.media.stores import Axis, StoreDraft, Target, create_group, describe_multiscales
from subband.pairs import align
from subband.transforms.decomposition import choose_modes
from subband.transforms.levels import forward_plan
from subband.typing import Array
from subband.wavelets import Wavelet, WaveletLike, as_wavelet

__all__ = ["denoise_store", "write_pyramid"]

#: Viewers show a level of this size at once.
_SMALLEST = 256


def denoise_store(
    source: Path | str,
    output: Path | str,
    enhancer: Enhancer | None = None,
    *,
    chunks: Sequence[int] | None = None,
    scheduler: Any = None,
    resume: bool = False,
    overwrite: bool = False,
    mask: Path | str | None = None,
    nonfinite: str = "refuse",
    engine: str | None = None,
    on_progress: Observe | None = None,
) -> JobReport:
    """Carry an array through an enhancer from file to file.

    Parameters
    ----------
    source : path
        What `open_array` opens: Zarr, OME-Zarr, HDF5, a TIFF stack.
    output : path
        A Zarr store; one that ends in ``.ome.zarr`` becomes an OME-Zarr image of one level. It appears when all its
        chunks are there; until then it grows beside its name, as ``out.part.zarr`` for ``out.zarr``.
    enhancer : Enhancer, optional
        What is done; `Denoise` in its usual form if left out.
    chunks : sequence of int, optional
        How the array is cut, for the work and in the new store.
    scheduler : str or distributed.Client, optional
        Address of a scheduler; threads of this process if left out.
    resume, overwrite : bool
        Go on with a job that was interrupted; or replace what is there.
    mask : path, optional
        Which voxels are known, not 0 where they are: what `open_array` opens, of the shape of space. The others come
        back as they were.
    nonfinite : {"refuse", "mask"}
        What is done with NaN and infinite voxels: an error when they are met, or as with those outside `mask`.
    engine : str, optional
        The engine that computes the blocks.
    on_progress : callable, optional
        Told how many chunks are there, and how many there are to be.

    Raises
    ------
    ArgumentError
        If the output is there already, the job to be resumed was another one, or the scheduler cannot be reached.
    FormatError
        If the source cannot be read.
    OutputError
        If the output cannot be written.
    """
    chosen = Enhancer() if enhancer is None else enhancer
    stored = open_array(source, chunks)
    x = stored.array
    path = Path(output)
    axes = stored.space if x.ndim > 3 else None
    job = {**_describe(stored, "denoise"), "chain": chosen.to_dict()}
    if mask is not None:
        job["mask"] = str(Path(mask).resolve())
    if nonfinite != "refuse":
        job["nonfinite"] = nonfinite
    given = None if mask is None else open_array(mask).array
    is_ome = path.name.lower().endswith(".ome.zarr")
    with connect(scheduler) as client, StoreDraft(path, source, job, resume=resume, overwrite=overwrite) as draft:
        target = Target(str(draft.where), "0" if is_ome else "")
        manifest = draft.manifest
        if manifest is None or not manifest.facts:
            found = measure(chosen, x, axes, "auto", given, nonfinite, engine=engine, client=client)
        else:
            found = Findings.from_facts(manifest.facts)
        result = enhance(chosen, x, axes, "auto", given, nonfinite, engine, findings=found)
        if manifest is None:
            draft.clear()
            if is_ome:
                create_group(draft.where, describe_multiscales(_name(path), [stored.axes]))
            target.create(result, stored.axes)
            manifest = draft.begin()
            if facts := found.to_facts():
                manifest.note(facts)
        return run_job({"": (result, target)}, manifest, client, on_progress=on_progress)


def write_pyramid(
    source: Path | str,
    output: Path | str,
    wavelet: WaveletLike = "cdf97",
    *,
    mode: str | None = None,
    levels: int | None = None,
    chunks: Sequence[int] | None = None,
    scheduler: Any = None,
    resume: bool = False,
    overwrite: bool = False,
    on_progress: Observe | None = None,
) -> JobReport:
    """Write an array and its approximations as the levels of an OME-Zarr image (OME-NGFF 0.5).

    Parameters
    ----------
    source, output : path
        What `open_array` opens, and a Zarr store.
    wavelet : str or Wavelet
        Its low band is the next level: the CDF 9/7 keeps more than the mean of neighbours does.
    mode : str, optional
        The boundary mode; the wavelet's own if left out.
    levels : int, optional
        How many besides the array itself; so many that the last is no larger than 256 if left out.
    chunks, scheduler, resume, overwrite, on_progress
        As in `denoise_store`.

    Notes
    -----
    Approximations are scaled back to the units of the samples: a constant array stays what it is on every level.
    """
    stored = open_array(source, chunks)
    path = Path(output)
    space = stored.space
    bank = as_wavelet(wavelet)
    (name,) = choose_modes(mode, (bank,), (0,))
    count = _count_levels(stored.array.shape, space, levels)
    job = {**_describe(stored, "pyramid"), "wavelet": bank.name, "mode": name, "levels": count}
    arrays, axes = _draw_levels(stored, space, bank, name, count)
    with connect(scheduler) as client, StoreDraft(path, source, job, resume=resume, overwrite=overwrite) as draft:
        targets = {str(number): Target(str(draft.where), str(number)) for number in range(count + 1)}
        manifest = draft.manifest
        if manifest is None:
            draft.clear()
            kind = f"wavelet approximation ({bank.name})"
            create_group(draft.where, describe_multiscales(_name(path), axes, kind))
            for number, x in enumerate(arrays):
                targets[str(number)].create(x, axes[number])
            manifest = draft.begin()
        work = {str(number): (x, targets[str(number)]) for number, x in enumerate(arrays)}
        return run_job(work, manifest, client, on_progress=on_progress)


def _draw_levels(
    stored: StoredArray, space: tuple[int, ...], wavelet: Any, mode: str, count: int
) -> tuple[list[Any], list[tuple[Axis, ...]]]:
    """Return the array of each level, and its axes."""
    source = stored.array
    sizes = tuple(lengths[0] for lengths in source.chunks)
    is_exact = source.dtype.itemsize <= (2 if source.dtype.kind in "iu" else 4)
    wide = np.float32 if is_exact else np.float64
    x = source.astype(wide)
    gain = sum(wavelet.dec_lo) ** len(space)
    arrays, axes, offset = [source], [stored.axes], 0.0
    engine = DaskEngine()
    for level in range(1, count + 1):
        plan = forward_plan(tuple(x.shape), space, (wavelet,) * len(space), (mode,) * len(space))
        x = engine.forward(plan, x)["a" * len(space)]
        scaled = cast(Any, x).map_blocks(_scale_back, 1 / gain**level, source.dtype, dtype=source.dtype)
        arrays.append(scaled.rechunk(tuple(min(size, length) for size, length in zip(sizes, x.shape, strict=True))))
        offset += _find_offset(wavelet, mode) * 2 ** (level - 1)
        axes.append(tuple(axis.coarsen(level, offset) if at in space else axis for at, axis in enumerate(stored.axes)))
    return arrays, axes


def _find_offset(wavelet: Wavelet, mode: str) -> float:
    """Return where the first low coefficient of a level stands among the samples: the centre of its filter.

    That is 0 for CDF 9/7 in whole-sample symmetry, and 0.5 for Haar's, between its two samples.
    """
    alignment = align(wavelet, mode)
    total = sum(wavelet.dec_lo)
    centre = sum(number * tap for number, tap in enumerate(wavelet.dec_lo)) / total
    return round(2 * alignment.low + 1 + alignment.delay - centre, 9)


def _scale_back(block: Array, factor: float, dtype: np.dtype[Any]) -> Array:
    """Return an approximation in the units and the dtype of the samples."""
    scaled = block * block.dtype.type(factor)
    result: Array = round_to(scaled, dtype) if dtype.kind in "iu" else scaled.astype(dtype)
    return result


def _count_levels(shape: tuple[int, ...], space: tuple[int, ...], levels: int | None) -> int:
    longest = max(shape[axis] for axis in space)
    most = max(longest - 1, 0).bit_length()
    if levels is None:
        return max(0, (max(longest - 1, 0) // _SMALLEST).bit_length())
    if not 0 <= levels <= most:
        raise LevelError(f"levels={levels} is not usable for an array of shape {shape}; use 0 to {most}")
    return levels


def _describe(stored: StoredArray, task: str) -> dict[str, Any]:
    """Return what decides about a job, for its manifest."""
    x = stored.array
    return {
        "task": task,
        "source": str(Path(stored.path).resolve()),
        "shape": list(x.shape),
        "dtype": str(x.dtype),
        "chunks": [lengths[0] for lengths in x.chunks],
        "version": __version__,
    }


def _name(path: Path) -> str:
    return path.name.removesuffix(".zarr").removesuffix(".ome")
