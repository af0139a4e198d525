"""The words in which graphs are written.

Dask's specification of graphs names these classes and calls the tuples that came before them deprecated, but there is
no other module to take them from. So this is the one place that looks there.
"""

from __future__ import annotations

from dask._task_spec import (
    Alias,
    DataNode,
    GraphNode,
    List,
    Task,
    TaskRef,
    convert_legacy_graph,
    convert_legacy_task,
)

__all__ = [
    "Alias",
    "DataNode",
    "GraphNode",
    "List",
    "Task",
    "TaskRef",
    "convert_legacy_graph",
    "convert_legacy_task",
]
