"""All peers in one run: each result is checked, and only then timed, in turns with ours and a plain copy."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

import subband
from subband.arrays import to_host
from subband.bench.checking import check_result, judge_on_host
from subband.bench.measuring import Measurement, time_contenders
from subband.bench.peers.base import Contender, Peer
from subband.bench.peers.cases import SIGMA, ImageCase, PeerCase
from subband.bench.peers.images import IMAGE_PEERS, describe_tasks
from subband.bench.peers.transforms import TRANSFORM_PEERS
from subband.bench.report import report as report_measurements
from subband.bench.tables import Goal, Report
from subband.codecs.jpeg2000 import imread
from subband.engines import get_threads
from subband.engines.measuring.devices import describe_machine
from subband.engines.measuring.harness import Harness
from subband.engines.measuring.judging import WrongResultError
from subband.engines.measuring.timing import Effort
from subband.quality import measure_psnr

__all__ = ["PEERS", "compare_results", "measure_peers", "report"]

#: Every library that there is something to compare with.
PEERS: tuple[Peer, ...] = (*TRANSFORM_PEERS, *IMAGE_PEERS)

# Seconds of a call that is not repeated.
_PATIENCE = 2.0
# How far an estimate of the noise may be from what was added; some of it is lost where images are cut off at white.
_NOISE_ERROR = 0.2

# Grey levels that decoders and denoisers of the same method may be apart.
_NEAR = 0.01


def measure_peers(
    cases: Iterable[PeerCase], effort: Effort, bench: Harness, peers: Sequence[tuple[Peer, Any]]
) -> Iterator[Measurement]:
    """Measure cases one after the other.

    A peer that fails, or whose result is not ours, is not timed; the measurement has a remark that says so.

    Parameters
    ----------
    cases : iterable of PeerCase
        What to measure.
    effort : Effort
        How long.
    bench : Harness
        Where.
    peers : sequence of Peer and module
        As `find_peers` returns them.

    Raises
    ------
    WrongResultError
        If a result of ours is not that of the reference engine, or does to an image what it should not.
    """
    for case in cases:
        yield _measure(case, effort, bench, peers)


def _check_image(case: ImageCase, result: Any, samples: Any) -> None:
    """Refuse to time what does not give an image back, or does not make it better."""
    original = case.make_original()
    if case.task in ("encode", "decode"):
        is_right = np.array_equal(imread(io.BytesIO(result)) if case.task == "encode" else result, original)
    elif case.task == "noise":
        is_right = bool(abs(np.ravel(result)[0] - SIGMA) < _NOISE_ERROR * SIGMA)
    else:
        is_right = measure_psnr(result, original, 255) > measure_psnr(samples, original, 255)
    if not is_right:
        raise WrongResultError(f"{case.name}: our own result is wrong")


def _measure(case: PeerCase, effort: Effort, bench: Harness, peers: Sequence[tuple[Peer, Any]]) -> Measurement:
    samples = case.make_samples() if isinstance(case, ImageCase) else bench.draw(case.shape)
    given = case.make_input(subband, samples)
    ours = case.bind(subband, given)
    if isinstance(case, ImageCase):
        expected, error = ours(), None
        _check_image(case, expected, samples)
    else:
        expected = judge_on_host(case, given)
        error = check_result(case, ours(), expected)
    contenders = {"ours": Contender(ours), "copy": Contender(bench.prepare_copy(samples))}
    slow: dict[str, float] = {}
    remarks: list[str] = []
    for peer, module in peers:
        if peer.is_for_images != isinstance(case, ImageCase):
            continue
        try:
            contender = peer.prepare(module, case, samples)
            if contender is None:
                continue
            remark = compare_results(case, contender, expected, samples)
        except Exception as failure:  # noqa: BLE001 - a peer that fails is no fault of ours, and said so
            remarks.append(f"{peer.name} is not timed at {case.name}: {failure}")
            continue
        if remark:
            remarks.append(f"{case.name}, {peer.name}: {remark}")
        # once more, because the first call may have compiled
        begin = perf_counter()
        contender.call()
        if (seconds := perf_counter() - begin) > _PATIENCE:
            slow[peer.name] = seconds
            remarks.append(f"{case.name}, {peer.name}: timed once, because it takes so long")
            continue
        contenders[peer.name] = contender
    times = time_contenders(contenders, effort, bench.time_calls)
    own, copy = times.pop("ours"), times.pop("copy")
    return Measurement(case, own, times | slow, copy, error, remarks=tuple(remarks))


def compare_results(case: PeerCase, contender: Contender, expected: Any, samples: Any) -> str:
    """Compare the result of a peer with the expected one; return a remark about it.

    Parameters
    ----------
    case : PeerCase
        What was done.
    contender : Contender
        Of the peer.
    expected : array or bands
        What ours or the judge returned.
    samples : array
        What it was done with.

    Raises
    ------
    WrongResultError
        If it is something else, or where it cannot be the same, something worse than the image it began with.
    """
    found = contender.call()
    found = found if contender.read is None else contender.read(found)
    if isinstance(case, ImageCase):
        return _compare_images(case, found, expected)
    if contender.mode is not None and contender.mode != case.mode:
        return _compare_inside(case, found, contender.mode, samples)
    check_result(case, _crop(case, found), _crop(case, expected))
    return ""


def _crop(case: PeerCase, result: Any) -> Any:
    """Cut what an inverse returns beyond the samples: an odd length may come back as an even one."""
    return result[tuple(map(slice, case.shape))] if case.inverse else result


def _compare_inside(case: PeerCase, found: Any, mode: str, samples: Any) -> str:
    """Compare magnitudes away from the border, with ours in the mode of the peer."""
    other = replace(case, mode=mode)
    ours = other.prepare(subband, to_host(samples))()
    check_result(case, _crop(case, found), _crop(case, ours), is_inside=True)
    return f"continued as {mode!r}; compared away from the border"


def _compare_images(case: ImageCase, found: Any, expected: Any) -> str:
    original = case.make_original()
    if case.task == "encode":
        if not np.array_equal(imread(io.BytesIO(found)), original):
            raise WrongResultError("its file does not give the image back")
        return f"a file of {len(found):,} bytes, ours {len(expected):,}"
    theirs, ours = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    if theirs.shape != ours.shape:
        raise WrongResultError(f"its result has the shape {theirs.shape}, and ours {ours.shape}")
    if case.is_same:
        if not float(np.abs(theirs - ours).max()) <= _NEAR:
            raise WrongResultError(f"its result is {np.abs(theirs - ours).max():.3g} away from ours")
        return ""
    before, *after = (measure_psnr(each, original, 255) for each in (case.make_samples(), theirs, ours))
    if not min(after) > before:
        raise WrongResultError(f"PSNR falls from {before:.2f} to {min(after):.2f} dB")
    return f"another method; PSNR {after[0]:.2f} dB, ours {after[1]:.2f} dB, before {before:.2f} dB"


def report(measurements: Sequence[Measurement], bench: Harness, remarks: Sequence[str] = ()) -> Report:
    """Make a report of measurements: a table of transforms and one of images.

    Parameters
    ----------
    measurements : sequence of Measurement
        From `measure_peers`.
    bench : Harness
        Where.
    remarks : sequence of str
        Peers that are not installed, from `find_peers`.
    """
    libraries = [peer.distribution for peer in PEERS if peer.distribution != "PyWavelets"]
    machine = describe_machine(bench.name, libraries)
    transforms = [each for each in measurements if not isinstance(each.case, ImageCase)]
    images = [each for each in measurements if isinstance(each.case, ImageCase)]
    parts = {}
    if transforms:
        note = (
            "Times are medians of turns; every result was compared with that of the reference engine first. Random "
            f"float32, half-sample symmetry. subband computes with {get_threads()} threads, Torch and JAX with as many "
            "as they like, PyWavelets with one. JAX is compiled. Threads of OpenMP that wait for work sleep, so that "
            "they do not take cores from the next."
        )
        parts["Transforms"] = report_measurements(transforms, machine, note=note)
    if images:
        note = f"{describe_tasks()} scikit-image computes in float64 with one thread, cycle_spin with all."
        parts["Pictures"] = report_measurements(images, machine, title="Pictures", note=note, has_copies=False)
    lost = [
        f"{each.case.name}: {name} ({factor:.2f})"
        for each in measurements
        for name, factor in each.speedups.items()
        if factor < 1
    ]
    count = sum(len(each.peers) for each in measurements)
    found = f"{count - len(lost)} of {count} comparisons" + (f"; slower at {', '.join(lost)}" if lost else "")
    return Report(
        [sheet for part in parts.values() for sheet in part.sheets],
        [Goal("at least as fast as every library that was measured", found, not lost)] if count else [],
        {"measurements": [record for part in parts.values() for record in part.figures["measurements"]]},
        machine,
        {f"{kind} beside others": figure for kind, part in parts.items() for figure in part.drawings.values()},
        (*remarks, *dict.fromkeys(remark for part in parts.values() for remark in part.remarks)),
    )
