"""The performance model: what a transform should take on a device, and by what it is bound.

`stages` counts what a plan moves and computes, `calibration` measures what a device can do, which `device` holds,
`prediction` puts both together, and `comparison` sets the result beside what is measured.
"""

from __future__ import annotations

from subband.bench.model.calibration import Calibration
from subband.bench.model.comparison import Comparison, Study
from subband.bench.model.device import DeviceModel, Overhead, Transfers, Way
from subband.bench.model.prediction import Prediction, predict_stage, predict_stages
from subband.bench.model.stages import Stage, list_stages

__all__ = [
    "Calibration",
    "Comparison",
    "DeviceModel",
    "Overhead",
    "Prediction",
    "Stage",
    "Study",
    "Transfers",
    "Way",
    "list_stages",
    "predict_stage",
    "predict_stages",
]
