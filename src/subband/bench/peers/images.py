"""Image operations of other libraries: denoising, noise estimation and JPEG 2000."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from subband.bench.cases import Case
from subband.bench.peers.base import Contender, Peer
from subband.bench.peers.cases import SIGMA, ImageCase
from subband.codecs.jpeg2000 import encode
from subband.errors import FormatError
from subband.typing import Array

__all__ = ["IMAGE_PEERS", "describe_tasks"]

#: Shifts in each direction that cycle spinning averages over.
_SHIFTS = 3

# Of non-local means: near the noise, patches and where they are looked for, as OpenCV suggests.
_STRENGTH, _PATCH, _WINDOW = SIGMA, 7, 21


def describe_tasks() -> str:
    """Describe the operations that are compared, where names alone do not."""
    return (
        f"Denoise, BayesShrink: denoise_wavelet of scikit-image, and ours with its settings. Whatever the shift: its "
        f"cycle_spin over {(_SHIFTS + 1) ** 2} shifts of that, and one undecimated transform. Estimate noise: its "
        "estimate_sigma. Denoise bytes: OpenCV has no wavelets; its fastNlMeansDenoising (non-local means) beside our "
        "default. JPEG 2000: OpenCV's imencode and imdecode, which are OpenJPEG; its files are larger, because it does "
        "not mix colours."
    )


def _prepare_skimage(module: Any, case: Case, samples: Any) -> Contender | None:
    if not isinstance(case, ImageCase):
        return None
    settings = {
        "sigma": SIGMA,
        "wavelet": case.wavelet,
        "method": "BayesShrink",
        "mode": "soft",
        "rescale_sigma": True,
    }
    calls: dict[str, Callable[[], Any]] = {
        "denoise": partial(module.denoise_wavelet, samples, **settings),
        "spin": partial(module.cycle_spin, samples, module.denoise_wavelet, max_shifts=_SHIFTS, func_kw=settings),
        "noise": partial(module.estimate_sigma, samples),
    }
    call = calls.get(case.task)
    return None if call is None else Contender(call, read=np.atleast_1d)


def _prepare_opencv(module: Any, case: Case, samples: Any) -> Contender | None:
    if not isinstance(case, ImageCase):
        return None
    if case.task == "smooth":
        return Contender(partial(module.fastNlMeansDenoising, samples, None, _STRENGTH, _PATCH, _WINDOW))
    if case.task not in ("encode", "decode"):
        return None
    if not module.haveImageWriter("image.jp2"):
        raise FormatError("it was built without JPEG 2000")
    # blue comes first there
    if case.task == "encode":
        turned = np.ascontiguousarray(samples[..., ::-1])
        # a thousand thousandths of the size: nothing is lost
        settings = [module.IMWRITE_JPEG2000_COMPRESSION_X1000, 1000]
        return Contender(partial(module.imencode, ".jp2", turned, settings), read=lambda result: result[1].tobytes())
    file = np.frombuffer(encode(samples), np.uint8)
    return Contender(partial(module.imdecode, file, module.IMREAD_UNCHANGED), read=_turn_colours)


def _turn_colours(image: Array) -> Array:
    return image[..., ::-1]


#: Libraries that work on images.
IMAGE_PEERS = (
    Peer("scikit-image", "skimage.restoration", _prepare_skimage, "pip install 'subband[bench]'", "scikit-image", True),
    Peer("OpenCV", "cv2", _prepare_opencv, "pip install opencv-python-headless", "opencv-python-headless", True),
)
