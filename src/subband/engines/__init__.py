"""Engines run transform plans on the CPU and on devices; `subband.engines.base` has their contract."""

from __future__ import annotations

from subband.engines.base import Engine
from subband.engines.registry import ENGINES, get_engine, set_engine
from subband.engines.threads import get_threads, set_threads

__all__ = ["ENGINES", "Engine", "get_engine", "get_threads", "set_engine", "set_threads"]
