"""The roofline: how near each transform comes to what memory and arithmetic allow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from subband.bench.figures import BLUE, GREEN, GREY, ORANGE, VIOLET, Figure, Panel
from subband.bench.model.comparison import Comparison
from subband.bench.model.device import DeviceModel
from subband.bench.model.stages import Arithmetic

__all__ = ["draw_roofline"]

_GIGA = 1e9
_PANEL_SIZE = (720, 440)
_KINDS: tuple[Arithmetic, ...] = ("lifting", "filters")


def draw_roofline(device: DeviceModel, comparisons: Sequence[Comparison]) -> Figure:
    """Draw what was measured under the roofs of a device.

    The slopes are a copy that fits into a cache and one that does not; the level roofs are the arithmetic of lifting
    and of filters on large images. A transform takes the sum of both, so that the best it can reach lies somewhat
    under them.

    Parameters
    ----------
    device : DeviceModel
        What it can do.
    comparisons : sequence of Comparison
        What was measured.
    """
    panel = Panel("", "multiply-adds for each byte of memory", "G multiply-adds / s", is_x_log=True, is_y_log=True)
    counted = [
        (sum(stage.operations for stage in entry.stages), sum(stage.memory for stage in entry.stages), entry.measured)
        for entry in comparisons
    ]
    intensities = [operations / memory for operations, memory, _ in counted]
    span = np.geomspace(min(intensities) / 2, max(intensities) * 2, 60)
    rates = {kind: max(way.rates[kind][-1] for way in device.ways.values()) for kind in _KINDS}
    roof = max(rates.values())
    slopes = ((max(device.copies), GREEN, "copy in a cache"), (device.copies[-1], ORANGE, "copy in memory"))
    for bandwidth, colour, label in slopes:
        panel.add_curve(span, np.minimum(span * bandwidth, roof) / _GIGA, colour, label)
    for (kind, rate), colour in zip(rates.items(), (VIOLET, GREY), strict=True):
        panel.add_curve(span[[0, -1]], [rate / _GIGA] * 2, colour, kind)
    panel.add_dots(intensities, [operations / seconds / _GIGA for operations, _, seconds in counted], BLUE, "measured")
    return Figure(f"Roofline: {device.name}", [[panel]], _PANEL_SIZE)
