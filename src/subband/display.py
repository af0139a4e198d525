"""What notebooks show: arrays of grey and colour as PNG, curves as SVG, tables as HTML, without a plotting library."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

from subband.typing import Array

__all__ = ["draw_curves", "embed_png", "encode_png", "format_paragraph", "format_table"]

#: Of curves, in the order in which they are drawn.
_COLOURS = ("#1f77b4", "#d62728")
_WIDTH, _HEIGHT, _MARGIN = 260, 120, 8


def encode_png(pixels: Array) -> bytes:
    """Return 8-bit pixels, rows × columns or rows × columns × 3, as a PNG file.

    Examples
    --------
    >>> import numpy as np
    >>> encode_png(np.zeros((4, 6), np.uint8))[1:4]
    b'PNG'
    """
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def embed_png(png: bytes) -> str:
    """Return HTML that shows a PNG file."""
    return f'<img style="max-width: 100%" src="data:image/png;base64,{b64encode(png).decode()}">'


def draw_curves(x: Array, curves: Sequence[tuple[str, Array]]) -> str:
    """Return an SVG of curves over the same samples, each with its label.

    Examples
    --------
    >>> import numpy as np
    >>> draw_curves(np.arange(3.0), [("a line", np.arange(3.0))])[:5]
    '<svg '
    """
    low, high = (float(limit) for limit in (min(y.min() for _, y in curves), max(y.max() for _, y in curves)))
    across = (x - x[0]) / ((x[-1] - x[0]) or 1) * (_WIDTH - 2 * _MARGIN) + _MARGIN
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT + 18}">']
    for number, (label, y) in enumerate(curves):
        colour = _COLOURS[number % len(_COLOURS)]
        down = (high - y) / ((high - low) or 1) * (_HEIGHT - 2 * _MARGIN) + _MARGIN
        points = " ".join(f"{left:.1f},{top:.1f}" for left, top in zip(across, down, strict=True))
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>')
        spot = f'x="{_MARGIN + 120 * number}" y="{_HEIGHT + 12}"'
        parts.append(f'<text {spot} fill="{colour}" font-size="11" font-family="sans-serif">{escape(label)}</text>')
    return "".join([*parts, "</svg>"])


def format_paragraph(text: str) -> str:
    """Return a text as HTML.

    Examples
    --------
    >>> format_paragraph("1 < 2")
    '<p>1 &lt; 2</p>'
    """
    return f"<p>{escape(text)}</p>"


def format_table(rows: Iterable[Sequence[object]], header: Sequence[str] = ()) -> str:
    """Return an HTML table.

    Examples
    --------
    >>> format_table([("taps", 8)])
    '<table><tr><td>taps</td><td>8</td></tr></table>'
    """
    lines: list[tuple[str, Sequence[object]]] = [("th", header)] if header else []
    lines += [("td", row) for row in rows]
    cells = ["".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in row) for tag, row in lines]
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"
