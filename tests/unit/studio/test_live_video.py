"""Live video in the studio: pages see the newest frame, whatever becomes of the source."""

from threading import Event

import numpy as np

from subband.errors import ArgumentError
from subband.media import Frame, Source, SourceInfo
from subband.studio.library import Item, Library
from subband.studio.live import Live
from subband.studio.player import Player

INFO = SourceInfo("film", (8, 12, 3), np.dtype("uint8"), rate=25)


class Feed(Source):
    """Gives a frame when it is told to, and ends when there are no more."""

    def __init__(self, values):
        self.info, self._values, self.next = INFO, values, Event()

    def __iter__(self):
        for number, value in enumerate(self._values):
            self.next.wait(10)
            self.next.clear()
            yield Frame(np.full(INFO.shape, value, np.uint8), number)


def refuse():
    raise ArgumentError("nobody sends any more")


def give(live, feed, value):
    """Let a feed go on, and wait until its frame is there."""
    feed.next.set()
    for _ in range(1000):
        found = live.wait(-1)
        if found is not None and found[1].pixels[0, 0, 0] == value:
            return
        live.wait(found[0] if found else -1)
    raise AssertionError(f"frame {value} never came")


def test_pages_see_the_newest_frame():
    feed, other = Feed([10, 20]), Feed([30])
    sources = iter([other])
    live = Live(feed, lambda: next(sources, None) or refuse())
    library = Library([Item("media", "rtp://:5004", "rtp://:5004", None, opener=live.view)])
    assert [entry["kind"] for entry in library.list_media()] == ["film"]
    player = Player(library.find({"kind": "media", "name": "rtp://:5004"}))
    give(live, feed, 10)
    assert player.take().pixels[0, 0, 0] == 10
    give(live, feed, 20)
    assert player.take().pixels[0, 0, 0] == 20
    # a sender that comes back goes on, and without one the last frame stays
    give(live, other, 30)
    assert [player.take().pixels[0, 0, 0] for _ in range(2)] == [30, 30]
    assert [player.current.number, player.count] == [3, None]
    late = live.view()
    assert next(iter(late)).pixels[0, 0, 0] == 30
    player.close()
    live.close()
