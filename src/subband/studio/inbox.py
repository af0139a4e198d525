"""Messages of a page that its session has not obeyed yet: of those that replace each other, only the newest."""

from __future__ import annotations

from typing import Any

from subband.studio.protocol import ProtocolError

__all__ = ["Inbox"]

#: Messages of which only the newest means something.
_NEWEST = ("settings", "seek", "histogram", "probe", "measure", "view")
#: Messages that a page can have waiting.
_MOST_WAITING = 200


class Inbox:
    """What a page has asked for; the session's lock guards it.

    Attributes
    ----------
    dropped : int
        Frames of the camera that were left out for newer ones.

    Examples
    --------
    >>> inbox = Inbox()
    >>> for position in (10, 20, 30):
    ...     inbox.put({"type": "seek", "position": position})
    >>> inbox.has("seek"), inbox.take(), inbox.take()
    (True, [{'type': 'seek', 'position': 30}], [])
    """

    def __init__(self) -> None:
        self.dropped = 0
        self._messages: list[dict[str, Any]] = []
        self._camera_frame: tuple[dict[str, Any], memoryview] | None = None

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def has_camera_frame(self) -> bool:
        """Whether a frame of the camera is waiting."""
        return self._camera_frame is not None

    def has(self, *kinds: str) -> bool:
        """Tell whether a message of one of these types is waiting."""
        return any(each["type"] in kinds for each in self._messages)

    def put(self, message: dict[str, Any]) -> None:
        """Add a message.

        Raises
        ------
        ProtocolError
            If too many are waiting.
        """
        kind = message["type"]
        if kind in _NEWEST:
            self._messages = [each for each in self._messages if each["type"] != kind]
        if len(self._messages) >= _MOST_WAITING:
            raise ProtocolError("too many messages are waiting; this one is left out")
        self._messages.append(message)
        if kind == "open":
            # here, where messages come in their order: a frame behind this one is of the camera that is opened
            self._camera_frame = None

    def put_camera(self, header: dict[str, Any], payload: memoryview) -> None:
        """Keep a frame of the browser's camera in place of one that is still waiting."""
        self.dropped += self.has_camera_frame
        self._camera_frame = (header, payload)

    def take(self) -> list[dict[str, Any]]:
        """Return all messages, in their order."""
        taken, self._messages = self._messages, []
        return taken

    def take_camera(self) -> tuple[dict[str, Any], memoryview] | None:
        """Return the frame of the camera that is waiting, if one is."""
        taken, self._camera_frame = self._camera_frame, None
        return taken
