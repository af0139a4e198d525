"""Libraries to compare with: how each is described, and which are installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from subband.bench.cases import Case

__all__ = ["Contender", "Peer", "find_peers"]


@dataclass(frozen=True)
class Contender:
    """A call that is timed in turn with others.

    Attributes
    ----------
    call : callable
        Without arguments.
    discount : callable or None
        What `call` has to do besides, whose time is taken off.
    read : callable or None
        Turns what `call` returns into what ours returns: bands in the order of PyWavelets, or an array. The same if
        left out.
    mode : str or None
        How the border is continued, where that is not what the case says; then results differ near it.
    """

    call: Callable[[], Any]
    discount: Callable[[], Any] | None = None
    read: Callable[[Any], Any] | None = None
    mode: str | None = None


@dataclass(frozen=True)
class Peer:
    """A library to compare with.

    Attributes
    ----------
    name : str
        In the table.
    module : str
        What is imported.
    prepare : callable
        ``prepare(module, case, samples)`` returns a `Contender` for samples where ours are, on a GPU or not, or None if
        the library has no such transform.
    install : str
        How to install it, where pip does.
    distribution : str
        What it is called there.
    is_for_images : bool
        Whether it is asked for what is done with images, and not for transforms.
    """

    name: str
    module: str
    prepare: Callable[[Any, Case, Any], Contender | None]
    install: str = ""
    distribution: str = ""
    is_for_images: bool = False


def find_peers(peers: Sequence[Peer]) -> tuple[list[tuple[Peer, Any]], list[str]]:
    """Import what can be imported; return those with their modules, and a remark for each of the others.

    Examples
    --------
    >>> find_peers([Peer("nobody", "no_such_module", lambda *_: None, "pip install nobody")])
    ([], ["nobody is not measured: No module named 'no_such_module'; install it with: pip install nobody"])
    """
    found, remarks = [], []
    for peer in peers:
        try:
            found.append((peer, import_module(peer.module)))
        except Exception as error:  # noqa: BLE001 - an old library may fail in any way, which is no fault of the others
            way_out = f"; install it with: {peer.install}" if peer.install else ""
            remarks.append(f"{peer.name} is not measured: {error}{way_out}")
    return found, remarks
