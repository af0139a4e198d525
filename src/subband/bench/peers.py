"""Other libraries that transform on GPUs, each measured where it can be imported and can do the case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from subband.arrays import to_host
from subband.bench.cases import Case
from subband.errors import MissingExtraError

__all__ = ["DEVICE_PEERS", "Contender", "Peer", "find_peers", "load_peer"]


@dataclass(frozen=True)
class Contender:
    """What takes its turns.

    Attributes
    ----------
    call : callable
        Without arguments.
    discount : callable or None
        What `call` has to do besides, whose time is taken off.
    """

    call: Callable[[], Any]
    discount: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Peer:
    """A library to compare with.

    Attributes
    ----------
    name : str
        In the table.
    module : str
        What is imported.
    prepare : callable
        ``prepare(module, case, samples)`` returns a `Contender` for samples on a GPU, or None if the library has no
        such transform.
    """

    name: str
    module: str
    prepare: Callable[[Any, Case, Any], Contender | None]


def load_peer() -> Any:
    """Import PyWavelets.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        import pywt
    except ImportError:
        raise MissingExtraError("comparing with PyWavelets", "bench") from None
    return pywt


def find_peers(peers: tuple[Peer, ...] | None = None) -> tuple[list[tuple[Peer, Any]], list[str]]:
    """Import what can be imported; return those with their modules, and a remark for each of the others.

    Examples
    --------
    >>> find_peers((Peer("nobody", "no_such_module", lambda *_: None),))
    ([], ["nobody is not measured: No module named 'no_such_module'"])
    """
    found, remarks = [], []
    for peer in DEVICE_PEERS if peers is None else peers:
        try:
            found.append((peer, import_module(peer.module)))
        except Exception as error:  # noqa: BLE001 - an old library may fail in any way, which is no fault of the others
            remarks.append(f"{peer.name} is not measured: {error}")
    return found, remarks


def _prepare_pdwt(module: Any, case: Case, samples: Any) -> Contender | None:
    """PDWT holds image and coefficients itself, and inverts only what it has transformed since."""
    if len(case.shape) != 2:
        return None
    transform = module.Wavelets(to_host(samples), _name_wavelet(case), case.level)
    if not case.inverse:
        return Contender(transform.forward)

    def there_and_back() -> None:
        transform.forward()
        transform.inverse()

    return Contender(there_and_back, transform.forward)


def _prepare_ptwt(module: Any, case: Case, samples: Any) -> Contender | None:
    suffix = {2: "2", 3: "3"}.get(case.dimensions)
    if suffix is None or not _is_planar(case):
        return None
    tensor = _to_tensor(samples)
    if case.dimensions == len(case.shape):
        tensor = tensor.unsqueeze(0)
    wavelet = _name_wavelet(case)
    forward = partial(
        getattr(module, f"wavedec{suffix}"), tensor, wavelet, mode=_PTWT_MODES[case.mode], level=case.level
    )
    if not case.inverse:
        return Contender(forward)
    return Contender(partial(getattr(module, f"waverec{suffix}"), forward(), wavelet))


def _prepare_pytorch_wavelets(module: Any, case: Case, samples: Any) -> Contender | None:
    if case.dimensions != 2 or not _is_planar(case):
        return None
    tensor = _to_tensor(samples).reshape(1, -1, *case.shape[-2:])
    mode = "periodization" if case.mode == "whole" else case.mode
    forward = module.DWTForward(J=case.level, wave=_name_wavelet(case), mode=mode).to(tensor.device)
    if not case.inverse:
        return Contender(partial(forward, tensor))
    inverse = module.DWTInverse(wave=_name_wavelet(case), mode=mode).to(tensor.device)
    return Contender(partial(inverse, forward(tensor)))


# ptwt has no mode with as many coefficients as samples; its periodic one does a little more work.
_PTWT_MODES = {"whole": "periodic", "periodization": "periodic", "symmetric": "symmetric"}

#: Every library that transforms on GPUs.
DEVICE_PEERS = (
    Peer("PDWT", "pypwt", _prepare_pdwt),
    Peer("ptwt", "ptwt", _prepare_ptwt),
    Peer("pytorch_wavelets", "pytorch_wavelets", _prepare_pytorch_wavelets),
)


def _name_wavelet(case: Case) -> str:
    """Return the name of the same wavelet elsewhere."""
    return "bior4.4" if case.wavelet == "cdf97" else case.wavelet


def _is_planar(case: Case) -> bool:
    """Tell whether the transformed axes come last, as these libraries want them."""
    return case.transformed == tuple(range(len(case.shape)))[-case.dimensions :]


def _to_tensor(samples: Any) -> Any:
    """Look at samples as a tensor of Torch, on the same device."""
    import torch

    return torch.from_dlpack(samples)
