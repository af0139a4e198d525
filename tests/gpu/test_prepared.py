"""Calls with arrays of a GPU that were made before: they take the short way, and do the same."""

from __future__ import annotations

import cupy
import pytest

import subband as sb
from subband.engines import registry

pytestmark = pytest.mark.gpu

CALLS = {
    "dwt": lambda x: sb.dwt(x, "db2", "reflect"),
    "dwt2": lambda x: sb.dwt2(x, "bior4.4"),
    "idwt2": lambda x: sb.idwt2((x, (x + 1, x + 2, x + 3)), "db3"),
    "wavedec2": lambda x: sb.wavedec2(x, "db2", level=3),
    "waverec2": lambda x: sb.waverec2([x[:10, :12], (x[10:20, :12], x[20:30, :12], x[:10, 12:24])], "db2"),
    "wavedecn": lambda x: sb.wavedecn(x, "haar", level=2, axes=(1,)),
    "decompose": lambda x: [*sb.decompose(x, "cdf97", 3)],
    "reconstruct": lambda x: sb.reconstruct(sb.decompose(x, "bior4.4", 2)),
    "swt2": lambda x: sb.swt2(x[:32, :40], "db2", level=2),
}


def compare(found, expected):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, list | tuple):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            compare(one, other)
    else:
        assert found.dtype == expected.dtype
        cupy.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_second_call_does_what_the_first_did(name, dtype):
    random = cupy.random.default_rng(0)
    call, first, second = CALLS[name], *(random.random((50, 61), dtype=dtype) for _ in range(2))
    call(first)  # what a new shape prepares
    kept = call(first)
    found = call(second)
    registry.prepared.clear()
    compare(found, call(second))
    compare(kept, call(first))


def test_a_call_is_looked_up():
    x = cupy.zeros((64, 64), "float32")
    registry.prepared.clear()
    sb.dwt2(x, "bior4.4")
    assert len(registry.prepared) == 1
    (replay,) = registry.prepared._kept.values()
    assert callable(replay)


def test_views_and_other_streams():
    x = cupy.random.default_rng(0).random((128, 130), dtype="float32")
    for view in (x, x[::2], x[:, 1:], x.T, x[1:]):
        expected = sb.wavedec2(view.copy(), "db2", level=2)
        compare(sb.wavedec2(view, "db2", level=2), expected)
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            found = sb.wavedec2(view, "db2", level=2)
        stream.synchronize()
        compare(found, expected)


def test_calls_on_many_streams_at_once():
    arrays = [cupy.random.default_rng(k).random((200, 300), dtype="float32") for k in range(6)]
    expected = [sb.wavedec2(x, "bior4.4", level=3) for x in arrays]
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in arrays]
    cupy.cuda.Device().synchronize()
    found = []
    for _ in range(5):
        for stream, x in zip(streams, arrays, strict=True):
            with stream:
                coefficients = sb.wavedec2(x, "bior4.4", level=3)
                found.append((coefficients, sb.waverec2(coefficients, "bior4.4")))
    cupy.cuda.Device().synchronize()
    for number, (coefficients, back) in enumerate(found):
        compare(coefficients, expected[number % len(arrays)])
        assert float(abs(back - arrays[number % len(arrays)]).max()) < 1e-5


def test_a_recorded_graph_outlives_what_was_prepared():
    x = cupy.random.default_rng(0).random((96, 80), dtype="float32")
    expected = sb.dwt2(x, "bior4.4")[0]
    stream, goal = cupy.cuda.Stream(non_blocking=True), cupy.empty_like(expected)
    with stream:
        sb.dwt2(x, "bior4.4")
        stream.begin_capture()
        cupy.copyto(goal, sb.dwt2(x, "bior4.4")[0])
        graph = stream.end_capture()
        sb.release_memory()
        graph.launch(stream)
    stream.synchronize()
    cupy.testing.assert_array_equal(goal, expected)
