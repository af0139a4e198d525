"""One spelling: an option means one thing in all commands, old names are taken, and errors speak of options."""

import ast
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import subband
from subband.cli import app
from subband.cli.group import explain, walk_commands
from subband.cli.option_names import RENAMED, list_options, rename_options, translate
from subband.cli.outputs import find_kind
from subband.media import Still, read_still, write_still

COMMANDS = walk_commands()
OF_TYPER = ("help", "install_completion", "show_completion")
PATHS = ("FILE", "FOLDER", "OUT", "PATH", "LIGHT")
#: What a message of the library may name that no command line sets: arrays, objects, and parts of chains.
ROOMS_OF_FILES = ("media", "pipeline", "enhance", "codecs", "edit", "wavelets")


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def list_options_of(command):
    return [each for each in command.params if each.param_type_name == "option" and each.name not in OF_TYPER]


#: Names that choose a view where they have a value, and open one where they have none.
TWICE = {"--view"}


def find_conflicts(commands):
    """Return what is wrong: a name with two meanings, a short name of two options, two names for one meaning."""
    meanings, shorts, names = defaultdict(dict), defaultdict(dict), defaultdict(dict)
    for command_name, command in commands.items():
        for option in list_options_of(command):
            metavar = "PATH" if option.metavar in PATHS else option.metavar
            meaning = find_kind(command.callback, option.name).__name__, metavar
            long = max(option.opts, key=len)
            for name in (*option.opts, *option.secondary_opts):
                meanings[name].setdefault(meaning, command_name)
                if not name.startswith("--"):
                    shorts[name].setdefault(long, command_name)
            names[option.help].setdefault(long, command_name)
    return [
        f"{name}: {found}"
        for table in (meanings, shorts, names)
        for name, found in table.items()
        if len(found) > 1 and name not in TWICE
    ]  # fmt: skip


def test_an_option_has_one_meaning():
    assert find_conflicts(COMMANDS) == []


def test_two_meanings_are_noticed():
    made = typer.Typer()

    @made.command()
    def one(size: Annotated[str, typer.Option("--size", "-s", metavar="WxH", help="How large.")] = ""): ...

    @made.command()
    def two(size: Annotated[int, typer.Option("--size", metavar="BYTES", help="How many.")] = 0): ...

    @made.command()
    def three(
        large: Annotated[str, typer.Option("--large", metavar="WxH", help="How large.")] = "",
        sigma: Annotated[float, typer.Option("--sigma", "-s", help="How strong.")] = 1.0,
    ): ...

    found = find_conflicts(typer.main.get_command(made).commands)
    assert {line.partition(":")[0] for line in found} == {"--size", "-s", "How large."}


@pytest.mark.parametrize("name", COMMANDS)
def test_json_is_a_flag_and_a_file_is_an_output(name):
    for option in list_options_of(COMMANDS[name]):
        if "--json" in option.opts:
            assert option.is_flag
        if "-o" in option.opts:
            assert "--output" in option.opts


def test_every_old_name_is_gone_and_every_new_one_there():
    for command, names in RENAMED.items():
        there = {name for each in COMMANDS[command].params for name in (*each.opts, *each.secondary_opts)}
        assert there.isdisjoint(names)
        assert there.issuperset(names.values())


@pytest.mark.parametrize(
    ("command", "words", "spelt"),
    [
        ("encode", ["--rate", "1", "--size=5", "--", "--rate"], ["--bpp", "1", "--bytes=5", "--", "--rate"]),
        ("verify", ["-m", "whole"], ["--boundary", "whole"]),
        ("verify", ["-mwhole"], ["--boundary=whole"]),
        ("denoise", ["-m", "visu", "--rate", "3"], ["-m", "visu", "--rate", "3"]),
        ("bench cpu", ["--json=a.json", "--no-memory"], ["--output=a.json", "--no-peak-memory"]),
        ("bench gpu", ["--json", "haar"], ["--json", "haar"]),
        ("devices", ["--json", "a.json"], ["--json", "a.json"]),
    ],
)
def test_old_names_become_new_ones(command, words, spelt):
    found, remarks = rename_options(command, words)
    assert found == spelt
    assert bool(remarks) == (spelt != words)


def test_an_old_name_works_and_says_what_it_is_called_now(tmp_path):
    write_still(tmp_path / "a.png", Still(np.zeros((16, 16), np.uint8)))
    result = run("encode", tmp_path / "a.png", tmp_path / "a.jp2", "--levels", 1)
    assert result.exit_code == 0, result.output
    assert result.stderr == "note: --levels is called --level now\n"
    assert run("edges", tmp_path / "a.png", tmp_path / "b.png", "--mask").exit_code == 0


def test_figures_are_printed_or_written_as_json(tmp_path, monkeypatch):
    from subband.bench import edges as phantoms
    from subband.bench.tables import Report, Sheet

    monkeypatch.setattr(phantoms, "measure_phantoms", lambda noises: iter(()))
    monkeypatch.setattr(phantoms, "report", lambda found: Report([Sheet("t", ["a"], [["1"]])], (), {"seconds": [1]}))
    printed = run("bench", "edges", "--json")
    assert json.loads(printed.stdout)["edges"]["seconds"] == [1]
    assert run("bench", "edges", "-o", tmp_path / "new.json").exit_code == 0
    old = run("bench", "edges", "--json", tmp_path / "old.json")
    assert "a file is named with --output" in old.stderr
    assert json.loads((tmp_path / "old.json").read_text()) == json.loads((tmp_path / "new.json").read_text())


@pytest.mark.parametrize(
    ("command", "message", "said"),
    [
        ("denoise", "pass tolerant=True to scale such frames", "pass --tolerant to scale such frames"),
        ("denoise", "pass most_pixels=4000 or set X", "pass --most-pixels 4000 or set X"),
        ("denoise", "pass overwrite=True to replace it", "pass --force to replace it"),
        ("denoise", "use nonfinite='mask' to leave them", "use --nonfinite mask to leave them"),
        ("denoise", "leave the sound out with audio=False", "leave the sound out with --no-audio"),
        ("denoise", "sigma=[1, 2] or None to measure", "--sigma [1, 2] or leave it out to measure"),
        ("decompose", "mode='whole' needs 'db4'", "--boundary whole needs 'db4'"),
        ("stylise", "use fit='tile', 'mirror' or 'crop'", "use --fit 'tile', 'mirror' or 'crop'"),
        ("decode", "raise it, or use `reduce` or `region`", "raise it, or use --reduce or --region"),
        ("verify", "wavelist(kind='continuous') gives the names", "`subband wavelets` gives the names"),
        ("verify", "level=9. x.level=3, axes=(1, 2)", "--level 9. x.level=3, axes=(1, 2)"),
    ],
)  # fmt: skip
def test_messages_speak_of_options(command, message, said):
    assert translate(message, COMMANDS[command]) == said


def test_messages_of_nobody_stay():
    assert translate("tolerant=True and wavelist()", None) == "tolerant=True and `subband wavelets`"
    assert explain(ValueError("level=3")) == "level=3"


def test_every_way_out_of_the_library_is_one_of_the_command_line():
    """Arguments that errors tell users to pass are options of the commands that can meet these errors."""
    told = re.compile(r"(?:pass|use|with|or|;) ([a-z_]+)=(?:True|False|'\w+'|,| )")
    allowed = {
        # where frames and arrays come from is decided by the command
        "colours", "series", "axes", "stationary", "at", "form", "transform", "output_format", "trim_approx", "codec",
    }  # fmt: skip
    known = set().union(*(list_options(command) for command in COMMANDS.values()))
    found = {}
    home = Path(subband.__file__).parent
    for room in ("outputs", *ROOMS_OF_FILES):
        for path in (home / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
                    found.update(dict.fromkeys(told.findall(node.value), f"{path.name}: {node.value}"))
    assert {"tolerant", "overwrite"} <= set(found)
    unknown = {name: where for name, where in found.items() if name not in known | allowed}
    assert unknown == {}


def make_damaged_film(folder):
    assert run("filter", "test:64x48@25?count=40", folder / "whole.mkv").exit_code == 0
    data = (folder / "whole.mkv").read_bytes()
    (folder / "cut.mkv").write_bytes(data[: len(data) * 2 // 3])
    return folder / "cut.mkv"


@pytest.mark.filterwarnings("ignore:.*ends too early")
@pytest.mark.parametrize("command", ["denoise", "filter", "noise", "edges"])
def test_damaged_film_is_told_with_the_option(tmp_path, command):
    film = make_damaged_film(tmp_path)
    result = run(command, film, tmp_path / "out.mkv")
    assert result.exit_code == 2
    assert "--tolerant reads on" in result.stderr
    assert "tolerant=" not in result.stderr
    assert run(command, film, tmp_path / "out.mkv", "--tolerant").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("denoise", "{picture}", "out.png"),
        ("noise", "{picture}", "out.png"),
        ("decompose", "{picture}", "-o", "out.png"),
        ("verify", "{picture}"),
        ("compare", "{picture}", "{picture}"),
        ("encode", "{picture}", "out.jp2"),
        ("reshape", "{picture}", "out.obj"),
    ],
)
def test_limits_are_told_with_the_option(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SUBBAND_MOST_PIXELS", "100")
    write_still(tmp_path / "a.png", Still(np.zeros((64, 64), np.uint8)))
    words = [word.format(picture="a.png") for word in words]
    result = run(*words)
    assert result.exit_code == 2
    assert "--most-pixels 4096" in result.stderr
    assert "most_pixels" not in result.stderr
    assert run(*words, "--most-pixels", 4096).exit_code in (0, 1)


def test_missing_numbers_in_a_store_are_told_with_the_option(tmp_path):
    import zarr

    array = np.zeros((40, 40), np.float32)
    array[3, 4] = np.nan
    zarr.save_array(str(tmp_path / "a.zarr"), array)
    result = run("denoise", tmp_path / "a.zarr", tmp_path / "b.zarr", "--level", 1)
    assert result.exit_code == 2
    assert "--nonfinite mask" in result.stderr
    assert "nonfinite=" not in result.stderr


@pytest.mark.parametrize("words", [("denoise", "--level", 1), ("filter", "--gains", 0.5)])
@pytest.mark.parametrize("shape", [(40, 40), (8, 40, 40)])
def test_the_option_that_is_told_for_missing_numbers_works(tmp_path, words, shape):
    array = np.random.default_rng(0).random(shape).astype(np.float32)
    array[..., 3, 4] = np.nan
    name = "tiff" if len(shape) == 2 else "npy"
    source, output = tmp_path / f"a.{name}", tmp_path / f"b.{name}"
    if name == "npy":
        np.save(source, array)
    else:
        write_still(source, Still(array))
    command, *options = words
    result = run(command, source, output, *options)
    assert result.exit_code == 2
    assert "use --nonfinite mask" in result.stderr
    assert run(command, source, output, *options, "--nonfinite", "mask").exit_code == 0
    made = np.load(output) if name == "npy" else read_still(output).pixels
    np.testing.assert_array_equal(np.isnan(made), np.isnan(array))
    assert not np.array_equal(made, array, equal_nan=True)
    assert "use refuse or mask" in run(command, source, output, *options, "--nonfinite", "some", "--force").stderr


def test_edges_are_not_told_of_numpy(tmp_path):
    write_still(tmp_path / "a.tiff", Still(np.full((40, 40), np.nan, np.float32)))
    result = run("edges", tmp_path / "a.tiff", tmp_path / "b.tiff")
    assert result.exit_code == 2
    assert result.stderr.endswith("replace them first\n")


def test_a_chain_speaks_of_its_file(tmp_path):
    (tmp_path / "chain.toml").write_text('[[stages]]\nkind = "blur"\nsigma = -1.0\n')
    result = run("filter", "--chain", tmp_path / "chain.toml", "--show-chain")
    assert result.exit_code == 2
    assert "sigma = -1" in result.stderr
    assert "--sigma" not in result.stderr


def test_noise_is_said_as_where_it_is_removed(tmp_path):
    write_still(tmp_path / "a.png", Still(np.full((32, 32), 100, np.uint8)))
    for number, words in enumerate([("-n", "speckle:looks=4"), ("-n", "speckle", "--looks", 4)]):
        assert run("noise", tmp_path / "a.png", tmp_path / f"{number}.png", *words, "--seed", 1).exit_code == 0
    assert (tmp_path / "0.png").read_bytes() == (tmp_path / "1.png").read_bytes()
    result = run("noise", tmp_path / "a.png", tmp_path / "c.png", "-n", "speckle:looks=4", "--looks", 4)
    assert "leave --looks out" in result.stderr
