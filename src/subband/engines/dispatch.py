"""Dispatch of a call to an engine: by the device of the caller's arrays, then by the caller's choice.

`takes_arrays` turns a function of native arrays into one that takes arrays of every kind that `subband.arrays` knows
and returns the same kind, on the same device. Arrays of the host that are bound for a device are uploaded once a call,
and the results downloaded.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from threading import local
from types import NoneType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from subband.arrays import (
    HOST,
    TRACED,
    Owner,
    as_numbers,
    cast,
    computed_dtype,
    device_of,
    find_kind,
    find_owner,
    map_arrays,
)
from subband.engines import registry
from subband.engines.base import Engine
from subband.engines.prepared import UnknownForm, describe, list_kinds, prepare
from subband.engines.recording import Recording, recordings
from subband.engines.registry import ENGINES, get_engine, is_device_engine
from subband.errors import ArgumentError
from subband.pyramid import Pyramid

if TYPE_CHECKING:
    from subband.engines.device_engine import DeviceEngine

__all__ = ["call_natively", "engine_for", "takes_arrays"]

P = ParamSpec("P")
R = TypeVar("R")

#: Types that are what they are for every engine of the host.
_NUMBERS = frozenset((int, float, complex, np.float64, np.float32))
_PLAIN = _NUMBERS | {np.ndarray, NoneType, str}

#: The engine that takes arrays of the host where they are.
_DEFAULT = "cpu"

#: The engine of the call under way, if that has uploaded arrays: those are its own, and no other's of the same device.
_uploader: ContextVar[DeviceEngine | None] = ContextVar("uploader", default=None)


class _Named(local):
    """The engine that the caller of the transform under way has named, in each thread."""

    engine: str | Engine | None = None


_named = _Named()


def takes_arrays(
    *names: str,
    transforms: bool = True,
    on_pyramid: Callable[..., Any] | None = None,
    are_read: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function of native arrays so that it takes arrays of every kind.

    Parameters
    ----------
    names : str
        The parameters that hold arrays, by themselves or in lists and dictionaries.
    transforms : bool
        Whether an engine does the work. Other functions compute where the arrays are, whatever engine is set.
    on_pyramid : callable, optional
        What is called instead if the first array is a `Pyramid`, which knows its wavelet.
    are_read : bool
        Whether its other arguments were read by another function of ours: then those that are equal mean the same.

    Notes
    -----
    A parameter ``engine`` of the function is read here: that engine computes, also for the transforms that it calls.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = list(inspect.signature(function).parameters)
        positions = {parameters.index(name): name for name in names}
        engine = None if transforms else _DEFAULT
        start, stop = min(positions), max(positions) + 1
        is_single = stop - start == 1

        def call_plain(*args: P.args, **kwargs: P.kwargs) -> R:
            """Call the function with all kinds of arrays."""
            given = args[start:stop]
            result: R
            if on_pyramid is not None and given and isinstance(given[0], Pyramid):
                result = on_pyramid(*args, **kwargs)
                return result
            if transforms and kwargs and (named := kwargs.get("engine")) is not None:
                chosen = typing.cast("str | Engine", named)
                with _name_engine(chosen):
                    result = call_natively(function, positions, args, kwargs, chosen)
                return result
            is_given = given and (is_single or not kwargs) and not registry.uses_device
            if is_given and (_PLAIN.issuperset(map(type, given)) or all(map(_is_plain, given))):
                return function(*args, **kwargs)
            result = call_natively(function, positions, args, kwargs, engine)
            return result

        if not transforms:
            if not is_single:
                return wraps(function)(call_plain)

            @wraps(function)
            def call_directly(*args: P.args, **kwargs: P.kwargs) -> R:
                """Call the function where the array is: for one of the host's, whatever engine is set."""
                if len(args) > start and (type(args[start]) is np.ndarray or _is_plain(args[start])):
                    return function(*args, **kwargs)
                return call_plain(*args, **kwargs)

            return call_directly

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            # as little ado as possible: a short transform takes a microsecond
            try:
                arrays, form = describe(args[start:stop])
                others = args[stop:] if start == 0 else args[:start] + args[stop:]
                key: tuple[object, ...] = (function, form, others)
                if kwargs:
                    if kwargs.get("engine") is not None:
                        raise UnknownForm
                    key += (*kwargs.items(), *list_kinds(kwargs.values()))
                if not are_read and (len(others) != 1 or type(others[0]) is not str):
                    key += (*list_kinds(others),)
                found = registry.prepared.look(key)
            except TypeError:  # an argument that cannot be described or looked up
                return call_plain(*args, **kwargs)
            if recordings.current is not None or found is False or registry.uses_device:
                return call_plain(*args, **kwargs)
            if not found:
                made: R = prepare(lambda: call_plain(*args, **kwargs), key, arrays, (*others, *kwargs.values()))
                return made
            result: R = found(arrays)
            return call_plain(*args, **kwargs) if result is NotImplemented else result

        return call

    return decorate


def call_natively(
    function: Callable[..., Any],
    positions: Mapping[int, str],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    engine: str | Engine | None = None,
) -> Any:
    """Call a function with native arrays, and give its result back as the caller's kind.

    Parameters
    ----------
    function : callable
        Takes native arrays.
    positions : dict of int to str
        Which of its parameters hold arrays.
    args, kwargs
        What it is called with.
    engine : str, Engine or None
        What the caller has named; arrays of the host go there.
    """
    engine = _named.engine if engine is None else engine
    named = [(name, args[position]) for position, name in positions.items() if position < len(args)]
    named += [(name, kwargs[name]) for name in positions.values() if name in kwargs]
    owner = find_owner(named)
    if owner is None:
        return function(*args, **kwargs)
    if (substitute := owner.kind.find_substitute(function)) is not None:
        return substitute(*args, **kwargs)
    uploader = _find_uploader(owner, engine)
    if owner.is_native and uploader is None:
        # engines look after the device of native arrays, but what happens between their calls has to be there too
        with owner.enter():
            return function(*args, **kwargs)

    def take(value: Any, name: str) -> Any:
        value = owner.take(value, name)
        if uploader is None:
            return value
        return map_arrays(value, lambda x: uploader.device.upload(_make_sendable(x, name)))

    with owner.enter(), _upload_with(uploader):
        taken = list(args)
        for position, name in positions.items():
            if position < len(args):
                taken[position] = take(args[position], name)
        named_taken = {name: take(kwargs[name], name) for name in positions.values() if name in kwargs}
        result = function(*taken, **{**kwargs, **named_taken})
        if uploader is not None:
            result = map_arrays(result, uploader.device.download)
        return owner.give_back(result)


def engine_for(x: Any, engine: str | Engine | None = None) -> Engine:
    """Return the engine for a native array: that of its device, or for the host's the one named or set.

    Raises
    ------
    ArgumentError
        If `engine` names one that cannot reach the array.

    Examples
    --------
    >>> engine_for(np.zeros(4), "reference")
    <engine 'reference'>
    """
    engine = _named.engine if engine is None else engine
    if type(x) is np.ndarray or (device := device_of(x)) == HOST:
        return get_engine(engine)
    kind = find_kind(x)
    if kind is not None and (own := kind.find_engine(x, engine)) is not None:
        chosen: Engine = own
        return chosen
    uploader = _uploader.get()
    if uploader is not None and uploader.name == device.partition(":")[0]:
        return uploader
    if engine is None or engine == "auto":
        return get_engine(device)
    if isinstance(engine, Engine) and engine.name not in ENGINES:
        return engine  # somebody's own, which knows what it takes
    name = engine.name if isinstance(engine, Engine) else get_engine(engine).name
    if name == device.partition(":")[0] and (isinstance(engine, Engine) or f"{device}:".startswith(f"{engine}:")):
        return engine if isinstance(engine, Engine) else get_engine(device)
    if device == TRACED:
        raise ArgumentError(
            f"engine={engine!r} needs numbers, and a traced array has none yet; leave engine out, or call this outside "
            "of what traces it, such as jax.jit"
        )
    raise ArgumentError(
        f"engine={engine!r} does not reach an array on {device}; leave engine out to compute there, "
        "or give a copy on the host"
    )


def _is_plain(value: Any) -> bool:
    """Tell quickly whether there is nothing to convert: NumPy's arrays and numbers, by themselves or in containers."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind is list or kind is tuple:
        # a list that begins with a number is data itself, and may be long
        return (
            not value or type(value[0]) in _NUMBERS or _PLAIN.issuperset(map(type, value)) or all(map(_is_plain, value))
        )
    return kind is dict and (_PLAIN.issuperset(map(type, value.values())) or all(map(_is_plain, value.values())))


def _find_uploader(owner: Owner, engine: str | Engine | None) -> DeviceEngine | None:
    """Return the engine of a device that arrays of the host are bound for, if they are."""
    if owner.device != HOST:
        return None
    wants_device = registry.uses_device if engine is None or engine == "auto" else is_device_engine(engine)
    return typing.cast("DeviceEngine", get_engine(engine)) if wants_device else None


@contextmanager
def _name_engine(engine: str | Engine) -> Iterator[None]:
    """Let `engine` compute all transforms inside the block that do not name another."""
    before = recordings.current, _named.engine
    # what transforms inside the block prepare would be kept for the engine that is set, and so would be looked up there
    recordings.current, _named.engine = Recording([]), engine
    try:
        yield
    finally:
        recordings.current, _named.engine = before


@contextmanager
def _upload_with(engine: DeviceEngine | None) -> Iterator[None]:
    """Let `engine`, if given, compute all arrays of its device inside the block."""
    token = _uploader.set(engine)
    try:
        yield
    finally:
        _uploader.reset(token)


def _make_sendable(x: Any, name: str) -> Any:
    """Return an array of the host in a dtype that devices have."""
    x = as_numbers(x, name)
    is_known = x.dtype.kind in "iub" or x.dtype.itemsize <= 8 + 8 * (x.dtype.kind == "c")
    return cast(x, x.dtype.newbyteorder("=") if is_known else computed_dtype(x.dtype, name))
