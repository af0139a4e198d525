"""``subband bench``."""

import json
import sys

import pytest
from typer.testing import CliRunner

from subband.bench import cases, device_cases
from subband.bench.cases import Case, Target
from subband.bench.device_cases import DeviceCase
from subband.cli import app

TINY = (Case((64, 96), is_quick=True), Case((64,), "db4", "symmetric", inverse=True))


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr(cases, "CPU_CASES", TINY)
    return lambda *arguments: CliRunner().invoke(app, ["bench", *map(str, arguments)])


def test_everything_is_written(run, tmp_path):
    h5py = pytest.importorskip("h5py")
    page = tmp_path / "page.md"
    page.write_text("# Speed\n\n<!-- measured cpu: begin -->\nold\n<!-- measured cpu: end -->\n", encoding="utf-8")
    files = {name: tmp_path / f"figures.{name}" for name in ("json", "hdf5", "html")}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    result = run("cpu", *options, "--markdown", page)
    assert result.exit_code == 0, result.output
    assert "of 2 speed targets met" in result.output
    record = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert [entry["case"] for entry in record["cpu"]["measurements"]] == [case.name for case in TINY]
    html = files["html"].read_text(encoding="utf-8")
    assert all(case.name in html for case in TINY)
    assert "<img alt='Times as fast, and copies' src='data:image/png" in html
    with h5py.File(files["hdf5"]) as file:
        assert file["cpu/measurements/1/ours"][()] == record["cpu"]["measurements"][1]["ours"]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Speed")
    assert "old" not in text
    assert all(case.name in text for case in TINY)


def test_quick_and_only_choose(run):
    result = run("cpu", "--quick")
    assert TINY[0].name in result.output
    assert TINY[1].name not in result.output
    result = run("cpu", "--only", "db4")
    assert TINY[0].name not in result.output
    assert TINY[1].name in result.output


def test_bad_words_are_an_error(run):
    result = run("cpu", "--only", "quux")
    assert result.exit_code == 2
    assert "quux" in result.stderr


def test_page_is_checked_before_measuring(run, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Speed\n", encoding="utf-8")
    result = run("cpu", "--markdown", page)
    assert result.exit_code == 2
    assert "measured cpu: begin" in result.stderr


def test_some_cases_do_not_take_the_place_of_all(run, tmp_path):
    page = tmp_path / "page.md"
    marks = "<!-- measured cpu: begin -->\n{}\n<!-- measured cpu: end -->\n"
    page.write_text(marks.format("every case"), encoding="utf-8")
    result = run("cpu", "--only", "db4", "--markdown", page)
    assert result.exit_code == 2
    assert "has a table of all cases" in result.stderr
    assert "every case" in page.read_text(encoding="utf-8")
    page.write_text(marks.format(""), encoding="utf-8")
    assert run("cpu", "--only", "db4", "--markdown", page).exit_code == 0
    assert TINY[1].name in page.read_text(encoding="utf-8")


def test_no_command_shows_help(run):
    assert "cpu" in run().output


@pytest.fixture
def tiny_device_cases(monkeypatch):
    pytest.importorskip("pyopencl")
    found = (
        DeviceCase((32, 32), "haar", goal=Target(bandwidth=0.65), is_quick=True),
        DeviceCase((32, 32), "haar", inverse=True),
    )
    monkeypatch.setattr(device_cases, "list_device_cases", lambda family: found)
    return found


@pytest.mark.opencl
def test_gpu_writes_its_own_part_of_the_page(run, tmp_path, tiny_device_cases):
    page = tmp_path / "page.md"
    parts = [
        f"<!-- measured {part}: begin -->\nold {part}\n<!-- measured {part}: end -->\n" for part in ("cpu", "opencl")
    ]
    page.write_text("".join(parts), encoding="utf-8")
    result = run("gpu", "--engine", "opencl:0", "--output", tmp_path / "figures.json", "--markdown", page)
    assert result.exit_code == 0, result.output
    assert "of 1 speed targets met" in result.output
    text = page.read_text(encoding="utf-8")
    assert "old cpu" in text
    assert "old opencl" not in text
    assert all(case.name in text for case in tiny_device_cases)
    record = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert record["opencl"]["machine"]["device"]
    assert record["opencl"]["measurements"][1]["is_met"] is None


@pytest.mark.opencl
def test_gpu_takes_words_and_quick(run, tiny_device_cases):
    assert "inverse" not in run("gpu", "-e", "opencl", "--quick").output
    output = run("gpu", "-e", "opencl", "haar inverse").output
    assert "haar periodization 1-level inverse" in output
    assert "forward" not in output


@pytest.mark.usefixtures("own_engines")
def test_gpu_without_a_gpu_is_one_line(run, monkeypatch):
    from subband.engines import registry

    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    result = run("gpu", "--quick")
    assert result.exit_code == 2
    assert "subband[cuda]" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_gpu_takes_no_engine_of_the_host(run):
    result = run("gpu", "--engine", "cpu")
    assert result.exit_code == 2
    assert "--engine cpu has no device" in result.stderr


def test_a_wrong_result_does_not_take_the_other_figures_with_it(run, tmp_path, monkeypatch):
    from subband.bench import checking
    from subband.engines.measuring.judging import WrongResultError

    check = checking.check_result

    def find_fault(case, *results):
        if case.inverse:
            raise WrongResultError("db4 is not what it was")
        return check(case, *results)

    monkeypatch.setattr(checking, "check_result", find_fault)
    page = tmp_path / "page.md"
    result = run("cpu", "--no-memory", "--markdown", page)
    assert result.exit_code == 2
    assert "db4 is not what it was" in result.stderr
    assert TINY[0].name in result.output
    assert "1 speed targets met" in result.output
    assert not page.exists()


def test_video(run, tmp_path, monkeypatch):
    from subband.bench import video

    passes = [video.Passes(name, (0.01, 0.02)) for name in ("forward", "inverse")]
    asked = []
    monkeypatch.setattr(video, "measure_transform", lambda *arguments: asked.append(arguments) or passes)
    monkeypatch.setattr(video, "measure_files", lambda *_, **__: iter(()))
    page = tmp_path / "page.md"
    page.write_text("<!-- measured video cpu: begin -->\nold\n<!-- measured video cpu: end -->\n", encoding="utf-8")
    html = tmp_path / "video.html"
    result = run("video", "--frames", 7, "--output", tmp_path / "figures.json", "--markdown", page, "--html", html)
    assert result.exit_code == 0, result.output
    assert "<img alt='Frames in both directions'" in html.read_text(encoding="utf-8")
    assert "2 of 2 targets met" in result.output
    assert "60.9" in result.output
    assert asked[0][1:] == ("cpu", 7)
    assert asked[0][0].name == "bunny.mp4"
    record = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert record["video cpu"]["passes"]["forward"] == [0.01, 0.02]
    assert "old" not in page.read_text(encoding="utf-8")
    assert run("video", tmp_path / "missing.mp4").exit_code == 2
    assert run("video", "--no-files", "--quick").exit_code == 0
    assert asked[-1][2] == 10


def test_studio(run, tmp_path, monkeypatch):
    from subband.bench import studio, studio_waits

    asked = []

    def measure(cases, engine, **lengths):
        asked.append((engine, lengths))
        return (studio.Showing(case, 25.0, 40.0, 300.0, 0, (0.05, 0.06), "jpeg") for case in cases)

    waits = (studio_waits.Wait("first frame of a page", "ms", (90.0, 80.0), 100.0),)
    monkeypatch.setattr(studio, "measure", measure)
    monkeypatch.setattr(studio_waits, "measure_waits", lambda *_: iter(waits))
    page = tmp_path / "page.md"
    parts = [
        f"<!-- measured {part}: begin -->\nold\n<!-- measured {part}: end -->\n" for part in ("studio", "studio waits")
    ]
    page.write_text("".join(parts), encoding="utf-8")
    html = tmp_path / "studio.html"
    result = run("studio", "--output", tmp_path / "figures.json", "--markdown", page, "--html", html)
    assert result.exit_code == 0, result.output
    assert "<img alt='The studio in a browser'" in html.read_text(encoding="utf-8")
    assert "4 of 6 targets met" in result.output
    assert "1 of 1 targets met" in result.output
    assert len(json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["studio"]["showings"]) == 6
    assert "| first frame of a page | 85 |" in page.read_text(encoding="utf-8")
    assert "| 1280 × 720, soft threshold | 25.0 |" in page.read_text(encoding="utf-8")
    assert "1280" not in run("studio", "--quick", "--engine", "opencl").output
    assert asked[0] == ("cpu", {"seconds": 5.0, "changes": 20})
    assert asked[1][0] == "opencl"


def test_pipeline(run, tmp_path, monkeypatch):
    from subband.bench import streaming

    monkeypatch.setattr(streaming, "SIZES", {"1080p": (36, 64)})
    result = run("pipeline", "--engine", "cpu", "--only", "1080p", "--quick", "--output", tmp_path / "figures.json")
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["pipeline"]
    assert record["measurements"][0]["is_right"]
    assert run("pipeline", "--engine", "cpu", "--only", "5K").exit_code == 2


def test_dask(run, tmp_path, monkeypatch):
    pytest.importorskip("dask")
    from subband.bench import dask

    times = (0.1, 0.2, 0.1)
    overhead = dask.Overhead("haar", "float32", "forward", 64, 16, 1, 20, times, times, times)
    asked = []
    monkeypatch.setattr(dask, "measure_overhead", lambda cases, **how: asked.append((cases, how)) or iter([overhead]))
    result = run("dask", "--output", tmp_path / "figures.json")
    assert result.exit_code == 0, result.output
    assert "1 of 1 targets met" in result.output
    assert json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["dask"]["overheads"]
    assert "no targets judged" in run("dask", "--quick").output
    assert asked == [(dask.CASES, {"is_quick": False}), (dask.QUICK_CASES, {"is_quick": True})]


def test_edges(run, tmp_path, monkeypatch):
    from subband.bench import edges

    score = edges.Score(1.0, 0.5)
    monkeypatch.setattr(
        edges, "measure_phantoms", lambda noises: (edges.Finding("picture", sigma, score, None) for sigma in noises)
    )
    result = run("edges", "--quick", "--html", tmp_path / "edges.html")
    assert result.exit_code == 0, result.output
    assert "0.667" in (tmp_path / "edges.html").read_text(encoding="utf-8")


@pytest.fixture
def tiny_peers(monkeypatch):
    from subband.bench.peers import cases as peer_cases

    found = (
        peer_cases.PeerCase((32, 48), "db2", "symmetric", 2, is_quick=True),
        peer_cases.ImageCase((64, 64), "db2", "symmetric", 1, task="noise"),
    )
    monkeypatch.setattr(peer_cases, "PEER_CASES", found)
    return found


def test_peers(run, tmp_path, tiny_peers, monkeypatch):
    pytest.importorskip("skimage")
    monkeypatch.setitem(sys.modules, "jaxwt", None)
    h5py = pytest.importorskip("h5py")
    page = tmp_path / "page.md"
    page.write_text("<!-- measured peers cpu: begin -->\nold\n<!-- measured peers cpu: end -->\n", encoding="utf-8")
    files = {name: tmp_path / f"figures.{name}" for name in ("json", "hdf5", "html")}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    result = run("peers", *options, "--markdown", page)
    assert result.exit_code == 0, result.output
    assert "jaxwt is not measured" in result.output
    assert "install it with: pip install jaxwt" in result.output
    record = json.loads(files["json"].read_text(encoding="utf-8"))["peers cpu"]
    assert [entry["case"] for entry in record["measurements"]] == [case.name for case in tiny_peers]
    assert "PyWavelets" in record["measurements"][0]["peers"]
    assert list(record["measurements"][1]["peers"]) == ["scikit-image"]
    assert files["html"].read_text(encoding="utf-8").count("data:image/png") == 2
    with h5py.File(files["hdf5"]) as file:
        assert file["peers cpu/measurements/0/peers/PyWavelets"][()] > 0
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert "estimate noise" in text


def test_peers_are_chosen_by_words(run, tiny_peers):
    output = run("peers", "--only", "estimate noise").output
    assert tiny_peers[0].name not in output
    assert tiny_peers[1].name in output
    assert tiny_peers[1].name not in run("peers", "--quick").output
    assert run("peers", "--only", "quux").exit_code == 2


@pytest.fixture
def tiny_calls(monkeypatch):
    from subband.bench import call_cases

    found = tuple(case for case in call_cases.CALL_CASES if case.name in ("dwt 64", "dwt2 16²", "families"))
    monkeypatch.setattr(call_cases, "CALL_CASES", found)
    return found


def test_calls(run, tmp_path, tiny_calls):
    page, plot, output = (tmp_path / name for name in ("page.md", "calls.png", "calls.json"))
    page.write_text("<!-- measured calls: begin -->\nold\n<!-- measured calls: end -->\n", encoding="utf-8")
    result = run("calls", "--markdown", page, "--plot", plot, "--output", output)
    assert result.exit_code == 0, result.output
    assert "no call slower than by PyWavelets" in result.output
    record = json.loads(output.read_text(encoding="utf-8"))["calls"]
    assert [entry["function"] for entry in record["calls"]] == [case.label for case in tiny_calls]
    assert plot.read_bytes().startswith(b"\x89PNG")
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert "| dwt |" in text


def test_calls_are_chosen_by_words_and_judged_as_a_whole_only(run, tmp_path, tiny_calls):
    output = run("calls", "--only", "dwt2").output
    assert "families" not in output
    assert "no targets judged" in output
    assert "dwt2" not in run("calls", "--quick").output
    assert run("calls", "--only", "quux").exit_code == 2
    plot = tmp_path / "calls.png"
    plot.write_bytes(b"mine")
    assert run("calls", "--plot", plot).exit_code == 2
    assert plot.read_bytes() == b"mine"


def test_a_wrong_call_is_an_error(run, tiny_calls, monkeypatch):
    monkeypatch.setattr("subband.families", lambda: ["Haar"])
    result = run("calls", "--only", "families")
    assert result.exit_code != 0
    assert "families" in result.stderr


def test_hdf5_is_checked_before_measuring(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    result = run("cpu", "--hdf5", tmp_path / "figures.h5")
    assert result.exit_code == 2
    assert "subband[volumes]" in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        "cpu",
        "gpu",
        "peers",
        "calls",
        "enhance",
        "papers",
        "quality",
        "video",
        "studio",
        "jpeg2000",
        "pipeline",
        "dask",
        "edges",
    ],
)
def test_every_command_writes_every_form(run, command):
    output = " ".join(run(command, "--help").output.split())
    assert all(option in output for option in ("--output", "--hdf5", "--html", "--markdown"))
