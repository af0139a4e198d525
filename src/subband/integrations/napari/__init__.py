"""A plugin of napari: a reader of volumes and JPEG 2000, and widgets that denoise layers and show their bands.

napari finds it by its manifest, ``napari.yaml``, when it starts; nothing has to be imported. Nothing here imports
napari either: layers and viewers are what the widgets are given.
"""

from __future__ import annotations

from subband.integrations.napari.layers import denoise_layer, split_layer
from subband.integrations.napari.reader import get_reader

__all__ = ["denoise_layer", "get_reader", "split_layer"]
