"""The papers' tables: theirs as they stand there, ours computed, checked and put beside them."""

import numpy as np
import pytest

from subband.bench.papers import denoising, frame_buffer, haar, high_definition, orders, ultrasound
from subband.bench.papers.collection import CHAPTERS, choose_chapters
from subband.bench.papers.high_definition import Image
from subband.bench.tables import Report
from subband.engines import get_threads
from subband.engines.measuring.harness import draw_on_host
from subband.engines.measuring.timing import Effort
from subband.errors import ArgumentError

MOMENT = Effort(seconds=1e-3, fewest=1, most=2, turn=1e-4)
ENGINES = ["cpu", pytest.param("opencl", marks=pytest.mark.opencl)]


def skip_without(engine):
    if engine == "opencl":
        pytest.importorskip("pyopencl")


@pytest.mark.parametrize("engine", ENGINES)
def test_ultrasound(engine):
    skip_without(engine)
    threads = get_threads()
    programs = ultrasound.list_programs([engine])
    times = {}
    for name, size, parts in ultrasound.measure_programs(programs, [128, 256], MOMENT):
        times.setdefault(name, {})[size] = parts
    assert get_threads() == threads
    assert all(parts[part] > 0 for each in times.values() for parts in each.values() for part in ultrasound.PARTS[:3])
    report = ultrasound.report(times, programs)
    titles = [sheet.title.partition(":")[0] for sheet in report.sheets]
    assert titles == [f"Table 4.{number}" for number in (2, 3, 4, 5, 7)]
    frames = {row[0]: row[1:] for row in report.sheets[2].rows}
    assert frames["theirs: gpu-mono-16"] == ["1,782", "1,430"]
    mono = programs[0].name
    assert frames[mono][0] == f"{1 / sum(times[mono][128].values()):,.0f}"


def test_frames_a_second_and_elements_agree_in_their_tables():
    for name in ("gpu-mono-32", "cpu-mono-32-single"):
        for size, elements, frames in zip(
            ultrasound.SIZES, ultrasound._ELEMENTS[name], ultrasound._FRAMES[name], strict=True
        ):
            assert elements * 1e6 / size**2 == pytest.approx(frames, rel=0.06)


@pytest.mark.parametrize("engine", ENGINES)
def test_high_definition(engine):
    skip_without(engine)
    # sizes of the tables, and few enough of them
    pictures = [Image((256, 256), 8), Image((480, 852), 2), Image((480, 852), 10, (1024, 1024))]
    pictures.append(Image((480, 852), 10))
    measured = dict(high_definition.measure_images(pictures[: 1 if engine == "opencl" else 4], engine, MOMENT))
    report = high_definition.report(measured, engine)
    assert report.sheets[1].rows[0][:4] == ["256", "2.75", "1.50", "1.56"]
    times = measured[pictures[0]]
    assert min(times.lifting, times.filtering, times.inverse) > 0
    assert (times.upload > 0) == (engine == "opencl")
    if engine == "cpu":
        assert [row[:2] for row in report.sheets[0].rows] == [["852×480", "2"]]
        # as many levels with padding and without
        ((name, levels, *times),) = report.sheets[2].rows
        assert (name, levels) == ("852×480 in 1024×1024", "10")
        assert times[-1] == f"{measured[pictures[3]].lifting:.2f}"
        assert len(report.figures["milliseconds"]) == len(pictures)
        assert report.drawings["High definition"].render().size[0] > 100


def test_padded_pictures_are_those_of_table_6_2():
    padded = {picture.shape: picture.padded[0] for picture in high_definition.list_images() if picture.padded}
    assert list(padded.values()) == [1024, 2048, 2048, 4096, 8192]


def test_quick_lists_are_shorter():
    few, many = (high_definition.list_images(is_quick=quick) for quick in (True, False))
    assert 0 < len(few) < len(many)
    assert Image((1080, 1920), 3) in few


def test_every_padded_picture_stands_beside_the_same_one_with_as_many_levels():
    for quick in (False, True):
        pictures = high_definition.list_images(is_quick=quick)
        for picture in pictures:
            if picture.padded is not None:
                assert picture.plan(is_lifted=True).level == picture.level
                assert Image(picture.shape, picture.level) in pictures
        assert len({picture.name for picture in pictures}) == len(pictures)


def test_one_slow_turn_does_not_count():
    """The largest square once had two turns, and their median was the mean of a good one and a bad one."""
    asked = []

    def note(calls, effort, clock=None):
        asked.append(effort)
        return dict.fromkeys(calls, 1.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(high_definition, "take_turns", note)
        dict(high_definition.measure_images([Image((64, 64), 2)], "cpu"))
    assert all(effort.fewest >= 7 for effort in asked)


@pytest.mark.parametrize("engine", ENGINES)
def test_haar(engine, monkeypatch):
    skip_without(engine)
    pywt = pytest.importorskip("pywt")
    monkeypatch.setattr(haar, "THEIRS", {64: (47.0, 16.0)})
    timed = {}

    def time_once(contenders, effort, clock=None):
        timed.update({name: call() for name, call in contenders.items()})
        return dict.fromkeys(contenders, 0.004)

    monkeypatch.setattr(haar, "take_turns", time_once)
    measured = {engine: haar.measure_sides(engine, MOMENT)}
    # what is timed ends on the host, and is the transform that the table is about
    ((name, bands),) = timed.items()
    approximation, details = pywt.dwt2(draw_on_host((64, 64), "float32", 0), "haar", "periodization")
    horizontal, vertical, diagonal = details
    assert name == "level"
    for band, expected in zip(bands, (approximation, vertical, horizontal, diagonal), strict=True):
        assert isinstance(band, np.ndarray)
        np.testing.assert_allclose(band, expected, atol=1e-5)
    report = haar.report(measured)
    assert [row[1:] for row in report.sheets[0].rows] == [["47"], ["16"], ["4.00"]]
    assert [(goal.is_met, goal.found) for goal in report.goals] == [(True, "4 times at 64²")]
    assert not haar.report({engine: {64: 0.017}}).goals[0].is_met


def test_orders():
    measured = {"cpu": orders.measure_orders("cpu", MOMENT, (1, 64, 96))}
    report = orders.report(measured)
    rows = {row[0]: row[1:] for row in report.sheets[0].rows}
    assert list(rows) == ["row-column", "line-based", "block-based"]
    assert rows["block-based"][:2] == ["1002", ""]
    assert rows["row-column"][:2] == ["187", "87"]
    # lifting halves what filters take, and blocks take many times as much
    assert float(rows["line-based"][2]) < 187 < float(rows["block-based"][2])
    assert float(rows["row-column"][3]) == pytest.approx(2 * float(rows["line-based"][3]), rel=5e-3)


def test_frame_buffer():
    rows = frame_buffer.measure_bits()
    assert [row[:2] for row in rows] == [(wavelet, bits) for wavelet in ("haar", "db2") for bits in (8, 12, 16)]
    # as fixed-point.md tells: coefficients differ in the last bit or two, and 16 bits bring the picture back
    assert all(most <= 2 for _, _, _, most, _ in rows)
    assert [back for _, bits, _, _, back in rows if bits == 16] == [0, 0]
    assert all(back > 0 for _, bits, _, _, back in rows if bits == 8)
    ratios = frame_buffer.measure_ratios(["cpu"], MOMENT)
    assert set(ratios) == {("cpu", "haar"), ("cpu", "db2")}
    report = frame_buffer.report(rows, ratios)
    assert [goal.is_met for goal in report.goals] == [True, True]


def test_devices_have_no_table_that_the_host_computed():
    report = frame_buffer.report([], {("cuda", "haar"): 0.9})
    assert [sheet.title for sheet in report.sheets] == ["Section 7: reconstruction, by decomposition"]
    assert not report.goals
    assert not report.drawings


def test_engines_are_handed_on(monkeypatch):
    asked = []
    empty = Report([])
    monkeypatch.setattr(denoising, "report", lambda pictures=None, engine=None: asked.append(engine) or empty)
    monkeypatch.setattr(haar, "measure_sides", lambda engine, effort: dict.fromkeys(haar.THEIRS, 1.0))
    monkeypatch.setattr(frame_buffer, "measure_ratios", lambda engines, effort: {})
    monkeypatch.setattr(frame_buffer, "measure_bits", lambda: asked.append("host") or [])
    for engines, expected in ((["cuda"], ["cuda"]), (["cuda", "cpu"], ["cuda", "cpu", "host"])):
        asked.clear()
        for chapter in choose_chapters(["denoising", "frame-buffer"]):
            names = [name for name, _ in chapter.measure(engines, True)]
            assert names in (["haar", *(f"visushrink {engine}" for engine in engines)], ["frame buffer"])
        assert asked == expected


def test_chapters_are_chosen_by_name():
    assert [chapter.name for chapter in choose_chapters(["video", "denoising"])] == ["video", "denoising"]
    with pytest.raises(ArgumentError, match="did you mean 'video'"):
        choose_chapters(["vidoe"])
    assert len({chapter.name for chapter in CHAPTERS}) == len(CHAPTERS)


def test_theirs_have_a_figure_for_every_size():
    for table in (ultrasound._ELEMENTS, ultrasound._FRAMES, ultrasound._BREAKDOWN):
        assert {len(row) for row in table.values()} == {len(ultrasound.SIZES)}
    assert np.all(np.diff([row[1] for row in high_definition.HD.values()]) > 0)
