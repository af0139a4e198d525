"""A page: what it looks at, under which settings, and how its frames reach it.

A session has one thread of its own, which obeys the page and decodes; frames are computed and encoded in the thread of
their engine (`subband.studio.workers`). There is no queue of frames anywhere. The thread gives the engine the next
frame only when the one before is done and the page has drawn all but one of those sent; what has become too late by
then is left out. The settings that count are those at the moment when the computation begins. So whatever a page does
is seen after one frame, however slow engine or link are, and a page that is paused or hidden costs nothing.
"""

from __future__ import annotations

import logging
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Condition, Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

from subband.errors import ArgumentError, SubbandError
from subband.studio.camera import CAMERA_INFO, decode_camera_frame
from subband.studio.encoding import FORMATS, Link
from subband.studio.flight import Flight, Sent
from subband.studio.histogram import read_band
from subband.studio.library import describe_info
from subband.studio.player import Picture
from subband.studio.protocol import ProtocolError, read_number, spell_error, write_text
from subband.studio.rendering import Renderer, Request
from subband.studio.screening import Screening
from subband.studio.settings import Settled, settle

if TYPE_CHECKING:
    from subband.studio.studio import Studio

__all__ = ["Session"]

_log = logging.getLogger("subband.studio")

#: A changed setting is shown at once, unless the next frame of the film is due in so many seconds anyway.
_SOON = 0.02
#: Messages that a page can have waiting; settings take the place of older ones.
_MOST_COMMANDS = 200


@dataclass(frozen=True)
class _Asked:
    """Settings as they came, with their number and time, and what was made of them."""

    given: dict[str, Any]
    number: int
    time: float
    settled: Settled


class Session:
    """One page.

    Parameters
    ----------
    studio : Studio
        What all pages share.
    emit : callable
        Takes a message for the page, text or bytes, and its type, from any thread.
    is_near : bool
        Whether the page seems to be on this machine.
    """

    def __init__(self, studio: Studio, emit: Callable[[str | bytes, str], None], *, is_near: bool = True) -> None:
        self.id = secrets.token_urlsafe(12)
        self.link = Link(is_near=is_near)
        self.wanted_format = "auto"
        self._studio = studio
        self._emit = emit
        self._changed = Condition()
        self._commands: deque[dict[str, Any]] = deque()
        self._camera_frame: tuple[dict[str, Any], memoryview] | None = None
        self._flight = Flight(self.link)
        self._is_busy = False
        self._is_closed = False
        self._is_hidden = False
        self._needs_refresh = False
        self._dropped_camera = 0
        # replaced as a whole, because the threads of engines read it at any time
        self._asked = _Asked({}, 0, 0.0, settle({}, engine=studio.engine))
        self._screening = Screening()
        self._told_state: dict[str, Any] = {}
        self.renderer = Renderer(studio, self)
        self._thread = Thread(target=self._run, name=f"studio-page-{self.id[:4]}", daemon=True)
        self._thread.start()

    # what the server calls, in its own thread: none of it takes long

    def receive(self, message: dict[str, Any]) -> None:
        """Take a message of the page.

        Raises
        ------
        ProtocolError
            If there is no such message, or too many are waiting.
        """
        kind = message["type"]
        if kind == "ack":
            self._acknowledge(message)
            return
        if kind not in self._ORDERS:
            raise ProtocolError(f"type={kind[:40]!r} is no message; it can be {', '.join(['ack', *self._ORDERS])}")
        with self._changed:
            if kind in ("settings", "seek", "histogram"):
                # the newest wins
                self._commands = deque(each for each in self._commands if each["type"] != kind)
            if len(self._commands) >= _MOST_COMMANDS:
                raise ProtocolError("too many messages are waiting; this one is left out")
            self._commands.append(message)
            if kind == "open":
                # here, where messages come in their order: a frame behind this one is of the camera that is opened
                self._camera_frame = None
            self._changed.notify()

    def receive_camera(self, header: dict[str, Any], payload: memoryview) -> None:
        """Take a frame of the browser's camera; it takes the place of one that is still waiting."""
        if header["type"] != "camera":
            raise ProtocolError(f"type={header['type'][:40]!r} is no binary message; it can be camera")
        with self._changed:
            self._dropped_camera += self._camera_frame is not None
            self._camera_frame = (header, payload)
            self._changed.notify()

    def close(self, patience: float = 5.0) -> None:
        """End the session; may be called again."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(patience)

    def tell(self, kind: str, **content: Any) -> None:
        """Send a message to the page, from any thread."""
        if not self._is_closed:
            self._emit(write_text({"type": kind, **content}), kind)

    @property
    def is_closed(self) -> bool:
        """Whether the page has gone."""
        return self._is_closed

    def _acknowledge(self, message: dict[str, Any]) -> None:
        now = perf_counter()
        frame = int(read_number(message, "frame"))
        with self._changed:
            is_known = self._flight.answer(frame, now)
            self._changed.notify()
        if is_known:
            self.renderer.arrived.note(now)

    # the thread of the session

    def _run(self) -> None:
        try:
            while True:
                with self._changed:
                    while not self._is_closed and (patience := self._find_patience()) != 0:
                        self._changed.wait(patience)
                    if self._is_closed:
                        return
                    commands = list(self._commands)
                    self._commands.clear()
                for command in commands:
                    self._obey(command)
                self._guard(self._advance, "source")
        finally:
            self._screening.close()
            self.renderer.forget()

    def _find_patience(self) -> float | None:
        """Return how many seconds there is nothing to do: 0 for now, None for until something changes."""
        if self._commands:
            return 0
        if self._is_busy or self._is_hidden:
            return None
        if (full := self._flight.find_room(perf_counter())) != 0:
            return full
        if not self._asked.settled.tool.needs_source:
            return 0 if self._needs_refresh else None
        screening, now = self._screening, perf_counter()
        if screening.is_camera and screening.is_playing and self._camera_frame is not None:
            return 0
        due = screening.find_due(is_fast=self._is_fast)
        waiting = None if due is None else max(due - now, 0)
        if self._needs_refresh and screening.picture is not None and (waiting is None or waiting > _SOON):
            return 0
        if waiting is None and self.renderer.owes_histogram and screening.picture is not None:
            return max(self.renderer.histogram_due - now, 0)
        return waiting

    @property
    def _is_fast(self) -> bool:
        """Whether a film is to go as fast as it can."""
        return self._asked.settled.settings.get("pace") == "fast"

    def _obey(self, command: dict[str, Any]) -> None:
        kind = command["type"]
        about = {"open": "source", "settings": "settings"}.get(kind, kind)
        self._guard(lambda: self._ORDERS[kind](self, command), about)

    def _guard(self, action: Callable[[], None], about: str) -> None:
        """Do something; whatever goes wrong is told to the page, and the session goes on."""
        try:
            action()
        except (SubbandError, OSError) as error:
            self.tell("error", message=spell_error(error), about=about)
            if action == self._advance:
                self._stop()
        except Exception:  # noqa: BLE001 - logged, and told to the page
            _log.exception("a page asked for something that failed")
            self.tell("error", message="the server failed at that; its log says more", about=about)
            if action == self._advance:
                self._stop()

    def _stop(self) -> None:
        """Stop after a frame that cannot be had, for the next one cannot either."""
        self._screening.is_playing = self._needs_refresh = False
        self._tell_state()

    def _advance(self) -> None:
        """Hand the next frame to its engine, if one is due, and decode the one after it meanwhile."""
        with self._changed:
            is_full = self._flight.find_room(perf_counter()) != 0
            if self._is_closed or self._is_busy or self._is_hidden or is_full:
                return
            camera = None
            if self._screening.is_camera and self._screening.is_playing:
                camera, self._camera_frame = self._camera_frame, None
        if not self._asked.settled.tool.needs_source:
            if self._needs_refresh:
                self._submit(None)
            return
        screening, now = self._screening, perf_counter()
        due = screening.find_due(is_fast=self._is_fast)
        if camera is not None:
            is_new = self._take_camera(*camera)
        else:
            is_new = due is not None and now >= due and screening.take(now, is_fast=self._is_fast)
            self._tell_end(due)
        if is_new or self._needs_refresh:
            if screening.picture is not None:
                self._submit(screening.picture)
                screening.prefetch()
        elif due is None and self.renderer.owes_histogram and now >= self.renderer.histogram_due:
            self._submit(screening.picture, self.renderer.measure_band)

    def _tell_end(self, due: float | None) -> None:
        """Say that a film that was playing has ended."""
        if due is not None and not self._screening.is_playing:
            self._tell_state()

    def _take_camera(self, header: dict[str, Any], payload: memoryview) -> bool:
        """Show a frame of the camera; False if it is none."""
        start = perf_counter()
        try:
            pixels = decode_camera_frame(header, payload)
        except SubbandError as error:
            self.tell("error", message=str(error), about="camera")
            return False
        if self._screening.take_camera(pixels, perf_counter() - start):
            size = {"width": pixels.shape[1], "height": pixels.shape[0]}
            self.tell("opened", source={"kind": "camera"}, info={**CAMERA_INFO, **size})
            self._settle()
        return True

    def _submit(self, picture: Picture | None, render: Callable[[Request], None] | None = None) -> None:
        if render is None:
            self._needs_refresh = False
            render = self.renderer.render
        screening = self._screening
        generation = screening.generation
        with self._changed:
            self._is_busy = True
        engine = self.renderer.choose_engine(self._asked.settled)

        def job() -> None:
            try:
                asked = self._asked
                if self._is_closed or generation != screening.generation:
                    return
                if self.renderer.choose_engine(asked.settled) != engine:
                    # another engine was chosen meanwhile, and computes in a thread of its own
                    self.ask_refresh()
                else:
                    dropped = screening.dropped + self._dropped_camera
                    request = Request(asked.settled, asked.number, asked.time, picture, dropped, screening.is_moving)
                    render(request)
            finally:
                with self._changed:
                    self._is_busy = False
                    self._changed.notify()

        if not self._studio.workers.submit(engine, job):
            with self._changed:
                self._is_busy = False

    def send_frame(self, frame: int, message: bytes, sent: Sent) -> None:
        """Send a frame to the page; called by the renderer, in the thread of an engine."""
        with self._changed:
            if self._is_closed:
                return
            self._flight.send(frame, sent)
        self._emit(message, "frame")

    def ask_refresh(self) -> None:
        """Compute the frame again that is shown; from any thread."""
        with self._changed:
            self._needs_refresh = True
            self._changed.notify()

    # what a page can ask for

    def _order_settings(self, message: dict[str, Any]) -> None:
        number, time = int(read_number(message, "number", 0)), read_number(message, "time", 0)
        given: Any = message.get("settings")
        settled = settle(given, shape=self._screening.shape, engine=self._studio.engine)
        self._asked = _Asked(given, number, time, settled)
        self.wanted_format = str(settled.settings.get("format", "auto"))
        self._tell_settled(())
        self._needs_refresh = True

    def _settle(self) -> None:
        """Settle what the page has asked for once more, for the frames that there are now."""
        asked = self._asked
        self._asked = replace(
            asked, settled=settle(asked.given, shape=self._screening.shape, engine=self._studio.engine)
        )
        self._tell_settled(())

    def tell_fallback(self, note: str) -> None:
        """Say that another engine computes than the page has asked for."""
        self._tell_settled((note,))

    def _tell_settled(self, notes: tuple[str, ...]) -> None:
        settled = self._asked.settled
        # the thread of an engine may come here while another source is opened
        player = self._screening.player
        name = "picture.png" if player is None else player.item.file_name
        try:
            equivalent = settled.tool.spell(settled.settings, name).describe()
        except SubbandError:
            equivalent = {"command": "", "python": "", "toml": ""}
        self.tell(
            "settled",
            number=self._asked.number,
            settings=settled.settings,
            notes=[*settled.notes, *notes],
            equivalent=equivalent,
        )

    def _order_open(self, message: dict[str, Any]) -> None:
        source = message.get("source")
        if isinstance(source, dict) and source.get("kind") == "camera":
            self._screening.open_camera()
            self.tell("opened", source={"kind": "camera"}, info=CAMERA_INFO)
        else:
            item = self._studio.library.find(source)
            try:
                self._screening.open(item)
            except SubbandError as error:
                raise ArgumentError(item.hide_path(str(error))) from error
            player = self._screening.player
            assert player is not None
            self.tell("opened", source=item.describe(), info=describe_info(player.info, item))
            self._settle()
            self._needs_refresh = True
        self._tell_state()

    def _order_play(self, message: dict[str, Any]) -> None:
        self._is_hidden = False
        if message.get("hidden") is True:
            self._needs_refresh = True
            self._screening.resume()
        else:
            self._screening.play()
        self._tell_state()

    def _order_pause(self, message: dict[str, Any]) -> None:
        if message.get("hidden") is True:
            self._is_hidden = True
            return
        self._screening.is_playing = False
        self._tell_state()

    def _order_step(self, message: dict[str, Any]) -> None:  # noqa: ARG002 - all orders are called alike
        self._screening.step()
        self._needs_refresh = True
        self._tell_state()

    def _order_loop(self, message: dict[str, Any]) -> None:
        if self._screening.player is not None:
            self._screening.player.is_looping = message.get("on") is not False
        self._tell_state()

    def _order_seek(self, message: dict[str, Any]) -> None:
        position = max(int(read_number(message, "position")), 0)
        self._screening.seek(position, self._stays)
        self._needs_refresh = True
        self._tell_state()

    def _stays(self) -> bool:
        """Tell whether the page has not yet asked for another place."""
        with self._changed:
            return not self._is_closed and not any(each["type"] in ("seek", "open") for each in self._commands)

    def _order_histogram(self, message: dict[str, Any]) -> None:
        band = message.get("band")
        if band is not None:
            read_band(band)
        self.renderer.band = band
        self._needs_refresh = self._needs_refresh or band is not None

    def _order_format(self, message: dict[str, Any]) -> None:
        wanted = message.get("wanted")
        if wanted not in FORMATS:
            raise ArgumentError(f"wanted={str(wanted)[:20]!r} is no format; it can be {', '.join(FORMATS)}")
        self.wanted_format = wanted
        self._needs_refresh = True

    _ORDERS: ClassVar[dict[str, Callable[[Session, dict[str, Any]], None]]] = {
        "open": _order_open,
        "settings": _order_settings,
        "play": _order_play,
        "pause": _order_pause,
        "step": _order_step,
        "loop": _order_loop,
        "seek": _order_seek,
        "histogram": _order_histogram,
        "format": _order_format,
    }

    def _tell_state(self) -> None:
        state = self._screening.describe()
        if state != self._told_state:
            self._told_state = state
            self.tell("state", **state)
