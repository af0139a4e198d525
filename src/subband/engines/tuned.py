"""Launch parameters that ``subband tune`` has measured, remembered from one process to the next.

They lie in a small JSON file in the user's cache folder. Without the file, or with one that cannot be read, the table
of `subband.kernels.launch` serves: nothing but speed depends on it.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from subband.kernels.launch import LARGE, Launch
from subband.outputs import place_output
from subband.schedule.axis import AxisProgram

__all__ = [
    "cache_folder",
    "classify",
    "classify_cascade",
    "identify",
    "load_tuned",
    "measure_span",
    "save_tuned",
    "tuned_path",
]

# Another number when what the parameters mean has changed: what was measured before is then left alone.
_VERSION = 2

# A group of lanes beyond these is a mistake in the file, and would be one in a kernel.
_BOUNDS = {"pairs": (1, 16), "ahead": (0, 16), "chunk": (1, 1 << 20), "block": (1, 32), "resident": (0, 32)}


def cache_folder() -> Path:
    """Return the folder for what may be deleted at any time: ``SUBBAND_CACHE_DIR``, else the user's own cache.

    Examples
    --------
    >>> cache_folder().is_absolute()
    True
    """
    own = os.environ.get("SUBBAND_CACHE_DIR")
    if own:
        return Path(own).expanduser().absolute()
    # The XDG specification wants a relative path ignored.
    users = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (users if users.is_absolute() else Path("~/.cache").expanduser()) / "subband"


def tuned_path() -> Path:
    """Return the path of the file of measured parameters."""
    return cache_folder() / "launches.json"


def identify(device: Any) -> str:
    """Return the name under which a `Device` is remembered: one card may be both a CUDA and an OpenCL device.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> identify(SimpleNamespace(name="NVIDIA H200", dialect=SimpleNamespace(name="cuda")))
    'cuda NVIDIA H200'
    """
    return f"{device.dialect.name} {device.name}"


def classify(
    vertical: AxisProgram | None, horizontal: AxisProgram | None, size: int, direction: str, channels: int = 1
) -> str:
    """Return the class of a sweep: the best parameters of one of its kernels suit all.

    Parameters
    ----------
    vertical, horizontal : AxisProgram or None
        What happens down the columns and along the rows.
    size : int
        Bytes of an element.
    direction : {"forward", "inverse"}
        From samples to bands, or back.
    channels : int
        Channels of a pixel, if a lane holds whole pixels.

    Examples
    --------
    >>> from subband.schedule.axis import axis_program
    >>> from subband.plan import axis_plan
    >>> from subband.wavelets import Wavelet
    >>> program = axis_program(axis_plan(Wavelet("cdf97"), "whole", 512), "forward")
    >>> classify(program, program, 4, "forward")
    'forward 2-D lifting4 depth4 span4 size4'
    >>> classify(None, program, 4, "forward")
    'forward rows lifting4 span4 size4'
    """
    program = vertical if horizontal is None else horizontal
    if program is None:
        raise ValueError("a sweep runs along one axis at least")
    axes = "2-D" if vertical is not None and horizontal is not None else "columns" if vertical is not None else "rows"
    work = f"lifting{len(program.steps)}" if program.steps else f"filter{len(program.taps)}"
    parts = [direction, axes, work]
    if vertical is not None:
        parts.append(f"depth{vertical.schedule.depth}")
    if horizontal is not None:
        parts.append(f"span{measure_span(horizontal)}")
    parts.append(f"size{size}")
    return " ".join(parts if channels == 1 else [*parts, f"channels{channels}"])


def classify_cascade(
    vertical: AxisProgram,
    horizontal: AxisProgram,
    size: int,
    direction: str,
    *,
    levels: int,
    channels: int,
    elements: int,
) -> str:
    """Return the class of a kernel that does one level or two of an image that goes on as in a mirror.

    Parameters
    ----------
    vertical, horizontal : AxisProgram
        What happens down the columns and along the rows.
    size : int
        Bytes of an element.
    direction : {"forward", "inverse"}
        From samples to bands, or back.
    levels : int
        1 or 2.
    channels : int
        Channels of a pixel.
    elements : int
        How many there are in all images: of many, lanes hold more columns, or groups walk longer ways.

    Examples
    --------
    >>> from subband.schedule.axis import axis_program
    >>> from subband.plan import axis_plan
    >>> from subband.wavelets import Wavelet
    >>> program = axis_program(axis_plan(Wavelet("cdf97"), "whole", 512), "forward")
    >>> classify_cascade(program, program, 4, "forward", levels=2, channels=3, elements=1080 * 1920 * 3)
    'forward 2-D lifting4 depth4 span4 size4 channels3 levels2 small'
    """
    extent = "large" if elements >= LARGE else "small"
    return f"{classify(vertical, horizontal, size, direction, channels)} levels{levels} {extent}"


def measure_span(program: AxisProgram) -> int:
    """Return over how many pairs of columns a result reaches, in whatever mode: modes shift it by some.

    A lane asks lanes as far away as that, so kernels of one class must not differ in it.
    """
    return max(program.schedule.last, 0) - min(program.schedule.first, 0)


def load_tuned(device_name: str) -> Mapping[str, Launch]:
    """Return the parameters measured on a device, by class; none if nothing was measured or the file is damaged.

    Parameters
    ----------
    device_name : str
        As `identify` returns it.

    Warns
    -----
    UserWarning
        If there is a file that cannot be used; it is left out, as if it were not there.

    Examples
    --------
    >>> dict(load_tuned("a device that nobody has"))
    {}
    """
    entries = _read_devices().get(device_name, {})
    return dict(_read_entries(entries, device_name))


def save_tuned(device_name: str, entries: Mapping[str, Launch]) -> Path:
    """Remember parameters of a device; those of other classes and other devices stay.

    Parameters
    ----------
    device_name : str
        As `identify` returns it.
    entries : dict of str to Launch
        By class, as `classify` formats it.

    Returns
    -------
    Path
        The file.
    """
    path = tuned_path()
    devices = _read_devices()
    known = dict(_read_entries(devices.get(device_name, {}), device_name))
    devices[device_name] = {name: asdict(launch) for name, launch in sorted({**known, **entries}.items())}
    path.parent.mkdir(parents=True, exist_ok=True)
    with place_output(path, overwrite=True) as unfinished:
        unfinished.write_text(json.dumps({"version": _VERSION, "devices": devices}, indent=1) + "\n", encoding="utf-8")
    return path


def _read_devices() -> dict[str, Any]:
    """Read the whole file; what cannot be read counts as nothing."""
    path = tuned_path()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        _warn(f"{path} cannot be read ({error}); kernels run with the usual parameters, run `subband tune` anew")
        return {}
    if not isinstance(content, dict) or not isinstance(content.get("devices"), dict):
        _warn(f"{path} holds no launch parameters; kernels run with the usual ones, run `subband tune` anew")
        return {}
    if content.get("version") != _VERSION:
        return {}
    devices: dict[str, Any] = content["devices"]
    return devices


def _read_entries(entries: Any, device_name: str) -> Iterator[tuple[str, Launch]]:
    """Yield those entries of a device that are launch parameters."""
    names = {field.name for field in fields(Launch)}
    for name, entry in entries.items() if isinstance(entries, dict) else ():
        if not (
            isinstance(entry, dict)
            and set(entry) == names
            and isinstance(entry["is_split"], bool)
            and all(type(entry[key]) is int and low <= entry[key] <= high for key, (low, high) in _BOUNDS.items())
        ):
            _warn(f"{tuned_path()}: {name!r} of {device_name!r} is not usable; run `subband tune` anew")
            continue
        yield name, Launch(**entry)


def _warn(message: str) -> None:
    """Warn whoever asked for an engine, some calls up."""
    warnings.warn(message, UserWarning, stacklevel=4)
