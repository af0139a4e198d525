"""Guidance: one line for each filter and wavelet, and a thumbnail of what it does or looks like."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np

from subband.enhance.methods import list_methods
from subband.enhance.stages import Denoise
from subband.settings import list_settings
from subband.studio.chains import SPECKLE, make_enhancer
from subband.studio.controls import Settings
from subband.studio.samples import SAMPLES
from subband.typing import Array
from subband.wavelets import as_wavelet
from subband.wavelets.catalogue import find_family

__all__ = ["GUIDES", "draw_guide", "explain_filters", "explain_wavelets"]

#: What filters that are told what to do are for.
_TOLD = {
    "none": "The image as it is; gains of bands still count.",
    "gaussian": "Smooths everything alike, edges too; to compare others with.",
    "sharpen": "Makes edges steeper, and noise stronger.",
    "soft": "Takes the threshold from every coefficient: smooth, and a little flat.",
    "hard": "Keeps what is above the threshold as it is: crisp, with a few specks.",
    "garrote": "Between soft and hard: large coefficients hardly change.",
    "shrinkage": "A soft threshold that falls from level to level: keeps more of the coarse structure.",
    SPECKLE: "For the grain of ultrasound, after the logarithm that scanners take.",
}

#: What the wavelets of a family are good for.
_FAMILIES = {
    "haar": "Steps: the shortest, keeps edges, and leaves blocks.",
    "db": "Orthogonal and as short as possible for its smoothness; leans to one side.",
    "sym": "As Daubechies, nearly symmetric: edges stay where they are.",
    "coif": "Nearly symmetric, both functions smooth: for signals that are sampled finely.",
    "bior": "Symmetric, one filter for each way: no shift of edges.",
    "rbio": "Biorthogonal, with analysis and synthesis exchanged.",
    "dmey": "Very long and smooth: sharp bands of frequency, slow.",
    "cdf": "Symmetric, by lifting: as in JPEG 2000.",
}

#: The part of the noisy sample that thumbnails show: an eye and some hair.
_PART = (slice(64, 160), slice(176, 272))
#: Points of a curve.
_POINTS = 96


def explain_filters() -> dict[str, str]:
    """Return a line for each filter.

    Examples
    --------
    >>> explain_filters()["bayes"]
    'One threshold for each band, by how much of it is signal; what scikit-image does by default.'
    """
    lines = {method.name: "; ".join(filter(None, (method.looks_at, method.advice))) + "." for method in list_methods()}
    return {**_TOLD, **{name: line[0].upper() + line[1:].replace("`", "") for name, line in lines.items()}}


@cache
def explain_wavelets() -> dict[str, str]:
    """Return a line for each wavelet of images.

    Examples
    --------
    >>> explain_wavelets()["sym4"]
    'As Daubechies, nearly symmetric: edges stay where they are. 8 taps.'
    """
    names = list_settings(Denoise)["wavelet"].list_choices()
    return {name: f"{_FAMILIES[find_family(name).short]} {as_wavelet(name).dec_len} taps." for name in names}


def _draw_filters(settings: Settings) -> Iterator[dict[str, Any]]:
    noisy = SAMPLES["noisy"].load()
    assert isinstance(noisy, np.ndarray)
    for name in explain_filters():
        result = make_enhancer({**settings, "filter": name}).apply(noisy[_PART])
        yield {"name": name, "image": _encode(np.asarray(result))}


def _draw_wavelets(settings: Settings) -> Iterator[dict[str, Any]]:  # noqa: ARG001 - all guides are drawn alike
    for name in explain_wavelets():
        functions = as_wavelet(name).wavefun(level=5)
        # that of the synthesis, which images are made of
        psi = functions[1] if len(functions) == 3 else functions[3]
        heights = np.interp(np.linspace(0, len(psi) - 1, _POINTS), np.arange(len(psi)), psi)
        yield {"name": name, "points": np.round(heights / np.abs(heights).max(), 3).tolist()}


#: What there is guidance for.
GUIDES = {"filter": _draw_filters, "wavelet": _draw_wavelets}


@cache
def draw_guide(kind: str) -> tuple[dict[str, Any], ...]:
    """Return the thumbnail of each filter or wavelet: an ``image`` as an address, or the ``points`` of a curve.

    Parameters
    ----------
    kind : str
        One of `GUIDES`.

    Examples
    --------
    >>> guide = {entry["name"]: entry for entry in draw_guide("wavelet")}
    >>> guide["haar"]["points"][20:22], len(guide["sym4"]["points"])
    ([1.0, 1.0], 96)
    """
    from subband.studio.settings import resolve_settings

    return tuple(GUIDES[kind](resolve_settings({"level": 3, "bands": ""}).settings))


def _encode(pixels: Array) -> str:
    # imported here, because only thumbnails need it
    from PIL import Image

    stream = BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"
