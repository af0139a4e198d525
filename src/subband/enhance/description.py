"""Enhancers as text: dictionaries that JSON and TOML can hold, and back."""

from __future__ import annotations

import tomllib
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from subband.enhance.models import MODELS, NoiseModel
from subband.enhance.stages import Blur, Denoise, Sharpen, Shrink
from subband.errors import FormatError, SubbandError, suggest_names
from subband.settings import list_changes
from subband.wavelets import Wavelet

if TYPE_CHECKING:
    from subband.enhance.enhancer import Enhancer

__all__ = ["STAGES", "describe", "read_description", "read_toml", "write_toml"]

#: Stages by the name that descriptions give them.
STAGES: dict[str, type[Any]] = {"denoise": Denoise, "shrink": Shrink, "blur": Blur, "sharpen": Sharpen}

_NAMES = {kind: name for name, kind in STAGES.items()}


def describe(thing: Any) -> Any:
    """Return an enhancer, a stage or a noise model as a dictionary; fields at their default are omitted.

    Examples
    --------
    >>> describe(Blur(2.0))
    {'kind': 'blur', 'sigma': 2.0}
    """
    if isinstance(thing, NoiseModel):
        own = _describe_fields(thing)
        return {"model": thing.name, **own} if own else thing.name
    if is_dataclass(thing):
        kind = {"kind": _NAMES[type(thing)]} if type(thing) in _NAMES else {}
        return {**kind, **_describe_fields(thing)}
    if isinstance(thing, Wavelet):
        if not thing.is_catalogued:
            raise FormatError(
                f"wavelet {thing.name!r} is your own, which a description cannot hold; use one of the catalogue"
            )
        return thing.name
    if isinstance(thing, tuple | list):
        return [describe(entry) for entry in thing]
    return thing


def read_description(kind: type[Enhancer], description: Any) -> Enhancer:
    """Make an enhancer of a dictionary; see `Enhancer.from_dict`."""
    own = dict(_check_table("the description", description))
    if "stages" in own:
        stages = own["stages"]
        if not isinstance(stages, list | tuple):
            raise FormatError(f"stages is {stages!r}; it needs a list of tables, [[stages]] in TOML")
        own["stages"] = tuple(_read_stage(entry, f"stages[{index}]") for index, entry in enumerate(stages))
    if isinstance(own.get("noise"), dict):
        own["noise"] = _read_model(own["noise"])
    made: Enhancer = _make(kind, own, "the description")
    return made


def write_toml(description: dict[str, Any]) -> str:
    """Write a description as TOML.

    Examples
    --------
    >>> print(write_toml({"colour": "rgb", "stages": [{"kind": "blur", "sigma": 2.0}]}))
    colour = "rgb"
    <BLANKLINE>
    [[stages]]
    kind = "blur"
    sigma = 2.0
    <BLANKLINE>
    """
    lines = [f"{key} = {_format(value)}" for key, value in description.items() if key != "stages"]
    if description.get("stages") == []:
        lines.append("stages = []")
    for stage in description.get("stages", []):
        lines += ["", "[[stages]]", *(f"{key} = {_format(value)}" for key, value in stage.items())]
    return "\n".join(lines) + "\n"


def read_toml(text: str) -> dict[str, Any]:
    """Read TOML.

    Raises
    ------
    FormatError
        If it is not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"the description is not TOML: {error}") from error


def _describe_fields(thing: Any) -> dict[str, Any]:
    # a chain names its stages even if they are the default one
    stages = {"stages": thing.stages} if hasattr(thing, "stages") else {}
    changes = {**stages, **list_changes(thing)}
    return {name: describe(value) for name, value in changes.items() if value is not None}


def _read_stage(entry: Any, where: str) -> Any:
    own = dict(_check_table(where, entry))
    name = own.pop("kind", None)
    if name not in STAGES:
        hint = suggest_names(name, STAGES) if isinstance(name, str) else ""
        raise FormatError(f"{where} has kind={name!r}{hint}; use one of {', '.join(STAGES)}")
    if "filters" in own:
        filters = own["filters"]
        if not isinstance(filters, list | tuple):
            raise FormatError(f"{where}.filters is {filters!r}; it needs a list of tables")
        own["filters"] = tuple(_read_stage(each, f"{where}.filters[{index}]") for index, each in enumerate(filters))
    return _make(STAGES[name], own, where)


def _read_model(entry: Any) -> NoiseModel:
    own = dict(_check_table("noise", entry))
    name = own.pop("model", None)
    if name not in MODELS:
        hint = suggest_names(name, MODELS) if isinstance(name, str) else ""
        raise FormatError(f"noise has model={name!r}{hint}; use one of {', '.join(MODELS)}")
    made: NoiseModel = _make(MODELS[name], own, "noise")
    return made


def _make(kind: type[Any], values: dict[str, Any], where: str) -> Any:
    known = [field.name for field in fields(kind)]
    for name in values:
        if name not in known:
            raise FormatError(f"{where} has no {name!r}{suggest_names(name, known)}; it can have {', '.join(known)}")
    try:
        return kind(**values)
    except SubbandError as error:
        raise FormatError(f"{where}: {error}") from error
    except TypeError as error:
        raise FormatError(f"{where}: a value has the wrong type ({error})") from error


def _check_table(where: str, entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise FormatError(f"{where} is {entry!r}; it needs names and values")
    return entry


def _format(value: Any) -> str:
    """Write a value as TOML does."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_format(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_format, value)) + "]"
    return repr(value)
