from __future__ import annotations

import psutil
import pytest

from subband.bench.load import keep_busy


def test_processes_are_gone_afterwards():
    own = psutil.Process()
    before = set(own.children())

    def stop_in_the_middle():
        with keep_busy(2):
            assert len(set(own.children()) - before) == 2
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        stop_in_the_middle()
    assert not set(own.children()) - before
