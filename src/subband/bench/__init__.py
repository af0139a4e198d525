"""Measuring: how fast, how much memory, how good, and compared with what.

- `subband.bench.cases` lists what is measured and what is expected of it;
- `subband.bench.measuring` lets the contenders take turns;
- `subband.bench.checking` makes sure that what was measured was also right;
- `subband.bench.memory` measures the peak of memory in a process of its own;
- `subband.bench.report` turns the measurements into a table, JSON or a page;
- `subband.bench.machine` says what they were measured on;
- `subband.bench.quality` compares pictures.
"""

from __future__ import annotations

__all__: list[str] = []
