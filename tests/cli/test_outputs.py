"""What commands may write: every output of every command is asked about in one place, and nothing is lost."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from subband.cli import app
from subband.cli.group import walk_commands
from subband.cli.outputs import Files, Reads, Writes, find_kind, find_marks
from subband.media import Still, write_still

COMMANDS = walk_commands()
OF_TYPER = ("help", "install_completion", "show_completion")
MARKS = {name: find_marks(command.callback) for name, command in COMMANDS.items()}
OUTPUTS = [
    (name, parameter, mark.kind)
    for name, marks in MARKS.items()
    for parameter, mark in marks.items()
    if isinstance(mark, Writes)
]

FILES = [(name, parameter) for name, parameter, kind in OUTPUTS if kind in ("file", "results", "last")]

#: Endings of what a command writes, where a PNG will not do.
ENDINGS = {
    ("camera", "output"): ".mkv",
    ("encode", "output"): ".jp2",
    ("transcode", "output"): ".jph",
    ("decompose", "save"): ".npz",
    ("filter", "save_chain"): ".toml",
    ("receive", "output"): ".mkv",
    ("send", "sdp"): ".sdp",
}
#: What a command reads, where a PNG will not do.
SOURCES = {("decode", "source"): "a.jp2", ("transcode", "source"): "a.jp2", ("reconstruct", "coefficients"): "a.npz"}
#: What else has to be said for a command to come so far.
MORE = {
    "wavelets": ["db2"],
    "camera": ["--device", "test:32x24?count=2"],
    "model": ["--quick"],
    "receive": ["rtp://:0"],
    "send": ["test:32x24@200?count=2", "rtp://127.0.0.1:9"],
}
#: Measured at the end of minutes, or for its own sake, or waiting for somebody: refused before that.
LONG = ("bench", "model", "receive")


def find_input(name):
    """Return a file that a command reads first, or None for one that reads nothing."""
    marks = MARKS[name]
    if any(isinstance(mark, Writes) and mark.kind == "last" for mark in marks.values()):
        return "a.png"
    reads = [each for each, mark in marks.items() if isinstance(mark, Reads)]
    arguments = [each.name for each in COMMANDS[name].params if each.param_type_name == "argument"]
    first = next((each for each in arguments if each in reads), None)
    return None if first is None else SOURCES.get((name, first), "a.png")


READING = [pair for pair in FILES if find_input(pair[0]) is not None]


def run(name, *words):
    return CliRunner().invoke(app, [*name.split(), *map(str, words)])


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """Return a folder with something to read of every kind."""
    folder = tmp_path_factory.mktemp("material")
    pixels = np.random.default_rng(0).integers(0, 255, (32, 40, 3), dtype=np.uint8)
    for name in ("a.png", "b.png"):
        write_still(folder / name, Still(pixels))
    picture, mosaic = folder / "a.png", folder / "mosaic.png"
    assert run("encode", picture, folder / "a.jp2").exit_code == 0
    assert run("decompose", picture, "-o", mosaic, "--level", 1, "--save", folder / "a.npz").exit_code == 0
    mosaic.unlink()
    return folder


@pytest.fixture
def folder(material, tmp_path, monkeypatch):
    """Return a folder with a copy of that, in which a command runs."""
    for path in material.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_words(name, parameter, output, *, source=None):
    """Return the words that let a command write one of its outputs, with a source for all it must read."""
    command, marks = COMMANDS[name], MARKS[name]
    words = list(MORE.get(name, []))
    sources = []
    for each in command.params:
        mark = marks.get(each.name)
        is_output = each.name == parameter
        if isinstance(mark, Writes) and mark.kind == "last":
            sources = [source or "a.png", *(["b.png"] if name == "fuse" else [])]
            words += [*sources, output if is_output else "made.png"]
        elif each.param_type_name == "argument":
            if isinstance(mark, Writes):
                words.append(output if is_output else f"made{ENDINGS.get((name, each.name), '.png')}")
            elif mark is not None:
                default = SOURCES.get((name, each.name), "a.png")
                # the first thing that is read, so that one source can be eaten
                words.append(source if source is not None and not sources else default)
                sources.append(words[-1])
        elif is_output or (each.required and isinstance(mark, Writes)):
            words += [max(each.opts, key=len), output if is_output else "made.png"]
    if parameter == "lit":
        words += ["--under", "b.png"]
    if name == "reshape":
        # a picture in colour is no surface
        words[words.index(source or "a.png")] = source or "head"
    return words


def name_output(name, parameter, stem="out"):
    return f"{stem}{ENDINGS.get((name, parameter), '.png')}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_path_says_whether_it_is_read_or_written(name):
    command = COMMANDS[name]
    for parameter in command.params:
        if parameter.name in OF_TYPER:
            continue
        kind = find_kind(command.callback, parameter.name)
        if kind is Path:
            assert parameter.name in MARKS[name], f"{name}: mark {parameter.name} with Reads() or Writes()"
        if kind is str and parameter.metavar in ("FILE", "OUT", "FOLDER", "PATH"):
            assert parameter.name in MARKS[name], f"{name}: mark {parameter.name}, which looks like a path"


@pytest.mark.parametrize("name", dict.fromkeys(name for name, *_ in OUTPUTS))
def test_whoever_writes_can_be_forced_and_asked_what_would_be_done(name):
    names = {option for each in COMMANDS[name].params for option in each.opts}
    assert {"--force", "--dry-run"} <= names
    if "--codec" in names and name != "camera":
        # a camera is without sound
        assert {"--audio", "--keep-partial"} <= names
    if "--jobs" in names:
        assert {"--skip-existing", "--recursive", "--quiet"} <= names


@pytest.mark.parametrize(("name", "parameter"), FILES)
def test_a_file_that_is_there_stays_without_force(folder, name, parameter):
    output = folder / name_output(name, parameter)
    output.write_bytes(b"mine")
    result = run(name, *write_words(name, parameter, output.name))
    assert result.exit_code == 2, result.output
    assert "is there already; use --force" in result.stderr
    assert output.read_bytes() == b"mine"


@pytest.mark.parametrize(("name", "parameter"), READING)
@pytest.mark.parametrize("link", ["itself", "symlink", "hard link", "folder link"])
def test_what_is_read_is_not_eaten_even_by_force(folder, name, parameter, link):
    source = find_input(name)
    before = (folder / source).read_bytes()
    # a name that can be written by its ending, which the link has and the source need not have
    output = folder / name_output(name, parameter)
    if link == "itself":
        output = folder / source
    elif link == "symlink":
        output.symlink_to(folder / source)
    elif link == "hard link":
        os.link(folder / source, output)
    else:
        (folder / "other").symlink_to(folder)
        output = folder / "other" / source
    result = run(name, *write_words(name, parameter, str(output), source=source), "--force")
    assert result.exit_code == 2, result.output
    assert "result" in result.stderr or "to fuse" in result.stderr
    assert (folder / source).read_bytes() == before


@pytest.mark.parametrize(("name", "parameter"), [pair for pair in FILES if pair[0].split()[0] not in LONG])
def test_force_replaces_and_dry_run_writes_nothing(folder, name, parameter):
    output = folder / name_output(name, parameter)
    output.write_bytes(b"mine")
    words = write_words(name, parameter, output.name)
    if name == "camera":
        words += ["--frames", "2"]
    there = sorted(folder.iterdir())
    dry = run(name, *words, "--force", "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert output.name in dry.output
    assert sorted(folder.iterdir()) == there
    assert output.read_bytes() == b"mine"
    result = run(name, *words, "--force")
    assert result.exit_code == 0, result.output
    assert output.read_bytes() != b"mine"


@pytest.mark.parametrize(("name", "parameter", "kind"), OUTPUTS)
def test_a_folder_that_is_not_there_and_one_in_the_way(folder, name, parameter, kind):
    ending = ENDINGS.get((name, parameter), ".png")
    if kind in ("file", "page"):
        result = run(name, *write_words(name, parameter, f"no/such/out{ending}"), "--force")
        assert result.exit_code == 2
        assert "does not exist" in result.stderr
        (folder / f"out{ending}").mkdir()
        result = run(name, *write_words(name, parameter, f"out{ending}"), "--force")
        assert result.exit_code == 2
        assert "is a folder" in result.stderr
    elif kind == "folder":
        (folder / "taken").write_bytes(b"mine")
        result = run(name, *write_words(name, parameter, "taken"), "--force")
        assert result.exit_code == 2
        assert "need a folder" in result.stderr
        assert (folder / "taken").read_bytes() == b"mine"


def test_two_results_do_not_share_a_name(folder):
    for words in (["bench", "cpu", "--html", "x", "-o", "./x"], ["bench", "edges", "--hdf5", "x", "--markdown", "x"]):
        result = run(" ".join(words[:2]), *words[2:])
        assert result.exit_code == 2
        assert "the same file" in result.stderr
    assert not (folder / "x").exists()


def test_pipes_are_written_to_and_not_replaced(folder):
    pipe = folder / "pipe.png"
    os.mkfifo(pipe)
    assert run("decompose", "a.png", "-o", pipe).exit_code == 2
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        result = run("decompose", "a.png", "-o", pipe, "--level", 1, "--force")
        assert result.exit_code == 0, result.output
        assert os.read(reader, 4).endswith(b"PNG")
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_page_keeps_what_is_not_ours(folder):
    page = folder / "page.md"
    page.write_text("# Mine\n")
    result = run("bench cpu", "--quick", "--markdown", page, "--force")
    assert result.exit_code == 2
    assert page.read_text() == "# Mine\n"


def test_the_demonstration_replaces_nothing_unasked(folder):
    (folder / "out").mkdir()
    (folder / "out" / "photograph-noisy.png").write_bytes(b"mine")
    result = run("demo", "--no-clip")
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert (folder / "out" / "photograph-noisy.png").read_bytes() == b"mine"
    assert "photograph-denoised.png" in run("demo", "--dry-run", "--force").output
    assert len(list((folder / "out").iterdir())) == 1


def test_a_store_is_not_written_into_what_is_read(folder):
    import zarr

    zarr.save_array(str(folder / "a.zarr"), np.zeros((40, 40), np.float32))
    (folder / "link.zarr").symlink_to(folder / "a.zarr")
    for name in ("pyramid", "denoise"):
        result = run(name, "a.zarr", "link.zarr", "--force")
        assert result.exit_code == 2
        assert "own result" in result.stderr


def test_plans_for_programs(folder):
    record = json.loads(run("encode", "a.png", "c.jp2", "--dry-run", "--json").stdout)
    assert record == {"dry_run": True, "files": [{"source": "a.png", "output": "c.jp2", "replaces": False}]}
    assert run("wavelets", "db2", "--dry-run").output == "no file would be written\n"


def test_files_are_known_by_links(tmp_path):
    (tmp_path / "a").write_bytes(b"")
    os.link(tmp_path / "a", tmp_path / "b")
    files = Files([tmp_path / "a"])
    assert tmp_path / "b" in files
    assert tmp_path / "c" not in files
    files.add(tmp_path / "c")
    assert tmp_path / "sub" / ".." / "c" in files
