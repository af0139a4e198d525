"""Measuring engines: device lists, timing, comparison with the reference engine, and tuning.

- `subband.engines.measuring.devices` says what there is to compute on, and what a measurement was taken on;
- `subband.engines.measuring.timing` lets calls take turns;
- `subband.engines.measuring.harness` has what measuring needs of a device besides its engine;
- `subband.engines.measuring.judging` compares results with those of the reference engine, band by band;
- `subband.engines.measuring.tuning` finds the best launch parameters of a device.
"""

from __future__ import annotations

__all__: list[str] = []
