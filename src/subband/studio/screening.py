"""What a page looks at: a source or the camera, the frame that is shown, and whether the next one follows."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from subband.errors import ArgumentError
from subband.studio.library import Item
from subband.studio.player import Picture, Player
from subband.typing import Array

__all__ = ["Screening"]


class Screening:
    """The source of one page; everything here happens in the thread of its session.

    Attributes
    ----------
    player : Player or None
        Of a picture or a film.
    picture : Picture or None
        What is shown.
    shape : tuple of int or None
        Of the frames, as soon as that is known.
    is_playing, is_camera : bool
        Whether frames follow each other, and whether they come from the page.
    generation : int
        Rises with each source, so that what was begun for an older one is known.
    dropped : int
        Frames that were left out because they had become too late.

    Examples
    --------
    >>> from subband.studio.library import Library
    >>> screening = Screening()
    >>> screening.open(Library([]).find({"kind": "sample", "name": "camera"}))
    >>> screening.shape, screening.is_moving
    ((512, 512), False)
    >>> screening.close()
    """

    def __init__(self) -> None:
        self.player: Player | None = None
        self.picture: Picture | None = None
        self.shape: tuple[int, ...] | None = None
        self.is_playing = False
        self.is_camera = False
        self.generation = 0
        self.dropped = 0

    @property
    def film(self) -> Player | None:
        """The player, if it has more than one frame."""
        return self.player if self.player is not None and self.player.is_film else None

    @property
    def is_moving(self) -> bool:
        """Whether one frame follows the other."""
        return self.is_playing and (self.is_camera or self.film is not None)

    def open(self, item: Item) -> None:
        """Show another source; if it cannot be read, the old one stays.

        Raises
        ------
        ArgumentError, FormatError, OSError
            If it cannot be read.
        """
        player = Player(item)
        try:
            picture = player.take()
            if picture is None:
                raise ArgumentError(f"{item.title!r} holds no frame")
        except BaseException:
            player.close()
            raise
        self.close()
        self.player, self.picture, self.shape = player, picture, picture.pixels.shape
        self.is_playing = player.is_film
        player.clock.start(perf_counter() + 1 / player.clock.rate)

    def open_camera(self) -> None:
        """Show what the page sends."""
        self.close()
        self.is_camera = self.is_playing = True

    def close(self) -> None:
        """Let go of the source."""
        if self.player is not None:
            self.player.close()
        self.player = self.picture = self.shape = None
        self.is_playing = self.is_camera = False
        self.generation += 1

    def find_due(self, *, is_fast: bool) -> float | None:
        """Return when the next frame of a film is due; None if none is."""
        if not self.is_playing or self.film is None:
            return None
        return 0.0 if is_fast else self.film.clock.due

    def take(self, now: float, *, is_fast: bool) -> bool:
        """Show the next frame of a film; False at its end."""
        assert self.player is not None
        skipped = self.player.clock.advance(now)
        if is_fast:
            self.player.clock.start(now)
            skipped = 0
        self.dropped += skipped
        picture = self.player.take(skipped)
        if picture is None:
            self.is_playing = False
            return False
        self.picture = picture
        return True

    def prefetch(self) -> None:
        """Decode the next frame of a film that plays."""
        if self.is_playing and self.film is not None:
            self.film.prefetch()

    def take_camera(self, pixels: Array, seconds: float) -> bool:
        """Show a frame of the camera; tell whether it has another shape than the one before."""
        number = 0 if self.picture is None else self.picture.number + 1
        self.picture = Picture(pixels, number, seconds)
        before, self.shape = self.shape, pixels.shape
        return before != self.shape

    def play(self) -> None:
        """Let frames follow each other, from the beginning if the end was reached."""
        self.is_playing = self.is_camera or self.film is not None
        film = self.film
        if film is not None and not film.is_looping and film.is_at_end:
            self.picture = film.seek(0)
        self.resume()

    def resume(self) -> None:
        """Let the next frame be due now, after a pause."""
        if self.player is not None:
            self.player.clock.start(perf_counter())

    def step(self) -> None:
        """Stop, and show the next frame."""
        self.is_playing = False
        if self.film is not None:
            self.picture = self.film.take() or self.picture

    def seek(self, position: int, is_wanted: Callable[[], bool]) -> None:
        """Show the frame in another place; see `Player.seek`."""
        if self.player is not None:
            self.picture = self.player.seek(position, is_wanted) or self.picture
            self.player.clock.start(perf_counter() + 1 / self.player.clock.rate)

    def describe(self) -> dict[str, Any]:
        """Return what the page is told."""
        player = self.player
        return {
            "playing": self.is_playing,
            "loop": player.is_looping if player is not None else True,
            "position": self.picture.number if self.picture is not None else 0,
            "count": player.count if player is not None else None,
        }
