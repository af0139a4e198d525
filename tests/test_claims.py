"""Figures in sentences are those of the records, and tables on pages are those of the records, too.

A command that writes a page writes its record: `subband bench cpu --markdown docs/performance.md`, for example, and
docs/records/performance.json with it. Where a figure of a record has changed, the message below has the sentence that
belongs there now.
"""

import json
import re
import runpy
from pathlib import Path

import pytest

from subband.bench.records import read_page

ROOT = Path(__file__).parent.parent
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if read_page(page)]
RECORDS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (ROOT / "docs/records").glob("*.json")}


#: Of the levels that how-it-works.md tells of.
SIZES = ("1080x1920", "8192x8192")


def read_words(name):
    """Give the text of a page with its lines joined, and links as their words."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).split())


def find_cells(page, part, row, column, table=0):
    """Give the numbers of a column of a recorded table, from the rows whose first cell begins like this."""
    found = RECORDS[page][part]["tables"][table]
    place = found["columns"].index(column)
    cells = [cells[place] for cells in found["rows"] if cells[0].startswith(row)]
    assert cells, (page, part, row)
    return [float(cell) for cell in cells if cell]


def find_goal(page, part, text):
    """Give what was found of what was expected."""
    (goal,) = (goal for goal in RECORDS[page][part]["goals"] if text in goal["text"])
    return goal["found"]


def write(number):
    """Write a number with two digits."""
    return f"{float(f'{number:.2g}'):g}"


def span(numbers):
    """Write the least and the largest of some numbers, once if they read alike."""
    return " to ".join(dict.fromkeys((write(min(numbers)), write(max(numbers)))))


def find_speeds(dimensions):
    """Give how many times as fast as PyWavelets we are, by both commands that measure it."""
    return [
        speed for part in ("cpu", "peers cpu") for speed in find_cells("performance", part, dimensions, "× PyWavelets")
    ]


def list_slower():
    """Return the transforms of long signals that are slower than those of PyWavelets."""
    table = RECORDS["performance"]["peers cpu"]["tables"][0]
    column = table["columns"].index("× PyWavelets")
    return [row[0] for row in table["rows"] if row[0].startswith("1-D") and float(row[column]) < 1]


def list_claims():
    """Give sentences as they have to be, by page."""
    signals, images, volumes = map(span, map(find_speeds, ("1-D", "2-D", "3-D")))
    processor, threads = re.match(r"(.*?), (\d+) of \d+ threads", RECORDS["performance"]["cpu"]["measured_on"]).groups()
    cores = {"1": "one core", "2": "two cores"}.get(threads, f"{threads} cores")
    card = re.match(r"NVIDIA (\w+),", RECORDS["performance"]["cuda"]["measured_on"])[1]
    large = "2-D 8192x8192 cdf97 whole 1-level"
    # the call itself, which comes before others of the same name
    of_copy = [find_cells("performance", "cuda", f"{large} {way}", "of copy")[0] for way in ("forward", "inverse")]
    longer = write(1 / min(of_copy))
    met, judged = re.match(r"(\d+) of (\d+) speed", RECORDS["performance"]["cpu"]["summary"]).groups()
    near = {part: find_goal("model", f"model {part}", "within 25%").split(",")[0] for part in ("cpu", "cuda")}
    gains = {
        name: float(re.search(r"\+([\d.]+) dB", find_goal("quality", "photographs", text))[1])
        for name, text in (("default", "the default at least"), ("best", "the best method at least"))
    }
    best = find_goal("quality", "photographs", "the best method").partition(",")[0]
    (frames,) = find_cells("performance", "enhance cpu", "default (bivariate)", "× scikit-image")
    (grey,) = find_cells("performance", "peers cpu", "picture 512x512 denoise, BayesShrink", "× scikit-image", table=1)
    copies = {size: find_cells("performance", "cpu", f"2-D {size} cdf97 whole 1-level", "× copy") for size in SIZES}
    opening = (
        f"On {cores.replace('cores', 'CPU cores')} images are transformed {images} times as fast as by PyWavelets, "
        f"single signals {signals} times; on a GPU large images take hardly longer than a plain copy."
    )
    names = runpy.run_path(str(ROOT / "tests" / "test_exports.py"))["PYWAVELETS"]
    speeds = (
        f"On {cores} of an {processor} images are transformed {images} times as fast as by PyWavelets, the large ones "
        f"most, volumes {volumes} times, and single signals {signals} times"
        f"{': some inverses are slower here' if list_slower() else ''}."
    )
    quality = (
        f"`subband.denoise` is {gains['default']:.1f} dB better than scikit-image's `denoise_wavelet`, and "
        f'{gains["best"]:.1f} dB better with `method="{best}"`'
    )
    denoising = (
        f"On those {cores} it denoises colour frames of 1080 × 1920 {write(frames)} times as fast; with scikit-image's "
        f"method and settings, a grey image of 512 × 512 is denoised {grey:.1f} times as fast."
    )
    levels = (
        f"On an {card}, which memory holds up, a level of CDF 9/7 of an 8192² image takes {longer} times as long as a "
        f"copy; on {cores} of an {processor}, which have the arithmetic to do besides, it takes "
        f"{span(copies['8192x8192'])} times as long, and a level of 1080 × 1920 {span(copies['1080x1920'])} times."
    )
    return {
        "docs/index.md": [opening],
        "docs/how-it-works.md": [levels],
        "README.md": [
            opening,
            f"all {len(names)} public names of PyWavelets",
            speeds,
            f"On an {card} a level of CDF 9/7 of an 8192² image takes {longer} times as long as copying it.",
            f"on those {cores} {met} of {judged} targets for speed are met.",
            f"A model predicts {near['cpu']} transforms on them within a quarter, and {near['cuda']} on the {card};",
            quality,
            denoising,
        ],
    }


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/how-it-works.md"])
def test_sentences_have_the_figures_of_the_records(page):
    text = read_words(page)
    for claim in list_claims()[page]:
        assert claim in text, f"{page} has to say: {claim}"


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/how-it-works.md"])
def test_no_other_figure_is_claimed(page):
    text = read_words(page)
    for claim in list_claims()[page]:
        text = text.replace(claim, "")
    words = "times|dB|fps|seconds|ms|percent|%|of \\d+"
    assert not re.findall(rf"[\d.]+ (?:{words})\b", text)
    assert not re.findall(r"\b(?:two|three|five|ten|twenty|fifty|hundred|thousand)\w* times", text)


def test_the_large_images_are_the_fastest():
    best = max(find_speeds("2-D"))
    assert best in find_cells("performance", "cpu", "2-D 8192x8192", "× PyWavelets")


def test_short_signals_are_no_slower_and_else_only_inverses():
    assert all("inverse" in name for name in list_slower())
    assert min(find_cells("performance", "cpu", "1-D 64 ", "× PyWavelets")) >= 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_have_the_tables_of_their_records(page):
    record = RECORDS[page.stem]
    parts = read_page(page)
    assert set(parts) == set(record)
    for part, found in parts.items():
        kept = {"": record[part]} if "tables" in record[part] else record[part]
        own = {"": found} if "tables" in found else found
        assert list(own) == list(kept)
        for heading, report in own.items():
            for name, value in report.items():
                assert kept[heading][name] == value, (part, heading, name)


def test_a_figure_that_was_changed_by_hand_is_noticed(tmp_path):
    page = ROOT / "docs" / "performance.md"
    text = page.read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| 2-D 8192x8192"))
    changed = tmp_path / page.name
    changed.write_text(text.replace(row, row.replace("1", "7")), encoding="utf-8")
    assert read_page(changed)["cpu"]["tables"] != RECORDS["performance"]["cpu"]["tables"]
