"""The papers' own numbers: as they were copied, by what the papers say about them elsewhere, and on the page."""

import hashlib
import json
from dataclasses import astuple
from pathlib import Path

import pytest

from subband.bench import jpeg2000 as codec
from subband.bench import video
from subband.bench.papers import (
    acceptance,
    denoising,
    frame_buffer,
    haar,
    high_definition,
    jpeg2000,
    orders,
    processor_load,
    ultrasound,
    ultrasound_cards,
    worked_model,
)
from subband.bench.papers.high_definition import Times, list_images
from subband.bench.records import read_page

PAGE = Path(__file__).parents[4] / "docs" / "papers.md"

TABLES = {
    "ultrasound, table 4.2": (ultrasound._ELEMENTS, "a467ab4ab4abee25"),
    "ultrasound, table 4.3": (ultrasound._SPEEDUPS, "0639a3b66f357e5d"),
    "ultrasound, table 4.4": (ultrasound._FRAMES, "d799e30ba9e306ba"),
    "ultrasound, table 4.5": (ultrasound._BREAKDOWN, "fa10ff97b351e980"),
    "ultrasound, table 4.6": (processor_load.THEIRS, "44f0dc83656d25e0"),
    "ultrasound, table 4.7": (ultrasound._EFFICIENCY, "8eb159cbecedb29a"),
    "ultrasound, table 4.8": (ultrasound_cards.FRAMES, "1e5db8a79ae132f9"),
    "ultrasound, table 4.9": (ultrasound_cards.SPEEDUPS, "4309fda17548f6d3"),
    "ultrasound, table 4.10": (ultrasound_cards.PER_PRICE, "3f5e2dab0e51657a"),
    "ultrasound, prices": (ultrasound_cards.PRICES, "1765bc5ae4c0bb32"),
    "ultrasound, table 3.3": (worked_model.RESULTS, "971dc66adb7862cd"),
    "ultrasound, table 4.11": (worked_model.TABLE_4_11, "1e09e0de375dc2c8"),
    "video, table 4.1": (orders.THEIRS, "d35e16e0d16355ca"),
    "video, equation 4.20": (orders.THEIR_LIFTING, "b3d279d6c4387a45"),
    "video, tables 6.1, 6.3 and 6.4": (high_definition.HD, "27816619e5b6ca9f"),
    "video, table 6.5": (high_definition.SQUARES, "d561f276be7d86ae"),
    "video, table 7.1": (video.THEIRS, "5a894177b2e32860"),
    "video, table 7.1 with filters": (
        {name: astuple(method) for name, method in acceptance.THEIRS.items()},
        "4410a15d7bc14654",
    ),
    "denoising, table 3": (haar.THEIRS, "12e21b1dcb248f89"),
    "denoising, table 4": (denoising.PAPER, "f31d84c1e51d9820"),
    "denoising, noisy pictures": (denoising.PAPER_NOISY, "d390001d6ae662f6"),
    "frame buffer, section 7": (frame_buffer.THEIRS, "d34951a613d64bef"),
    "jpeg 2000, Table I": (codec.PAPER, "5a539a5997f726d7"),
}


def digest(table):
    entries = (
        [[str(key), list(row) if isinstance(row, tuple) else row] for key, row in table.items()]
        if isinstance(table, dict)
        else list(table)
    )
    return hashlib.sha256(json.dumps(entries).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", TABLES)
def test_numbers_are_those_that_were_compared_with_the_paper(name):
    """Whoever changes a number on purpose compares the whole table with the paper, and puts the new sum here."""
    table, expected = TABLES[name]
    assert digest(table) == expected


def test_one_digit_changes_the_sum():
    table = dict(ultrasound._SPEEDUPS)
    table["gpu-colour-32"] = (*table["gpu-colour-32"][:-1], 25.0)
    assert digest(table) != digest(ultrasound._SPEEDUPS)


def test_every_table_of_theirs_is_among_them():
    """A table that is added later is noticed: all constants of these modules that hold numbers are in the list."""
    known = {id(table) for table, _ in TABLES.values()}
    for module, names in {
        ultrasound: ("_ELEMENTS", "_SPEEDUPS", "_FRAMES", "_BREAKDOWN", "_EFFICIENCY"),
        ultrasound_cards: ("FRAMES", "SPEEDUPS", "PER_PRICE", "PRICES"),
        processor_load: ("THEIRS",),
        worked_model: ("RESULTS", "TABLE_4_11"),
        orders: ("THEIRS", "THEIR_LIFTING"),
        high_definition: ("HD", "SQUARES"),
        jpeg2000: ("PAPER",),
    }.items():
        tables = {
            name
            for name, value in vars(module).items()
            if isinstance(value, dict) and value and all(isinstance(row, tuple | float) for row in value.values())
        }
        assert tables == set(names)
        assert all(id(getattr(module, name)) in known for name in names)


def test_their_estimates_of_colour_and_their_speedups():
    """Tables 6.3 and 6.5 print quotients, too: 5.87 and 5.26 in the first column, 14.22 and 9.42 in the last."""
    quotients = {shape: (row[1] / row[2], row[1] / row[3]) for shape, row in high_definition.HD.items()}
    assert quotients[480, 852] == pytest.approx((5.87, 5.26), abs=0.01)
    assert quotients[1080, 1920] == pytest.approx((9.78, 8.04), abs=0.01)
    assert quotients[4320, 7680] == pytest.approx((14.22, 9.42), abs=0.01)
    grey = {256: 0.92, 512: 5.11, 1024: 33.24, 2048: 99.69, 4096: 550.62, 8192: 3464.90}
    for side, milliseconds in grey.items():
        assert high_definition.SQUARES[side][0] == pytest.approx(3 * milliseconds, abs=0.02)


def test_their_speedups_are_those_of_their_elements():
    slow = ultrasound._ELEMENTS["cpu-mono-32-single"]
    for name, row in ultrasound._SPEEDUPS.items():
        for place, value in enumerate(row):
            assert value == pytest.approx(ultrasound._ELEMENTS[name][place] / slow[place], abs=0.07)


def test_their_frame_rates_are_those_of_their_times():
    for (average, least, most), rate in zip(video.THEIRS.values(), (60.91, 61.63), strict=True):
        assert 1 / average == pytest.approx(rate, abs=0.03)
        assert least < average < most


def theirs(record):
    """Return the rows of a chapter that are the paper's, by table."""
    return {table["title"]: [row for row in table["rows"] if row[0].startswith("theirs")] for table in record["tables"]}


@pytest.mark.parametrize("part", ["papers", "papers cuda"])
def test_the_page_has_their_numbers(part):
    chapters = read_page(PAGE)[part]
    programs = ultrasound.list_programs(["cpu"])
    times = {
        program.name: {size: dict.fromkeys(ultrasound.PARTS, 1e-3) for size in ultrasound.SIZES} for program in programs
    }
    written = ultrasound.report(times, programs).to_json()
    assert theirs(chapters["Ultrasound"]) == theirs(written)
    written = haar.report({"cpu": dict.fromkeys(haar.THEIRS, 1.0)}).to_json()
    assert theirs(chapters["Haar"]) == theirs(written)


def test_the_page_has_their_numbers_of_high_definition():
    chapters = read_page(PAGE)["papers"]
    measured = {picture: Times(1.0, 1.0, 1.0) for picture in list_images()}
    for table, own in zip(
        chapters["High definition cpu"]["tables"][:2],
        high_definition.report(measured, "cpu").to_json()["tables"],
        strict=False,
    ):
        width = own["columns"].index("ours: lifting")
        assert table["columns"] == own["columns"]
        assert [row[:width] for row in table["rows"]] == [row[:width] for row in own["rows"]]
    (table,) = chapters["Orders"]["tables"]
    (own,) = orders.report({"cpu": dict.fromkeys(orders.ORDERS, 1.0)}).to_json()["tables"]
    assert table["columns"] == own["columns"]
    assert [row[:3] for row in table["rows"]] == [row[:3] for row in own["rows"]]
    table = chapters["Jpeg 2000"]["tables"][0]
    stages = [jpeg2000.Stages(size, "cpu", "lossy", dict.fromkeys(jpeg2000.STAGES, 0.01)) for size in jpeg2000.SIZES]
    own = jpeg2000.report(stages).to_json()["tables"][0]
    assert [row[:8] for row in table["rows"]] == [row[:8] for row in own["rows"]]
