"""Other libraries that do the same work, each measured where it can be imported and can do the case.

- `subband.bench.peers.base` says what a peer is, and finds those that are installed;
- `subband.bench.peers.transforms` calls their transforms, `subband.bench.peers.images` what they do with images;
- `subband.bench.peers.comparison` lets all of them take turns with ours, once their results have been checked.
"""

from __future__ import annotations

from subband.bench.peers.base import Contender, Peer, find_peers
from subband.bench.peers.transforms import DEVICE_PEERS, TRANSFORM_PEERS

__all__ = ["DEVICE_PEERS", "TRANSFORM_PEERS", "Contender", "Peer", "find_peers"]
