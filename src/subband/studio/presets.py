"""Settings to begin with, by what one wants to do."""

from __future__ import annotations

from typing import Any

__all__ = ["PRESETS"]

#: Titles, and what differs from the defaults.
PRESETS: list[dict[str, Any]] = [
    {"title": "Original", "settings": {"tool": "enhance", "filter": "none"}},
    {"title": "Clean video", "settings": {"tool": "enhance", "filter": "bivariate", "form": "decimated"}},
    {"title": "Best quality for a still", "settings": {"tool": "enhance", "filter": "wiener", "level": 5}},
    {
        "title": "Judge a denoiser",
        "settings": {
            "tool": "enhance",
            "filter": "bivariate",
            "view": "split",
            "added_noise": "gaussian",
            "added_sigma": 20,
        },
    },
    {"title": "Ultrasound", "settings": {"tool": "enhance", "filter": "speckle", "level": 4, "dynamic_range": 60}},
    {
        "title": "Crisp details",
        "settings": {"tool": "enhance", "filter": "none", "bands": "1:ad=1.6,da=1.6,dd=1.6;2:ad=1.3,da=1.3,dd=1.3"},
    },
    {
        "title": "Look at the bands",
        "settings": {"tool": "enhance", "filter": "none", "view": "analysis", "wavelet": "cdf97", "level": 3},
    },
    {
        "title": "Wavelet shrinkage",
        "settings": {"tool": "enhance", "filter": "shrinkage", "threshold": 20, "falloff": 0.6},
    },
]
