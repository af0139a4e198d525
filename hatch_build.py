"""What is done when a wheel is built: kernels are compiled, and links of the read-me resolved.

Kernels that a wheel brings need not be compiled where it is used.

By default for the processor that it is built on. Set ``SUBBAND_BUILD_KERNELS=all`` for a wheel that others will use: it
has kernels for every level of such processors. With ``SUBBAND_BUILD_KERNELS=0`` it has none, is for any machine, and
compiles kernels when they are first called.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class KernelsHook(BuildHookInterface[Any]):
    """Adds files of kernels to a wheel, for the levels of the machine that it is built on."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernels, and say that the wheel is for such machines only; editable installs do without."""
        levels = os.environ.get("SUBBAND_BUILD_KERNELS", "here")
        if version == "editable" or levels == "0":
            return
        source = Path(self.root) / "src"
        self._scratch = TemporaryDirectory()  # until the wheel is written
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), *sys.path])}
        command = [sys.executable, "-m", "subband.compiled.building", self._scratch.name]
        command += ["--here"] if levels == "here" else []
        subprocess.run(command, env=environment, check=False)
        made = list(Path(self._scratch.name).glob("*.kernels"))
        if not made:
            self.app.display_warning("no kernels were compiled; they will be when they are first called")
            return
        for path in made:
            build_data["force_include"][str(path)] = f"subband/compiled/objects/{path.name}"
        system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{system}"


class ReadmeHook(MetadataHookInterface):
    """Gives the package index a read-me without links that only work in the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the read-me; links go to `project.urls.Source`, where that is known."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        address = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {"content-type": "text/markdown", "text": resolve_links(text, address)}


def resolve_links(text: str, address: str | None) -> str:
    """Make relative links absolute; without an address, links become their words, and images go."""
    image, link = r"!\[[^\]]*\]\((?!https?:|#)([^)]+)\)", r"(\[[^\]]*\])\((?!https?:|#)([^)]+)\)"
    if address:
        text = re.sub(image, lambda match: match[0].replace(match[1], f"{address}/raw/main/{match[1]}"), text)
        return re.sub(link, rf"\1({address}/blob/main/\2)", text)
    return re.sub(link, lambda match: match[1][1:-1], re.sub(rf" *{image}\n*", "", text))
