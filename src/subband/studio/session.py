"""A page: what it looks at, under which settings, and how its frames reach it.

A session has one thread of its own, which obeys the page and decodes; frames are rendered in the thread of their engine
(`subband.studio.dispatch`). There is no queue of frames anywhere. The next job is made only when the one before is done
and the page has drawn all but one of the frames sent; what has become too late by then is left out, and until a job
begins a newer one replaces it. So whatever a page does is seen after one frame, however slow engine or link are,
and a page that is paused or hidden costs nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from threading import Condition, Thread
from time import perf_counter
from typing import Any, ClassVar

from subband.errors import ArgumentError, SubbandError
from subband.studio.asking import Asked
from subband.studio.dispatch import Dispatcher
from subband.studio.encoding import Link
from subband.studio.inbox import Inbox
from subband.studio.inflight import InFlight
from subband.studio.jobs import Job, Message
from subband.studio.large import View
from subband.studio.levels import Window
from subband.studio.library import Library
from subband.studio.observations import Observations
from subband.studio.preview import Preview
from subband.studio.protocol import ProtocolError, format_error, pack, read_number, write_text
from subband.studio.recording import Recording

__all__ = ["Session"]

_log = logging.getLogger("subband.studio")

#: A changed setting is shown at once, unless the next frame of the video is due in so many seconds anyway.
_SOON = 0.02
#: The largest multiple of its rate at which a video is played.
_FASTEST = 16.0


class Session:
    """One page.

    Parameters
    ----------
    emit : callable
        Takes a message for the page, text or bytes, and its type, from any thread.
    render, submit : callable
        Make a message of a job, and run something in the thread of an engine; see `subband.studio.dispatch.Dispatcher`.
    library : Library
        What can be opened.
    engine : str
        The engine that computes if the page does not say so.
    is_near : bool
        Whether the page seems to be on this machine.
    record : callable
        Begins to make a file of a recording; see `subband.studio.exports.Exports.record`.
    """

    def __init__(
        self,
        emit: Callable[[str | bytes, str], None],
        *,
        render: Callable[[Job], Message],
        submit: Callable[[str, Callable[[], None]], bool],
        library: Library,
        engine: str = "cpu",
        is_near: bool = True,
        record: Callable[[Recording], None] = lambda _: None,
    ) -> None:
        self._emit = emit
        self._library = library
        self._engine = engine
        self._record = record
        self._recording: Recording | None = None
        self._changed = Condition()
        self._inbox = Inbox()
        self._preview = Preview()
        self._link = Link(is_near=is_near)
        self._in_flight = InFlight(self._link)
        self._dispatcher = Dispatcher(self._changed, submit, render, self._deliver)
        self._is_closed = False
        self._is_hidden = False
        self._needs_refresh = False
        self._view = View()
        #: What computes a further block of the large image that is shown.
        self._rest: Job | None = None
        self._is_given_up = False
        self._asked = Asked.resolve({}, 0, 0.0, engine=engine)
        self._failed_engine: str | None = None
        #: Whether the frame that was sent last has less pixels than its source, because it was one of many.
        self._is_reduced = False
        self._told_damage = ""
        self._cancelled = -1
        self._observations = Observations(self.tell)
        self._told_state: dict[str, Any] = {}
        self._thread = Thread(target=self._run, name="studio-page", daemon=True)
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
        if kind != "ack" and kind not in self._ORDERS:
            raise ProtocolError(f"type={kind[:40]!r} is no message; it can be {', '.join(['ack', *self._ORDERS])}")
        with self._changed:
            if kind == "ack":
                self._in_flight.answer(int(read_number(message, "frame")), perf_counter())
            else:
                self._inbox.put(message)
            self._changed.notify()

    def receive_camera(self, header: dict[str, Any], payload: memoryview) -> None:
        """Take a frame of the browser's camera; it replaces one that is still waiting."""
        if header["type"] != "camera":
            raise ProtocolError(f"type={header['type'][:40]!r} is no binary message; it can be camera")
        with self._changed:
            self._inbox.put_camera(header, payload)
            self._changed.notify()

    def close(self, patience: float = 5.0) -> None:
        """End the session; may be called again."""
        with self._changed:
            self._is_closed = True
            self._dispatcher.supersede(None)
            self._changed.notify()
        self._thread.join(patience)

    def remember(self) -> dict[str, Any]:
        """Return what a page needs to go on after it was loaded again: source, settings, and where it is in a video."""
        return {
            "source": self._preview.describe_source()["source"] if self._preview.frame is not None else None,
            "settings": self._asked.given,
            "state": self._preview.describe(),
        }

    def tell(self, kind: str, **content: Any) -> None:
        """Send a message to the page, from any thread."""
        if not self._is_closed:
            self._emit(write_text({"type": kind, **content}), kind)

    # the thread of the session

    def _run(self) -> None:
        try:
            while True:
                step = self._show
                with self._changed:
                    while not self._is_closed and not self._inbox:
                        patience, step = self._plan(perf_counter())
                        if patience is not None and patience <= 0:
                            break
                        self._changed.wait(patience)
                    if self._is_closed:
                        return
                    messages = self._inbox.take()
                for message in messages:
                    kind = message["type"]
                    self._attempt(partial(self._ORDERS[kind], self, message), "source" if kind == "open" else kind)
                if not messages and not self._attempt(step, "source"):
                    # the next frame cannot be had either
                    self._preview.pause()
                    self._needs_refresh = False
                    self._tell_state()
        finally:
            self._stop_recording()
            self._preview.close()

    def _attempt(self, action: Callable[[], None], about: str) -> bool:
        """Do something; what goes wrong is told to the page, and the session goes on."""
        try:
            action()
        except (SubbandError, OSError) as error:
            self.tell("error", message=format_error(error), about=about)
            return False
        except Exception:  # noqa: BLE001 - logged, and told to the page
            _log.exception("a page asked for something that failed")
            self.tell("error", message="the server failed at that; its log says more", about=about)
            return False
        return True

    def _plan(self, now: float) -> tuple[float | None, Callable[[], None]]:
        """Return in how many seconds to do what, unless something changes before; None for not until then."""
        preview = self._preview
        if self._dispatcher.is_busy or self._is_hidden:
            return None, self._show
        if (full := self._in_flight.find_room(now)) != 0:
            return full, self._show
        due = None
        if self._asked.resolved.tool.needs_source:
            if preview.is_camera and preview.is_playing and self._inbox.has_camera_frame:
                return 0, self._show_camera
            due = preview.find_due(is_fast=self._is_fast)
        if self._needs_refresh and self._has_input and (due is None or due - now > _SOON):
            return 0, self._show
        if self._rest is not None and due is None:
            return 0, self._go_on
        watched = self._observations
        if due is None and watched.is_owed and watched.has_band and self._has_input:
            return watched.due - now, self._measure
        return (None if due is None else due - now), self._show_next

    @property
    def _has_input(self) -> bool:
        """Whether there is a frame to show, or none is needed."""
        return self._preview.frame is not None or not self._asked.resolved.tool.needs_source

    @property
    def _is_fast(self) -> bool:
        """Whether a video is to go as fast as it can."""
        return self._asked.resolved.settings.get("pace") == "fast"

    def _show(self) -> None:
        """Show the present frame under the present settings."""
        with self._changed:
            self._needs_refresh, self._rest, self._is_given_up = False, None, False
        self._dispatcher.start(self._make_job())
        if self._asked.resolved.tool.needs_source:
            # the next frame is decoded while this one is computed
            self._preview.prefetch()
            damage = self._preview.find_damage()
            if damage != self._told_damage:
                self._told_damage = damage
                self.tell("error", message=f"{damage}; what follows may not be what was filmed", about="damage")

    def _go_on(self) -> None:
        """Compute a further block of a large image."""
        with self._changed:
            rest, self._rest = self._rest, None
        if rest is not None:
            self._dispatcher.start(rest)

    def _show_next(self) -> None:
        """Show the next frame of a video."""
        if self._preview.take(perf_counter(), is_fast=self._is_fast):
            self._show()
        else:
            self._stand_still()

    def _stand_still(self) -> None:
        """Say that no frame follows, and send the one that is shown with all its pixels."""
        self._tell_state()
        if self._is_reduced:
            self._refresh()

    def _show_camera(self) -> None:
        """Show the newest frame of the camera."""
        with self._changed:
            frame = self._inbox.take_camera()
        if frame is None:
            return
        before = self._preview.shape
        try:
            self._preview.take_camera(*frame)
        except SubbandError as error:
            self.tell("error", message=str(error), about="camera")
            return
        if self._preview.shape != before:
            self.tell("opened", **self._preview.describe_source())
            self._resolve_again()
        self._show()

    def _measure(self) -> None:
        """Send the histogram of the frame that is shown."""
        job = self._observations.make_job(self._make_job(), perf_counter())
        if job is not None:
            self._dispatcher.start(job)

    # jobs: made here, rendered in the thread of an engine

    def _make_job(self) -> Job:
        asked, preview = self._asked, self._preview
        if asked.resolved.settings.get("volumetric") is True:
            preview.add_block()
        wanted = str(asked.resolved.settings.get("format", "auto"))
        return Job(
            asked.resolved,
            self._choose_engine(),
            preview.frame if asked.resolved.tool.needs_source else None,
            partial(self._link.choose, wanted, is_moving=preview.is_moving),
            self._view if self._is_seen_in_part() else None,
            preview.is_moving,
            echo=asked.echo,
        )

    def _is_seen_in_part(self) -> bool:
        """Tell whether the page gets less than the frame: of a large image, and of a video larger than its screen."""
        preview = self._preview
        if not preview.is_moving or preview.shape is None:
            return preview.is_large
        return self._view.crop(preview.shape).steps > 0

    def _choose_engine(self) -> str:
        """Return the engine that computes: the one that is asked for, or the CPU after that one has failed."""
        wanted = str(self._asked.resolved.settings.get("engine", self._engine))
        return "cpu" if wanted == self._failed_engine else wanted

    def _refresh(self) -> None:
        """Show what has changed: by the job that has not begun, or by a further one."""
        with self._changed:
            self._rest, self._is_given_up = None, False
            self._needs_refresh = not self._dispatcher.supersede(self._make_job() if self._has_input else None)
            self._changed.notify()

    def _deliver(self, job: Job, message: Message) -> Job | None:
        """Send what was rendered to the page, in the thread of an engine; return the histogram that is to follow."""
        if job.echo.get("settings", 0) <= self._cancelled:
            return None
        if job.band is None:
            self._observations.note(message)
            self._is_reduced = job.is_moving and job.view is not None
            if self._recording is not None and message.pair is not None:
                self._recording.add(message.pair[1], perf_counter())
        if message.error:
            self.tell("error", message=message.error, about=message.about)
        if message.about == "engine" and job.engine != "cpu":
            self._failed_engine = job.engine
            self._tell_resolved(f"The engine {job.engine} has failed; the CPU goes on.")
            self._refresh()
        if message.header is not None and message.payload:
            with self._changed:
                dropped = self._preview.dropped + self._inbox.dropped
                header = self._in_flight.send(message, dropped=dropped, now=perf_counter())
            if not self._is_closed:
                self._emit(pack(header, *message.payload), "frame")
        elif message.header is not None:
            self.tell(message.header["type"], **message.header)
        if job.band is not None:
            return None
        if message.left:
            with self._changed:
                # whatever the page has asked for meanwhile comes before it
                is_over = self._needs_refresh or self._is_given_up
                self._rest = None if is_over else replace(job, is_rest=True)
            return None
        now = perf_counter()
        return None if self._is_closed or now < self._observations.due else self._observations.make_job(job, now)

    # what a page can ask for

    def _order_settings(self, message: dict[str, Any]) -> None:
        number, time = int(read_number(message, "number", 0)), read_number(message, "time", 0)
        self._resolve(message.get("settings"), number, time)
        self._refresh()

    def _resolve(self, given: Any, number: int, time: float) -> None:
        """Resolve what the page has asked for, for the frames that there are now."""
        self._asked = Asked.resolve(given, number, time, shape=self._preview.shape, engine=self._engine)
        if self._failed_engine != self._asked.resolved.settings.get("engine", self._engine):
            # whoever chooses another engine and comes back tries it again
            self._failed_engine = None
        self._tell_resolved()

    def _resolve_again(self) -> None:
        """Resolve what the page has asked for last, for frames of another shape."""
        self._resolve(self._asked.given, self._asked.number, self._asked.time)

    def _tell_resolved(self, *notes: str) -> None:
        self.tell("resolved", **self._asked.describe(self._preview, *notes))

    def _order_open(self, message: dict[str, Any]) -> None:
        source = message.get("source")
        is_camera = isinstance(source, dict) and source.get("kind") == "camera"
        self._stop_recording()
        if is_camera:
            self._preview.open_camera()
        else:
            item = self._library.find(source)
            try:
                self._preview.open(item)
            except SubbandError as error:
                raise ArgumentError(item.hide_path(str(error))) from error
        # a job for the last source that has not begun is for nothing
        self._dispatcher.supersede(None)
        self._told_damage = ""
        self._observations.forget()
        self.tell("opened", **self._preview.describe_source())
        if not is_camera:
            self._resolve_again()
            self._refresh()
        self._tell_state()

    def _order_play(self, message: dict[str, Any]) -> None:
        self._is_hidden = False
        if message.get("hidden") is True:
            self._preview.resume()
            self._refresh()
        else:
            speed = min(max(read_number(message, "speed", 1), -_FASTEST), _FASTEST)
            self._preview.play(speed or 1.0)
        self._tell_state()

    def _order_pause(self, message: dict[str, Any]) -> None:
        if message.get("hidden") is True:
            self._is_hidden = True
            return
        self._preview.pause()
        self._stand_still()

    def _order_step(self, message: dict[str, Any]) -> None:
        self._preview.step(is_back=message.get("back") is True)
        self._refresh()
        self._tell_state()

    def _order_loop(self, message: dict[str, Any]) -> None:
        self._preview.loop(is_on=message.get("on") is not False)
        self._tell_state()

    def _order_seek(self, message: dict[str, Any]) -> None:
        self._preview.seek(max(int(read_number(message, "position")), 0), self._stays)
        self._refresh()
        self._tell_state()

    def _order_part(self, message: dict[str, Any]) -> None:
        start, stop = int(read_number(message, "start", 0)), int(read_number(message, "stop", -1))
        self._preview.limit(max(start, 0), None if stop < 0 else max(stop, start, 0))
        self._tell_state()

    def _order_plane(self, message: dict[str, Any]) -> None:
        axis = int(read_number(message, "axis"))
        if axis not in (0, 1, 2):
            raise ProtocolError(f"axis={axis} is none of a volume; it can be 0, 1 or 2")
        self._preview.turn(axis)
        self._dispatcher.supersede(None)
        self._observations.forget()
        self.tell("opened", **self._preview.describe_source())
        self._resolve_again()
        self._refresh()
        self._tell_state()

    def _order_planes(self, message: dict[str, Any]) -> None:
        point = [int(read_number(message, name, -1)) for name in ("slice", "row", "column")]
        window = Window.read(self._asked.resolved.settings, self._preview.levels)
        self.tell("planes", planes=self._preview.draw_planes(point, window))

    def _order_probe(self, message: dict[str, Any]) -> None:
        self._observations.read_pixel(message)

    def _order_measure(self, message: dict[str, Any]) -> None:
        self._observations.measure(message, self._asked.resolved, self._preview.levels)

    def _order_view(self, message: dict[str, Any]) -> None:
        self._view = View.read(message)
        if self._preview.is_large and not self._preview.is_moving:
            self._refresh()

    def _order_cancel(self, message: dict[str, Any]) -> None:
        with self._changed:
            self._rest, self._is_given_up = None, True
        if message.get("rest") is not True:
            # the engine cannot be stopped in the middle of a block, and its result is not sent
            self._cancelled = int(read_number(message, "number"))
            self._dispatcher.supersede(None)

    def _stays(self) -> bool:
        """Tell whether the page has not yet asked for another position."""
        with self._changed:
            return not self._is_closed and not self._inbox.has("seek", "open")

    def _order_record(self, message: dict[str, Any]) -> None:
        self._stop_recording()
        if message.get("on") is True and self._preview.is_camera:
            self._recording = Recording()
            self._record(self._recording)
        self.tell("recording", on=self._recording is not None)

    def _stop_recording(self) -> None:
        if self._recording is not None:
            self._recording.stop()
            self._recording = None
            self.tell("recording", on=False)

    def _order_histogram(self, message: dict[str, Any]) -> None:
        self._observations.choose_band(message)

    _ORDERS: ClassVar[dict[str, Callable[[Session, dict[str, Any]], None]]] = {
        "open": _order_open,
        "settings": _order_settings,
        "play": _order_play,
        "pause": _order_pause,
        "step": _order_step,
        "loop": _order_loop,
        "seek": _order_seek,
        "part": _order_part,
        "plane": _order_plane,
        "planes": _order_planes,
        "probe": _order_probe,
        "measure": _order_measure,
        "view": _order_view,
        "record": _order_record,
        "cancel": _order_cancel,
        "histogram": _order_histogram,
    }

    def _tell_state(self) -> None:
        state = self._preview.describe()
        if state != self._told_state:
            self._told_state = state
            self.tell("state", **state)
