"""Measuring: how fast, how much memory, how good, and compared with what.

- `subband.bench.cases` lists what is measured and what is expected of it, `subband.bench.device_cases` what on GPUs;
- `subband.bench.beds` holds what measuring needs of a device, `subband.bench.peers` the libraries to compare with;
- `subband.bench.measuring` lets the contenders take turns;
- `subband.bench.checking` makes sure that what was measured was also right;
- `subband.bench.memory` measures the peak of memory in a process of its own;
- `subband.bench.tables` has the one kind of result that all benches give, `Report`: tables, drawings, goals, figures;
  `subband.bench.report` makes one of measurements of transforms, `subband.bench.pages` writes them as files, and
  `subband.bench.figures` and `subband.bench.figures` draw;
- `subband.bench.machine` says what they were measured on, `subband.bench.devices` what else there is;
- `subband.bench.tuning` finds the best launch parameters of a device;
- `subband.bench.quality` compares pictures;
- `subband.bench.papers` computes the tables of papers anew, and `subband.bench.model` predicts what transforms take;
- `subband.bench.jpeg2000`, `subband.bench.video`, `subband.bench.streaming`, `subband.bench.edges` and
  `subband.bench.studio` measure what is made of them.
"""

from __future__ import annotations

__all__: list[str] = []
