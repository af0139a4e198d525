"""Running the server: in the foreground for people, in a thread for tests and notebooks."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any

from subband.errors import ArgumentError, MissingExtraError
from subband.studio.camera import MOST_BYTES
from subband.studio.library import MOST_PIXELS, Item

try:
    import uvicorn

    from subband.studio.app import make_app
    from subband.studio.security import is_loopback, make_token
    from subband.studio.studio import Studio
    from subband.studio.uploads import MOST_UPLOAD
except ImportError as error:
    if (error.name or "").partition(".")[0] not in ("anyio", "starlette", "uvicorn", "websockets"):
        raise
    raise MissingExtraError("the studio", "studio") from error

__all__ = ["PORT", "Address", "Serving", "run_studio", "serve"]

#: Where people expect the studio.
PORT = 8765

#: Ports that are tried from there on.
_MOST_TRIES = 20
_ANY = ("0.0.0.0", "::")


@dataclass(frozen=True)
class Address:
    """Where the studio is reached.

    Attributes
    ----------
    host : str
        What it listens on.
    port : int
        Where.
    token : str or None
        What has to be known to enter.
    name : str
        What browsers are told.

    Examples
    --------
    >>> Address("127.0.0.1", 8765, None, "127.0.0.1").url
    'http://127.0.0.1:8765/'
    """

    host: str
    port: int
    token: str | None
    name: str

    @property
    def url(self) -> str:
        """The address for the browser, with the token if one is needed."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"http://{name}:{self.port}/" + ("" if self.token is None else f"?token={self.token}")


@dataclass(frozen=True)
class Serving:
    """A studio that runs in a thread."""

    address: Address
    studio: Studio


def _make_server(
    host: str, port: int | None, names: Sequence[str], token: str | None, with_token: bool, options: dict[str, Any]
) -> tuple[uvicorn.Server, Address, Studio, socket.socket]:
    # threads of OpenMP that wait for work go on turning for a while, and take the cores from those that decode and send
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # a further name is that of a proxy, through which others come
    if not with_token and (names or not is_loopback(host)):
        raise ArgumentError("a studio that others can reach needs its token; leave out --no-token")
    if token is None and with_token:
        token = make_token()
    listener = _find_port(host) if port is None else _listen(host, port)
    own = [socket.gethostname(), socket.getfqdn()] if not is_loopback(host) else []
    name = own[0] if host in _ANY else host
    address = Address(host, listener.getsockname()[1], token, name)
    try:
        studio = Studio(**options)
        app = make_app(studio, hosts=[host, *own, *names], any_address=host in _ANY, token=token)
    except BaseException:
        listener.close()
        raise
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        # pixels do not become smaller, and frames of a video would wait for the attempt
        ws_per_message_deflate=False,
        ws_max_size=MOST_BYTES + 2**16,
        ws_max_queue=8,
        timeout_graceful_shutdown=3,
    )
    return uvicorn.Server(config), address, studio, listener


def serve(
    media: Sequence[Path | Item] = (),
    *,
    host: str = "127.0.0.1",
    port: int | None = 0,
    names: Sequence[str] = (),
    with_token: bool = True,
    engine: str | None = None,
    most_upload: int = MOST_UPLOAD,
    most_pixels: int = MOST_PIXELS,
    on_ready: Callable[[Address], None] | None = None,
    on_problem: Callable[[str], None] | None = None,
) -> None:
    """Serve the studio until Ctrl-C.

    Parameters
    ----------
    media : sequence of Path or Item
        What can be opened besides the samples.
    host : str
        The address to listen on.
    port : int, optional
        Where; any free one if 0, `PORT` or the next free one after it if None.
    names : sequence of str
        Further names by which the server is reached, such as that of a proxy before it.
    with_token : bool
        Whether a token is needed to enter. Only a studio on the loopback address without further names can do without,
        and all accounts of the machine can enter then.
    engine : str, optional
        The engine that computes at first.
    most_upload : int
        Bytes of an upload.
    most_pixels : int
        Rows × columns of a frame.
    on_ready : callable, optional
        Told the address as soon as browsers can come.
    on_problem : callable, optional
        Told before, for each of the `media` that cannot be opened, why.

    Raises
    ------
    ArgumentError
        If nobody can listen there, or a token is needed.
    """
    options = {"media": media, "engine": engine, "most_upload": most_upload, "most_pixels": most_pixels}
    server, address, studio, listener = _make_server(host, port, names, None, with_token, options)
    try:
        if on_problem is not None:
            for problem in studio.library.list_problems():
                on_problem(problem)
        if on_ready is not None:
            on_ready(address)
        _end_with_terminal(server)
        server.run([listener])
    finally:
        listener.close()
        studio.close()


@contextlib.contextmanager
def run_studio(
    media: Sequence[Path | Item] = (),
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    names: Sequence[str] = (),
    token: str | None = None,
    with_token: bool = True,
    **options: Any,
) -> Iterator[Serving]:
    """Run the studio in a thread, as long as a block lasts; its token is one that is given, or a new one.

    Examples
    --------
    >>> with run_studio() as serving:
    ...     serving.address.host
    '127.0.0.1'
    """
    server, address, studio, listener = _make_server(host, port, names, token, with_token, {"media": media, **options})
    thread = Thread(target=server.run, args=([listener],), name="studio-server", daemon=True)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise ArgumentError(f"the studio could not be started at {address.url}")
            time.sleep(0.005)
        yield Serving(address, studio)
    finally:
        server.should_exit = True
        thread.join(15)
        listener.close()
        studio.close()


def _end_with_terminal(server: uvicorn.Server) -> None:
    """Let a terminal that is closed end the server as Ctrl-C does, so that no files are left; not so under nohup."""
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is None or current_thread() is not main_thread() or signal.getsignal(hangup) == signal.SIG_IGN:
        return

    def end(number: int, frame: object) -> None:  # noqa: ARG001 - as handlers are called
        server.should_exit = True

    signal.signal(hangup, end)


def _find_port(host: str) -> socket.socket:
    """Return a socket that listens at the first free port, so that a second studio does not fail for the first."""
    for port in range(PORT, PORT + _MOST_TRIES - 1):
        with contextlib.suppress(ArgumentError):
            return _listen(host, port)
    return _listen(host, PORT + _MOST_TRIES - 1)


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that the port is known before the server runs."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            if sys.platform != "win32":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(128)
        except BaseException:
            listener.close()
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise ArgumentError(
            f"nobody can listen at {host} port {port}: {reason}; use another --listen or --port"
        ) from None
    return listener
