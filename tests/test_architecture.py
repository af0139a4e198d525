"""The page on the architecture is true, and answers what a newcomer asks it."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import subband
from subband.cli.group import COMMANDS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "subband"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

#: What somebody might want to change, and the file to open; a word of the question leads to the line that says so.
QUESTIONS = [
    ("Which file would you open to add a wavelet?", "a wavelet", "wavelets/catalogue.py"),
    ("... to change how VisuShrink chooses its threshold?", "a denoising method", "enhance/methods/visu.py"),
    ("... to change how far thresholds are scaled for 16-bit files?", "| units and colours", "pipeline/units.py"),
    ("... to change what lies beyond the border of an image?", "a boundary mode", "boundary.py"),
    ("... to make a new engine known by its name?", "| an engine", "engines/registry.py"),
    ("... to change the thread that encodes a video?", "encodes at the same time", "pipeline/relay.py"),
    ("... to add a tab to the studio?", "a studio tool", "studio/tools/lookup.py"),
    ("... to change how results are compressed for the browser?", "compresses", "studio/encoding.py"),
]

PATH = re.compile(r"[\w./]*(/|\.(py|js|txt|md))")
NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)?")


def split_page(text):
    """Give the paragraphs, list items and rows of tables, which stand for themselves."""
    return re.split(r"\n(?=\n|\||\d+\. )", text)


def find_path(text):
    folder = ROOT if text.startswith(("src/", "tests/", "docs/")) else SOURCE
    return folder / text


@cache
def list_names(path):
    """Return what a module, or the modules of a folder, define: functions, classes, their methods, and variables."""
    if path.is_dir():
        return frozenset().union(*(list_names(module) for module in path.rglob("*.py")))
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body if path.suffix == ".py" else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{member.name}" for member in node.body if isinstance(member, ast.FunctionDef)}
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(names)


def find_faults(text):
    """Give what a part of the page names and the source does not have."""
    paths = []
    for span in re.findall(r"`([^`]+)`", text):
        if span.startswith("subband "):
            if span.split()[1] not in COMMANDS:
                yield f"there is no command {span!r}"
        elif span.startswith("subband."):
            if not hasattr(subband, re.match(r"subband\.(\w+)", span)[1]):
                yield f"there is no {span!r}"
        elif PATH.fullmatch(span):
            paths.append(find_path(span))
            if not paths[-1].exists():
                yield f"there is no {span!r}"
        elif not NAME.fullmatch(span):
            yield f"{span!r} is neither a path nor a name"
        elif not any((SOURCE / name).exists() for name in (span, f"{span}.py")) and not (
            paths and paths[-1].exists() and span in list_names(paths[-1])
        ):
            yield f"{span!r} is not defined in {paths[-1] if paths else 'any path before it'}"


def test_files_and_functions_exist():
    assert [fault for part in split_page(PAGE) for fault in find_faults(part)] == []


@pytest.mark.parametrize(
    "text",
    [
        "`plan.py`: `no_such_function`",
        "`no_such_file.py`",
        "`plan.py`, then `engines/base.py`: `transform_plan`",
        "`subband bewitch in.png`",
        "`subband.no_such_name(x)`",
    ],
)
def test_what_does_not_exist_is_found(text):
    assert list(find_faults(text))


@pytest.mark.parametrize(("question", "word", "answer"), QUESTIONS, ids=[answer for *_, answer in QUESTIONS])
def test_page_answers(question, word, answer):
    parts = [part for part in split_page(PAGE) if word in part]
    assert len(parts) == 1, f"{question} leads to {len(parts)} lines"
    assert f"`{answer}`" in parts[0], f"{question} is not answered by {parts[0]}"


def test_page_is_short():
    """One page: what does not fit belongs to the module that it is about."""
    assert len(PAGE.splitlines()) < 150
