"""Sphinx's settings: one theme, no network."""

from importlib.util import find_spec

from subband import __version__

project = "subband"
author = "the subband developers"
copyright = "2026, the subband developers"
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "subband"
# Single backticks in docstrings are code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# The reference describes what needs these libraries, and can be written without them.
autodoc_mock_imports = [name for name in ("dask", "distributed", "torch", "zarr") if find_spec(name) is None]
# "Tensor of shape (rows, columns)": words of types are names of attributes, too, and none of them is meant.
suppress_warnings = ["ref.python"]
napoleon_google_docstring = False
napoleon_use_rtype = False
# Attributes that are properties would be described twice otherwise.
napoleon_use_ivar = True
myst_heading_anchors = 3
