"""The kinds of node of a wavelet packet tree.

They differ only in what they call their subnodes: `Node` has ``a`` and ``d``; `Node2D` has ``a``, ``h``,
``v`` and ``d``; `NodeND` has one letter for each axis, ``aa`` to ``dd`` for two.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, ClassVar

from subband.plan import list_keys
from subband.transforms.packet_base import BaseNode

__all__ = ["BaseNode", "Node", "Node2D", "NodeND"]


class Node(BaseNode):
    """A node of a 1-D wavelet packet tree: ``a`` holds the low half of its band, ``d`` the high half.

    Examples
    --------
    >>> from subband import WaveletPacket
    >>> low, high = WaveletPacket([1.0, 3.0, 5.0, 7.0], "haar").decompose()
    >>> low.data.round(4), high.data.round(4)
    (array([2.8284, 8.4853]), array([-1.4142, -1.4142]))
    """

    A: ClassVar[str] = "a"
    D: ClassVar[str] = "d"
    PARTS = (A, D)
    PART_LEN = 1
    _BANDS = MappingProxyType({A: "a", D: "d"})

    def _make_node(self, part: str, data: Any) -> Node:
        return Node(self, data, part)

    def _transformed_axes(self) -> tuple[int, ...]:
        return (self.axes,)


class Node2D(BaseNode):
    """A node of a 2-D wavelet packet tree.

    ``a`` is low along both, ``h`` high along the first, ``v`` along the second, and ``d`` along both.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import WaveletPacket2D
    >>> tree = WaveletPacket2D(np.arange(16.0).reshape(4, 4), "haar")
    >>> tree["v"].data.round(6)
    array([[-1., -1.],
           [-1., -1.]])
    >>> tree.expand_2d_path("av")
    ('ll', 'lh')
    """

    LL: ClassVar[str] = "a"
    HL: ClassVar[str] = "h"
    LH: ClassVar[str] = "v"
    HH: ClassVar[str] = "d"
    PARTS = (LL, HL, LH, HH)
    PART_LEN = 1
    _BANDS = MappingProxyType({LL: "aa", HL: "da", LH: "ad", HH: "dd"})

    def _make_node(self, part: str, data: Any) -> Node2D:
        return Node2D(self, data, part)

    def expand_2d_path(self, path: str) -> tuple[str, str]:
        """Return the path along each axis, ``l`` for low and ``h`` for high."""
        letters = {"a": "l", "d": "h"}
        rows, columns = ("".join(letters[self._BANDS[part][axis]] for part in path) for axis in (0, 1))
        return rows, columns


class NodeND(BaseNode):
    """A node of an n-dimensional wavelet packet tree, its subnodes named with one letter for each axis.

    Parameters
    ----------
    parent, data, node_name
        As for `BaseNode`.
    ndim : int
        Number of dimensions of the data.
    ndim_transform : int
        Number of axes that are split.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import WaveletPacketND
    >>> tree = WaveletPacketND(np.ones((4, 4, 4)), "haar")
    >>> list(tree.PARTS)
    ['aaa', 'aad', 'ada', 'add', 'daa', 'dad', 'dda', 'ddd']
    >>> tree["aaa", "aaa"].data.round(6)
    array([[[8.]]])
    """

    def __init__(self, parent: BaseNode | None, data: Any, node_name: str, ndim: int, ndim_transform: int) -> None:
        self.ndim = ndim
        self.ndim_transform = ndim_transform
        self.PART_LEN = ndim_transform
        self._BANDS = {band: band for band in list_keys(ndim_transform)}
        super().__init__(parent, data, node_name)
        self.PARTS = self._subnodes

    def _make_node(self, part: str, data: Any) -> NodeND:
        return NodeND(self, data, part, self.ndim, self.ndim_transform)
