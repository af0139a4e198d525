"""``subband bench`` with tables of quality: papers, quality, and enhance."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from subband.bench import enhance, photographs, speckle, temporal, volumes
from subband.bench.papers import denoising, haar
from subband.bench.records import read_page
from subband.cli import app
from subband.data import phantom
from subband.engines import get_engine
from subband.errors import MissingExtraError, NoDeviceError
from subband.media import read_still


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(app, ["bench", *map(str, arguments)])


def make_page(path, *parts):
    marks = (f"<!-- measured {part}: begin -->\nold {part}\n<!-- measured {part}: end -->\n" for part in parts)
    path.write_text("# Quality\n\n" + "".join(marks) + "\nThe end.\n", encoding="utf-8")
    return path


@pytest.fixture
def small(monkeypatch):
    pictures = denoising.load_images()
    monkeypatch.setattr(denoising, "load_images", lambda: {"photograph": pictures["photograph"][:64, :64]})
    monkeypatch.setattr(haar, "THEIRS", {64: (47.0, 16.0)})
    peers = [replace(peer, settings=peer.settings[:1]) for peer in speckle.PEERS if "1000" not in peer.name]
    monkeypatch.setattr(speckle, "PEERS", tuple(peers))
    # figures are the same whatever else is installed
    monkeypatch.setattr(photographs, "find_spec", lambda _name: None)
    monkeypatch.setattr(volumes, "find_spec", lambda _name: None)
    monkeypatch.setattr(volumes, "SIZE", 16)
    greys, colours, ultrasound = photographs.load_greys, photographs.load_colours, phantom.ultrasound
    monkeypatch.setattr(photographs, "load_greys", lambda size: dict(list(greys(64).items())[:2]))
    monkeypatch.setattr(photographs, "load_colours", lambda size: dict(list(colours(64).items())[:1]))
    monkeypatch.setattr(phantom, "ultrasound", lambda shape=None: ultrasound((64, 64)))
    monkeypatch.setattr(enhance, "SHAPE", (48, 64, 3))
    monkeypatch.setattr(enhance, "CASES", enhance.CASES[:1])


def test_papers(run, small, tmp_path):
    page = make_page(tmp_path / "page.md", "papers", "speckle")
    files = {option: tmp_path / f"figures.{option}" for option in ("json", "html", "hdf5")}
    options = [part for option, path in files.items() for part in (f"--{option}", path)]
    result = run("papers", "--only", "denoising", "--quick", *options, "--markdown", page)
    assert result.exit_code == 0, result.output
    assert "of 4 targets met" in result.output
    assert json.loads(files["json"].read_text())["visushrink cpu"]["trials"]
    html = files["html"].read_text(encoding="utf-8")
    assert "Table 3: one level of Haar" in html
    assert html.count("<img") == 2
    assert files["hdf5"].stat().st_size > 0
    text = page.read_text(encoding="utf-8")
    assert "### Haar" in text
    assert "old papers" not in text
    assert "old speckle" in text
    assert text.endswith("The end.\n")


def test_papers_that_are_not_known_are_refused(run):
    result = run("papers", "--only", "denosing")
    assert result.exit_code == 2
    assert "did you mean 'denoising'" in result.stderr


def test_quality_writes_both_parts_and_the_picture(run, small, tmp_path):
    page = make_page(tmp_path / "page.md", "photographs", "volumes", "speckle", "papers")
    files = (
        "--output",
        tmp_path / "figures.json",
        "--html",
        tmp_path / "quality.html",
        "--hdf5",
        tmp_path / "figures.h5",
    )
    result = run("quality", "--markdown", page, "--pictures", tmp_path, *files)
    assert result.exit_code == 0, result.output
    html = (tmp_path / "quality.html").read_text(encoding="utf-8")
    assert all(f"<img alt='{title}'" in html for title in ("Denoising", "Speckle"))
    assert (tmp_path / "figures.h5").stat().st_size > 0
    assert "of 3 targets met" in result.output
    text = page.read_text(encoding="utf-8")
    assert "| camera | 25 |" in text
    assert "| subband |" in text
    assert "old papers" in text
    assert "old photographs" not in text
    assert read_still(tmp_path / "speckle.png").pixels.ndim == 2
    crops = read_still(tmp_path / "denoised.png").pixels
    assert crops.shape == (64, crops.shape[1], 3)
    clean, noisy, *denoised = (crops[:, start : start + 64].astype(float) for start in range(0, crops.shape[1], 68))
    errors = [np.mean(np.square(each - clean)) for each in (noisy, *denoised)]
    assert len(errors) >= 4
    assert max(errors[1:]) < 0.5 * errors[0]
    assert set(json.loads((tmp_path / "figures.json").read_text())) == {"photographs", "volumes", "speckle"}


def test_quick_judges_nothing_and_a_new_page_is_made(run, small, tmp_path):
    result = run("quality", "--quick", "--markdown", tmp_path / "new.md")
    assert result.exit_code == 0, result.output
    assert result.output.count("no targets judged") == 3
    text = (tmp_path / "new.md").read_text(encoding="utf-8")
    assert text.index("measured photographs: begin") < text.index("measured speckle: begin")


def test_page_is_checked_before_measuring(run, tmp_path):
    page = make_page(tmp_path / "page.md", "photographs", "volumes")
    result = run("quality", "--markdown", page)
    assert result.exit_code == 2
    assert "measured speckle: begin" in result.stderr


def test_folder_of_pictures_must_exist(run, tmp_path):
    result = run("quality", "--pictures", tmp_path / "nowhere")
    assert result.exit_code == 2
    assert "nowhere" in result.stderr


def test_enhance(run, small, tmp_path):
    page = make_page(tmp_path / "page.md", "enhance cpu")
    html = tmp_path / "enhance.html"
    result = run("enhance", "--quick", "--output", tmp_path / "figures.json", "--markdown", page, "--html", html)
    assert result.exit_code == 0, result.output
    assert "<img alt='Frames enhanced'" in html.read_text(encoding="utf-8")
    assert "of 2 targets met" in result.output
    record = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["enhance cpu"]
    assert record["shape"] == [48, 64, 3]
    assert "old enhance" not in page.read_text(encoding="utf-8")


def test_enhance_without_scikit_image_is_one_line(run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "skimage.restoration", None)
    result = run("enhance")
    assert result.exit_code == 2
    assert "subband[bench]" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_one_paper_leaves_the_chapters_of_the_others(run, small, tmp_path):
    page = tmp_path / "page.md"
    chapters = "\n\n".join(f"### {name}\n\nold {name}" for name in ("Ultrasound", "Haar", "Frame buffer"))
    page.write_text(f"<!-- measured papers: begin -->\n\n{chapters}\n\n<!-- measured papers: end -->\n")
    (tmp_path / "records").mkdir()
    record = tmp_path / "records" / "page.json"
    record.write_text(json.dumps({"papers": {"Ultrasound": 1, "Haar": 2}, "other": 3}))
    result = run("papers", "--only", "denoising", "--quick", "--markdown", page)
    assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert "old Ultrasound" in text
    assert "old Frame buffer" in text
    assert "old Haar" not in text
    headings = [line for line in text.splitlines() if line.startswith("### ")]
    assert headings == ["### Ultrasound", "### Haar", "### Frame buffer", "### Visushrink cpu"]
    found = json.loads(record.read_text(encoding="utf-8"))
    assert (found["papers"]["Ultrasound"], found["other"]) == (1, 3)
    read = read_page(page)["papers"]
    for heading in ("Haar", "Visushrink cpu"):
        assert read[heading]["tables"] == found["papers"][heading]["tables"]
        assert read[heading]["measured_on"] == found["papers"][heading]["measured_on"]
        assert read[heading]["goals"] == found["papers"][heading]["goals"]


def test_video_over_time(run, tmp_path, monkeypatch):
    monkeypatch.setattr(temporal, "CLIPS", {"still": True})
    monkeypatch.setattr(temporal, "PEERS", {"nlmeans": ["s=6"]})
    page = make_page(tmp_path / "page.md", "temporal", "speckle")
    result = run("temporal", "--quick", "--markdown", page, "--output", tmp_path / "figures.json")
    assert result.exit_code == 0, result.output
    assert "no targets judged" in result.output
    text = page.read_text(encoding="utf-8")
    assert "| still | 20 |" in text
    assert "old speckle" in text
    figures = json.loads((tmp_path / "figures.json").read_text())["temporal"]
    assert figures["clips"][0]["psnr"]["temporal"] > figures["clips"][0]["psnr"]["frame by frame"]


@pytest.mark.opencl
def test_video_over_time_on_a_device(run, tmp_path):
    try:
        get_engine("opencl")
    except (MissingExtraError, NoDeviceError) as missing:
        pytest.skip(f"{missing}")
    page = make_page(tmp_path / "page.md", "temporal opencl", "temporal")
    result = run("temporal", "--engine", "opencl", "--quick", "--markdown", page)
    assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert "| still |" in text
    assert "old temporal" in text
