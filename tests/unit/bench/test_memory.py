"""The peak of memory is measured where it is, in a process of its own."""

import sys

import pytest

from subband.bench import memory
from subband.bench.cases import Case
from subband.errors import SubbandError


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not set the high-water mark back")
@pytest.mark.parametrize("inverse", [False, True])
def test_peak_holds_the_result_and_little_more(inverse):
    peak = memory.measure_peak(Case((4096, 4096), "haar", inverse=inverse))
    assert 0.95 < peak < 1.5


def test_failure_is_told():
    with pytest.raises(SubbandError, match="quux"):
        memory.measure_peak(Case((8, 8), "quux"))
