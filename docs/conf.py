"""Sphinx's settings: one theme, no network."""

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
napoleon_google_docstring = False
napoleon_use_rtype = False
# Attributes that are properties would be described twice otherwise.
napoleon_use_ivar = True
myst_heading_anchors = 3
