from __future__ import annotations

import array_api_strict
import numpy as np

from subband.arrays import FunctionalArray
from subband.testing import EngineTests


class TestArrayEngine(EngineTests):
    engine = "array"
    alternates_dtypes = True
    # taps are numbers to it, however many: short and long filters, with and without lifting steps
    wavelets = ("haar", "db2", "db7", "db20", "sym4", "coif2", "bior1.3", "bior3.3", "bior4.4", "bior6.8", "rbio3.1")
    wavelets += ("dmey", "cdf53", "cdf97")


class TestArrayEngineOnTheStandard(EngineTests):
    """Arrays of a library that has what the array API standard asks for, and nothing else."""

    engine = "array"
    alternates_dtypes = True
    # the arithmetic is that of the class above, and here it is another library's
    lengths = (1, 17, 64)
    wavelets = ("haar", "db7", "bior3.3", "cdf97")

    def upload(self, x):
        return FunctionalArray(array_api_strict.asarray(x, copy=True))

    def download(self, x):
        return np.array(x.array)
