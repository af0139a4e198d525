from __future__ import annotations

import pytest

from subband.engines import get_threads, set_threads
from subband.testing import EngineTests


class TestCpuEngine(EngineTests):
    engine = "cpu"

    @pytest.fixture(autouse=True)
    def _several_threads(self):
        """Cut the work into tasks for threads, also on a machine with a single core."""
        before = get_threads()
        set_threads(max(before, 3))
        yield
        set_threads(before)
