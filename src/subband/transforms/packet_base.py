"""Nodes of a wavelet packet tree: an array, and the bands it splits into.

A wavelet transform splits the approximation again and again; wavelet packets split the details as well, so
that the bands form a full tree. A node splits when one of its subnodes is first asked for and keeps what came
out. Subnodes can also be set, changed and deleted, and a node is put together again from those that are
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from subband.arrays import as_computable, as_numbers, is_array, is_foreign
from subband.errors import (
    ArgumentError,
    CoefficientsError,
    LevelError,
    MissingNodeError,
    PathError,
    PathTypeError,
)
from subband.transforms.arguments import useful_levels
from subband.transforms.packet_transforms import merge, merge_up, read_arguments, split
from subband.typing import Array
from subband.wavelets import Wavelet

__all__ = ["BaseNode"]


class BaseNode:
    """The base class of nodes of wavelet packet trees; a subclass sets `PARTS`, `PART_LEN` and `_BANDS`.

    Parameters
    ----------
    parent : BaseNode or None
        The node that this one was split from; its wavelet, mode and axes are taken over. None makes a root.
    data : array_like or None
        The signal of a root, the coefficients of any other node; None if they are not known.
    node_name : str
        Which of its parent's `PARTS` the node is; empty for a root.

    Attributes
    ----------
    data : array_like or None
        The samples or coefficients. A root keeps the very object that it was given.
    path : str
        The names of the nodes on the way from the root.
    level : int
        How many splits away the root is.
    wavelet, mode, axes
        How the node splits.

    Examples
    --------
    >>> from subband import WaveletPacket
    >>> tree = WaveletPacket([1, 2, 3, 4, 5, 6, 7, 8], "haar")
    >>> node = tree["ad"]
    >>> node.data.round(6), node.level, node.parent.path
    (array([-2., -2.]), 2, 'a')
    """

    #: Names of the subnodes, in order.
    PARTS: Sequence[str] | Mapping[str, BaseNode | None] = ()
    #: Length of each name.
    PART_LEN: int = 0
    #: Which band of the transform each subnode holds.
    _BANDS: Mapping[str, str] = {}

    parent: BaseNode | None
    wavelet: Wavelet
    mode: Any
    axes: Any
    data: Any

    def __init__(self, parent: BaseNode | None, data: Any, node_name: str) -> None:
        self.parent = parent
        self.data = data
        self.path = ""
        self.level = 0
        self._maxlevel: int | None = None
        if data is None or type(data) is np.ndarray:
            self._data_shape = None if data is None else data.shape
        else:
            self._data_shape = tuple(data.shape if is_array(data) else as_numbers(data).shape)
        self._subnodes: dict[str, BaseNode | None] = dict.fromkeys(self._BANDS)
        if parent is not None:
            self.wavelet, self.mode, self.axes = parent.wavelet, parent.mode, parent.axes
            self.path = parent.path + node_name
            self.level = parent.level + 1
            self._maxlevel = parent.maxlevel

    def __getattr__(self, name: str) -> Any:
        subnodes = self.__dict__.get("_subnodes", {})
        if name in subnodes:
            return subnodes[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # Position in the tree

    @property
    def node_name(self) -> str:
        """Which of its parent's subnodes this is; empty for a root."""
        return self.path[-self.PART_LEN :]

    @property
    def path_tuple(self) -> tuple[str, ...]:
        """The path, one name for each level."""
        return tuple(self._split_path(self.path))

    @property
    def maxlevel(self) -> int | None:
        """The deepest level, from the nearest node that has data; None if none has."""
        if self._maxlevel is None:
            self._maxlevel = self._find_maxlevel()
        return self._maxlevel

    @property
    def is_empty(self) -> bool:
        """Whether the node has no data."""
        return self.data is None

    @property
    def has_any_subnode(self) -> bool:
        """Whether a subnode has been made, set or split off."""
        return any(self._subnodes.values())

    # Splitting and putting together

    def decompose(self) -> tuple[BaseNode | None, ...]:
        """Split the data and return the subnodes, in the order of `PARTS`.

        Subnodes that are there already are replaced, unless there is no data to replace them with.

        Raises
        ------
        LevelError
            If the node is on the deepest level.
        """
        if not self._may_descend():
            raise LevelError(
                f"node {self.path!r} is on level {self.level}, the deepest; make the tree with a greater maxlevel"
            )
        if self.is_empty:
            for part, node in self._subnodes.items():
                if node is None:
                    self._create_subnode(part)
        else:
            self._adopt_bands(split(self.data, *self._read_arguments(np.ndim(self.data))))
        return tuple(self._subnodes.values())

    def reconstruct(self, update: bool = False) -> Any:
        """Put the data together from the subnodes, and theirs from their own.

        Parameters
        ----------
        update : bool
            Whether the result becomes the node's data.

        Returns
        -------
        ndarray
            The data; what the node has already if it has no subnodes. A missing subnode counts as zeros.

        Raises
        ------
        CoefficientsError
            If there are subnodes and none has data.
        """
        if not self.has_any_subnode:
            return self.data
        data = merge_up(self)
        if data is None:
            data = self._merge_subnodes()
        if self._data_shape is not None and data.shape != self._data_shape:
            data = data[tuple(map(slice, self._data_shape))]
        if update:
            self.data = data
        return data

    def _merge_subnodes(self) -> Any:
        """Put the data together from those of the subnodes, whatever these are."""
        parts = {self._BANDS[part]: node.reconstruct() for part, node in self._subnodes.items() if node is not None}
        if all(data is None for data in parts.values()):
            raise CoefficientsError(
                f"no subnode of node {self.path!r} has data to put it together from; set one of "
                f"{', '.join(repr(self.path + part) for part in self._BANDS)}"
            )
        ndim = min(np.ndim(data) for data in parts.values() if data is not None)
        return merge(parts, *self._read_arguments(ndim))

    # Finding nodes

    def get_subnode(self, part: str, decompose: bool = True) -> BaseNode | None:
        """Return a subnode.

        Parameters
        ----------
        part : str
            One of `PARTS`.
        decompose : bool
            Whether to split the node if the subnode is not there.

        Returns
        -------
        BaseNode or None
            None if it is not there and cannot or shall not be made.
        """
        self._check_part(part)
        if self._subnodes[part] is None and decompose and not self.is_empty:
            self.decompose()
        return self._subnodes[part]

    def __getitem__(self, path: str | tuple[str, ...]) -> BaseNode:
        """Return the node at a path below this one, splitting the nodes on the way as needed."""
        node = self
        for part in self._split_path(self._check_path(path)):
            subnode = node.get_subnode(part)
            if subnode is None:
                raise MissingNodeError(
                    f"node {node.path + part!r} is not there, and {node.path!r} has no data to split"
                )
            node = subnode
        return node

    def __setitem__(self, path: str | tuple[str, ...], data: Any) -> None:
        """Set the data of the node at a path below this one, from an array or from another node."""
        node = self
        for part in self._split_path(self._check_path(path)):
            node = node.get_subnode(part, decompose=False) or node._create_subnode(part)
        given = data.data if isinstance(data, BaseNode) else data
        node.data = given if is_foreign(given) else as_computable(given)

    def __delitem__(self, path: str | tuple[str, ...]) -> None:
        """Take the node at a path out of the tree; it keeps its data and its subnodes."""
        node = self[path]
        parent, node.parent = node.parent, None
        if parent is not None:
            parent._subnodes[node.node_name] = None

    def get_leaf_nodes(self, decompose: bool = False) -> list[BaseNode]:
        """Return the nodes that have no subnodes.

        Parameters
        ----------
        decompose : bool
            Whether to split everything down to the deepest level first.
        """
        leaves = []

        def collect(node: BaseNode) -> bool:
            deepest = node.level == node.maxlevel and not node.is_empty
            is_leaf = deepest or not (decompose or node.has_any_subnode)
            if is_leaf:
                leaves.append(node)
            return not is_leaf

        self.walk(collect, decompose=decompose)
        return leaves

    def walk(
        self,
        func: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        decompose: bool = True,
    ) -> None:
        """Call a function on this node, then on those below it.

        Parameters
        ----------
        func : callable
            Called as ``func(node, *args, **kwargs)``; a node's subnodes are visited only if it returns true.
        args, kwargs
            Passed on.
        decompose : bool
            Whether to split nodes on the way down.
        """
        if func(self, *args, **(kwargs or {})):
            for node in self._visit_subnodes(decompose):
                node.walk(func, args, kwargs, decompose)

    def walk_depth(
        self,
        func: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        decompose: bool = True,
    ) -> None:
        """Call a function on the nodes below this one, then on this one; arguments as `walk` takes them."""
        for node in self._visit_subnodes(decompose):
            node.walk_depth(func, args, kwargs, decompose)
        func(self, *args, **(kwargs or {}))

    def __str__(self) -> str:
        return f"{self.path}: {self.data}"

    # What the kinds of node build on

    def _create_subnode(self, part: str, data: Any = None) -> BaseNode:
        """Create a subnode and add it to the tree."""
        self._check_part(part)
        node = self._make_node(part, data)
        self._subnodes[part] = node
        return node

    def _make_node(self, part: str, data: Any) -> BaseNode:
        raise NotImplementedError(f"{type(self).__name__} does not say what its subnodes are")

    def _transformed_axes(self) -> tuple[int, ...]:
        return tuple(self.axes)

    def _read_arguments(self, ndim: int) -> tuple[tuple[int, ...], tuple[Wavelet, ...], tuple[str, ...]]:
        return read_arguments(self.wavelet, self.mode, self._transformed_axes(), ndim)

    def _adopt_bands(self, bands: Mapping[str, Array]) -> None:
        for part, band in self._BANDS.items():
            self._create_subnode(part, bands[band])

    def _needs_splitting(self) -> bool:
        """Tell whether asking for all subnodes would split the data."""
        return not self.is_empty and self._may_descend() and None in self._subnodes.values()

    def _visit_subnodes(self, decompose: bool) -> Iterator[BaseNode]:
        if self._may_descend():
            for part in self._BANDS:
                node = self.get_subnode(part, decompose)
                if node is not None:
                    yield node

    def _may_descend(self) -> bool:
        return self.maxlevel is None or self.level < self.maxlevel

    def _find_maxlevel(self) -> int | None:
        """Ask the nodes above, then those below, the nearest first."""
        node: BaseNode | None = self
        while node is not None:
            limit = node._own_maxlevel()
            if limit is not None:
                return limit
            node = node.parent
        return self._maxlevel_below()

    def _own_maxlevel(self) -> int | None:
        if self._maxlevel is not None or self.data is None:
            return self._maxlevel
        return self.level + useful_levels(min(np.shape(self.data)), self.wavelet.dec_len)

    def _maxlevel_below(self) -> int | None:
        for node in self._subnodes.values():
            if node is not None:
                limit = node._own_maxlevel()
                limit = node._maxlevel_below() if limit is None else limit
                if limit is not None:
                    return limit
        return None

    def _check_part(self, part: str) -> None:
        if part not in self._BANDS:
            raise ArgumentError(
                f"{part!r} names no subnode of node {self.path!r}; use one of {', '.join(map(repr, self._BANDS))}"
            )

    def _check_path(self, path: str | tuple[str, ...]) -> str:
        """Return the path in one piece, and see that it does not lead below the deepest level."""
        try:
            joined = path if isinstance(path, str) else "".join(path) if isinstance(path, tuple) else None
        except TypeError:
            joined = None
        if joined is None:
            raise PathTypeError(f"path={path!r} is neither a string nor a tuple of strings; use one such as 'ad'")
        if self.maxlevel is not None and len(self.path) + len(joined) > self.maxlevel * self.PART_LEN:
            raise PathError(f"path={path!r} leads below level {self.maxlevel}, the deepest of the tree")
        return joined

    def _split_path(self, path: str) -> list[str]:
        return [path[start : start + self.PART_LEN] for start in range(0, len(path), self.PART_LEN or 1)]
