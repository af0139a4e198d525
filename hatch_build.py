"""Compiles the package's kernels when a wheel is built, so that nothing has to be compiled where it is used.

By default for the processor that it is built on. Set ``SUBBAND_BUILD_KERNELS=all`` for a wheel that others will use: it
has kernels for every level of such processors. With ``SUBBAND_BUILD_KERNELS=0`` it has none, is for any machine, and
compiles kernels when they are first called.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


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
