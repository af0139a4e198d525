"""Wavelet packet trees: the roots, which hold the signal and list the nodes of a level."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from subband.errors import ArgumentError, AxesError, LevelError, ShapeError
from subband.transforms.arguments import (
    ModeLike,
    normalise_axes,
    normalise_axis,
    useful_levels,
)
from subband.transforms.packet_nodes import BaseNode, Node, Node2D, NodeND
from subband.transforms.packet_transforms import split_alike, split_down
from subband.wavelets import WaveletLike, as_wavelet

__all__ = ["BaseNode", "Node", "Node2D", "NodeND", "WaveletPacket", "WaveletPacket2D", "WaveletPacketND"]

Order = Literal["natural", "freq"]


class _Root(BaseNode):
    """What the roots of all kinds of tree have in common."""

    def _plant(self, wavelet: WaveletLike, mode: ModeLike, axes: Any, maxlevel: int | None) -> None:
        """Set how the tree splits, and how deep it goes."""
        self.wavelet = as_wavelet(wavelet)
        self.mode = mode
        self.axes = axes
        self.data_size = self._data_shape
        if maxlevel is None and self.data_size is not None:
            lengths = [self.data_size[axis] for axis in normalise_axes(axes, len(self.data_size))]
            maxlevel = useful_levels(min(lengths, default=0), self.wavelet.dec_len)
        self._maxlevel = maxlevel

    def reconstruct(self, update: bool = True) -> Any:
        """Put the signal together from the subnodes, and theirs from their own.

        Parameters
        ----------
        update : bool
            Whether the result becomes the tree's data.

        Returns
        -------
        ndarray
            The signal; the data as they are if the tree has not been split.
        """
        return super().reconstruct(update)

    def _collect_level(self, level: int, decompose: bool) -> list[BaseNode]:
        """Return the nodes of a level from left to right."""
        if level < 0:
            raise LevelError(f"level={level} is negative; use 0 to {self.maxlevel}")
        if self.maxlevel is not None and level > self.maxlevel:
            raise LevelError(f"level={level} is too large; the deepest level of this tree is {self.maxlevel}")
        nodes: list[BaseNode] = [self]
        if decompose and level and (found := split_down(self, level)) is not None:
            return found
        for _ in range(level):
            if decompose:
                split_alike(nodes)
            nodes = [below for node in nodes for below in node._visit_subnodes(decompose)]
        return nodes


class WaveletPacket(_Root, Node):
    """Wavelet packet transform of a signal: a tree of bands along one axis.

    Parameters
    ----------
    data : array_like or None
        The signal, of any number of dimensions. None makes a tree to be filled and put together.
    wavelet : Wavelet or str
        The wavelet that splits.
    mode : str or int
        How the signal goes on outside its samples.
    maxlevel : int, optional
        The deepest level; if not given, the deepest that is of use for the length of the signal.
    axis : int
        The axis along which to split.

    Attributes
    ----------
    data_size : tuple of int or None
        Shape of the signal.

    Raises
    ------
    AxesError
        If the data have no such axis.

    Examples
    --------
    >>> from subband import WaveletPacket
    >>> tree = WaveletPacket([1, 2, 3, 4, 5, 6, 7, 8], "haar")
    >>> tree.maxlevel, tree["aa"].data.round(6)
    (3, array([ 5., 13.]))
    >>> [node.path for node in tree.get_level(2, "freq")]
    ['aa', 'ad', 'dd', 'da']
    >>> del tree["d"]
    >>> tree.reconstruct().round(6)
    array([1.5, 1.5, 3.5, 3.5, 5.5, 5.5, 7.5, 7.5])
    """

    def __init__(
        self,
        data: Any,
        wavelet: WaveletLike,
        mode: ModeLike = "symmetric",
        maxlevel: int | None = None,
        axis: int = -1,
    ) -> None:
        super().__init__(None, data, "")
        if data is not None:
            axis = normalise_axis(axis, np.ndim(data))
        self._plant(wavelet, mode, axis, maxlevel)

    def get_level(self, level: int, order: Order = "natural", decompose: bool = True) -> list[BaseNode]:
        """Return the nodes of a level.

        Parameters
        ----------
        level : int
            0 is the root.
        order : {"natural", "freq"}
            ``natural`` is from left to right in the tree, ``freq`` from low to high frequency. The two differ
            because a high-pass band comes out upside down: its own high half holds the lower frequencies.
        decompose : bool
            Whether to split nodes as needed; if not, only nodes that are there are returned.

        Raises
        ------
        LevelError
            If the tree is not that deep.
        ArgumentError
            If there is no such order.

        References
        ----------
        M. V. Wickerhauser, Adapted Wavelet Analysis from Theory to Software, A K Peters, 1994.
        """
        _check_order(order)
        nodes = self._collect_level(level, decompose)
        if order == "natural":
            return nodes
        by_path = {node.path: node for node in nodes}
        return [by_path[path] for path in _rising_paths(level, "ad") if path in by_path]


class WaveletPacket2D(_Root, Node2D):
    """2-D wavelet packet transform of an image: a tree of bands along two axes.

    Parameters
    ----------
    data : array_like or None
        The image, or a stack of them. None makes a tree to be filled and put together.
    wavelet, mode, maxlevel
        As for `WaveletPacket`.
    axes : pair of int
        The axes along which to split.

    Attributes
    ----------
    data_size : tuple of int or None
        Shape of the image.

    Raises
    ------
    AxesError
        If there are not two different axes, or the data do not have them.
    ShapeError
        If the data have fewer than two dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import WaveletPacket2D
    >>> tree = WaveletPacket2D(np.arange(64.0).reshape(8, 8), "haar")
    >>> [node.path for node in tree.get_level(1)]
    ['a', 'h', 'v', 'd']
    >>> [[node.path for node in row] for row in tree.get_level(1, "freq")]
    [['a', 'v'], ['h', 'd']]
    >>> tree["av"].data.shape
    (2, 2)
    """

    def __init__(
        self,
        data: Any,
        wavelet: WaveletLike,
        mode: ModeLike = "smooth",
        maxlevel: int | None = None,
        axes: Iterable[int] = (-2, -1),
    ) -> None:
        super().__init__(None, data, "")
        if data is not None and np.ndim(data) < 2:
            raise ShapeError(f"data has {np.ndim(data)} dimensions; give at least 2, or use WaveletPacket")
        self._plant(wavelet, mode, _check_distinct(axes, data, count=2), maxlevel)

    def get_level(self, level: int, order: Order = "natural", decompose: bool = True) -> list[Any]:
        """Return the nodes of a level.

        Parameters
        ----------
        level, decompose
            As for `WaveletPacket.get_level`.
        order : {"natural", "freq"}
            ``natural`` is from left to right in the tree, as one list. ``freq`` is a list of rows: downwards
            the frequency along the first axis rises, and along each row that of the second.

        Raises
        ------
        LevelError
            If the tree is not that deep.
        ArgumentError
            If there is no such order.
        """
        _check_order(order)
        nodes = self._collect_level(level, decompose)
        if order == "natural":
            return nodes
        by_path = {self.expand_2d_path(node.path): node for node in nodes}
        paths = _rising_paths(level, "lh")
        rows = ([by_path[row, column] for column in paths if (row, column) in by_path] for row in paths)
        return [row for row in rows if row]


class WaveletPacketND(_Root, NodeND):
    """N-dimensional wavelet packet transform: a tree of bands along any number of axes.

    Parameters
    ----------
    data : array_like or None
        The signal. None makes a tree to be filled and put together, and needs `axes`.
    wavelet, mode, maxlevel
        As for `WaveletPacket`.
    axes : int or sequence of int, optional
        The axes along which to split; all if not given.

    Attributes
    ----------
    data_size : tuple of int or None
        Shape of the signal.

    Raises
    ------
    AxesError
        If an axis is repeated or the data do not have it, or neither data nor axes are given.
    ShapeError
        If the data are a single number.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import WaveletPacketND
    >>> tree = WaveletPacketND(np.ones((8, 6, 8)), "haar", axes=(0, 2))
    >>> [node.path for node in tree.get_level(1)]
    ['aa', 'ad', 'da', 'dd']
    >>> tree["aaad"].data.shape
    (2, 6, 2)
    """

    def __init__(
        self,
        data: Any,
        wavelet: WaveletLike,
        mode: ModeLike = "smooth",
        maxlevel: int | None = None,
        axes: Iterable[int] | int | None = None,
    ) -> None:
        if data is None and axes is None:
            raise AxesError("data and axes are both None; give axes, which say how many letters a path has")
        if data is not None and np.ndim(data) == 0:
            raise ShapeError("data is a single number; give at least one dimension")
        distinct = _check_distinct(range(np.ndim(data)) if axes is None else axes, data)
        ndim = len(distinct) if data is None else np.ndim(data)
        super().__init__(None, data, "", ndim, len(distinct))
        self._plant(wavelet, mode, distinct, maxlevel)

    def get_level(self, level: int, decompose: bool = True) -> list[BaseNode]:
        """Return the nodes of a level from left to right in the tree.

        Parameters
        ----------
        level, decompose
            As for `WaveletPacket.get_level`.

        Raises
        ------
        LevelError
            If the tree is not that deep.
        """
        return self._collect_level(level, decompose)


def _check_order(order: str) -> None:
    if order not in ("natural", "freq"):
        raise ArgumentError(f"order={order!r} is not known; use 'natural' or 'freq'")


def _check_distinct(axes: Iterable[int] | int, data: Any, count: int | None = None) -> tuple[int, ...]:
    """Return the axes as they were given; without data nothing is known about negative ones."""
    given = tuple(axes) if isinstance(axes, Iterable) else (axes,)
    if data is not None:
        normalise_axes(given, np.ndim(data), count=count, distinct=True)
    elif len(set(given)) != (count or len(given)):
        raise AxesError(f"axes={given} must be {count or len(given)} different axes")
    return given


def _rising_paths(level: int, letters: str) -> list[str]:
    """Return the paths of a level from low to high frequency, which is the order of the Gray code."""
    codes = (number ^ number >> 1 for number in range(1 << level))
    return ["".join(letters[code >> bit & 1] for bit in reversed(range(level))) for code in codes]
