"""Noise of an unknown kind: the image itself says which model it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from subband.enhance.models.base import NoiseModel
from subband.errors import ArgumentError
from subband.typing import Array

__all__ = ["Auto"]


@dataclass(frozen=True)
class Auto(NoiseModel):
    """White noise, noise that grows with brightness, or correlated noise, whichever `find_noise` finds in the image.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import data
    >>> from subband.enhance import Denoise, Enhancer, PoissonGaussian
    >>> noisy = PoissonGaussian(gain=2.0, sigma=3.0).add(data.camera().astype(float), seed=0)
    >>> chain, report = Enhancer(Denoise(), noise="auto").find_noise(noisy)
    >>> chain.model.name, report.kind
    ('poisson', 'signal-dependent')
    """

    name: ClassVar[str] = "auto"

    @property
    def needs_image(self) -> bool:
        """Always."""
        return True

    @property
    def stabilised_sigma(self) -> None:
        """Nothing is known yet."""
        return

    def _add(self, x: Array, generator: np.random.Generator) -> Array:  # noqa: ARG002 - nothing can be added
        raise ArgumentError("noise 'auto' is whatever an image has; to add noise name one, such as 'gaussian'")
