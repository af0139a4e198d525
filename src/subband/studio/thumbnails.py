"""Thumbnails: what each filter does to a noisy image, and what each wavelet looks like."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np

from subband.studio.chains import make_enhancer
from subband.studio.controls import Settings
from subband.studio.guidance import explain_filters, explain_wavelets
from subband.studio.samples import SAMPLES
from subband.studio.settings import resolve_settings
from subband.typing import Array
from subband.wavelets import as_wavelet

__all__ = ["GUIDES", "draw_guide"]

#: The part of the noisy sample that thumbnails show: an eye and some hair.
_PART = (slice(64, 160), slice(176, 272))
#: Points of a curve.
_POINTS = 96


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
    return tuple(GUIDES[kind](resolve_settings({"level": 3, "bands": ""}).settings))


def _encode(pixels: Array) -> str:
    # imported here, because only thumbnails need it
    from PIL import Image

    stream = BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"
