"""The documentation is true: its programs run, and its page on the command line is what the commands say."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def find_programs(page):
    """Give the code of each Python block, padded so that a traceback points to its line in the page."""
    text = page.read_text(encoding="utf-8")
    for match in PYTHON_BLOCK.finditer(text):
        yield "\n" * text.count("\n", 0, match.start(1)) + match.group(1)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(find_programs(page))], ids=lambda page: page.name
)
def test_programs_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for program in find_programs(page):
        exec(compile(program, str(page), "exec"), namespace)


def test_pages_link_to_files_that_exist():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_is_in_the_table_of_contents():
    contents = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").splitlines()
    for page in PAGES[1:]:
        assert page.stem == "index" or page.stem in contents


def test_command_line_page_is_up_to_date():
    script = runpy.run_path(str(ROOT / "docs" / "write_cli_page.py"))
    assert script["render"]() == script["PAGE"].read_text(encoding="utf-8"), "run: make docs"
