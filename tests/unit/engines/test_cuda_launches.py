"""Packed launches: every kernel gets the arguments that a call with arrays would have given it. Without a GPU."""

import ctypes
from types import SimpleNamespace

import numpy as np

from subband.engines.cuda_launches import CudaLaunches, count_threads
from subband.engines.device import KernelCall


class Driver:
    """A driver that reads what it is told to launch, as CUDA would."""

    def __init__(self, counts):
        self.counts = counts
        self.launched = []

    def launchKernel(self, kernel, *rest):  # noqa: N802 - as CuPy calls it
        *grid, _, stream, address, extra = rest
        pointers = (ctypes.c_void_p * self.counts[kernel]).from_address(address)
        words = [ctypes.c_int64.from_address(pointer).value for pointer in pointers]
        self.launched.append((kernel, tuple(grid), stream, words, extra))


def make_array(address):
    return SimpleNamespace(data=SimpleNamespace(ptr=address))


def make_kernel(number):
    return SimpleNamespace(kernel=SimpleNamespace(ptr=number))


def test_arguments_are_filled_in():
    driver = Driver({1: 4, 2: 5})
    stream = SimpleNamespace(ptr=77)
    cupy = SimpleNamespace(cuda=SimpleNamespace(driver=driver, get_current_stream=lambda: stream))
    calls = [
        KernelCall(make_kernel(1), (10, 2, 3), 4, (0, 2, 2), (make_array(500),)),
        KernelCall(make_kernel(2), (1, 1, 1), 8, (2, 1), (make_array(600), np.int32(7), np.int32(-9))),
    ]
    launches = CudaLaunches(cupy, calls)
    launches([make_array(10), make_array(20), make_array(30)])
    launches.launch([11, 21, 31], 78)
    grids = [(3, 2, 3, 128, 1, 1), (1, 1, 1, 32, 1, 1)]
    assert driver.launched == [
        (1, grids[0], 77, [10, 30, 30, 500], 0),
        (2, grids[1], 77, [30, 20, 600, 7, -9], 0),
        (1, grids[0], 78, [11, 31, 31, 500], 0),
        (2, grids[1], 78, [31, 21, 600, 7, -9], 0),
    ]


def test_a_block_is_no_larger_than_the_grid():
    assert count_threads((3, 5, 7), 8) == ((1, 5, 7), 96)
    assert count_threads((9, 5, 7), 8) == ((2, 5, 7), 256)
