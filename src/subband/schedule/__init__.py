"""From a plan to what runs: the sweeps of a level, what each does along an axis, and when each of its steps runs.

Everything here is pure data, made from a plan and from what an engine's kernels are able to do. The engines of the CPU
and of devices run it, and the performance model counts it, so that all of them mean the same.

- `subband.schedule.levels`: levels one after the other;
- `subband.schedule.sweeps`: which axes go together, in what order and in what blocks;
- `subband.schedule.axis`: lifting steps or filters along an axis, and what they read outside;
- `subband.schedule.steps`: when each step can run, so that all run in one way through memory.
"""

from __future__ import annotations

from subband.schedule.axis import AxisProgram, Form, axis_program
from subband.schedule.sweeps import Abilities, Fusion, LevelSchedule, Sweep, schedule_level

__all__ = ["Abilities", "AxisProgram", "Form", "Fusion", "LevelSchedule", "Sweep", "axis_program", "schedule_level"]
