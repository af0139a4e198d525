"""Transforms of Torch's tensors and their gradients, beside ptwt and pytorch_wavelets, in one run.

Every contender decomposes the same batch of images, and takes the gradient of the same weighted sum of all bands. Bands
are compared before anything is timed, our gradient with differences of the transform itself, and others' with ours: a
library that takes a shortcut at the borders is timed, and said to do so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from subband.bench.peers.base import Peer, find_peers
from subband.bench.peers.transforms import DEVICE_PEERS
from subband.bench.tables import Goal, Report, Sheet, as_record, write_number
from subband.engines.measuring.devices import describe_machine
from subband.engines.measuring.judging import WrongResultError
from subband.engines.measuring.timing import Effort, take_turns
from subband.media.faults import require

__all__ = ["PEERS", "QUICK_SHAPES", "SHAPES", "Comparison", "measure_gradients", "report"]

#: Images, channels, rows and columns, by the kind of device: the batches of a CPU are smaller ones of the same images.
SHAPES = {
    "cuda": ((16, 3, 256, 256), (64, 3, 224, 224), (1, 3, 1080, 1920), (8, 64, 128, 128), (1, 1, 4096, 4096)),
    "cpu": ((2, 3, 256, 256), (4, 3, 224, 224), (1, 3, 1080, 1920), (1, 64, 128, 128), (1, 1, 2048, 2048)),
}
QUICK_SHAPES = ((2, 3, 64, 64),)

_WAVELET, _MODE, _LEVEL = "bior4.4", "symmetric", 3
# How many times as fast as the faster peer a transform, and with its gradient, is to be: on GPUs, and on CPUs.
_LEAST = {"cuda": (8.0, 5.0), "cpu": (3.0, 3.0)}
_NEAR = 1e-4

#: Decomposes a tensor into a flat list of bands: the approximation, then cH, cV and cD from coarse to fine.
Split = Callable[[Any], list[Any]]


def _prepare_ptwt(module: Any, device: str) -> Split:
    del device

    def split(x: Any) -> list[Any]:
        low, *details = module.wavedec2(x, _WAVELET, mode=_MODE, level=_LEVEL)
        return [low, *(band for level in details for band in level)]

    return split


def _prepare_pytorch_wavelets(module: Any, device: str) -> Split:
    transform = module.DWTForward(J=_LEVEL, wave=_WAVELET, mode=_MODE).to(device)

    def split(x: Any) -> list[Any]:
        low, highs = transform(x)
        return [low, *(high[:, :, kind] for high in reversed(highs) for kind in range(3))]

    return split


_PREPARE: dict[str, Callable[[Any, str], Split]] = {
    "ptwt": _prepare_ptwt,
    "pytorch_wavelets": _prepare_pytorch_wavelets,
}

#: Other libraries with gradients.
PEERS = tuple(peer for peer in DEVICE_PEERS if peer.name in _PREPARE)


@dataclass(frozen=True)
class Comparison:
    """A batch of images, transformed by every contender.

    Attributes
    ----------
    shape : tuple of int
        Of the batch.
    device : str
        As Torch calls it, such as ``cuda:0``.
    forward, both : dict of str to float
        Seconds of a transform, and of one with its gradient, by the name of the contender.
    remarks : tuple of str
        Peers whose gradient is not ours.
    """

    shape: tuple[int, ...]
    device: str
    forward: dict[str, float]
    both: dict[str, float]
    remarks: tuple[str, ...] = ()

    @property
    def gains(self) -> tuple[float | None, float | None]:
        """How many times as fast as the faster peer, without and with the gradient."""
        forward, both = (_find_gain(times) for times in (self.forward, self.both))
        return forward, both


def _find_gain(times: dict[str, float]) -> float | None:
    peers = [seconds for name, seconds in times.items() if name != "subband"]
    return min(peers) / times["subband"] if peers else None


def measure_gradients(
    shapes: Sequence[tuple[int, ...]],
    effort: Effort,
    device: str = "cpu",
    peers: Sequence[Peer] = PEERS,
) -> Iterator[Comparison]:
    """Time transforms and their gradients, shape after shape.

    Parameters
    ----------
    shapes : sequence of tuple of int
        Batches of images, such as those of `SHAPES`.
    effort : Effort
        How long to measure.
    device : str
        As Torch calls it.
    peers : sequence of Peer
        Those that are not installed are left out.

    Raises
    ------
    MissingExtraError
        If Torch is not installed.
    WrongResultError
        If two contenders do not find the same bands, or ours is not the gradient of our transform.

    Examples
    --------
    >>> (found,) = measure_gradients(QUICK_SHAPES, Effort(seconds=0.01, fewest=1), peers=())
    >>> found.shape, sorted(found.both)
    ((2, 3, 64, 64), ['subband'])
    """
    torch = require("torch", "measuring gradients", "torch")
    ours = _prepare_ours()
    splits: dict[str, Split] = {"subband": ours}
    splits |= {peer.name: _PREPARE[peer.name](module, device) for peer, module in find_peers(peers)[0]}
    _check_derivative(torch, ours, device)
    for shape in shapes:
        generator = torch.Generator().manual_seed(0)
        x = torch.rand(shape, generator=generator).to(device).requires_grad_()
        weights = [torch.rand(band.shape, generator=generator).to(device) for band in ours(x.detach())]
        remarks = _compare(torch, splits, x, weights)
        forward = {name: partial(_transform, torch, split, x) for name, split in splits.items()}
        both = {name: partial(_differentiate, torch, split, x, weights) for name, split in splits.items()}
        clock = partial(_time_calls, torch, device)
        yield Comparison(shape, device, take_turns(forward, effort, clock), take_turns(both, effort, clock), remarks)


def _prepare_ours() -> Split:
    from subband.integrations.torch import WaveDec2

    layer = WaveDec2(_LEVEL, _WAVELET, _MODE)

    def split(x: Any) -> list[Any]:
        low, *details = layer(x)
        return [low, *(band for level in details for band in level)]

    return split


def _transform(torch: Any, split: Split, x: Any, _: Sequence[Any] = ()) -> list[Any]:
    with torch.no_grad():
        return split(x)


def _differentiate(torch: Any, split: Split, x: Any, weights: Sequence[Any]) -> Any:
    (gradient,) = torch.autograd.grad(split(x), x, weights)
    return gradient


def _time_calls(torch: Any, device: str, call: Callable[[], Any], count: int) -> float:
    """Return the seconds of some calls, and of the work that they have queued."""
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    wait()
    start = perf_counter()
    for _ in range(count):
        call()
    wait()
    return perf_counter() - start


def _check_derivative(torch: Any, ours: Split, device: str) -> None:
    """Compare our gradient with differences, in double precision."""
    x = torch.rand((2, 24, 23), dtype=torch.float64, device=device, requires_grad=True)
    if not torch.autograd.gradcheck(lambda x: tuple(ours(x)), (x,), raise_exception=False):
        raise WrongResultError("our gradient is not the derivative of our transform")


def _compare(torch: Any, splits: dict[str, Split], x: Any, weights: Sequence[Any]) -> tuple[str, ...]:
    """Compare bands and gradients with ours; return a remark for each peer whose gradient is another."""
    expected, gradient = (run(torch, splits["subband"], x, weights) for run in (_transform, _differentiate))
    remarks = []
    for name, split in splits.items():
        for number, (own, theirs) in enumerate(zip(expected, _transform(torch, split, x), strict=True)):
            if not (error := _measure_error(own, theirs)) <= _NEAR:
                raise WrongResultError(f"{name} finds another band {number} of {tuple(x.shape)}: {error:.2g} away")
        error = _measure_error(gradient, _differentiate(torch, split, x, weights))
        if not error <= _NEAR:
            remarks.append(
                f"{name}: its gradient is up to {error:.2g} of the greatest away from ours, which `gradcheck` confirms"
            )
    return tuple(remarks)


def _measure_error(own: Any, theirs: Any) -> float:
    return float((own - theirs).abs().max() / own.abs().max())


def report(found: Sequence[Comparison], remarks: Sequence[str] = (), *, is_whole: bool = True) -> Report:
    """Make the tables of transforms and gradients.

    Parameters
    ----------
    found : sequence of Comparison
        From `measure_gradients`.
    remarks : sequence of str
        Peers that are not installed.
    is_whole : bool
        Whether it is enough to judge.

    Examples
    --------
    >>> each = Comparison((1, 1, 8, 8), "cpu", {"subband": 1e-3, "ptwt": 4e-3}, {"subband": 2e-3, "ptwt": 5e-3})
    >>> for goal in report([each]).goals:
    ...     print(goal)
    met: 1×1×8×8 forward: at least 3 times as fast as the faster peer (4.00 times)
    not met: 1×1×8×8 forward and backward: at least 3 times as fast as the faster peer (2.50 times)
    """
    device = found[0].device
    family = device.partition(":")[0]
    names = list(found[0].forward)
    goals, rows, missed = [], [], []
    for each in found:
        name = "×".join(map(str, each.shape))
        tasks = zip(
            ("forward", "forward and backward"), (each.forward, each.both), each.gains, _LEAST[family], strict=True
        )
        for task, times, gain, least in tasks:
            cells = [write_number(1e3 * times[library]) for library in names]
            rows.append([name, task, *cells, "" if gain is None else write_number(gain)])
            if gain is not None:
                text = f"{name} {task}: at least {least:g} times as fast as the faster peer"
                goals.append(Goal(text, f"{gain:.2f} times", gain >= least))
                if gain < least:
                    missed.append(len(rows) - 1)
    columns = ["batch", "task", *(f"{library} ms" for library in names), "× faster peer"]
    note = (
        f"{_WAVELET}, {_MODE}, {_LEVEL} levels, float32; milliseconds of a call by the clock of the host, medians of "
        "turns. Ours is `WaveDec2`. Bands and gradients were compared first."
    )
    sheet = Sheet("Gradients of Torch", columns, rows, note, texts=2, missed=missed if is_whole else ())
    card = f"cuda:{device.partition(':')[2] or 0}" if family == "cuda" else None
    machine = describe_machine(card, ("torch", *(peer.distribution for peer in PEERS)))
    return Report(
        [sheet],
        goals if is_whole else (),
        {"gradients": [as_record(each, "gains") for each in found]},
        machine,
        remarks=(*remarks, *dict.fromkeys(remark for each in found for remark in each.remarks)),
    )
