"""The commands of the documentation are true: each is one that the command line takes, and the first two work."""

import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.media import Still, read_still, write_still
from subband.quality import measure_psnr

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SHELL_BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PROMPT = re.compile(r"^\w*\$ ")


def find_commands(text):
    """Give the words of every command of the shell blocks; where there are prompts, the other lines are answers."""
    for block in SHELL_BLOCK.findall(text):
        lines = block.splitlines()
        if any(map(PROMPT.match, lines)):
            lines = [PROMPT.sub("", line) for line in lines if PROMPT.match(line)]
        for line in lines:
            if words := shlex.split(line, comments=True):
                yield words


def parse_command(words):
    """Read the words of a command as the command line would, and run nothing."""
    command = typer.main.get_command(app)
    context = command.make_context("subband", list(words))
    while hasattr(command, "resolve_command"):
        name, command, words = command.resolve_command(context, list(words))
        context = command.make_context(name, list(words), parent=context)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_pages_are_taken(page, tmp_path, monkeypatch):
    commands = find_commands(page.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    for program, *words in commands:
        if Path(program).name != "subband" or not {"--help", "-h"}.isdisjoint(words):
            continue
        # some commands look whether their files are there before anything else
        for path in map(Path, words):
            if path.suffix and not path.is_absolute():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        try:
            parse_command(words)
        except Exception as error:
            raise AssertionError(f"{page.name}: subband {shlex.join(words)}: {error}") from error


@pytest.mark.parametrize("words", [["denoize", "a", "b"], ["denoise", "a", "--no-such"], ["denoise", "--memory", "2G"]])
def test_a_wrong_command_is_noticed(words):
    with pytest.raises(Exception, match=r"denoize|no-such|valid number"):
        parse_command(words)


def test_first_two_commands_of_the_read_me_denoise_a_picture(tmp_path, monkeypatch):
    install, denoise = list(find_commands((ROOT / "README.md").read_text(encoding="utf-8")))[:2]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert install[-3:-1] == ["pip", "install"]
    extras = re.fullmatch(r"\.\[([\w,]+)\]", install[-1]).group(1).split(",")
    assert set(extras) <= set(project["optional-dependencies"])

    program, *words = denoise
    assert program in project["scripts"]
    clean = data.photograph()[:200, :300]
    noisy = clean + np.random.default_rng(0).normal(0, 25, clean.shape)
    monkeypatch.chdir(tmp_path)
    source, target = (Path(word) for word in words if Path(word).suffix)
    write_still(source, Still(np.clip(noisy, 0, 255).astype(np.uint8)))
    outcome = CliRunner().invoke(app, words)
    assert outcome.exit_code == 0, outcome.output
    before, after = (measure_psnr(read_still(path).pixels, clean, 255) for path in (source, target))
    assert after > before + 4
