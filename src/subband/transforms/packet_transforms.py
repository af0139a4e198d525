"""Transforms of nodes of a wavelet packet tree: of one, of several that are alike, and of a small tree at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from subband.arrays import as_computable, is_foreign
from subband.engines.dispatch import takes_arrays
from subband.transforms.arguments import modes_for_axes, normalise_axes
from subband.transforms.levels import as_bands, merge_level, split_level
from subband.typing import Array, Bands
from subband.wavelets import Wavelet

if TYPE_CHECKING:
    from subband.transforms.packet_base import BaseNode

__all__ = ["merge", "merge_up", "read_arguments", "split", "split_alike", "split_down"]

#: Up to this many numbers, calling a transform takes about as long as the transform itself.
_SMALL = 1 << 14

#: Up to this many nodes, a tree is split or put together in one call.
_FEW = 128


@takes_arrays("data", are_read=True)
def split(data: Any, axes: tuple[int, ...], wavelets: tuple[Wavelet, ...], modes: tuple[str, ...]) -> Bands:
    """Split the data of a node, or of several."""
    return split_level(as_computable(data), axes, wavelets, modes)


@takes_arrays("data", are_read=True)
def _split_down(
    data: Any,
    axes: tuple[int, ...],
    wavelets: tuple[Wavelet, ...],
    modes: tuple[str, ...],
    keys: tuple[str, ...],
    level: int,
) -> list[list[Array]]:
    """Split the data of a node, all its bands, and so on; return those of each level, those of a node by `keys`."""
    levels = [[as_computable(data)]]
    for _ in range(level):
        split = [split_level(x, axes, wavelets, modes) for x in levels[-1]]
        levels.append([bands[key] for bands in split for key in keys])
    return levels[1:]


@takes_arrays("parts", are_read=True)
def merge(
    parts: Mapping[str, Any], axes: tuple[int, ...], wavelets: tuple[Wavelet, ...], modes: tuple[str, ...]
) -> Array:
    """Put the data of a node together."""
    return merge_level(as_bands(parts, "node"), axes, wavelets, modes)


@takes_arrays("leaves", are_read=True)
def _merge_up(
    leaves: Sequence[Any],
    paths: str,
    shapes: tuple[tuple[int, ...], ...],
    axes: tuple[int, ...],
    wavelets: tuple[Wavelet, ...],
    modes: tuple[str, ...],
) -> Array:
    """Put a tree together from its leaves, whose paths are made of bands; `shapes` are those of each level above."""
    nodes = dict(zip(paths.split(), leaves, strict=True))
    for depth in reversed(range(len(shapes))):
        shape, end = shapes[depth], depth * len(axes)
        alike: dict[str, Bands] = {}
        for path in [path for path in nodes if len(path) > end]:
            alike.setdefault(path[:end], {})[path[end:]] = nodes.pop(path)
        for path, bands in alike.items():
            data = merge_level(as_bands(bands, "node"), axes, wavelets, modes, shape)
            nodes[path] = data if data.shape == shape else data[tuple(map(slice, shape))]
    whole: Array = nodes[""]
    return whole


def split_down(root: BaseNode, level: int) -> list[BaseNode] | None:
    """Split a small tree that has not been split yet down to a level in one transform, and return the nodes there.

    Other trees are left as they are, and the answer is None.
    """
    x = root.data
    count = sum(len(root._BANDS) ** number for number in range(1, level + 1))
    if type(x) is not np.ndarray or x.size > _SMALL or count > _FEW or root.has_any_subnode:
        return None
    nodes, keys = [root], tuple(root._BANDS.values())
    for bands in _split_down(x, *root._read_arguments(x.ndim), keys, level):
        arrays = iter(bands)
        nodes = [node._create_subnode(part, next(arrays)) for node in nodes for part in root._BANDS]
    return nodes


def merge_up(root: BaseNode) -> Array | None:
    """Put a small tree together in one transform; of others, or of one with a node missing, the answer is None."""
    if root._data_shape is None or prod(root._data_shape) > _SMALL:
        return None
    leaves: dict[str, Array] = {}
    shapes: list[tuple[int, ...]] = []
    if not _collect_leaves(root, "", leaves, shapes, 0):
        return None
    arguments = root._read_arguments(len(shapes[0]))
    merged: Array = _merge_up([*leaves.values()], " ".join(leaves), tuple(shapes), *arguments)
    return merged


def _collect_leaves(
    node: BaseNode, path: str, leaves: dict[str, Array], shapes: list[tuple[int, ...]], depth: int
) -> bool:
    """Add the data of all leaves below a node, and the shapes of each level above them; tell whether all are there."""
    shape = node._data_shape
    if shape is None or len(node._BANDS) ** (depth + 1) > _FEW:
        return False
    if depth == len(shapes):
        shapes.append(shape)
    elif shapes[depth] != shape:
        return False
    for part, subnode in node._subnodes.items():
        if subnode is None:
            return False
        below = path + node._BANDS[part]
        if any(subnode._subnodes.values()):
            if not _collect_leaves(subnode, below, leaves, shapes, depth + 1):
                return False
        elif type(subnode.data) is np.ndarray:
            leaves[below] = subnode.data
        else:
            return False
    return True


def split_alike(nodes: Sequence[BaseNode]) -> None:
    """Split those of `nodes`, all of one tree, that are alike and small in one transform, which is much faster.

    The data of their subnodes are views of its bands. Other nodes are left as they are.
    """
    chosen = [node for node in nodes if node._needs_splitting()]
    if any(is_foreign(node.data) for node in chosen):
        return
    arrays = [as_computable(node.data) for node in chosen]
    if len({(x.shape, x.dtype) for x in arrays}) != 1 or len(arrays) == 1 or arrays[0].size > _SMALL:
        return
    axes, wavelets, modes = chosen[0]._read_arguments(arrays[0].ndim)
    bands = split(np.stack(arrays), tuple(axis + 1 for axis in axes), wavelets, modes)
    for number, node in enumerate(chosen):
        node._adopt_bands({key: band[number] for key, band in bands.items()})


@lru_cache(maxsize=256)
def read_arguments(
    wavelet: Wavelet, mode: Any, axes: tuple[int, ...], ndim: int
) -> tuple[tuple[int, ...], tuple[Wavelet, ...], tuple[str, ...]]:
    """Return axes, wavelets and modes as one level takes them; cached, because all nodes of a tree share them."""
    normal = normalise_axes(axes, ndim, distinct=True)
    return normal, (wavelet,) * len(normal), modes_for_axes(mode, normal)
