"""Columns of the tables that compiled filters are given: calls of a kernel, and the tasks of these."""

from __future__ import annotations

__all__ = ["ARRAYS", "CALL", "NUMBERS", "SIZES", "TASK_FIELDS"]

#: Where the table of a call says which of all arrays are the three of a kernel, and where its numbers begin among those
#: of all calls; and where its sizes begin.
ARRAYS, NUMBERS, SIZES = 0, 3, 4

#: Of a task: the image, first and last row, first and last column, and the number of the task; and behind these, where
#: there are several calls, which of them it is of.
TASK_FIELDS = CALL = 6
