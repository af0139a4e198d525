from __future__ import annotations

from subband.testing import EngineTests


class TestReferenceEngine(EngineTests):
    """The judge itself, whose numbers `tests/golden` compares with PyWavelets."""

    engine = "reference"
    keeps_dtype = False
    is_contiguous = False
    lengths = (1, 8, 17)
