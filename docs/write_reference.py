"""Write the pages of the reference, one for each public name: Sphinx runs it before it reads the pages.

`docs/api.md` lists the modules. What each exports is described under the name that users type: `subband.dwt2`, and
`subband.enhance.Denoise` for what `subband` itself does not have.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from doctest import DocTestParser
from importlib import import_module
from pathlib import Path
from textwrap import indent
from types import ModuleType
from typing import Any

import subband

DOCS = Path(__file__).parent
FOLDER = DOCS / "reference"


def list_modules() -> list[str]:
    """Return the modules whose pages `docs/api.md` links to, in its order."""
    return re.findall(r"<reference/([\w.]+)>", (DOCS / "api.md").read_text(encoding="utf-8"))


def find_names() -> dict[str, dict[str, Any]]:
    """Return what each module exports, by full name; what several modules export belongs to the first of them."""
    found: dict[str, dict[str, Any]] = {}
    seen: set[int] = set()
    modules = list_modules()
    # names of no other module are what the page of `subband` is about
    for module_name in sorted(modules, key="subband".__eq__):
        found[module_name] = {}
        try:
            module = import_module(module_name)
        except ImportError:  # an optional library is missing
            continue
        for name in module.__all__:
            member = getattr(module, name)
            if isinstance(member, ModuleType) or id(member) in seen:
                continue
            seen.add(id(member))
            is_ours = getattr(subband, name, None) is member
            found[module_name][f"{'subband' if is_ours else module_name}.{name}"] = member
    return found


def render_module(module_name: str, names: Mapping[str, Any]) -> str:
    """Return the page of a module: what it is for, and a table of its names; constants have no docstring for that."""
    entries = "\n".join(f"   {name}" for name in names if callable(names[name]))
    constants = "\n".join(
        f"* :data:`{name}`: {find_comment(name, names[name])}" for name in names if not callable(names[name])
    )
    pages = "\n".join(f"   {name.rpartition('.')[2]} <{name}>" for name in names)
    return (
        f"{module_name}\n{'=' * len(module_name)}\n\n.. automodule:: {module_name}\n   :no-members:\n\n"
        # entries are full names, which autosummary takes as such outside of any module
        f".. currentmodule:: None\n\n.. autosummary::\n   :nosignatures:\n\n{entries}\n\n{constants}\n\n"
        f".. toctree::\n   :hidden:\n\n{pages}\n"
    )


def render_name(name: str, member: Any) -> str:
    """Return the page of a name: its docstring, a figure of what it draws, and examples of the gallery that use it."""
    title = name.replace("__version__", r"\_\_version\_\_")
    if inspect.isclass(member):
        directive = f".. autoclass:: {name}\n   :members:\n   :show-inheritance:"
    elif callable(member):  # also what decorators of a library that is not installed make
        directive = f".. autofunction:: {name}"
    else:
        directive = f".. data:: {name}\n\n   {find_comment(name, member)}"
    gallery = f".. minigallery:: {name}\n   :add-heading: Examples in the gallery\n"
    figure = render_figure(name, member) if name.startswith("subband.plot.") else ""
    return f"{title}\n{'=' * len(title)}\n\n{directive}\n\n{figure}{gallery}"


def render_figure(name: str, member: Any) -> str:
    """Return the figure that the first example of a plotting function draws."""
    program = ""
    for example in DocTestParser().get_examples(inspect.getdoc(member) or ""):
        program += example.source
        if f"{name}(" in example.source:
            return f".. plot::\n   :alt: What the first example draws\n\n{indent(program, '   ')}\n"
    raise LookupError(f"no example of {name} calls it")


def find_comment(name: str, member: Any) -> str:
    """Return what the comment before a constant says, in whichever module defines it."""
    from sphinx.pycode import ModuleAnalyzer

    name = name.rpartition(".")[2]
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("subband") and vars(module).get(name) is member:
            comments = ModuleAnalyzer.for_module(module_name).find_attr_docs()
            if ("", name) in comments:
                return " ".join(comments["", name])
    raise LookupError(f"no comment that begins with #: stands before {name}")


def write_reference() -> None:
    """Write all pages; those that are as they were are not touched, so that Sphinx need not read them again."""
    pages: dict[str, str] = {}
    for module_name, names in find_names().items():
        pages[module_name] = render_module(module_name, names)
        pages |= {name: render_name(name, member) for name, member in names.items()}
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = FOLDER / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
