"""Write the tables of docs/enhancement.md from the settings classes and the methods; a test compares the two."""

from __future__ import annotations

import re
from pathlib import Path

import subband.enhance
from subband.enhance.methods import make_table
from subband.outputs import open_output
from subband.settings import make_settings_table

PAGE = Path(__file__).with_name("enhancement.md")


def make_lines(name: str) -> list[str]:
    """Return the table of a class of `subband.enhance`, or of the methods."""
    return make_table() if name == "methods" else make_settings_table(getattr(subband.enhance, name))


def render(text: str) -> str:
    """Return a page with every table between ``<!-- table of X -->`` and ``<!-- end -->`` written anew."""

    def fill(found: re.Match[str]) -> str:
        return "\n".join([f"<!-- table of {found[1]} -->", "", *make_lines(found[1]), "", "<!-- end -->"])

    return re.sub(r"<!-- table of (\w+) -->.*?<!-- end -->", fill, text, flags=re.DOTALL)


if __name__ == "__main__":
    page = render(PAGE.read_text(encoding="utf-8"))
    with open_output(PAGE, overwrite=True) as file:
        file.write(page.encode())
