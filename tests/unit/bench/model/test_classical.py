"""The model of the thesis: its own example, number by number."""

from dataclasses import replace

import pytest

from subband.bench.model.classical import AS_CALCULATED, PRINTED
from subband.bench.papers.worked_model import RESULTS, TABLE_4_11

DIGITS = {name: 1 if name in ("ratio", "speedup", "total") else 2 for name in RESULTS}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_the_printed_ones(name):
    """Table 3.3 and equation 3.14, from 80 GB/s and 20 GFLOPS."""
    value = getattr(AS_CALCULATED, name) * (1 if name in ("ratio", "speedup") else 1e3)
    assert round(value, DIGITS[name]) == RESULTS[name]


def test_numbers_printed_do_not_give_all_of_them():
    assert round(1e3 * PRINTED.arithmetic, 2) == RESULTS["arithmetic"]
    assert round(1e3 * PRINTED.upload, 2) == RESULTS["upload"]
    assert PRINTED.transfer == 8 * 512**2 * 14 / 86.4e9
    assert round(1e3 * PRINTED.transfer, 2) == 0.34
    assert round(PRINTED.ratio, 1) == 7.7
    assert round(1e3 * PRINTED.host, 2) == 2.52
    assert round(PRINTED.speedup, 1) == 5.3


def test_only_two_numbers_differ():
    assert replace(AS_CALCULATED, memory_bandwidth=86.4e9, host_rate=25e9) == PRINTED


def test_a_quarter_of_the_time_is_the_upload():
    """The text: approximately 25% of the time is spent transferring data to the GPU."""
    assert AS_CALCULATED.upload / AS_CALCULATED.total == pytest.approx(0.25, abs=0.02)


def test_arithmetic_bound_devices_take_the_time_of_arithmetic():
    slow = replace(PRINTED, arithmetic_rate=1e9, overhead=1e-3)
    assert slow.computation == slow.arithmetic > slow.transfer
    assert slow.total == pytest.approx(1e-3 + slow.upload + slow.arithmetic)


def test_table_4_11_is_off_by_what_it_says():
    for predicted, actual, error in TABLE_4_11.values():
        assert round(actual / predicted, 1) == error
    assert (TABLE_4_11["CPU"][0], TABLE_4_11["GPU"][0], TABLE_4_11["speed-up"][0]) == (
        RESULTS["host"],
        RESULTS["total"],
        RESULTS["speedup"],
    )
