"""Sphinx's settings: one theme, no network, and an executed gallery."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from sys import path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.autodoc.mock import mock
from sphinx.util import logging

import subband

path.insert(0, str(Path(__file__).parent))

from colours import COLOURS
from write_reference import write_reference

project = "subband"
author = "the subband developers"
copyright = "2026, the subband developers"
release = version = subband.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
# Sources of the gallery, and what the gallery makes beside its pages.
exclude_patterns = [
    "_build",
    "examples",
    "templates",
    "sg_execution_times.rst",
    "gallery/**/*.ipynb",
    "gallery/**/*.py",
]
# Single backticks in docstrings are code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# `write_reference` writes the pages.
autosummary_generate = False
# The reference describes what needs these libraries, and can be written without them.
OPTIONAL = ("dask", "distributed", "ipywidgets", "napari", "sklearn", "torch", "xarray", "zarr")
autodoc_mock_imports = [name for name in OPTIONAL if find_spec(name) is None]
# Those that are there come first: SciPy, which some of them import, takes a mock of Torch for Torch itself.
for found in set(OPTIONAL) - set(autodoc_mock_imports):
    import_module(found)
# "Tensor of shape (rows, columns)": words of types are names of attributes, too, and none of them is meant.
suppress_warnings = ["ref.python", "config.cache"]
napoleon_google_docstring = False
napoleon_use_rtype = False
# Attributes that are properties would be described twice otherwise.
napoleon_use_ivar = True
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
# Prompts are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "subband"
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["versions.js", "switcher.js"]
html_logo = html_favicon = "static/logo.svg"
html_show_sourcelink = False
html_theme_options: dict[str, Any] = {
    "logo": {"text": "subband", "alt_text": "subband, start page"},
    "header_links_before_dropdown": 6,
    "navbar_end": ["versions", "theme-switcher"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
# The start page and the pages of two sections need no list of their neighbours.
html_sidebars = {"index": [], "changelog": []}

# Figures of the reference: one image each, and no links to files.
plot_rcparams = COLOURS
plot_formats = [("png", 110)]
plot_html_show_formats = plot_html_show_source_link = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("subband",),
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "download_all_examples": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "thumbnail_size": (480, 336),
    "matplotlib_animations": False,
    "reset_modules": ("matplotlib", "colours.set_colours"),
}


def check_inventory(_: Sphinx, env: BuildEnvironment) -> None:
    """Warn of public names that the inventory lacks, so that `make docs` fails."""
    described = {*env.domains.python_domain.objects, *env.domains.python_domain.modules}
    for name in subband.__all__:
        if f"subband.{name}" not in described:
            logging.getLogger(__name__).warning("subband.%s has no page in the reference", name)


def setup(app: Sphinx) -> None:
    """Write the pages of the reference before they are looked for."""
    with mock(autodoc_mock_imports):
        write_reference()
    app.connect("env-check-consistency", check_inventory)
