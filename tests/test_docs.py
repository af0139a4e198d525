"""The documentation is true: its programs run, and its page on the command line is what the commands say."""

import re
import runpy
import tomllib
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

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


def test_every_page_is_in_a_table_of_contents():
    reached, left = set(), ["index"]
    while left:
        page = left.pop()
        reached.add(page)
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        entries = "\n".join(re.findall(r"^```{toctree}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
        found = re.findall(r"^(?:[^:\n]* <)?([\w-]+)>?$", entries, re.MULTILINE)
        left += [name for name in found if name not in reached]
    assert reached == {page.stem for page in PAGES[1:]}


def test_anchors_of_links_exist():
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^):#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
            text = (page.parent / target if target else page).read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.*)$", PYTHON_BLOCK.sub("", text), re.MULTILINE)
            assert anchor in {heading.lower().replace(" ", "-") for heading in headings}, f"{page.name}: #{anchor}"


def test_every_public_name_has_a_page_under_the_name_that_users_type():
    script = runpy.run_path(str(ROOT / "docs" / "write_reference.py"))
    pages = script["find_names"]()
    named = {name for names in pages.values() for name in names} | set(pages)
    assert {f"subband.{name}" for name in subband.__all__} <= named
    for module_name, names in pages.items():
        if not names:  # its library is missing
            assert module_name.startswith("subband.integrations.")
            continue
        module = import_module(module_name)
        exported = [getattr(module, name) for name in module.__all__]
        described = {id(member) for each in pages.values() for member in each.values()}
        assert all(id(each) in described for each in exported if not isinstance(each, ModuleType)), module_name


def test_pages_of_the_reference_describe_what_they_are_named_after():
    script = runpy.run_path(str(ROOT / "docs" / "write_reference.py"))
    assert ".. autofunction:: subband.dwt2\n" in script["render_name"]("subband.dwt2", subband.dwt2)
    assert ".. autoclass:: subband.Pyramid\n" in script["render_name"]("subband.Pyramid", subband.Pyramid)
    assert "dwt2 <subband.dwt2>" in script["render_module"]("subband.transforms", {"subband.dwt2": subband.dwt2})


@pytest.mark.parametrize("name", subband.plot.__all__)
def test_pages_of_plotting_functions_show_a_figure(name):
    script = runpy.run_path(str(ROOT / "docs" / "write_reference.py"))
    page = script["render_name"](f"subband.plot.{name}", getattr(subband.plot, name))
    assert ".. plot::\n   :alt: What the first example draws\n\n   import" in page
    assert f"subband.plot.{name}(" in page.partition(".. plot::")[2]


def test_charts_are_those_of_the_records():
    script = runpy.run_path(str(ROOT / "docs" / "draw_charts.py"))
    for name, make in script["CHARTS"].items():
        assert make().render() == script["find_path"](name).read_text(encoding="utf-8"), "run: make docs"


def test_page_on_citing_is_that_of_the_citation_file():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r'^([a-z-]+): "?(.*?)"?$', text, re.MULTILINE))
    page = (ROOT / "docs" / "cite.md").read_text(encoding="utf-8")
    for name in ("title", "version", "license"):
        assert re.search(rf"{name} += {{{re.escape(fields[name])}}}", page), name


def test_changelog_names_what_is_exported_beyond_pywavelets():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    pywavelets = runpy.run_path(str(ROOT / "tests" / "test_exports.py"))["PYWAVELETS"]
    for name in set(subband.__all__) - pywavelets - {"__version__", "errors"}:
        assert re.search(rf"`(\w+\.)*{name}`", changelog), name


def test_the_read_me_of_the_package_index_has_no_dead_links():
    resolve = runpy.run_path(str(ROOT / "hatch_build.py"))["resolve_links"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    relative = re.compile(r"\]\((?!https?:|#)")
    assert relative.search(text)
    words = resolve(text, None)
    assert not relative.search(words)
    assert "\nLearn: getting started" in words
    linked = resolve(text, "https://host.example/subband")
    assert not relative.search(linked)
    assert "[getting started](https://host.example/subband/blob/main/docs/getting-started.md)" in linked
    assert "](https://host.example/subband/raw/main/docs/images/landing-denoise.jpg)" in linked


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


def test_the_start_of_the_reference_lists_every_name():
    """But modules, and names that PyWavelets has deprecated."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^   subband\.(\w+)$", text, re.MULTILINE)
    left_out = {"__version__", "centrfrq", "intwave", "orthfilt", "scal2frq"}
    wanted = {name for name in subband.__all__ if not isinstance(getattr(subband, name), ModuleType)} - left_out
    assert sorted(listed) == sorted(wanted)


def test_the_source_distribution_has_what_tests_read():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = set(project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    # these are always there
    included |= {"LICENSE", "pyproject.toml"}
    read = {
        name
        for path in (ROOT / "tests").rglob("*.py")
        for name in re.findall(r'ROOT / "([\w.]+)', path.read_text(encoding="utf-8"))
    }
    assert read <= included
