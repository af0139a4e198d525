"""Sample signals, images and video: those of ``pywt.data``, by the same names, and more of our own."""

from __future__ import annotations

from subband.data.phantom import Phantom, ultrasound
from subband.data.readers import aero, ascent, camera, clip_path, ecg, nino, photograph
from subband.data.signals import demo_signal

__all__ = [
    "Phantom",
    "aero",
    "ascent",
    "camera",
    "clip_path",
    "demo_signal",
    "ecg",
    "nino",
    "photograph",
    "ultrasound",
]
