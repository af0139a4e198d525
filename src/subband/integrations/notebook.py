"""A panel for notebooks, of ipywidgets: an image before and after denoising, with the settings beside it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from subband.arrays import to_host
from subband.display import encode_png, format_paragraph
from subband.enhance import Denoise, Enhancer, estimate_sigma
from subband.errors import ArgumentError, MissingExtraError, ShapeError, SubbandError
from subband.settings import Setting, list_settings
from subband.typing import Array

if find_spec("ipywidgets") is None:
    raise MissingExtraError("subband.integrations.notebook", "notebook")

import ipywidgets as widgets

__all__ = ["DenoisePanel"]

#: Settings of `Denoise` that have a control, in this order.
_NAMES: Final = ("method", "wavelet", "level", "strength", "mode", "form")

_WIDE: Final = {"description_width": "initial"}


class DenoisePanel(widgets.VBox):
    """Sliders and choices for `subband.denoise`, with the image before and after; it is computed when one changes.

    Parameters
    ----------
    image : array
        Rows × columns, perhaps with 3 or 4 channels, of any real dtype, of any library.
    sigma : float, optional
        Where the slider of the noise stands at first; measured in the image if left out.

    Attributes
    ----------
    result : array
        The denoised image, of the kind and dtype of `image`.
    enhancer : Enhancer
        The settings, to be applied to other images, or printed.
    controls : dict of str to Widget
        The sliders and choices, by the name of their setting.

    Raises
    ------
    ShapeError
        If it is no image.
    ArgumentError
        If no pixel is finite.

    Examples
    --------
    >>> import subband
    >>> from subband.integrations.notebook import DenoisePanel
    >>> panel = DenoisePanel(subband.data.camera()[:64, :64])
    >>> panel.controls["strength"].value = 1.5
    >>> panel.enhancer.stages[0].strength
    1.5
    >>> panel.result.shape
    (64, 64)
    """

    def __init__(self, image: Any, sigma: float | None = None) -> None:
        pixels = to_host(image) if hasattr(image, "shape") else np.asarray(image)
        if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (3, 4)) or not pixels.size:
            raise ShapeError(f"image has the shape {pixels.shape}; it needs rows and columns, and 3 or 4 channels")
        self.image, self.result = image, image
        is_known = np.isfinite(pixels)
        if not is_known.any():
            raise ArgumentError("image has no finite pixel")
        finite = pixels[is_known]
        low, high = (0.0, 255.0) if pixels.dtype == np.uint8 else (float(finite.min()), float(finite.max()))
        self._low, self._span = low, (high - low) or 1.0
        known = list_settings(Denoise)
        start = float(estimate_sigma(np.where(is_known, pixels, finite.mean())) if sigma is None else sigma)
        self.controls: dict[str, Any] = {
            "sigma": widgets.FloatSlider(
                min=0.0, max=max(2 * start, self._span / 4), step=self._span / 1000, value=start,
                description="Noise", tooltip="Standard deviation of the noise, in the units of the image",
                continuous_update=False, style=_WIDE,
            ),
            **{name: _make_control(known[name]) for name in _NAMES},
        }  # fmt: skip
        self._before, self._after = (widgets.Image(format="png", layout={"width": "100%"}) for _ in range(2))
        self._message = widgets.HTML()
        self._before.value = encode_png(self._shade(pixels))
        images = widgets.HBox(
            [widgets.VBox([widgets.Label(title), each], layout={"width": "50%"})
             for title, each in (("Before", self._before), ("After", self._after))]
        )  # fmt: skip
        super().__init__(
            [widgets.HBox([*self.controls.values()], layout={"flex_flow": "row wrap"}), self._message, images]
        )
        for control in self.controls.values():
            control.observe(self._update, "value")
        self._update()

    def _update(self, _: Any = None) -> None:
        """Compute and show the result; what cannot be used is said, and the last result stays."""
        settings = {name: control.value for name, control in self.controls.items()}
        sigma = settings.pop("sigma")
        try:
            self.enhancer = Enhancer(Denoise(**settings), sigma=sigma)
            self.result = self.enhancer.apply(self.image, nonfinite="mask")
        except SubbandError as error:
            self._message.value = format_paragraph(str(error))
            return
        self._message.value = ""
        self._after.value = encode_png(self._shade(to_host(self.result)))

    def _shade(self, pixels: Array) -> Array:
        """Return 8-bit shades, black and white being those of the image before."""
        shades = (np.nan_to_num(pixels.astype(np.float32), nan=self._low) - self._low) * (255 / self._span)
        return np.asarray(np.clip(np.rint(shades), 0, 255), np.uint8)


def _make_control(about: Setting) -> Any:
    """Return the widget of a setting: a choice of words, or a slider; what is found by default can be chosen too."""
    common = {"description": about.label, "tooltip": about.help, "style": _WIDE}
    options: list[tuple[str, Any]] = [(title, word) for word, title in about.list_choices().items()]
    least, most, step = about.find_slider() if not options else (0, 0, 0)
    if about.kind is int:
        options = [(str(number), number) for number in range(int(least), int(most) + 1)]
    if about.default is None:
        options = [("Automatic", None), *options]
    if options:
        return widgets.Dropdown(options=options, value=about.default, **common)
    return widgets.FloatSlider(min=least, max=most, step=step, value=about.default, continuous_update=False, **common)
