"""Plans judged band by band: what an engine gives is compared with the reference engine before it is timed.

A round trip alone proves little: what only splits even and odd samples comes back, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from subband.bench.checking import DOUBLE_TOLERANCE, HALF_TOLERANCE, JUDGED_SIZE, TOLERANCE, WrongResultError
from subband.bench.workbench import Workbench
from subband.engines import get_engine
from subband.plan import TransformPlan, transform_plan
from subband.typing import Array

__all__ = ["check_tile", "check_transform", "compare_bands", "fetch_bands"]

Coefficients: TypeAlias = tuple[Any, list[Any]]

# Rows and columns of a picture whose bands of JPEG 2000 are compared.
_JUDGED = 1024


def compare_bands(found: Mapping[str, Any], expected: Mapping[str, Any], what: str, limit: float) -> None:
    """Compare arrays one by one, by name.

    Parameters
    ----------
    found, expected : mapping of str to ndarray
        By the name of each band.
    what : str
        What was computed.
    limit : float
        The largest difference of a number to accept.

    Raises
    ------
    WrongResultError
        If bands, shapes or numbers differ, or a number is none.

    Examples
    --------
    >>> compare_bands({"ad": np.ones(2)}, {"ad": np.zeros(2)}, "haar", 0.1)
    Traceback (most recent call last):
        ...
    subband.bench.checking.WrongResultError: haar: band ad is 1 away from the reference engine's, more than 0.1
    """
    if set(found) != set(expected):
        raise WrongResultError(f"{what}: the bands are {sorted(found)}, and the reference engine's {sorted(expected)}")
    for name, judge in expected.items():
        band = np.asarray(found[name])
        if band.shape != judge.shape:
            raise WrongResultError(f"{what}: band {name} is {band.shape}, and the reference engine's {judge.shape}")
        deviation = float(np.abs(band - judge).max(initial=0.0))
        # written so that NaN, which is neither smaller nor larger, is refused too
        if not deviation <= limit:
            raise WrongResultError(
                f"{what}: band {name} is {deviation:.3g} away from the reference engine's, more than {limit:.3g}"
            )


def check_transform(bench: Workbench, plan: TransformPlan, x: Any, what: str) -> Coefficients:
    """Transform samples, compare every band with the reference engine's, and what comes back with the samples.

    Other samples are transformed before and behind, so that neither an old result nor memory that is used twice goes
    unnoticed. Planes of more than six million samples are judged by the CPU engine in double precision and by filters,
    after it has been compared with the reference engine on a smaller plane.

    Parameters
    ----------
    bench : Workbench
        Of the engine.
    plan : TransformPlan
        In the mode of the engine.
    x : array
        Samples of ``plan.shape``, where the engine computes.
    what : str
        What is transformed, for the message.

    Returns
    -------
    (array, list of dict)
        The approximation, and the details from coarse to fine.

    Raises
    ------
    WrongResultError
        If a band, or what comes back, is wrong.
    """
    engine = bench.engine
    host = bench.to_host(x)
    other = bench.upload(np.ascontiguousarray(-host[tuple(slice(None, None, -1) for _ in host.shape)]))
    engine.forward_all(plan, other)
    approximation, details = engine.forward_all(plan, x)
    coefficients = engine.forward_all(plan, other)
    largest = float(np.abs(host).max())
    is_half = host.dtype == np.float16
    tolerance = HALF_TOLERANCE * max(plan.level, 1) if is_half else TOLERANCE
    names = fetch_bands(bench, plan, approximation, details)
    for index, expected in _judge(plan, host):
        scale = max(largest, *(float(np.abs(band).max(initial=0.0)) for band in expected.values()))
        compare_bands({name: band[index] for name, band in names.items()}, expected, what, tolerance * scale)
    engine.inverse_all(plan, *coefficients)
    back = engine.inverse_all(plan, approximation, details)
    engine.inverse_all(plan, *coefficients)
    # the way back rounds as often as the way there, from numbers that have grown
    growth = max(1.0, *(float(np.abs(band).max(initial=0.0)) / (largest or 1.0) for band in names.values()))
    samples = {"samples": np.asarray(bench.to_host(back), np.float64)}
    limit = 2 * tolerance * largest * (1.0 if is_half else growth)
    compare_bands(samples, {"samples": host.astype(np.float64)}, f"{what}, inverse", limit)
    return approximation, details


def check_tile(picture: Array, levels: int, engine: str, *, is_lossless: bool) -> None:
    """Compare every band of a picture in colour, as JPEG 2000 has them, with the reference engine's.

    A lossless file gives its picture back whatever the transform is, if only it can be undone. Pictures are judged by
    their corner of at most 1024 rows and columns.

    Raises
    ------
    WrongResultError
        If a band is wrong.
    """
    from subband.codecs.jpeg2000.colours import split_planes
    from subband.codecs.jpeg2000.components import as_components
    from subband.codecs.jpeg2000.geometry import Rectangle
    from subband.codecs.jpeg2000.parameters import ComponentSize
    from subband.codecs.jpeg2000.transform import analyse

    part = picture[:_JUDGED, :_JUDGED]
    rows, columns = part.shape[:2]
    components, _ = as_components(part)
    sizes = tuple(ComponentSize(component.precision, component.is_signed, 1, 1) for component in components)
    samples = [component.samples for component in components]
    planes = split_planes(samples, sizes, is_reversible=is_lossless, has_colour_transform=True)
    area, kind = Rectangle(0, 0, columns, rows), "lossless" if is_lossless else "lossy"
    # a result of other samples would show
    analyse(-planes[..., ::-1, ::-1], area, levels, is_lossless, engine)
    found, expected = (
        {
            f"{name}{number}": np.asarray(band)
            for number, bands in enumerate(analyse(each, area, levels, is_lossless, who))
            for name, band in bands.items()
        }
        for each, who in ((planes, engine), (planes if is_lossless else planes.astype(np.float64), "reference"))
    )
    largest = max(float(np.abs(band).max(initial=0.0)) for band in expected.values())
    limit = 0.0 if is_lossless else TOLERANCE * largest
    compare_bands(found, expected, f"the {kind} transform of {rows} × {columns}", limit)


def fetch_bands(
    bench: Workbench, plan: TransformPlan, approximation: Any, details: Sequence[Mapping[str, Any]]
) -> dict[str, Array]:
    """Bring all bands to the host, by key and level, the finest being 1."""
    fetched = [{key: bench.to_host(band) for key, band in level.items()} for level in details]
    return _name_bands(plan, bench.to_host(approximation), fetched)


def _name_bands(plan: TransformPlan, approximation: Array, details: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """Name all bands by key and level, the finest being 1."""
    named = {f"{'a' * len(plan.axes)}{plan.level}": approximation}
    for level, bands in zip(range(plan.level, 0, -1), details, strict=True):
        named |= {f"{key}{level}": band for key, band in bands.items()}
    return named


def _judge(plan: TransformPlan, x: Array) -> Iterator[tuple[Any, dict[str, Array]]]:
    """Yield what bands have to be, plane by plane where the first axis is not transformed, and which plane it is."""
    has_planes = 0 not in plan.axes and len(plan.shape) > len(plan.axes)
    parts = [slice(number, number + 1) for number in range(plan.shape[0])] if has_planes else [slice(None)]
    for part in parts:
        plane = x[part].astype(np.float64)
        own = transform_plan(plane.shape, plan.axes, plan.wavelets, plan.modes, plan.level, plan.reversible)
        if plane.size <= JUDGED_SIZE:
            yield part, _name_bands(own, *get_engine("reference").forward_all(own, plane))
            continue
        _confirm_judge(own)
        yield part, _name_bands(own, *get_engine("cpu").forward_all(_by_filters(own), plane))


def _by_filters(plan: TransformPlan) -> TransformPlan:
    """Return the plan without lifting, so that the CPU engine judges itself by other arithmetic."""
    wavelets = tuple(wavelet.without_lifting() for wavelet in plan.wavelets)
    return transform_plan(plan.shape, plan.axes, wavelets, plan.modes, plan.level)


def _confirm_judge(plan: TransformPlan) -> None:
    """Compare the CPU engine's filters with the reference engine on a small array of the same kind."""
    shape = tuple(max(n // 16, 32) if axis in plan.axes else n for axis, n in enumerate(plan.shape))
    small = transform_plan(shape, plan.axes, plan.wavelets, plan.modes, min(plan.level, 3))
    x = np.random.default_rng(1).random(shape) - 0.5
    found = _name_bands(small, *get_engine("cpu").forward_all(_by_filters(small), x))
    expected = _name_bands(small, *get_engine("reference").forward_all(small, x))
    compare_bands(found, expected, f"the CPU engine, {prod(shape)} samples", DOUBLE_TOLERANCE)
