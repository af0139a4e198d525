"""Benchmarks of speed, memory and quality, beside other libraries and published results.

A case is measured and checked against the reference engine, which makes a record, and records become a `Report`, which
is shown on the terminal or written as Markdown, HTML, JSON or HDF5.

- `subband.bench.cases` lists what is measured and what is expected of it, `subband.bench.device_cases` what on GPUs,
  and `subband.bench.peers` the libraries to compare with;
- `subband.bench.measuring` lets the contenders take turns, `subband.bench.checking` makes sure that what was measured
  was also right, and `subband.bench.memory` measures the peak of memory in a process of its own;
- `subband.bench.tables` has the one kind of result that all benches give, `Report`; `subband.bench.report` makes one of
  measurements of transforms, `subband.bench.rendering` shows reports and writes them as files, with what
  `subband.bench.figures` draws, and `subband.bench.records` puts them into pages, and reads them back;
- `subband.bench.papers` computes the tables of papers anew, and `subband.bench.model` predicts what transforms take;
- the other modules are one command of ``subband bench`` each.

How engines are timed, judged and tuned is in `subband.engines.measuring`.
"""

from __future__ import annotations

__all__: list[str] = []
