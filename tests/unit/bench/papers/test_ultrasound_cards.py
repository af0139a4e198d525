"""Their slower card: tables that follow from each other as the module says, and ours beside them."""

import pytest

from subband.bench.papers import ultrasound_cards as cards
from subband.bench.papers.ultrasound import SIZES, Program

FASTER = {
    "gpu-mono-16": (29.2, 93.7, 255.5, 425.0, 394.3),
    "gpu-colour-16": (41.4, 138.9, 340.1, 435.7, 528.3),
    "cpu-mono-32-single": (17.7, 17.7, 18.1, 17.7, 17.7),
}


def test_table_4_9_is_the_ratio_of_frames_in_table_4_8():
    single = cards.FRAMES["cpu-mono-32-single"]
    for name, row in cards.SPEEDUPS.items():
        for frames, alone, speedup in zip(cards.FRAMES[name], single, row, strict=True):
            assert (frames is None) == (speedup is None)
            # both are rounded, frames to whole ones
            if frames is not None:
                low, high = (frames - 0.5) / (alone + 0.5), (frames + 0.5) / (alone - 0.5)
                assert low - 0.05 <= speedup <= high + 0.05


@pytest.mark.parametrize("name", FASTER)
def test_table_4_10_follows_from_table_4_2(name):
    price = cards.PRICES["cpu" if name.startswith("cpu") else "8800"] / cards.PRICE_UNIT
    assert cards.PER_PRICE[name] == pytest.approx([elements / price for elements in FASTER[name]], rel=3e-3)


@pytest.mark.parametrize("name", ["gpu-mono-16-7600gs", "gpu-colour-16-7600gs"])
def test_table_4_10_follows_from_table_4_8_by_pixels(name):
    price = 87.5 / cards.PRICE_UNIT
    for size, frames, found in zip(SIZES, cards.FRAMES[name], cards.PER_PRICE[name], strict=True):
        low, high = ((frames + more) * size**2 / 1e6 / price for more in (-0.5, 0.5))
        assert low * 0.999 <= found <= high * 1.001


def test_ours_stand_beside_theirs():
    programs = [Program("cuda", 4, "float16"), Program("cpu", 1, threads=1)]
    times = {
        "cuda-colour-16": {512: {"forward": 0.0005, "inverse": 0.0005}},
        "cpu-mono-32-single": {512: {"forward": 0.002, "inverse": 0.002}},
    }
    report = cards.report(times, programs)
    frames, speedups, prices = ({row[0]: row[1] for row in sheet.rows} for sheet in report.sheets)
    assert frames["theirs: gpu-colour-32-7600gs"] == "59"
    assert frames["cuda-colour-16"] == "1,000"
    assert speedups["cuda-colour-16"] == "4.0"
    assert prices["theirs: gpu-mono-16-7600gs"] == "87.06"
    # 4 channels of 512 × 512 a thousand times a second, where the best of theirs is 87.06 for 1000/6 dollars
    assert prices["cuda-colour-16, dollars"] == f"{4 * 512**2 * 1000 / 1e6 / 87.06 * 1000 / 6:,.0f}"
    assert report.drawings["What a dollar buys"].render().width > 100


def test_largest_frames_in_colour_did_not_fit():
    programs = [Program("cpu", 1, threads=1)]
    report = cards.report({"cpu-mono-32-single": {2048: {"forward": 0.5}}}, programs)
    assert {row[0]: row[1] for row in report.sheets[0].rows}["theirs: gpu-colour-32-7600gs"] == "NA"
    # without a faster one there is nothing to compare with but itself
    assert {row[0]: row[1] for row in report.sheets[1].rows}["cpu-mono-32-single"] == "1.0"
