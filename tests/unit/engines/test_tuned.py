"""Launch parameters are remembered, and a damaged file costs nothing but speed."""

import json
from types import SimpleNamespace

import pytest

from subband.engines import tuned
from subband.engines.tuned import cache_folder, classify, identify, load_tuned, save_tuned, tuned_path
from subband.kernels.launch import Launch
from subband.plan import axis_plan
from subband.schedule import axis_program
from subband.wavelets import Wavelet

ONE, OTHER = Launch(2, 2, 24, 4, True), Launch(1, 0, 80, 1, False)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SUBBAND_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_nothing_is_known_at_first():
    assert load_tuned("cuda card") == {}


def test_what_is_saved_is_loaded(folder):
    assert save_tuned("cuda card", {"forward 2-D": ONE}) == folder / "launches.json"
    assert load_tuned("cuda card") == {"forward 2-D": ONE}
    assert load_tuned("opencl card") == {}
    assert [path.name for path in folder.iterdir()] == ["launches.json"]


def test_other_classes_and_devices_stay():
    save_tuned("cuda card", {"a": ONE, "b": ONE})
    save_tuned("opencl card", {"a": OTHER})
    save_tuned("cuda card", {"b": OTHER})
    assert load_tuned("cuda card") == {"a": ONE, "b": OTHER}
    assert load_tuned("opencl card") == {"a": OTHER}


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '{"version": 1, "devices": 3}', "\x00\xff"])
def test_damaged_file_is_ignored_with_a_warning_and_mended(text):
    save_tuned("cuda card", {"a": ONE})
    tuned_path().write_text(text, encoding="latin-1")
    with pytest.warns(UserWarning, match=r"launches\.json"):
        assert load_tuned("cuda card") == {}
    with pytest.warns(UserWarning, match=r"launches\.json"):
        save_tuned("cuda card", {"b": OTHER})
    assert load_tuned("cuda card") == {"b": OTHER}


@pytest.mark.parametrize(
    "change",
    [{"pairs": 0}, {"pairs": "2"}, {"chunk": 2.5}, {"block": 64}, {"is_split": 1}, {"ahead": True}, {"more": 1}],
)
def test_damaged_entry_is_left_out(change):
    save_tuned("cuda card", {"a": ONE, "b": OTHER})
    content = json.loads(tuned_path().read_text(encoding="utf-8"))
    content["devices"]["cuda card"]["a"].update(change)
    tuned_path().write_text(json.dumps(content), encoding="utf-8")
    with pytest.warns(UserWarning, match="'a' of 'cuda card'"):
        assert load_tuned("cuda card") == {"b": OTHER}


def test_file_of_another_version_is_ignored_quietly():
    save_tuned("cuda card", {"a": ONE})
    tuned_path().write_text(tuned_path().read_text(encoding="utf-8").replace('"version": 2', '"version": 99'), "utf-8")
    assert load_tuned("cuda card") == {}


def test_failure_leaves_the_old_file_and_no_other(folder, monkeypatch):
    save_tuned("cuda card", {"a": ONE})
    monkeypatch.setattr(tuned.json, "dumps", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_tuned("cuda card", {"a": OTHER})
    monkeypatch.undo()
    monkeypatch.setenv("SUBBAND_CACHE_DIR", str(folder))
    assert load_tuned("cuda card") == {"a": ONE}
    assert [path.name for path in folder.iterdir()] == ["launches.json"]


def test_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("SUBBAND_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "subband"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for relative in ("", "some/where"):
        monkeypatch.setenv("XDG_CACHE_HOME", relative)
        assert cache_folder() == tmp_path / "home" / ".cache" / "subband"


def make_program(wavelet, way="forward"):
    name, mode = wavelet
    return axis_program(axis_plan(Wavelet(name), mode, 512), way)


CDF97, HAAR, DB5 = ("cdf97", "whole"), ("haar", "periodization"), ("db5", "symmetric")


def test_classes_tell_kernels_apart():
    classes = {
        classify(vertical and make_program(vertical, way), horizontal and make_program(horizontal, way), size, way)
        for wavelet in (CDF97, HAAR, DB5)
        for vertical, horizontal in ((wavelet, wavelet), (wavelet, None), (None, wavelet))
        for size in (2, 4)
        for way in ("forward", "inverse")
    }
    assert len(classes) == 36


def test_class_does_not_depend_on_size_and_mode():
    other = axis_program(axis_plan(Wavelet("bior4.4"), "symmetric", 77), "forward")
    program = make_program(("bior4.4", "periodization"))
    assert classify(other, other, 4, "forward") == classify(program, program, 4, "forward")


def test_a_card_has_an_entry_for_each_dialect():
    names = {identify(SimpleNamespace(name="card", dialect=SimpleNamespace(name=name))) for name in ("cuda", "opencl")}
    assert len(names) == 2
