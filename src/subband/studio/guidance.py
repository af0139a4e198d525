"""Guidance: one line for each filter and wavelet; `subband.studio.thumbnails` has an image of each."""

from __future__ import annotations

from functools import cache

from subband.enhance.methods import list_methods
from subband.enhance.stages import Denoise
from subband.settings import list_settings
from subband.studio.chains import SPECKLE
from subband.wavelets import as_wavelet
from subband.wavelets.catalogue import find_family

__all__ = ["explain_filters", "explain_wavelets"]

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
