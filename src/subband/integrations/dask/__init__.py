"""Arrays larger than memory: transforms and denoising of Dask's arrays, and jobs from store to store.

Arrays of Dask go into the usual functions, ``subband.wavedecn``, ``subband.decompose``, ``subband.denoise`` and the
others, and arrays of Dask come back, on whatever scheduler computes them. Each chunk reads as much of its neighbours as
its filters reach, and the results are those of the whole array.

What is here besides opens files lazily and carries them, chunk by chunk, into Zarr: `open_array`, `denoise_store` and
`write_pyramid`.
"""

from __future__ import annotations

from importlib.util import find_spec

from subband.errors import MissingExtraError

if find_spec("dask") is None:
    raise MissingExtraError("subband.integrations.dask", "dask")

from subband.integrations.dask.engine import DaskEngine
from subband.integrations.dask.enhancement import enhance, measure_noise
from subband.integrations.dask.jobs import JobReport
from subband.integrations.dask.storage import StoredArray, open_array
from subband.integrations.dask.volumes import denoise_store, write_pyramid

__all__ = [
    "DaskEngine",
    "JobReport",
    "StoredArray",
    "denoise_store",
    "enhance",
    "measure_noise",
    "open_array",
    "write_pyramid",
]
