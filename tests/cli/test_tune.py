"""``subband tune``."""

import pytest
from typer.testing import CliRunner

from subband.cli import app
from subband.engines.measuring import tuning
from subband.engines.tuned import load_tuned, tuned_path


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setenv("SUBBAND_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tuning, "choose_grid", lambda dialect: {"chunk": (8, 16)})
    return lambda *arguments: CliRunner().invoke(app, ["tune", *map(str, arguments)])


@pytest.mark.opencl
def test_what_is_found_is_remembered(run):
    pytest.importorskip("pyopencl")
    result = run("--engine", "opencl:0", "--side", 32, "--only", "haar float32 forward 2-D")
    assert result.exit_code == 0, result.output
    assert str(tuned_path()) in result.output
    from subband.engines import get_engine
    from subband.engines.tuned import identify

    engine = get_engine("opencl:0")
    assert engine.launch_override is None
    (name,) = load_tuned(identify(engine.device))
    assert name.startswith("forward 2-D filter")
    assert name in result.output


@pytest.mark.opencl
def test_dry_run_remembers_nothing(run):
    pytest.importorskip("pyopencl")
    result = run("--engine", "opencl", "--side", 32, "--only", "haar float32 forward 2-D", "--dry-run")
    assert "nothing is remembered" in result.output
    assert not tuned_path().exists()


def test_bad_words_are_an_error(run):
    result = run("--only", "quux")
    assert result.exit_code == 2
    assert "quux" in result.stderr


@pytest.mark.opencl
def test_time_is_shared_by_the_kernels(run):
    pytest.importorskip("pyopencl")
    result = run("--engine", "opencl", "--side", 32, "--only", "haar float32", "--seconds", 0)
    assert result.exit_code == 0, result.output
    table = [line for line in result.output.splitlines() if "the same" in line]
    assert len(table) == 2


def test_usual_kernels_are_those_of_one_wavelet(run, monkeypatch):
    asked = []
    monkeypatch.setattr(tuning, "select_tuning_cases", lambda _, patterns: asked.append(patterns) or ())
    for arguments in ((), ("--all",), ("--only", "haar")):
        run("--engine", "none", *arguments)
    assert asked == [("cdf97",), (), ["haar"]]
