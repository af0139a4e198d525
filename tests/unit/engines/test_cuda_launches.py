"""Packed launches: every kernel gets the arguments that a call with arrays would have given it. Without a GPU."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

from subband.engines import cuda_launches
from subband.engines.cuda_graphs import CudaGraph, _NodeParameters
from subband.engines.cuda_launches import CudaKernel, CudaLaunches, count_threads
from subband.engines.device import KernelCall
from subband.errors import DeviceError


class Driver:
    """A driver that reads what it is told to launch, as CUDA would."""

    def __init__(self, counts):
        self.counts = counts
        self.launched = []

    def launchKernel(self, kernel, *rest):  # noqa: N802 - as CuPy calls it
        *grid, stream, address, extra = rest
        pointers = (ctypes.c_void_p * self.counts[kernel]).from_address(address)
        words = [ctypes.c_int64.from_address(pointer).value for pointer in pointers]
        self.launched.append((kernel, tuple(grid), stream, words, extra))


def make_array(address):
    return SimpleNamespace(data=SimpleNamespace(ptr=address))


def make_kernel(number, local=0):
    return CudaKernel(SimpleNamespace(kernel=SimpleNamespace(ptr=number)), local)


#: With the local memory that blocks are handed.
GRIDS = [(3, 2, 3, 128, 1, 1, 0), (1, 1, 1, 32, 1, 1, 70_000)]


def make_launches(driver, *, is_recorded=True):
    stream = SimpleNamespace(ptr=77, is_capturing=lambda: is_recorded)
    cupy = SimpleNamespace(cuda=SimpleNamespace(driver=driver, get_current_stream=lambda: stream))
    calls = [
        KernelCall(make_kernel(1), (10, 2, 3), 4, (0, 2, 2), (make_array(500),)),
        KernelCall(make_kernel(2, 70_000), (1, 1, 1), 8, (2, 1), (make_array(600), np.int32(7), np.int32(-9))),
    ]
    return CudaLaunches(cupy, calls)


class GraphDriver:
    """A driver that makes and launches graphs as CUDA's does, of kernels with so many arguments."""

    def __init__(self, counts, *, fails_at=""):
        self.counts = counts
        self.fails_at = fails_at
        self.dependencies = []
        self.nodes = {}
        self.launched = []
        self.destroyed = 0

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)
        return lambda *arguments: 1 if name == self.fails_at else getattr(self, f"do_{name}")(*arguments)

    def _read(self, reference):
        parameters = ctypes.cast(reference, ctypes.POINTER(_NodeParameters)).contents
        pointers = (ctypes.c_void_p * self.counts[parameters.function]).from_address(parameters.arguments)
        words = [ctypes.c_int64.from_address(pointer).value for pointer in pointers]
        return parameters.function, (*parameters.grid, *parameters.block, parameters.shared), words

    def do_cuGraphCreate(self, graph, flags):  # noqa: N802 - as CUDA calls it
        graph._obj.value = 5
        return flags

    def do_cuGraphAddKernelNode_v2(self, node, graph, before, count, parameters):  # noqa: N802
        node._obj.value = 100 + len(self.nodes)
        self.dependencies.append(before._obj.value if count.value else None)
        self.nodes[node._obj.value] = self._read(parameters)
        return 0 if graph.value == 5 else 1

    def do_cuGraphInstantiateWithFlags(self, instance, graph, flags):  # noqa: N802
        instance._obj.value = 6
        return flags.value

    def do_cuGraphExecKernelNodeSetParams_v2(self, instance, node, parameters):  # noqa: N802
        self.nodes[node.value] = self._read(parameters)
        return 0 if instance.value == 6 else 1

    def do_cuGraphLaunch(self, instance, stream):  # noqa: N802
        self.launched += [(stream.value, *node) for node in self.nodes.values()]
        return 0 if instance.value == 6 else 1

    def do_cuGraphDestroy(self, graph):  # noqa: N802
        self.destroyed += graph.value == 5

    def do_cuGraphExecDestroy(self, graph):  # noqa: N802
        self.destroyed += graph.value == 6


def test_arguments_are_filled_in():
    driver = Driver({1: 4, 2: 5})
    launches = make_launches(driver)
    launches([make_array(10), make_array(20), make_array(30)])
    launches.launch([11, 21, 31], 78)
    assert driver.launched == [
        (1, GRIDS[0], 77, [10, 30, 30, 500], 0),
        (2, GRIDS[1], 77, [30, 20, 600, 7, -9], 0),
        (1, GRIDS[0], 78, [11, 31, 31, 500], 0),
        (2, GRIDS[1], 78, [31, 21, 600, 7, -9], 0),
    ]


def test_a_graph_launches_the_same(monkeypatch):
    driver = GraphDriver({1: 4, 2: 5})
    monkeypatch.setattr(cuda_launches, "load_driver", lambda: driver)
    launches = make_launches(Driver({}), is_recorded=False)
    launches([make_array(10), make_array(20), make_array(30), make_array(40)])
    launches.launch_graph([11, 21, 31, 41], 77)
    assert driver.dependencies == [None, 100]
    assert driver.launched == [
        (77, 1, GRIDS[0], [10, 30, 30, 500]),
        (77, 2, GRIDS[1], [30, 20, 600, 7, -9]),
        (77, 1, GRIDS[0], [11, 31, 31, 500]),
        (77, 2, GRIDS[1], [31, 21, 600, 7, -9]),
    ]
    assert driver.destroyed == 0
    del launches
    assert driver.destroyed == 2


@pytest.mark.parametrize("failing", ["cuGraphCreate", "cuGraphAddKernelNode_v2", "cuGraphInstantiateWithFlags"])
def test_without_graphs_kernels_are_launched_one_by_one(monkeypatch, failing):
    drivers = [None, GraphDriver({1: 4, 2: 5}, fails_at=failing)]
    for graph_driver in drivers:
        monkeypatch.setattr(cuda_launches, "load_driver", lambda found=graph_driver: found)
        driver = Driver({1: 4, 2: 5})
        launches = make_launches(driver)
        for _ in range(2):
            launches.launch_graph([10, 20, 30], 77)
        assert driver.launched == 2 * [
            (1, GRIDS[0], 77, [10, 30, 30, 500], 0),
            (2, GRIDS[1], 77, [30, 20, 600, 7, -9], 0),
        ]


def test_many_streams_do_not_have_a_graph_each(monkeypatch):
    graphs, driver = GraphDriver({1: 4, 2: 5}), Driver({1: 4, 2: 5})
    monkeypatch.setattr(cuda_launches, "load_driver", lambda: graphs)
    launches = make_launches(driver)
    for stream in range(1, 7):
        launches.launch_graph([10, 20, 30], stream)
    streams = [stream for stream, *_ in graphs.launched] + [stream for _, _, stream, *_ in driver.launched]
    assert sorted({*streams}) == [1, 2, 3, 4, 5, 6]
    assert {stream for _, _, stream, *_ in driver.launched} == {5, 6}


@pytest.mark.parametrize("failing", ["cuGraphLaunch", "cuGraphExecKernelNodeSetParams_v2"])
def test_a_launch_that_fails_is_an_error(failing):
    driver = GraphDriver({}, fails_at=failing)
    graph = CudaGraph(driver, [])
    graph._nodes.append((None, None))
    if failing == "cuGraphLaunch":
        graph._nodes.clear()
    with pytest.raises(DeviceError, match="error 1"):
        graph.launch(0)


def test_a_block_is_no_larger_than_the_grid():
    assert count_threads((3, 5, 7), 8) == ((1, 5, 7), 96)
    assert count_threads((9, 5, 7), 8) == ((2, 5, 7), 256)
