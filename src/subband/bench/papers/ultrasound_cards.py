"""Wavelet filtering of ultrasound, 2007: the slower of their two graphics cards, and what a dollar buys.

Table 4.8 is headed as elements in a microsecond; its figures are frames per second, as those of the CPU tell, which
are in table 4.4 too. Table 4.9 is the ratio of frames, so that a frame in colour counts as much as one of one channel.
Table 4.10 divides elements in a microsecond by a price: its figures follow from tables 4.2 and 4.8 if the price is that
of the text in units of 1000/6 dollars, 87.5 dollars for the slower card, and pixels of its frames in colour count
once, where those of the faster card count four times.

References
----------
Real-time wavelet filtering on the GPU, NTNU, 2007, tables 4.8 to 4.10, figure 4.4 (GeForce 7600 GS and 8800 GTX).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from subband.bench.figures import COLOURS, Figure, Panel
from subband.bench.papers.ultrasound import SIZES, Program, tabulate_sizes
from subband.bench.tables import Report

__all__ = ["FRAMES", "PER_PRICE", "PRICES", "PRICE_UNIT", "SPEEDUPS", "report"]

#: Table 4.8: frames per second by program and size; None where the card has too little memory.
FRAMES: dict[str, tuple[float | None, ...]] = {
    "gpu-mono-16-7600gs": (1917, 535, 174, 42, 10),
    "gpu-mono-32-7600gs": (1470, 387, 103, 25, 6),
    "gpu-colour-16-7600gs": (937, 266, 89, 22, 5),
    "gpu-colour-32-7600gs": (565, 182, 59, 15, None),
    "cpu-mono-32-single": (1081, 270, 69, 17, 4),
    "cpu-mono-32-dual": (2133, 533, 133, 33, 8),
}

#: Table 4.9: times as many frames as one thread of the CPU.
SPEEDUPS: dict[str, tuple[float | None, ...]] = {
    "gpu-mono-16-7600gs": (1.8, 2.0, 2.5, 2.5, 2.4),
    "gpu-mono-32-7600gs": (1.4, 1.4, 1.5, 1.5, 1.5),
    "gpu-colour-16-7600gs": (0.9, 1.0, 1.3, 1.3, 1.2),
    "gpu-colour-32-7600gs": (0.5, 0.7, 0.9, 0.9, None),
    "cpu-mono-32-single": (1.0, 1.0, 1.0, 1.0, 1.0),
    "cpu-mono-32-dual": (2.0, 2.0, 1.9, 2.0, 2.0),
}

#: Table 4.10: elements in a microsecond for `PRICE_UNIT` dollars.
PER_PRICE = {
    "gpu-mono-16": (5.73, 18.40, 50.15, 83.42, 77.38),
    "gpu-colour-16": (8.13, 27.26, 66.76, 85.52, 103.70),
    "gpu-mono-16-7600gs": (59.83, 66.81, 87.06, 83.40, 81.55),
    "gpu-colour-16-7600gs": (29.23, 33.23, 44.53, 43.94, 41.41),
    "cpu-mono-32-single": (10.73, 10.73, 10.96, 10.73, 10.73),
}

#: Dollars of the text, by card.
PRICES = {"cpu": 275.0, "8800": 850.0, "7600gs": 87.0}

#: Dollars that table 4.10 counts as one.
PRICE_UNIT = 1000 / 6


def report(times: Mapping[str, Mapping[int, Mapping[str, float]]], programs: Sequence[Program]) -> Report:
    """Write tables 4.8 to 4.10, theirs and ours.

    Parameters
    ----------
    times : mapping
        Seconds by name of the program, size and part, as `ultrasound.measure_programs` yields them.
    programs : sequence of Program
        What was measured.
    """
    sizes = list(next(iter(times.values())))
    channels = {program.name: program.channels for program in programs}
    rates = {name: {size: 1 / sum(parts.values()) for size, parts in each.items()} for name, each in times.items()}
    single = rates.get("cpu-mono-32-single")
    speedups = {name: {size: each[size] / single[size] for size in sizes} for name, each in rates.items() if single}
    affordable = {
        name: {
            size: channels[name] * size**2 * each[size] / 1e6 / _find_best(SIZES.index(size)) * PRICE_UNIT
            for size in sizes
        }
        for name, each in rates.items()
    }
    sheets = [
        tabulate_sizes(
            "Table 4.8: fps, theirs on the slower card",
            sizes,
            FRAMES,
            rates,
            ",.0f",
            note="The paper heads its table as elements in a microsecond; its figures are fps. NA: too little memory.",
        ),
        tabulate_sizes(
            "Table 4.9: times as many frames as one thread of the CPU, theirs on the slower card",
            sizes,
            SPEEDUPS,
            speedups,
            ".1f",
            note="A frame in colour counts as much as one of one channel, in theirs and so in ours.",
        ),
        tabulate_sizes(
            f"Table 4.10: elements in a microsecond for {PRICE_UNIT:.0f} dollars, and what ours may cost",
            sizes,
            PER_PRICE,
            {f"{name}, dollars": each for name, each in affordable.items()},
            ".2f",
            ",.0f",
            "Theirs: from prices of 275 dollars for the CPU, 850 and 87.5 for the cards; pixels in colour of the "
            "slower card count once, those of the faster four times. Ours: the price in dollars up to which the "
            "machine gives more for a dollar than the best of theirs of that size.",
        ),
    ]
    figures = {"fps": _by_text(rates), "speed-ups": _by_text(speedups), "dollars": _by_text(affordable)}
    return Report(sheets, (), figures, drawings={"What a dollar buys": _draw(affordable, sizes)})


def _find_best(index: int) -> float:
    return max(row[index] for row in PER_PRICE.values())


def _by_text(table: Mapping[str, Mapping[int, float]]) -> dict[str, dict[str, float]]:
    return {name: {str(size): number for size, number in each.items()} for name, each in table.items()}


def _draw(affordable: Mapping[str, Mapping[int, float]], sizes: Sequence[int]) -> Figure:
    """Draw figure 4.4: theirs by size, and what ours may cost."""
    theirs = Panel("theirs", "rows and columns", "elements in a microsecond for a price", is_x_log=True)
    for (name, row), colour in zip(PER_PRICE.items(), COLOURS, strict=False):
        theirs.add_curve(SIZES, row, colour, name)
    ours = Panel("ours: worth it up to", "rows and columns", "dollars", is_x_log=True, is_y_log=True)
    for number, (name, each) in enumerate(affordable.items()):
        ours.add_curve(sizes, [each[size] for size in sizes], COLOURS[number % len(COLOURS)], name)
    return Figure("What a dollar buys", [[theirs, ours]])
