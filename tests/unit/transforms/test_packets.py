"""Wavelet packet trees against PyWavelets, and where it loses samples, nodes or precision."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import pywt

from subband.errors import ArgumentError, AxesError, CoefficientsError, LevelError, ShapeError, SubbandError
from subband.transforms.packets import (
    BaseNode,
    Node,
    Node2D,
    NodeND,
    WaveletPacket,
    WaveletPacket2D,
    WaveletPacketND,
)

TREES = {
    "WaveletPacket": (WaveletPacket, pywt.WaveletPacket, (40,), Node),
    "WaveletPacket2D": (WaveletPacket2D, pywt.WaveletPacket2D, (24, 32), Node2D),
    "WaveletPacketND": (WaveletPacketND, pywt.WaveletPacketND, (16, 8, 8), NodeND),
}


def sample(shape, dtype="float64"):
    rng = np.random.default_rng(11)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape)).astype(dtype) if "complex" in dtype else x.astype(dtype)


def assert_same_nodes(found, expected):
    assert [node.path for node in found] == [node.path for node in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.level, ours.node_name, ours.path_tuple, ours.maxlevel) == (
            theirs.level,
            theirs.node_name,
            theirs.path_tuple,
            theirs.maxlevel,
        )
        np.testing.assert_allclose(ours.data, theirs.data, atol=1e-10)


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("wavelet", ["haar", "db2", "bior2.2"])
@pytest.mark.parametrize("mode", ["symmetric", "periodization", "smooth", "zero"])
def test_a_full_tree_is_that_of_pywavelets(kind, wavelet, mode):
    ours, theirs, shape, node_class = TREES[kind]
    x = sample(shape)
    found, expected = ours(x, wavelet, mode, maxlevel=2), theirs(x, wavelet, mode, maxlevel=2)
    for level in (0, 1, 2):
        assert_same_nodes(found.get_level(level), expected.get_level(level))
    assert_same_nodes(found.get_leaf_nodes(), expected.get_leaf_nodes())
    np.testing.assert_allclose(found.reconstruct(update=False), x, atol=1e-12)
    assert found.data is x
    part = next(iter(found.PARTS))
    assert type(found[part]) is node_class
    assert isinstance(found, node_class | BaseNode)
    assert getattr(found, part) is found[part]


@pytest.mark.parametrize("kind", TREES)
def test_the_depth_is_that_of_pywavelets(kind):
    ours, theirs, shape, _ = TREES[kind]
    for wavelet in ("haar", "db3", "db20"):
        assert ours(sample(shape), wavelet).maxlevel == theirs(sample(shape), wavelet).maxlevel


def test_frequency_order_is_that_of_pywavelets():
    x = sample(64)
    found, expected = WaveletPacket(x, "haar"), pywt.WaveletPacket(x, "haar")
    for level in (1, 2, 4):
        assert_same_nodes(found.get_level(level, "freq"), expected.get_level(level, "freq"))
    xx = sample((16, 16))
    for level in (1, 2, 3):
        rows = WaveletPacket2D(xx, "haar").get_level(level, "freq")
        for ours, theirs in zip(rows, pywt.WaveletPacket2D(xx, "haar").get_level(level, "freq"), strict=True):
            assert_same_nodes(ours, theirs)
    assert found.get_level(0, "freq") == [found]


def test_frequency_order_of_a_part_of_the_tree():
    tree = WaveletPacket2D(sample((16, 16)), "haar")
    tree["ha"], tree["hd"], tree["vv"]
    del tree["h"]
    paths = [[node.path for node in row] for row in tree.get_level(2, "freq", decompose=False)]
    other = pywt.WaveletPacket2D(sample((16, 16)), "haar")
    other["ha"], other["hd"], other["vv"]
    del other["h"]
    assert paths == [[node.path for node in row] for row in other.get_level(2, "freq", decompose=False)]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_axis_of_several(axis):
    x = sample((12, 16))
    found, expected = WaveletPacket(x, "db2", axis=axis), pywt.WaveletPacket(x, "db2", axis=axis)
    assert found.axes == expected.axes
    assert_same_nodes(found.get_level(2), expected.get_level(2))
    np.testing.assert_allclose(found.reconstruct(), x, atol=1e-12)


@pytest.mark.parametrize("axes", [(0, 1), 1, (-1, 0), (2,)])
def test_some_axes_of_several(axes):
    x = sample((8, 6, 4))
    found = WaveletPacketND(x, "haar", axes=axes)
    expected = pywt.WaveletPacketND(x, "haar", axes=axes)
    assert_same_nodes(found.get_level(1), expected.get_level(1))
    assert (found.ndim, found.ndim_transform, found.PART_LEN) == (
        expected.ndim,
        expected.ndim_transform,
        expected.PART_LEN,
    )


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("mode", ["symmetric", "periodization"])
def test_odd_sizes_come_back_exactly(kind, mode):
    ours, _, shape, _ = TREES[kind]
    x = sample(tuple(n - 1 for n in shape))
    tree = ours(x, "db2", mode, maxlevel=2)
    tree.get_level(2)
    found = tree.reconstruct()
    assert found.shape == x.shape
    np.testing.assert_allclose(found, x, atol=1e-12)


def test_walks_visit_nodes_in_the_order_of_pywavelets():
    for decompose in (True, False):
        visits = []
        for module in (WaveletPacket, pywt.WaveletPacket):
            tree = module(np.arange(8.0), "haar")
            tree["ad"]
            down, up = [], []
            tree.walk(
                lambda node, *more, into, **_: into.append((node.path, more)) or True,
                (1,),
                {"into": down},
                decompose,
            )
            tree.walk_depth(lambda node, into: into.append(node.path), kwargs={"into": up}, decompose=decompose)
            visits.append((down, up, [node.path for node in tree.get_leaf_nodes(decompose)]))
        assert visits[0] == visits[1]


def test_a_node_is_split_once():
    tree = WaveletPacket(np.arange(16.0), "haar")
    assert tree["ad"] is tree["a"]["d"] is tree["a", "d"] is tree.get_level(2)[1]


@pytest.mark.parametrize("kind", TREES)
def test_nodes_split_together_are_those_split_alone(kind):
    ours, _, shape, _ = TREES[kind]
    together, alone = ours(sample(shape), "db2", maxlevel=2), ours(sample(shape), "db2", maxlevel=2)
    paths = [node.path for node in together.get_level(2)]
    for path in paths:
        np.testing.assert_allclose(together[path].data, alone[path].data, rtol=1e-12, atol=1e-13)
    # Changed nodes are split as they are now, one by one where they are no longer alike.
    for tree in (together, alone):
        for part in list(tree.PARTS)[:2]:
            tree[part].data = tree[part].data[..., :-2] * 2
            for node in tree[part].decompose():
                del tree[node.path]
    for node in together.get_level(2):
        np.testing.assert_allclose(node.data, alone[node.path].data, rtol=1e-12, atol=1e-13)


def test_an_empty_tree_is_filled_and_put_together():
    x = sample((16, 16))
    full = WaveletPacket2D(x, "db2", "periodization")
    tree = WaveletPacket2D(None, "db2", "periodization")
    assert tree.is_empty
    assert tree.maxlevel is None
    for path in ("aa", "ah", "av", "ad"):
        tree[path] = full[path].data
    tree["h"], tree["v"], tree["d"] = full["h"], full["v"].data.tolist(), full["d"]
    np.testing.assert_allclose(tree.reconstruct(update=False), x, atol=1e-12)
    assert tree.data is None
    assert [node.path for node in tree.get_leaf_nodes()] == ["aa", "ah", "av", "ad", "h", "v", "d"]
    tree.reconstruct()
    np.testing.assert_allclose(tree.data, x, atol=1e-12)


def test_precision_survives_being_copied_from_another_node():
    full = WaveletPacket(sample(16, "complex64"), "haar")
    full["a"].data = full["a"].data.astype(np.complex64)
    tree = WaveletPacket(None, "haar")
    tree["a"] = full["a"]
    assert tree["a"].data.dtype == np.complex64


def test_deleted_nodes_count_as_zeros_and_live_on():
    tree = WaveletPacket(np.arange(1.0, 9.0), "haar")
    tree.get_level(2)
    node = tree["ad"]
    del tree["ad"]
    assert tree["a"].d is None
    assert node.parent is None
    np.testing.assert_allclose(node.data, [-2, -2])
    np.testing.assert_allclose(tree.reconstruct(), [2, 3, 2, 3, 6, 7, 6, 7])
    tree["ad"].data = node.data
    np.testing.assert_allclose(tree.reconstruct(), np.arange(1, 9))
    del tree[""]
    assert tree.data is not None


def test_an_empty_node_splits_into_empty_nodes():
    tree = WaveletPacket(None, "haar", maxlevel=2)
    tree["d"] = [1.0, 2.0]
    low, high = tree.decompose()
    assert low.is_empty
    np.testing.assert_array_equal(high.data, [1.0, 2.0])


@pytest.mark.parametrize("kind", TREES)
def test_pickles_and_copies_hold_the_whole_tree(kind):
    ours, _, shape, _ = TREES[kind]
    tree = ours(sample(shape), "sym4", "periodization", maxlevel=2)
    part = next(iter(tree.PARTS))
    tree[part + part].data[...] = 7
    for twin in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert type(twin) is ours
        assert (twin.wavelet, twin.mode, twin.maxlevel, twin.axes) == (tree.wavelet, tree.mode, 2, tree.axes)
        assert np.all(twin[part + part].data == 7)
        assert twin[part].parent is twin
        np.testing.assert_allclose(twin.reconstruct(), tree.reconstruct(update=False))


def test_text_shows_path_and_data():
    assert str(WaveletPacket([3.0, 1.0], "haar")["a"]) == str(pywt.WaveletPacket([3.0, 1.0], "haar")["a"])


TREE = WaveletPacket(np.arange(8.0), "haar")


@pytest.mark.parametrize(
    ("call", "errors", "message"),
    [
        (lambda: TREE["aaaa"], (IndexError, ValueError), "below level 3"),
        (lambda: TREE["aa"]["aa"], (IndexError, ValueError), "below level 3"),
        (lambda: TREE.__setitem__("aaaa", [1.0]), (IndexError,), "below level 3"),
        (lambda: TREE["x"], (ArgumentError, ValueError), "'x' names no subnode.*'a', 'd'"),
        (lambda: TREE.get_subnode("x"), (ValueError,), "'x'"),
        (lambda: TREE[5], (TypeError,), "path=5"),
        (lambda: TREE[5, 3], (TypeError,), "path="),
        (lambda: TREE.__setitem__(5, [1.0]), (TypeError,), "path=5"),
        (TREE["aaa"].decompose, (LevelError,), "deepest"),
        (lambda: TREE.get_level(4), (LevelError,), "level=4.*3"),
        (lambda: TREE.get_level(-1), (LevelError,), "level=-1"),
        (lambda: TREE.get_level(2, "random"), (ArgumentError,), "order='random'"),
        (lambda: WaveletPacket(None, "haar")["a"], (TypeError,), "not there"),
        (lambda: WaveletPacket(np.ones(8), "haar", axis=1), (AxesError,), "axis=1"),
        (lambda: WaveletPacket2D(np.ones(8), "haar"), (ShapeError,), "1 dimensions"),
        (lambda: WaveletPacket2D(np.ones((8, 8)), "haar", axes=(0, 0)), (AxesError,), "twice"),
        (lambda: WaveletPacket2D(np.ones((8, 8)), "haar", axes=(0, 5)), (AxesError,), "axis=5"),
        (lambda: WaveletPacket2D(None, "haar", axes=(0, 0)), (AxesError,), "2 different axes"),
        (lambda: WaveletPacketND(None, "haar"), (AxesError,), "both None"),
        (lambda: WaveletPacketND(3.0, "haar"), (ShapeError,), "single number"),
        (lambda: WaveletPacketND(np.ones((4, 4)), "haar", axes=(1, 1)), (AxesError,), "twice"),
    ],
)
def test_bad_arguments_are_named(call, errors, message):
    with pytest.raises(SubbandError, match=message) as caught:
        call()
    assert all(isinstance(caught.value, error) for error in errors)


def test_nothing_to_put_together_is_an_error():
    tree = WaveletPacket(None, "haar", maxlevel=1)
    tree.decompose()
    with pytest.raises(CoefficientsError, match="no subnode of node ''"):
        tree.reconstruct()


def test_attributes_that_are_no_subnodes_are_missing():
    with pytest.raises(AttributeError, match="'WaveletPacket' object has no attribute 'q'"):
        _ = TREE.q
