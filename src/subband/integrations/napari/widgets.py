"""Widgets of napari, made of magicgui's: they compute whenever a setting changes, unless live preview is off."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Final

from magicgui.widgets import CheckBox, ComboBox, Container, FloatSlider, Label, PushButton

from subband.enhance import Denoise
from subband.errors import SubbandError
from subband.integrations.napari.layers import denoise_layer, split_layer
from subband.integrations.napari.reader import LayerData
from subband.settings import Setting, list_settings

__all__ = ["BandsWidget", "DenoiseWidget"]

#: What stands for a setting that is found by itself; choices of magicgui cannot be None.
_AUTOMATIC: Final = "auto"


class _LayerWidget(Container):
    """What both widgets share: they make layers of the layer that is chosen, and replace those that they made before.

    Parameters
    ----------
    napari_viewer : napari.Viewer
        Which napari gives by the name of this argument.
    """

    #: Settings of `Denoise` that have a control, in this order.
    names: tuple[str, ...]
    #: Where controls start that do not start at the default.
    starts: ClassVar[dict[str, Any]] = {}
    #: What is written on the button.
    verb: str

    def __init__(self, napari_viewer: Any) -> None:
        self._viewer = napari_viewer
        # names of the layers that were made of each layer
        self._made: dict[str, set[str]] = {}
        known = list_settings(Denoise)
        self.layer = ComboBox(choices=self._list_layers, label="Layer")
        self.controls = {
            name: _make_control(replace(known[name], default=self.starts.get(name, known[name].default)))
            for name in self.names
        }
        self.volume = CheckBox(label="Volume", tooltip="Along three axes; else each plane by itself.")
        self.live = CheckBox(value=True, label="Live preview")
        self.button, self.message = PushButton(text=self.verb), Label(value="")
        settings = [self.layer, *self.controls.values(), self.volume]
        super().__init__(widgets=[*settings, self.live, self.button, self.message])
        for event in (napari_viewer.layers.events.inserted, napari_viewer.layers.events.removed):
            event.connect(self._renew_choices)
        for control in (*settings, self.live):
            control.changed.connect(self._preview)
        self.button.changed.connect(self.compute)
        self._renew_choices()
        self._preview()

    def compute(self) -> None:
        """Show the layers of the current settings; what cannot be used is said below the button."""
        if self.layer.value is None:
            return
        values = {name: control.value for name, control in self.controls.items()}
        settings = {name: None if value == _AUTOMATIC else value for name, value in values.items()}
        try:
            layers = self._make(self.layer.value, is_volume=self.volume.value, **settings)
        except SubbandError as error:
            self.message.value = str(error)
            return
        self.message.value = ""
        names = {about["name"] for _, about, _ in layers}
        for name in self._made.get(self.layer.value.name, set()) - names:
            if name in self._viewer.layers:
                self._viewer.layers.remove(self._viewer.layers[name])
        self._made[self.layer.value.name] = names
        for pixels, about, _ in layers:
            if about["name"] in self._viewer.layers:
                shown = self._viewer.layers[about["name"]]
                shown.data, shown.scale, shown.translate = pixels, about["scale"], about["translate"]
            else:
                self._viewer.add_image(pixels, **about)

    @abstractmethod
    def _make(self, layer: Any, **settings: Any) -> list[LayerData]:
        """Return the layers that are shown for a layer."""

    def _preview(self) -> None:
        if self.live.value:
            self.compute()

    def _list_layers(self, _: Any) -> list[Any]:
        return [layer for layer in self._viewer.layers if layer._type_string == "image" and not layer.multiscale]

    def _renew_choices(self) -> None:
        self.layer.reset_choices()
        # not every toolkit chooses the first by itself
        if self.layer.value is None and self.layer.choices:
            self.layer.value = self.layer.choices[0]


class DenoiseWidget(_LayerWidget):
    """Denoise a layer; the result is a layer over it."""

    names = ("method", "wavelet", "level", "strength")
    verb = "Denoise"

    def _make(self, layer: Any, **settings: Any) -> list[LayerData]:
        return [denoise_layer(layer, **settings)]


class BandsWidget(_LayerWidget):
    """Show the wavelet bands of a layer, each where its coefficients come from."""

    names = ("wavelet", "level")
    starts: ClassVar[dict[str, Any]] = {"level": 2}
    verb = "Transform"

    def _make(self, layer: Any, **settings: Any) -> list[LayerData]:
        return split_layer(layer, **settings)


def _make_control(about: Setting) -> Any:
    """Return the widget of a setting: a choice of words or of whole numbers, or a slider."""
    common = {"label": about.label, "tooltip": about.help}
    choices: list[tuple[str, Any]] = [(title, word) for word, title in about.list_choices().items()]
    least, most, step = about.find_slider() if not choices else (0, 0, 0)
    if about.kind is int:
        choices = [(str(number), number) for number in range(int(least), int(most) + 1)]
    if about.default is None:
        choices = [("Automatic", _AUTOMATIC), *choices]
    if choices:
        default = _AUTOMATIC if about.default is None else about.default
        return ComboBox(choices=choices, value=default, **common)
    return FloatSlider(min=least, max=most, step=step, value=about.default, tracking=False, **common)
