"""List the versions of the documentation that lie side by side in a folder, so that readers can switch between them.

``python docs/gather_versions.py published`` reads ``published/dev``, ``published/0.1`` and so on, each built by
``make docs``. It writes the list into each of them, and a start page that leads to the newest release.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

LIST = "_static/versions.js"
START = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>subband</title>
<meta http-equiv="refresh" content="0; url={folder}/index.html">
<a href="{folder}/index.html">subband {title}</a>
</html>
"""


class Version(NamedTuple):
    """One version: the name of its folder, and what the menu calls it."""

    folder: str
    title: str


def find_versions(published: Path) -> list[Version]:
    """Return the versions of a folder: what is being developed first, then releases from the newest to the oldest."""
    found = []
    for inventory in published.glob("*/objects.inv"):
        folder = inventory.parent.name
        if (inventory.parent / LIST).is_file():
            # the first lines are text, and the third has the version
            release = inventory.read_bytes().split(b"\n", 3)[2].decode().removeprefix("# Version: ")
            found.append(Version(folder, f"{folder} ({release})" if folder == "dev" else release))
    return sorted(found, key=lambda version: _order(version.folder), reverse=True)


def write_versions(published: Path) -> list[Version]:
    """Write the list into each version, and the start page; return the list."""
    versions = find_versions(published)
    if not versions:
        raise SystemExit(
            f"{published} has no documentation in its folders; build it with `make docs` and copy site there"
        )
    data = json.dumps([version._asdict() for version in versions], indent=2)
    for version in versions:
        text = f"// Written by docs/gather_versions.py.\nwindow.subbandVersions = {data};\n"
        (published / version.folder / LIST).write_text(text, encoding="utf-8")
    newest = next((version for version in versions if version.folder != "dev"), versions[0])
    (published / "index.html").write_text(START.format(**newest._asdict()), encoding="utf-8")
    return versions


def _order(folder: str) -> tuple[bool, list[int]]:
    """Return what versions are sorted by."""
    return folder == "dev", [int(number) for number in re.findall(r"\d+", folder)]


if __name__ == "__main__":
    for each in write_versions(Path(sys.argv[1])):
        print(each.title)
