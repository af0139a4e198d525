"""What the widgets do: from one layer of napari to others, without a viewer."""

from __future__ import annotations

from typing import Any

import numpy as np

from subband.enhance import denoise
from subband.integrations.centres import find_centre
from subband.integrations.napari.reader import LayerData
from subband.transforms.decomposition import decompose
from subband.wavelets import WaveletLike

__all__ = ["denoise_layer", "split_layer"]

#: Settings of a layer that hold for another one over the same image.
_KEPT = ("scale", "translate", "rotate", "shear", "rgb", "colormap", "contrast_limits", "gamma", "units", "axis_labels")


def _find_axes(layer: Any, is_volume: bool) -> tuple[int, ...]:
    """Return the axes of space of a layer's data: the last two, or three, before its colours."""
    stop = layer.data.ndim - bool(layer.rgb)
    return tuple(range(max(stop - (3 if is_volume else 2), 0), stop))


def _copy_settings(layer: Any) -> dict[str, Any]:
    return {name: getattr(layer, name) for name in _KEPT if hasattr(layer, name)}


def denoise_layer(layer: Any, *, is_volume: bool = False, **settings: Any) -> LayerData:
    """Denoise the image of a layer, as `subband.denoise` does.

    Parameters
    ----------
    layer : napari.layers.Image
        Of one resolution.
    is_volume : bool
        Denoise along three axes; else each plane by itself.
    **settings
        Of `subband.denoise`.

    Returns
    -------
    tuple
        Of a layer that lies over the first, with its scale, colours and contrast: napari makes it, or replaces the one
        of the same name.

    Examples
    --------
    >>> from napari.layers import Image
    >>> import subband
    >>> from subband.integrations.napari import denoise_layer
    >>> pixels, settings, kind = denoise_layer(Image(subband.data.camera(), name="camera", scale=(2, 2)))
    >>> settings["name"], settings["scale"].tolist(), pixels.dtype
    ('camera denoised', [2.0, 2.0], dtype('uint8'))
    """
    axes = _find_axes(layer, is_volume)
    data = np.asarray(layer.data)
    # a fourth channel of colours says how opaque they are
    colours = data[..., :3] if layer.rgb else data
    channel = data.ndim - 1 if layer.rgb else None
    pixels = denoise(colours, axes=axes, channel_axis=channel, nonfinite="mask", **settings)
    if layer.rgb:
        pixels = np.concatenate([pixels, data[..., 3:]], axis=-1)
    return pixels, {**_copy_settings(layer), "name": f"{layer.name} denoised"}, "image"


def split_layer(
    layer: Any,
    wavelet: WaveletLike = "cdf97",
    level: int | None = 2,
    mode: str | None = None,
    *,
    is_volume: bool = False,
) -> list[LayerData]:
    """Transform the image of a layer into its bands, each of which lies where its coefficients come from.

    Parameters
    ----------
    layer : napari.layers.Image
        Of one resolution.
    wavelet, level, mode
        As `subband.decompose` takes them.
    is_volume : bool
        Transform along three axes; else each plane by itself.

    Returns
    -------
    list of tuple
        Of one layer for each band, the approximation first, called after level and key: ``"camera 1 dd"``.

    Examples
    --------
    >>> from napari.layers import Image
    >>> import subband
    >>> from subband.integrations.napari import split_layer
    >>> bands = split_layer(Image(subband.data.camera(), name="camera"), "haar", level=1)
    >>> [(settings["name"], settings["scale"].tolist()) for _, settings, _ in bands][1]
    ('camera 1 ad', [2.0, 2.0])
    """
    axes = _find_axes(layer, is_volume)
    pyramid = decompose(np.asarray(layer.data, np.float32), wavelet, level, mode, axes)
    plan, layers = pyramid.plan, []
    for number, key, band in pyramid.bands():
        settings = {
            name: value for name, value in _copy_settings(layer).items() if name in ("scale", "translate", "units")
        }
        scale, translate = (np.array(settings[name], float) for name in ("scale", "translate"))
        for axis, letter, each, one_mode in zip(axes, key, plan.wavelets, plan.modes, strict=True):
            translate[axis] += find_centre(each, one_mode, number, letter) * scale[axis]
            scale[axis] *= 2**number
        # details have a sign, and the colours of a coefficient are no colours
        settings |= {"scale": scale, "translate": translate, "rgb": False, "name": f"{layer.name} {number} {key}"}
        layers.append((band, settings, "image"))
    return layers
