"""The frame around the commands: help, version, errors, and that it starts fast."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import subband
from subband import __version__
from subband.cli import app, group
from subband.errors import LevelError

runner = CliRunner()
# A new interpreter finds subband where this one does, installed or not.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(subband.__file__).parent.parent)}


def test_version():
    result = runner.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"subband {__version__}\n"


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_names_every_command(flag):
    result = runner.invoke(app, [flag])
    assert result.exit_code == 0
    for name in group.COMMANDS:
        assert name in result.output


@pytest.mark.parametrize("name", group.COMMANDS)
def test_every_command_has_help(name):
    result = runner.invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert "Usage: " in result.output


@pytest.mark.parametrize("arguments", [["verify"], ["bench"], ["bench", "cpu"]])
def test_only_the_program_installs_completion(arguments):
    assert "--install-completion" in runner.invoke(app, ["--help"]).output
    assert "completion" not in runner.invoke(app, [*arguments, "--help"]).output


def test_no_command_shows_help():
    assert "Usage: " in runner.invoke(app, []).output


def test_misspelt_command_is_corrected():
    result = runner.invoke(app, ["wavelet"])
    assert result.exit_code == 2
    assert "wavelets" in result.output


def test_help_is_quick_because_it_loads_no_numba():
    program = (
        "import sys; from subband.cli import app\n"
        "try: app(['--help'], prog_name='subband')\n"
        "except SystemExit: pass\n"
        "heavy = {'numba', 'scipy', 'matplotlib', 'PIL'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)


def test_python_dash_m_is_the_command():
    command = [sys.executable, "-m", "subband", "--version"]
    result = subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT)
    assert result.stdout == f"subband {__version__}\n"


@pytest.fixture
def failing_command(monkeypatch):
    """Put a command in the place of all others whose error the test may choose."""
    command = typer.Typer()
    errors = [LevelError("level=9 is too large [for this]")]

    @command.command()
    def fail():
        raise errors[-1]

    monkeypatch.setattr(group.LazyGroup, "get_command", lambda *_: typer.main.get_command(command))
    return errors


def test_error_is_one_line(failing_command):
    result = runner.invoke(app, ["wavelets"])
    assert result.exit_code == 2
    assert result.stderr == "error: level=9 is too large [for this]\n"


def test_error_of_the_file_system_is_one_line(failing_command):
    failing_command.append(FileNotFoundError(2, "No such file or directory", "a.png"))
    result = runner.invoke(app, ["wavelets"])
    assert result.exit_code == 2
    assert result.stderr == "error: 'a.png': No such file or directory\n"


def test_debug_shows_the_traceback(failing_command):
    result = runner.invoke(app, ["--debug", "wavelets"])
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert "LevelError" in result.stderr


def test_a_bug_is_not_hidden(failing_command):
    failing_command.append(RuntimeError("a bug"))
    result = runner.invoke(app, ["wavelets"])
    assert result.exit_code == 1
    assert isinstance(result.exception, RuntimeError)
