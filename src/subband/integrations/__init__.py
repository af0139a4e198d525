"""Subband inside other libraries; each module needs its own, and is imported by its users only."""

from __future__ import annotations

__all__: list[str] = []
