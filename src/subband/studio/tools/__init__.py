"""The tools of the studio, each a tab of the page and a file of this package."""

from __future__ import annotations

__all__: list[str] = []
