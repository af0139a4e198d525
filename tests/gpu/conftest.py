"""Which of the tests a process runs if several share them; see ``spread.py``."""

from __future__ import annotations

import os

SHARE = "SUBBAND_TEST_SHARE"


def pytest_collection_modifyitems(items):
    """Leave out what other processes run: one of ``3/8`` runs every eighth test, from the fourth on."""
    number, _, count = os.environ.get(SHARE, "0/1").partition("/")
    items[:] = items[int(number) :: int(count)]
