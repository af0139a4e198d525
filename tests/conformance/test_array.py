from __future__ import annotations

import array_api_strict
import numpy as np

from subband.arrays import FunctionalArray
from subband.testing import EngineTests


class TestArrayEngine(EngineTests):
    engine = "array"


class TestArrayEngineOnTheStandard(EngineTests):
    """Arrays of a library that has what the array API standard asks for, and nothing else."""

    engine = "array"
    lengths = (1, 2, 17, 64)
    wavelets = ("haar", "db2", "db7", "sym5", "coif8", "bior3.3", "bior6.8", "rbio3.1", "cdf53", "cdf97", "dmey")

    def upload(self, x):
        return FunctionalArray(array_api_strict.asarray(x, copy=True))

    def download(self, x):
        return np.array(x.array)
