"""Readers of the documentation can switch between versions that lie side by side, also of pages opened as files."""

import os
import runpy
import shutil
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGE = """<!doctype html><html data-content_root="{root}"><title>{title}</title>
<script src="{root}_static/versions.js"></script><script src="{root}_static/switcher.js"></script>
<body>{label}</body></html>
"""


@pytest.fixture
def published(tmp_path):
    """Make a folder of three versions, of which only two have a second page."""
    label = (DOCS / "templates" / "versions.html").read_text(encoding="utf-8").partition("#}")[2]
    for folder, release in {"0.9": "0.9.2", "0.10": "0.10.0", "dev": "0.11.0.dev0"}.items():
        version = tmp_path / folder
        (version / "_static").mkdir(parents=True)
        for name in ("versions.js", "switcher.js"):
            shutil.copy(DOCS / "static" / name, version / "_static")
        header = f"# Sphinx inventory version 2\n# Project: subband\n# Version: {release}\n# The rest is compressed\n"
        (version / "objects.inv").write_bytes(header.encode() + b"\x00")
        pages = {"index.html": "./", "reference/dwt2.html": "../"} if folder != "0.9" else {"index.html": "./"}
        for name, root in pages.items():
            (version / name).parent.mkdir(exist_ok=True)
            text = PAGE.format(root=root, title=f"{folder} {name}", label=label.replace("{{ version }}", release))
            (version / name).write_text(text, encoding="utf-8")
    (tmp_path / "drafts").mkdir()
    return tmp_path


@pytest.fixture
def write_versions():
    return runpy.run_path(str(DOCS / "gather_versions.py"))["write_versions"]


def test_the_newest_release_comes_after_what_is_developed(published, write_versions):
    versions = write_versions(published)
    assert versions == [("dev", "dev (0.11.0.dev0)"), ("0.10", "0.10.0"), ("0.9", "0.9.2")]
    assert "url=0.10/index.html" in (published / "index.html").read_text(encoding="utf-8")


def test_a_folder_without_versions_is_refused(tmp_path, write_versions):
    with pytest.raises(SystemExit, match="make docs"):
        write_versions(tmp_path)


@pytest.mark.browser
def test_the_menu_leads_to_pages_that_exist(published, write_versions):
    sync_api = pytest.importorskip("playwright.sync_api")
    program = os.environ.get("SUBBAND_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.set_default_timeout(180_000)
        page.goto((published / "dev" / "reference" / "dwt2.html").as_uri())
        assert page.locator("#version-menu").inner_text() == "0.11.0.dev0"  # alone, it is no menu
        write_versions(published)
        page.goto((published / "index.html").as_uri())
        page.wait_for_url("**/0.10/index.html")
        page.goto((published / "dev" / "reference" / "dwt2.html").as_uri())
        menu = page.get_by_label("Version of the documentation")
        assert menu.locator("option").all_inner_texts() == ["dev (0.11.0.dev0)", "0.10.0", "0.9.2"]
        assert menu.input_value() == "dev"
        menu.select_option("0.9")
        page.wait_for_url("**/0.9/index.html")
        assert page.title() == "0.9 index.html"
        browser.close()
