"""The cases of ``subband bench peers``: transforms that many libraries have, and image operations that two have.

All continue images by half-sample symmetry, which every library has and calls `symmetric`; so results can be compared
up to the border.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from subband import data
from subband.bench.cases import Case, Target
from subband.bench.photographs import denoise_as_peer
from subband.codecs.jpeg2000 import encode, imread
from subband.enhance import Denoise, Enhancer, estimate_noise
from subband.transforms import decompose
from subband.typing import Array

__all__ = ["PEER_CASES", "SIGMA", "ImageCase", "PeerCase", "Task"]

#: Of the noise that images are denoised of, out of 255.
SIGMA = 20.0

Task = Literal["denoise", "spin", "noise", "smooth", "encode", "decode"]

#: What tasks are called.
_TASKS: dict[Task, str] = {
    "denoise": "denoise, BayesShrink",
    "spin": "denoise, whatever the shift",
    "noise": "estimate noise",
    "smooth": "denoise bytes, any method",
    "encode": "JPEG 2000 encode, lossless",
    "decode": "JPEG 2000 decode, lossless",
}

_SIGNAL, _SMALL, _FULL_HD, _VOLUME = (2**18,), (512, 512), (1080, 1920), (128, 128, 128)


@dataclass(frozen=True)
class PeerCase(Case):
    """A transform that other libraries have, too; nothing is expected of it but to be the fastest.

    Examples
    --------
    >>> PeerCase((512, 512), "db4", "stationary", 3).name
    '2-D 512x512 db4 stationary 3-level forward'
    """

    @property
    def target(self) -> Target:
        """Nothing by itself."""
        return Target()

    def _bind_forward(self, library: Any, samples: Any) -> Callable[[], Any]:
        if self.mode != "stationary":
            return super()._bind_forward(library, samples)
        function = getattr(library, f"swt{self._suffix}")
        return partial(function, samples, self.wavelet, self.level, trim_approx=True, **self._options)

    def _bind_inverse(self, library: Any, coefficients: Any) -> Callable[[], Any]:
        if self.mode != "stationary":
            return super()._bind_inverse(library, coefficients)
        return partial(getattr(library, f"iswt{self._suffix}"), coefficients, self.wavelet, **self._options)


@dataclass(frozen=True)
class ImageCase(PeerCase):
    """An operation on a photograph: denoising, estimating noise, or a codec.

    Attributes
    ----------
    task : str
        What.

    Examples
    --------
    >>> ImageCase((512, 512), "db2", task="noise").name
    'picture 512x512 estimate noise'
    """

    task: Task = "denoise"

    @property
    def name(self) -> str:
        """The case in one line."""
        return f"picture {'x'.join(map(str, self.shape))} {_TASKS[self.task]}"

    @property
    def is_same(self) -> bool:
        """Whether others compute the same numbers, and not only something as good."""
        return self.task not in ("spin", "smooth")

    def make_original(self) -> Array:
        """Return the photograph without noise; in colours to be encoded, in grey for all else."""
        original = data.photograph() if self.task in ("encode", "decode") else data.camera()
        return np.ascontiguousarray(original[tuple(map(slice, self.shape))])

    def make_samples(self, seed: int = 0) -> Array:
        """Return the photograph under noise; as it is where it is to be encoded."""
        original = self.make_original()
        if self.task in ("encode", "decode"):
            return original
        noisy: Array = original + np.random.default_rng(seed).normal(0, SIGMA, original.shape)
        return np.clip(np.rint(noisy), 0, 255).astype(np.uint8) if self.task == "smooth" else noisy

    def make_input(self, library: Any, samples: Any) -> Any:  # noqa: ARG002 - there is but one library here
        """Return the input: the samples, or the file that is to be decoded."""
        return encode(samples) if self.task == "decode" else samples

    def bind(self, library: Any, given: Any) -> Callable[[], Any]:  # noqa: ARG002 - there is but one library here
        """Return our side as a function without arguments."""
        if self.task == "denoise":
            return partial(denoise_as_peer, given, SIGMA)
        if self.task == "spin":
            stage = Denoise("bayes", self.wavelet, form="undecimated")
            return partial(Enhancer((stage,), sigma=SIGMA).apply, given)
        if self.task == "noise":
            return lambda: estimate_noise(decompose(given, self.wavelet, 1, mode=self.mode)).ravel()
        if self.task == "smooth":
            return partial(Enhancer((Denoise(),), sigma=SIGMA).apply, given)
        return partial(encode, given) if self.task == "encode" else lambda: imread(io.BytesIO(given))


def _list_transforms() -> Iterable[PeerCase]:
    """List the forward cases."""
    for shape, level in ((_SIGNAL, 5), (_SMALL, 3), (_FULL_HD, 3), (_VOLUME, 2)):
        for wavelet in ("haar", "db4", "bior4.4"):
            yield PeerCase(shape, wavelet, "symmetric", level, is_quick=wavelet == "db4")
    yield PeerCase(_SMALL, "db4", "stationary", 3, is_quick=True)
    yield PeerCase((2**16,), "db4", "stationary", 3)


#: Every case of ``subband bench peers``: transforms each followed by its inverse, then images.
PEER_CASES: tuple[PeerCase, ...] = (
    *(case for forward in _list_transforms() for case in (forward, replace(forward, inverse=True))),
    ImageCase(_SMALL, "db2", "symmetric", 5, is_quick=True, task="denoise"),
    ImageCase(_SMALL, "db2", "symmetric", 5, task="spin"),
    ImageCase(_SMALL, "db2", "symmetric", 1, is_quick=True, task="noise"),
    ImageCase(_SMALL, "cdf97", "whole", 5, is_quick=True, task="smooth", dtype="uint8"),
    ImageCase((512, 512, 3), "cdf53", "whole", 5, is_quick=True, task="encode", dtype="uint8", axes=(0, 1)),
    ImageCase((512, 512, 3), "cdf53", "whole", 5, is_quick=True, task="decode", dtype="uint8", axes=(0, 1)),
)
