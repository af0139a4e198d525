"""The compiled loops of filters on the CPU, by idea.

Every kernel has the same arguments, all of them addresses: ``(out, x, y, numbers, sizes, task)``. The first three are
arrays, whatever they hold; `numbers` is a table of float64, `sizes` one of int64, and `task` says which part is to do:
image, first and last row, first and last column, and the number of the task. So one small compiled function serves
them all with threads, and a kernel is compiled once instead of twice.
"""

from __future__ import annotations
