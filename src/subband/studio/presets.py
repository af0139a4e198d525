"""Settings to begin with, by what one has, and by what one wants to see."""

from __future__ import annotations

from typing import Any

__all__ = ["PRESETS"]

#: Of images and videos of some origin.
_PURPOSES: dict[str, dict[str, Any]] = {
    "Ultrasound": {"filter": "speckle", "level": 4, "dynamic_range": 60},
    # faint structure counts, and so does every position
    "Microscopy": {"filter": "neigh", "form": "undecimated", "level": 4},
    # much noise, coarse in the colours
    "Low-light photo": {"filter": "wiener", "level": 5, "strength": 1.15},
    # over time, and a little of the grain stays
    "Film grain": {"filter": "bivariate", "level": 3, "strength": 0.85, "temporal": True},
    # noise of reconstruction is strongest between fine and coarse
    "CT": {"filter": "bivariate", "form": "dual-tree", "level": 4, "thresholds": "2:ad=1.2,da=1.2,dd=1.2"},
    "Clean video": {"filter": "bivariate", "form": "decimated"},
    "Best quality for a still": {"filter": "wiener", "level": 5},
}

#: What shows how the studio works.
_LESSONS: dict[str, dict[str, Any]] = {
    "Original": {"filter": "none"},
    "Judge a denoiser": {"filter": "bivariate", "view": "split", "added_noise": "gaussian", "added_sigma": 20},
    "Crisp details": {"filter": "none", "bands": "1:ad=1.6,da=1.6,dd=1.6;2:ad=1.3,da=1.3,dd=1.3"},
    "Look at the bands": {"filter": "none", "view": "analysis", "wavelet": "cdf97", "level": 3},
    "Wavelet shrinkage": {"filter": "shrinkage", "threshold": 20, "falloff": 0.6},
}

#: Titles, the group that each stands in, and what differs from the defaults.
PRESETS: list[dict[str, Any]] = [
    {"title": title, "group": group, "settings": {"tool": "enhance", **settings}}
    for group, presets in (("By purpose", _PURPOSES), ("To look and learn", _LESSONS))
    for title, settings in presets.items()
]
