"""Adapters to the transforms of other libraries, and to the layout of their coefficients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from subband.arrays import map_arrays, to_host
from subband.bench.cases import PYWAVELETS, Case
from subband.bench.peers.base import Contender, Peer
from subband.typing import Array

__all__ = ["DEVICE_PEERS", "TRANSFORM_PEERS", "is_stationary"]

# ptwt has no mode with as many coefficients as samples; its periodic one does a little more work.
_PTWT_MODES = {"whole": "periodic", "periodization": "periodic"}


def is_stationary(case: Case) -> bool:
    """Tell whether a case is a transform that keeps every sample at every level."""
    return case.mode == "stationary"


def _prepare_pywavelets(module: Any, case: Case, samples: Any) -> Contender:
    return Contender(case.peer.prepare(module, to_host(samples)))


def _prepare_pdwt(module: Any, case: Case, samples: Any) -> Contender | None:
    """PDWT holds image and coefficients itself, and inverts only what it has transformed since."""
    if len(case.shape) != 2 or is_stationary(case):
        return None
    transform = module.Wavelets(to_host(samples), _name_wavelet(case), case.level)

    def read_bands(_: Any) -> list[Any]:
        approximation, *details = transform.coeffs
        return [approximation, *reversed(details)]

    if not case.inverse:
        return Contender(transform.forward, read=read_bands, mode="periodization")

    def there_and_back() -> None:
        transform.forward()
        transform.inverse()

    return Contender(there_and_back, transform.forward, lambda _: transform.image, "periodization")


def _prepare_ptwt(module: Any, case: Case, samples: Any) -> Contender | None:
    if not _is_planar(case) or (is_stationary(case) and case.dimensions > 1):
        return None
    tensor = _to_tensor(samples)
    if case.dimensions == len(case.shape):
        tensor = tensor.unsqueeze(0)
    wavelet = _name_wavelet(case)
    read = partial(_strip_batch, case)
    if is_stationary(case):
        forward = partial(module.swt, tensor, wavelet, level=case.level)
        backward: Callable[..., Any] = getattr(module, "iswt", None) or _refuse
    else:
        suffix = {1: "", 2: "2", 3: "3"}[case.dimensions]
        mode = _PTWT_MODES.get(case.mode, case.mode)
        forward = partial(getattr(module, f"wavedec{suffix}"), tensor, wavelet, mode=mode, level=case.level)
        backward = getattr(module, f"waverec{suffix}", _refuse)
    mode_used = "periodic" if case.mode in _PTWT_MODES else None
    if not case.inverse:
        return Contender(forward, read=read, mode=mode_used)
    return Contender(partial(backward, forward(), wavelet), read=read, mode=mode_used)


def _prepare_pytorch_wavelets(module: Any, case: Case, samples: Any) -> Contender | None:
    if case.dimensions > 2 or is_stationary(case) or not _is_planar(case):
        return None
    tensor = _to_tensor(samples).reshape(1, -1, *case.shape[-case.dimensions :])
    mode = "periodization" if case.mode == "whole" else case.mode
    kind = "" if case.dimensions == 2 else "1D"
    forward = getattr(module, f"DWT{kind}Forward")(J=case.level, wave=_name_wavelet(case), mode=mode).to(tensor.device)
    if not case.inverse:
        return Contender(partial(forward, tensor), read=partial(_order_bands, case))
    inverse = getattr(module, f"DWT{kind}Inverse")(wave=_name_wavelet(case), mode=mode).to(tensor.device)
    return Contender(partial(inverse, forward(tensor)), read=partial(_strip_batch, case))


def _prepare_jaxwt(module: Any, case: Case, samples: Any) -> Contender | None:
    """Compiled as a whole, and waited for: JAX returns before it has computed."""
    if not _is_planar(case) or (is_stationary(case) and case.dimensions > 1):
        return None
    jax: Any = import_module("jax")
    if is_stationary(case) and case.inverse:
        raise NotImplementedError("its inverse is compiled anew for each sample")
    if case.dimensions == 3 and case.inverse and jax.default_backend() == "cpu":
        raise NotImplementedError("on a CPU its inverse takes seconds for 16 x 16 x 16 samples")
    x = jax.numpy.asarray(to_host(samples))[None]
    wavelet = _name_wavelet(case)
    if is_stationary(case):
        there = back = partial(module.swt, wavelet=wavelet, level=case.level)
    else:
        suffix = {1: "", 2: "2", 3: "3"}[case.dimensions]
        mode = _PTWT_MODES.get(case.mode, case.mode)
        there = partial(getattr(module, f"wavedec{suffix}"), wavelet=wavelet, mode=mode, level=case.level)
        back = partial(getattr(module, f"waverec{suffix}"), wavelet=wavelet)
    forward, inverse = jax.jit(there), jax.jit(back)
    mode_used = "periodic" if case.mode in _PTWT_MODES else None
    read = partial(_strip_batch, case)
    if not case.inverse:
        return Contender(lambda: jax.block_until_ready(forward(x)), read=read, mode=mode_used)
    coefficients = forward(x)
    return Contender(lambda: jax.block_until_ready(inverse(coefficients)), read=read, mode=mode_used)


#: Every library that transforms on GPUs.
DEVICE_PEERS = (
    Peer("PDWT", "pypwt", _prepare_pdwt, "pip install pypwt, which needs CUDA's compiler", "pypwt"),
    Peer("ptwt", "ptwt", _prepare_ptwt, "pip install ptwt", "ptwt"),
    Peer(
        "pytorch_wavelets",
        "pytorch_wavelets",
        _prepare_pytorch_wavelets,
        "pip install pytorch_wavelets 'setuptools<81'",
        "pytorch_wavelets",
    ),
)

#: Every library with transforms of its own, wherever it computes.
TRANSFORM_PEERS = (
    Peer(PYWAVELETS, "pywt", _prepare_pywavelets, "pip install 'subband[bench]'", "PyWavelets"),
    *DEVICE_PEERS,
    Peer("jaxwt", "jaxwt", _prepare_jaxwt, "pip install jaxwt", "jaxwt"),
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


def _to_numpy(x: Any) -> Array:
    """Bring an array of Torch or JAX to the host."""
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)


def _strip_batch(case: Case, result: Any) -> Any:
    """Take off the axis of images, or of images and channels, that these libraries want in front."""

    def strip(x: Any) -> Array:
        band = _to_numpy(x)
        return band.reshape(band.shape[-len(case.shape) :])

    return map_arrays(_to_lists(result), strip)


def _to_lists(result: Any) -> Any:
    """Look at named tuples and classes of coefficients as plain ones."""
    if isinstance(result, dict):
        return {key: _to_lists(value) for key, value in result.items()}
    return [_to_lists(part) for part in result] if isinstance(result, list | tuple) else result


def _order_bands(case: Case, result: Any) -> Any:
    """Put bands of pytorch_wavelets in the order of PyWavelets: from coarse to fine, one array for each."""
    low, highs = result
    strip = partial(_strip_batch, case)
    if case.dimensions == 1:
        return [strip(low), *(strip(high) for high in reversed(highs))]
    return [strip(low), *(tuple(strip(high[:, :, kind]) for kind in range(3)) for high in reversed(highs))]


def _refuse(*_: Any) -> Any:
    raise NotImplementedError("it has no such inverse")
