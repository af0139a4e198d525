"""Noise models and their variance-stabilising transforms, after which noise is additive and of equal strength.

A `NoiseModel` is data. ``stabilise`` transforms an image so that its noise is additive with the standard deviation
``stabilised_sigma``; the result is denoised; ``restore`` is the unbiased inverse, which is not the algebraic one: the
mean of a function is not the function of the mean. All of it is one formula for each pixel, and for counts also a
look-up in a small table. Salt and pepper, and stripes, are removed by ``stabilise`` itself, which looks at neighbours;
what is left is additive noise. Correlated noise tells the stages how strong it is in each band.

>>> import numpy as np
>>> model = Speckle()
>>> noisy = model.add(np.full((256, 256), 100.0), seed=0)
>>> log = model.stabilise(noisy)
>>> round(float(log.std()), 2), round(model.stabilised_sigma, 2)
(0.64, 0.64)
>>> float(model.restore(log.mean(keepdims=True)).item()).__round__()
100
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from subband.enhance.models.auto import Auto
from subband.enhance.models.base import Gaussian, NoiseModel
from subband.enhance.models.correlated import Correlated
from subband.enhance.models.counts import PoissonGaussian
from subband.enhance.models.impulses import SaltAndPepper
from subband.enhance.models.speckle import LogSpeckle, Speckle
from subband.enhance.models.stripes import Stripes
from subband.errors import ArgumentError, suggest_names
from subband.settings import read_call

__all__ = [
    "MODELS",
    "Auto",
    "Correlated",
    "Gaussian",
    "LogSpeckle",
    "NoiseModel",
    "NoiseName",
    "PoissonGaussian",
    "SaltAndPepper",
    "Speckle",
    "Stripes",
    "find_model",
]

#: The names, for those who check types.
NoiseName: TypeAlias = Literal[
    "auto", "correlated", "gaussian", "log-speckle", "poisson", "salt-pepper", "speckle", "stripes"
]

#: Every model by its name.
MODELS: dict[str, type[NoiseModel]] = {
    model.name: model
    for model in (Auto, Correlated, Gaussian, LogSpeckle, PoissonGaussian, SaltAndPepper, Speckle, Stripes)
}


def find_model(model: Any) -> NoiseModel:
    """Return the model of a name, or the model itself.

    Parameters
    ----------
    model : str or NoiseModel
        With settings of the model behind a colon, such as ``'speckle:looks=4,kind=gamma'``.

    Raises
    ------
    ArgumentError
        If no model has that name, or it has no such setting.

    Examples
    --------
    >>> find_model("speckle:looks=4")
    Speckle(looks=4.0, kind='rayleigh', floor=None)
    """
    if isinstance(model, NoiseModel):
        return model
    made: NoiseModel = read_call(model, _find_name, "noise") if isinstance(model, str) else _find_name(model)
    return made


def _find_name(name: Any) -> NoiseModel:
    if not isinstance(name, str) or name not in MODELS:
        near = suggest_names(name, MODELS) if isinstance(name, str) else ""
        raise ArgumentError(f"model={name!r} is no model of noise{near}; there are {', '.join(map(repr, MODELS))}")
    return MODELS[name]()
