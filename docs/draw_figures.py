"""Draw the figures of how-it-works.md as SVG: run it from the root of the repository."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from pathlib import Path

from subband.outputs import open_output

FOLDER = Path(__file__).parent / "images"
INK, PALE, BLUE, ORANGE, GREEN = "#333", "#999", "#1f5f99", "#d1642a", "#3d7f4e"


class Drawing:
    """Lines, boxes and words, written as SVG."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.parts: list[str] = []

    def line(self, x: float, y: float, to_x: float, to_y: float, colour: str = INK, *, arrow: bool = False) -> None:
        """Draw a line, with a head at its end where it is an arrow."""
        end = f' marker-end="url(#head-{colour[1:]})"' if arrow else ""
        self.parts.append(
            f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" stroke="{colour}" stroke-width="1.5"{end}/>'
        )

    def box(self, x: float, y: float, width: float, height: float, fill: str, edge: str = INK) -> None:
        """Draw a rectangle."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}" stroke="{edge}" rx="2"/>'
        )

    def dot(self, x: float, y: float, colour: str, radius: float = 5) -> None:
        """Draw a disc."""
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{colour}"/>')

    def text(self, x: float, y: float, words: str, colour: str = INK, size: int = 13, anchor: str = "middle") -> None:
        """Write words."""
        place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
        self.parts.append(f'<text {place} fill="{colour}" font-size="{size}">{escape(words)}</text>')

    def save(self, name: str) -> None:
        """Write the file."""
        heads = "".join(
            f'<marker id="head-{colour[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
            for colour in (INK, PALE, BLUE, ORANGE, GREEN)
        )
        body = "\n".join(self.parts)
        text = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" font-family="system-ui, sans-serif">\n'
            f"<title>{escape(self.title)}</title><defs>{heads}</defs>\n"
            f'<rect width="{self.width}" height="{self.height}" fill="#fff"/>\n{body}\n</svg>\n'
        )
        with open_output(FOLDER / name, overwrite=True) as file:
            file.write(text.encode())


def draw_lifting() -> None:
    """Even and odd samples, two steps, two bands."""
    drawing = Drawing(640, 270, "Lifting: odd samples are predicted from even ones, even ones updated from those")
    for place in range(9):
        x = 90 + 58 * place
        is_odd = place % 2 == 1
        drawing.dot(x, 40, ORANGE if is_odd else BLUE)
        drawing.text(x, 25, f"x{place}", PALE, 12)
        if is_odd:
            for side in (-1, 1):
                drawing.line(x + 58 * side, 44, x + 5 * side, 118, BLUE, arrow=True)
            drawing.line(x, 46, x, 116, ORANGE)
            drawing.dot(x, 124, ORANGE)
            drawing.line(x, 130, x, 222, ORANGE, arrow=True)
            drawing.text(x, 242, f"d{place // 2}", ORANGE)
        else:
            drawing.line(x, 46, x, 196, BLUE)
            for side in (-1, 1):
                if 0 < place + side < 8:
                    drawing.line(x + 58 * side, 128, x + 5 * side, 194, ORANGE, arrow=True)
            drawing.dot(x, 202, BLUE)
            drawing.text(x, 226, f"a{place // 2}", BLUE)
    drawing.text(8, 45, "samples", INK, anchor="start")
    drawing.text(8, 129, "predict", INK, anchor="start")
    drawing.text(8, 207, "update", INK, anchor="start")
    drawing.save("how-lifting.svg")


def draw_sweep() -> None:
    """A row comes in, a few rows are pending, coefficients go out."""
    drawing = Drawing(640, 300, "One sweep: rows are lifted across as they come, and down with the few rows before")
    for row in range(10):
        fill = "#dbe7f3" if row < 4 else "#f7d9c8" if row < 8 else "#f2f2f2"
        drawing.box(40, 30 + 22 * row, 170, 18, fill, PALE)
    drawing.text(125, 20, "picture", INK)
    drawing.text(125, 268, "read once, from above", PALE, 12)
    drawing.line(220, 195, 292, 150, ORANGE, arrow=True)
    drawing.box(300, 84, 130, 112, "#fdf3ec", ORANGE)
    drawing.text(365, 76, "in the cache, or registers", ORANGE, 12)
    for row in range(4):
        drawing.box(312, 94 + 25 * row, 106, 18, "#f7d9c8", ORANGE)
    drawing.text(365, 214, "lifted across: the newest pair", INK, 12)
    drawing.text(365, 230, "lifted down: the pending rows", INK, 12)
    drawing.line(440, 110, 488, 70, BLUE, arrow=True)
    for column, row, name in ((0, 0, "aa"), (1, 0, "ad"), (0, 1, "da"), (1, 1, "dd")):
        x, y = 496 + 62 * column, 36 + 112 * row
        drawing.box(x, y, 56, 104, "#f2f2f2", PALE)
        drawing.box(x, y, 56, 52, "#dbe7f3", PALE)
        drawing.text(x + 28, y + 30, name, BLUE)
    drawing.text(555, 20, "bands", INK)
    drawing.text(555, 268, "written once", PALE, 12)
    drawing.save("how-sweep.svg")


def draw_boundary() -> None:
    """One formula, several maps."""
    drawing = Drawing(640, 250, "A boundary mode is an index map: where each position outside reads")
    samples = 5
    maps = {
        "symmetric": lambda i: i if 0 <= i < samples else (-1 - i if i < 0 else 2 * samples - 1 - i),
        "reflect, whole": lambda i: i if 0 <= i < samples else (-i if i < 0 else 2 * samples - 2 - i),
        "periodic": lambda i: i % samples,
        "constant": lambda i: min(max(i, 0), samples - 1),
        "zero": lambda i: i if 0 <= i < samples else None,
    }
    for row, (name, find) in enumerate(maps.items()):
        y = 30 + 42 * row
        drawing.text(10, y + 19, name, INK, anchor="start")
        for place, position in enumerate(range(-4, samples + 4)):
            found = find(position)
            inside = 0 <= position < samples
            x = 150 + 36 * place
            drawing.box(x, y, 32, 28, "#dbe7f3" if inside else "#fdf3ec", BLUE if inside else ORANGE)
            drawing.text(x + 16, y + 19, "0" if found is None else "abcde"[found], BLUE if inside else ORANGE)
    drawing.save("how-boundary.svg")


def draw_house() -> None:
    """The way data takes."""
    drawing = Drawing(640, 190, "The way data takes: array, plan, engine, pyramid, and back")
    top = (("array", 20), ("plan", 150), ("engine", 280), ("pyramid", 410), ("operation", 530))
    for name, x in top:
        drawing.box(x, 30, 90, 40, "#dbe7f3", BLUE)
        drawing.text(x + 45, 55, name, BLUE)
    for (_, x), (_, after) in pairwise(top):
        drawing.line(x + 92, 50, after - 3, 50, INK, arrow=True)
    drawing.box(280, 120, 90, 40, "#f7d9c8", ORANGE)
    drawing.text(325, 145, "engine", ORANGE)
    drawing.box(20, 120, 90, 40, "#f7d9c8", ORANGE)
    drawing.text(65, 145, "array", ORANGE)
    drawing.line(575, 72, 575, 140, INK)
    drawing.line(575, 140, 374, 140, INK, arrow=True)
    drawing.line(278, 140, 114, 140, INK, arrow=True)
    drawing.text(195, 130, "the caller's own kind", PALE, 12)
    drawing.text(240, 92, "shapes, steps, maps: no data", PALE, 12)
    drawing.save("how-data.svg")


if __name__ == "__main__":
    for draw in (draw_lifting, draw_sweep, draw_boundary, draw_house):
        draw()
    print("docs/images/how-*.svg")
