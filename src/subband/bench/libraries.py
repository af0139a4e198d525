"""Optional libraries that only benchmarks need, imported on demand."""

from __future__ import annotations

from typing import Any

from subband.media.faults import require

__all__ = ["load_library"]

#: What each is for, the extra that it comes with, and what is imported of it.
_LIBRARIES = {
    "Dask": ("measuring Dask", "dask", ("dask", "dask.array")),
    "h5py": ("writing HDF5", "volumes", ("h5py",)),
    "imagecodecs": ("comparing with OpenJPEG", "bench", ("imagecodecs",)),
    "matplotlib": ("drawing figures", "bench", ("matplotlib.figure", "matplotlib.backends.backend_agg")),
    "PyWavelets": ("comparing with PyWavelets", "bench", ("pywt",)),
    "scikit-image": (
        "comparing with scikit-image",
        "bench",
        tuple(f"skimage.{part}" for part in ("color", "data", "filters", "morphology", "restoration")),
    ),
    "SciPy": ("comparing with SciPy", "bench", ("scipy.signal",)),
}


def load_library(name: str) -> Any:
    """Import a library, with the parts of it that are used here.

    Raises
    ------
    MissingExtraError
        If it is not installed.

    Examples
    --------
    >>> load_library("PyWavelets").__name__
    'pywt'
    """
    purpose, extra, modules = _LIBRARIES[name]
    for module in modules:
        require(module, purpose, extra)
    return require(modules[0].partition(".")[0], purpose, extra)
