"""The server's routes; everything that takes time happens in other threads."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import mimetypes
from collections.abc import AsyncIterator, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from subband.errors import SubbandError
from subband.studio.outbox import Outbox
from subband.studio.protocol import LONGEST_TEXT, ProtocolError, format_error, read_text, unpack, write_text
from subband.studio.security import Guard, format_page, is_loopback
from subband.studio.session import Session
from subband.studio.studio import Studio
from subband.studio.thumbnails import GUIDES, draw_guide
from subband.studio.uploads import TooMuchError

__all__ = ["make_app"]

_log = logging.getLogger("subband.studio")

_STATIC = Path(__file__).parent / "static"
_TYPES = {".js": "text/javascript", ".svg": "image/svg+xml", ".css": "text/css", ".html": "text/html"}
#: A page that sends nothing but nonsense is cut off after so many errors.
_MOST_FAULTS = 100


def make_app(
    studio: Studio, *, hosts: Iterable[str] = (), any_address: bool = False, token: str | None = None
) -> ASGIApp:
    """Return the application.

    Parameters
    ----------
    studio : Studio
        What it serves; it is closed when the server ends.
    hosts, any_address, token
        As `subband.studio.security.Guard` takes them.
    """
    files = _list_static()

    @contextlib.asynccontextmanager
    async def live(_app: Starlette) -> AsyncIterator[None]:
        yield
        await anyio.to_thread.run_sync(studio.close)

    routes = [
        Route("/", partial(_show_static, files), methods=["GET"]),
        Route("/static/{name:path}", partial(_show_static, files), methods=["GET"]),
        Route("/upload", partial(_take_upload, studio), methods=["POST"]),
        Route("/guide/{kind}", _show_guide, methods=["GET"]),
        Route("/export", partial(_start_export, studio), methods=["POST"]),
        Route("/exports/{number}", partial(_show_export, studio), methods=["GET"]),
        Route("/exports/{number}", partial(_remove_export, studio), methods=["DELETE"]),
        WebSocketRoute("/live", partial(_speak, studio)),
    ]
    app = Starlette(
        routes=routes,
        lifespan=live,
        exception_handlers={HTTPException: _answer_fault, Exception: _answer_crash},  # type: ignore[dict-item]
    )
    # a redirection would name whatever host the request has named
    app.router.redirect_slashes = False
    return Guard(app, hosts=hosts, any_address=any_address, token=token)


def _list_static() -> dict[str, Path]:
    """Return the files of the page; what is not there when the server starts is never served."""
    found = (path for path in _STATIC.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(_STATIC).as_posix(): path for path in found}


async def _show_static(files: dict[str, Path], request: Request) -> Response:
    path = files.get(request.path_params.get("name", "index.html"))
    if path is None:
        raise HTTPException(404)
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return FileResponse(path, media_type=kind, headers={"Cache-Control": "no-cache"})


async def _take_upload(studio: Studio, request: Request) -> Response:
    length, listed = request.headers.get("content-length", ""), request.query_params.get("list", "")
    page = studio.pages.find(request.query_params.get("page"))
    try:
        found = await studio.uploads.take(
            request.query_params.get("name", "upload"),
            request.stream(),
            int(length) if length.isdecimal() else None,
            int(listed) if listed.isdecimal() and len(listed) < 10 else 0,
        )
    except TooMuchError as error:
        # what is still on its way is not read
        return JSONResponse({"error": str(error)}, 413, headers={"Connection": "close"})
    except (SubbandError, OSError) as error:
        return JSONResponse({"error": format_error(error)}, 415)
    except ClientDisconnect:
        return Response(status_code=400)
    if page is not None:
        page.uploads.append(found)
    return JSONResponse(found)


async def _show_guide(request: Request) -> Response:
    kind = request.path_params["kind"]
    if kind not in GUIDES:
        raise HTTPException(404)
    return JSONResponse(await anyio.to_thread.run_sync(draw_guide, kind))


async def _start_export(studio: Studio, request: Request) -> Response:
    text = b""
    async for chunk in request.stream():
        text += chunk
        if len(text) > LONGEST_TEXT:
            return JSONResponse({"error": "the request is too long"}, 413, headers={"Connection": "close"})
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return JSONResponse({"error": "the request is not JSON"}, 400)
    page = studio.pages.find(body.get("page")) if isinstance(body, dict) else None
    try:
        number = await anyio.to_thread.run_sync(studio.exports.start, body, page)
    except (SubbandError, OSError) as error:
        return JSONResponse({"error": format_error(error)}, 400)
    return JSONResponse({"id": number})


async def _show_export(studio: Studio, request: Request) -> Response:
    job = studio.exports.find(request.path_params["number"])
    if job is None or job.state != "done":
        raise HTTPException(404)
    return FileResponse(
        job.path,
        filename=job.name,
        media_type=mimetypes.guess_type(job.name)[0] or "application/octet-stream",
        content_disposition_type="attachment",
    )


async def _remove_export(studio: Studio, request: Request) -> Response:
    if not await anyio.to_thread.run_sync(studio.exports.remove, request.path_params["number"]):
        raise HTTPException(404)
    return JSONResponse({})


async def _speak(studio: Studio, socket: WebSocket) -> None:
    """Serve the web socket of a page until either side closes it."""
    await socket.accept()
    loop = asyncio.get_running_loop()
    outbox = Outbox()
    tasks: list[asyncio.Task[None]] = []

    def emit(message: str | bytes, kind: str) -> None:
        # the loop may have ended while a frame was computed
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(post, message, kind)

    def post(message: str | bytes, kind: str) -> None:
        outbox.put(message, kind)
        if outbox.is_overfull:
            for task in tasks:
                task.cancel()

    try:
        near = is_loopback(socket.client.host if socket.client else "")
        session = studio.open_session(emit, is_near=near, key=socket.query_params.get("page"))
    except SubbandError as error:
        await socket.send_text(write_text({"type": "error", "message": str(error), "about": "session"}))
        await socket.close(1013)
        return
    try:
        hello = await anyio.to_thread.run_sync(studio.describe, session)
        outbox.put(write_text(hello), "hello")
        tasks += [asyncio.create_task(_write(socket, outbox)), asyncio.create_task(_read(socket, session))]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.gather(*tasks, return_exceptions=True)
            await anyio.to_thread.run_sync(studio.close_session, session)
            # a page that reads nothing does not say goodbye either
            with anyio.move_on_after(1), contextlib.suppress(WebSocketDisconnect, RuntimeError):
                await socket.close(1008)


async def _write(socket: WebSocket, outbox: Outbox) -> None:
    while True:
        message = await outbox.take()
        if isinstance(message, bytes):
            await socket.send_bytes(message)
        else:
            await socket.send_text(message)


async def _read(socket: WebSocket, session: Session) -> None:
    faults = 0
    while faults < _MOST_FAULTS:
        message: Any = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        try:
            if message.get("text") is not None:
                session.receive(read_text(message["text"]))
            else:
                session.receive_camera(*unpack(message["bytes"]))
        except ProtocolError as error:
            faults += 1
            session.tell("error", message=str(error), about="message")


async def _answer_fault(request: Request, error: HTTPException) -> Response:
    """Answer what is not there, or not so."""
    text = {404: "There is nothing here.", 405: "That cannot be done here."}.get(error.status_code, error.detail)
    return _answer(request, error.status_code, text, error.headers)


async def _answer_crash(request: Request, error: Exception) -> Response:
    """Answer after a fault of ours: the log has all of it, the page nothing."""
    _log.error("a request failed", exc_info=error)
    return _answer(request, 500, "The server failed at that; its log says more.")


def _answer(request: Request, status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error as a page for people, as JSON for scripts."""
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(format_page(str(status), text), status)
    return JSONResponse({"error": text}, status, headers=headers)
