"""The performance model: what a transform should take on a device, and by what it is bound.

`stages` counts what a plan moves and computes, `device` measures what a device can do, `prediction` puts both together,
and `comparison` sets the result beside what is measured.
"""

from __future__ import annotations

from subband.bench.model.device import DeviceModel, measure_device_model
from subband.bench.model.prediction import Prediction, predict_stage, predict_stages
from subband.bench.model.stages import Stage, list_stages

__all__ = [
    "DeviceModel",
    "Prediction",
    "Stage",
    "list_stages",
    "measure_device_model",
    "predict_stage",
    "predict_stages",
]
