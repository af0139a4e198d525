"""The documentation is true: its programs run, and its page on the command line is what the commands say."""

import re
import runpy
import tomllib
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import subband

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: What pages need besides the package and its tests.
NEEDED = {"dask": "dask", "torch": "torch", "integrations": "torch", "tutorial-torch": "torch"}
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def find_programs(page):
    """Give the code of each Python block, padded so that a traceback points to its line in the page."""
    text = page.read_text(encoding="utf-8")
    for match in PYTHON_BLOCK.finditer(text):
        yield "\n" * text.count("\n", 0, match.start(1)) + match.group(1)


@pytest.mark.parametrize("page", [page for page in PAGES if any(find_programs(page))], ids=lambda page: page.name)
def test_programs_run(page, tmp_path, monkeypatch, request):
    if page.stem in NEEDED:
        library = pytest.importorskip(NEEDED[page.stem])
        if library.__name__ == "torch":
            # a page may set it, and that would hold for the tests after it
            request.addfinalizer(partial(library.set_num_threads, library.get_num_threads()))
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


def test_anchors_of_links_exist():
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^):#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
            text = (page.parent / target if target else page).read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.*)$", PYTHON_BLOCK.sub("", text), re.MULTILINE)
            assert anchor in {heading.lower().replace(" ", "-") for heading in headings}, f"{page.name}: #{anchor}"


def test_reference_says_where_each_name_comes_from():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    elsewhere = dict(re.findall(r"^\| `(\S+)` \| (.*) \|$", text, re.MULTILINE))
    modules = re.findall(r"automodule:: (\S+)", text)
    assert set(elsewhere) <= set(modules)
    for name in modules:
        if name.startswith("subband.integrations.") and find_spec(name.rpartition(".")[2]) is None:
            continue
        module = import_module(name)
        public = set(module.__all__)
        cell = elsewhere.get(name, "")
        named = public if cell == "all" else set(re.findall(r"`(\w+)`", cell))
        assert named == {each for each in public if getattr(module, each) is not getattr(subband, each, None)}, name


def test_changelog_names_what_is_exported_beyond_pywavelets():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    pywavelets = runpy.run_path(str(ROOT / "tests" / "test_exports.py"))["PYWAVELETS"]
    for name in set(subband.__all__) - pywavelets - {"__version__", "errors"}:
        assert re.search(rf"`(\w+\.)*{name}`", changelog), name


def test_extras_in_the_read_me_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text[text.index("| extra |") : text.index("## Sixty seconds")]
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert named == set(extras) - {"kernels", "lint", "docs", "dev"}


def test_pages_name_every_environment_variable():
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    page = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    for variable in set(re.findall(r"environ\.get\(\"(SUBBAND_\w+)", sources)):
        assert f"`{variable}`" in page, variable


def test_command_line_page_is_up_to_date():
    script = runpy.run_path(str(ROOT / "docs" / "write_cli_page.py"))
    assert script["render"]() == script["PAGE"].read_text(encoding="utf-8"), "run: make docs"


def test_methods_are_those_of_the_page():
    from subband.enhance.methods import make_table

    assert "\n".join(make_table()) in (ROOT / "docs" / "enhancement.md").read_text()


def test_settings_are_those_of_the_page():
    script = runpy.run_path(str(ROOT / "docs" / "write_settings.py"))
    text = script["PAGE"].read_text(encoding="utf-8")
    assert text.count("<!-- table of ") >= 9
    assert script["render"](text) == text, "run: make docs"


@pytest.mark.parametrize("kind", ["still", "video", "volume"])
def test_file_formats_are_those_of_the_page(kind):
    from subband.media.formats import make_table

    assert "\n".join(make_table(kind)) in (ROOT / "docs" / "media.md").read_text(encoding="utf-8")
