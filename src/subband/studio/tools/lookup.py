"""Tools by name, in the order of their tabs."""

from __future__ import annotations

from typing import Any

from subband.errors import ArgumentError, suggest_names
from subband.studio.tools.base import Tool
from subband.studio.tools.edges import Edges
from subband.studio.tools.enhance import Enhance
from subband.studio.tools.fixed import Fixed
from subband.studio.tools.fuse import Fuse
from subband.studio.tools.relight import Relight
from subband.studio.tools.stylise import Stylise
from subband.studio.tools.surface import SurfaceTool

__all__ = ["TOOLS", "find_tool"]

#: All tools by their names.
TOOLS: dict[str, Tool] = {
    tool.name: tool for tool in (Enhance(), Stylise(), Relight(), Fuse(), Edges(), Fixed(), SurfaceTool())
}


def find_tool(name: Any) -> Tool:
    """Return a tool.

    Raises
    ------
    ArgumentError
        If there is none of that name.

    Examples
    --------
    >>> find_tool("enhance").title
    'Enhance'
    """
    if not isinstance(name, str) or name not in TOOLS:
        hint = suggest_names(name, TOOLS) if isinstance(name, str) else ""
        raise ArgumentError(f"tool={name!r} is not known{hint}; tools: {', '.join(TOOLS)}")
    return TOOLS[name]
