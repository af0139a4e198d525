"""Files of coefficients: NumPy's ``.npz``, and HDF5 for programs in other languages.

An HDF5 file has a data set for each band under a name that can be read, such as ``/level1/da``, and what is needed to
invert them as attributes of the file: ``wavelet``, ``modes``, ``level``, ``shape``, ``axes``, ``reversible``,
``stationary`` and ``dtype``.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from subband.errors import FormatError, MissingExtraError
from subband.plan import TransformPlan, transform_plan
from subband.stationary import StationaryTransformPlan, stationary_transform_plan
from subband.typing import Array
from subband.wavelets import LiftingScheme, Step, Wavelet

__all__ = [
    "FORMAT",
    "HDF5_SUFFIXES",
    "PyramidFile",
    "describe_plan",
    "read_pyramid_file",
    "rebuild_plan",
    "write_pyramid_file",
]

#: The version of the files that are written.
FORMAT = 1

#: Endings of names under which a pyramid is written as HDF5; all others are written as ``.npz``.
HDF5_SUFFIXES = (".h5", ".hdf5")

#: Level and key, such as ``(1, 'da')``.
BandKey: TypeAlias = tuple[int, str]

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_BAND = re.compile(r"(\d+)([ad]+)")
_EXTRA = "extra"
# What is not a number, a text or a list of them is kept as JSON.
_AS_JSON = "wavelets"
_LISTED = ("format", "shape", "axes", "modes", "level", "reversible", "stationary", "dtype")


@dataclass(frozen=True)
class PyramidFile:
    """What a file of coefficients holds.

    Attributes
    ----------
    about : mapping
        What is needed to invert them, as what JSON can hold; `Pyramid` knows what it means.
    bands : mapping
        Arrays by level and key; level 1 is the finest.
    extra : mapping of str to array
        What was kept beside them, under names that begin with a letter.
    """

    about: Mapping[str, Any]
    bands: Mapping[BandKey, Array]
    extra: Mapping[str, Array] = field(default_factory=dict)


def write_pyramid_file(path: str | os.PathLike[str], content: PyramidFile) -> None:
    """Write a file of coefficients, which appears under its name only when it is complete.

    Raises
    ------
    MissingExtraError
        If the name asks for HDF5, and h5py is not installed.
    ArgumentError, OutputError
        If the file cannot be written.
    """
    # only who writes files needs what writes them
    from subband.outputs import open_output

    path = Path(path)
    # before a file is opened that would have to be removed again
    image = _make_hdf5(content) if path.suffix.lower() in HDF5_SUFFIXES else None
    with open_output(path, overwrite=True) as file:
        if image is not None:
            file.write(image)
            return
        arrays: dict[str, Any] = {f"{level}{key}": band for (level, key), band in content.bands.items()}
        arrays |= content.extra
        np.savez(file, about=np.array(json.dumps(content.about)), **arrays)


def read_pyramid_file(path: str | os.PathLike[str], *, has_bands: bool = True) -> PyramidFile:
    """Read what `write_pyramid_file` wrote; the first bytes of the file tell which format it is.

    Parameters
    ----------
    path : str or path
        Whatever its name ends in.
    has_bands : bool
        Whether the bands are read too, which are all but a few of the bytes.

    Raises
    ------
    FormatError
        If it is something else.
    MissingExtraError
        If it is HDF5, and h5py is not installed.
    """
    path = Path(path)
    with path.open("rb") as file:
        is_hdf5 = file.read(len(_SIGNATURE)) == _SIGNATURE
    try:
        return _read_hdf5(path, has_bands) if is_hdf5 else _read_npz(path, has_bands)
    except (LookupError, TypeError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise FormatError(f"{os.fspath(path)!r} is not a pyramid that subband saved") from error


def _read_npz(path: Path, has_bands: bool) -> PyramidFile:
    bands, extra = {}, {}
    with np.load(path, allow_pickle=False) as file:
        about = json.loads(str(file["about"]))
        for name in file.files:
            if (found := _BAND.fullmatch(name)) is None:
                extra[name] = file[name]
            elif has_bands:
                bands[int(found[1]), found[2]] = file[name]
    del extra["about"]
    return PyramidFile(about, bands, extra)


def _make_hdf5(content: PyramidFile) -> bytes:
    """Return the bytes of an HDF5 file; its library would end the process on a full disk, so it does not write."""
    h5py = _load_h5py()
    with h5py.File("pyramid", "w", driver="core", backing_store=False) as file:
        for name in _LISTED:
            file.attrs[name] = content.about[name]
        file.attrs[_AS_JSON] = json.dumps(content.about[_AS_JSON])
        file.attrs["wavelet"] = [wavelet["name"] for wavelet in content.about[_AS_JSON]]
        for (level, key), band in content.bands.items():
            file[f"level{level}/{key}"] = band
        for name, array in content.extra.items():
            file[f"{_EXTRA}/{name}"] = array
        file.flush()
        image: bytes = file.id.get_file_image()
    return image


def _read_hdf5(path: Path, has_bands: bool) -> PyramidFile:
    h5py = _load_h5py()
    try:
        with h5py.File(path, "r") as file:
            about = {name: _to_python(file.attrs[name]) for name in _LISTED}
            about[_AS_JSON] = json.loads(file.attrs[_AS_JSON])
            bands = {}
            for name, group in file.items():
                if has_bands and name != _EXTRA:
                    level = int(name.removeprefix("level"))
                    bands.update({(level, key): band[()] for key, band in group.items()})
            extra = {name: array[()] for name, array in file.get(_EXTRA, {}).items()}
    except (OSError, AttributeError) as error:
        # h5py's words for a file that is cut off or holds something else
        raise ValueError(str(error)) from error
    return PyramidFile(about, bands, extra)


def _to_python(value: Any) -> Any:
    """Convert an HDF5 attribute to the types of JSON."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _load_h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise MissingExtraError("coefficients in HDF5", "volumes") from None
    return h5py


def describe_plan(plan: TransformPlan | StationaryTransformPlan, dtype: np.dtype[Any]) -> dict[str, Any]:
    """Describe the plan of a pyramid for its file, with the dtype of the array that was transformed."""
    return {
        "format": FORMAT,
        "shape": plan.shape,
        "axes": plan.axes,
        "wavelets": [_describe_wavelet(wavelet) for wavelet in plan.wavelets],
        "modes": plan.modes,
        "level": plan.level,
        "reversible": plan.reversible,
        "stationary": isinstance(plan, StationaryTransformPlan),
        "dtype": dtype.str,
    }


def rebuild_plan(about: Mapping[str, Any]) -> TransformPlan | StationaryTransformPlan:
    """Return the plan of a pyramid as its file describes it."""
    shape, axes, modes = tuple(about["shape"]), tuple(about["axes"]), tuple(about["modes"])
    wavelets = tuple(_rebuild_wavelet(entry) for entry in about["wavelets"])
    if about["stationary"]:
        return stationary_transform_plan(shape, axes, wavelets, modes, about["level"])
    return transform_plan(shape, axes, wavelets, modes, about["level"], about["reversible"])


def _describe_wavelet(wavelet: Wavelet) -> dict[str, Any]:
    """Describe a wavelet for a file: its name if the catalogue has it, else its filters or lifting steps."""
    if wavelet.is_catalogued:
        return {"name": wavelet.name}
    about: dict[str, Any] = {
        "name": wavelet.name,
        "filter_bank": wavelet.filter_bank,
        "orthogonal": wavelet.orthogonal,
        "biorthogonal": wavelet.biorthogonal,
    }
    if wavelet.is_made_of_steps and wavelet.lifting is not None:
        scheme = wavelet.lifting
        about["lifting"] = {
            "steps": [[step.kind, step.start, step.taps] for step in scheme.steps],
            "scale_lo": scheme.scale_lo,
            "scale_hi": scheme.scale_hi,
            "shift_lo": scheme.shift_lo,
            "shift_hi": scheme.shift_hi,
        }
    return about


def _rebuild_wavelet(about: dict[str, Any]) -> Wavelet:
    if "filter_bank" not in about:
        return Wavelet(about["name"])
    if "lifting" in about:
        lifting = dict(about["lifting"])
        lifting["steps"] = tuple(Step(kind, start, tuple(taps)) for kind, start, taps in lifting["steps"])
        wavelet = Wavelet.from_lifting(about["name"], LiftingScheme(**lifting))
    else:
        wavelet = Wavelet(about["name"], filter_bank=about["filter_bank"])
    wavelet.orthogonal, wavelet.biorthogonal = about["orthogonal"], about["biorthogonal"]
    return wavelet
