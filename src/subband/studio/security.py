"""Access control of the studio: the guard before every route.

A server on the loopback address is reachable by every page that the browser shows, and by every program of the machine.
So each request is asked three things. The **host** it names must be one that this server is reached by, for a foreign
name may have been made to point here. The **origin** of whatever changes something, and of every socket, must be that
host. A **token** is needed, for other accounts of the same machine reach the loopback address too: it comes once in the
address, and is kept in a cookie then.
All answers carry headers that forbid the browser whatever the page does not need.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Iterable
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["COOKIE", "HEADERS", "UNAUTHORISED", "Guard", "format_page", "is_loopback", "make_token"]

#: How the name of the cookie begins that holds the token. The port follows, because browsers give the cookies of a host
#: to all its ports, and two studios would replace each other.
COOKIE = "subband-studio"

#: The code with which a socket without a token is closed.
UNAUTHORISED = 4401

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

#: What every answer carries.
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(self), fullscreen=(self), microphone=(), geolocation=()",
}

_SAFE_METHODS = ("GET", "HEAD")
_OWN_SITES = (None, "same-origin", "none")
#: A name or a numeric address, and a port; nobody before an ``@``, whom addresses can name and hosts cannot.
_HOST = re.compile(r"(?P<name>[\w.-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?", re.ASCII)


def make_token() -> str:
    """Return a new token, which nobody can guess."""
    return secrets.token_urlsafe(32)


def is_loopback(address: str) -> bool:
    """Tell whether an address is reached only from this machine.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def format_page(title: str, text: str) -> str:
    """Return a short page for people: an error without anything of the inside."""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<h1>{title}</h1><p>{text}</p></html>"
    )


class Guard:
    """Stands before an application, and lets through what may pass.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    hosts : iterable of str
        Names by which the server is reached; loopback names always are among them.
    any_address : bool
        Whether any numeric address may be named: for servers that listen on all of them. A foreign name that points
        here is still refused, which is what matters.
    token : str, optional
        What has to be known to enter; nothing if left out.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Iterable[str] = (), any_address: bool = False, token: str | None = None
    ) -> None:
        self._app = app
        self._hosts = {host.lower().strip("[]") for host in hosts} | {"localhost"}
        self._any_address = any_address
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        guarded = _add_headers(send) if scope["type"] == "http" else send
        refusal = self._find_refusal(scope, headers)
        if refusal is not None:
            await self._refuse(scope, receive, guarded, *refusal)
        elif (entry := self._enter(scope, headers)) is not None:
            # also for those who have the cookie, because the token would go along with every link that they copy
            await entry(scope, receive, guarded)
        elif self._has_token(scope, headers):
            await self._app(scope, receive, guarded)
        elif scope["type"] == "websocket":
            # a browser tells its page the code only if the socket was open before
            await receive()
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": UNAUTHORISED, "reason": "no token"})
        else:
            text = "Open the address that <code>subband studio</code> has printed, with its token."
            await self._refuse(scope, receive, guarded, 401, "No entry without a token", text)

    def _find_refusal(self, scope: Scope, headers: Headers) -> tuple[int, str, str] | None:
        """Return status, title and text of what speaks against a request."""
        host = headers.get("host", "")
        if not self._knows_host(host):
            return 421, "Wrong host", "This server is not reached by that name; see <code>subband studio --name</code>."
        if scope["type"] == "http" and scope["method"] in _SAFE_METHODS:
            return None
        own = tuple(f"{scheme}://{host.lower()}" for scheme in ("http", "https"))
        if headers.get("origin", "").lower() not in own or headers.get("sec-fetch-site") not in _OWN_SITES:
            return 403, "Wrong origin", "Only the page of this server may do that."
        return None

    def _knows_host(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found["name"].strip("[]").lower()
        return name in self._hosts or is_loopback(name) or (self._any_address and _is_address(name))

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        if self._token is None:
            return True
        # cookies of other servers on this host come along, and not all of them are what the standard asks for
        return self._is_token(cookie_parser(headers.get("cookie", "")).get(_name_cookie(scope), ""))

    def _is_token(self, text: str) -> bool:
        return self._token is not None and secrets.compare_digest(text.encode(), self._token.encode())

    def _enter(self, scope: Scope, headers: Headers) -> Response | None:
        """Return what exchanges the token of an address for a cookie, so that it does not stay in the address."""
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] not in _SAFE_METHODS:
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not self._is_token(given):
            return None
        response = RedirectResponse("/", status_code=303)
        # whoever claims an encryption that there is not only keeps the cookie from being sent
        is_encrypted = "https" in (scope.get("scheme"), headers.get("x-forwarded-proto"))
        response.set_cookie(_name_cookie(scope), given, httponly=True, samesite="strict", path="/", secure=is_encrypted)
        return response

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, status: int, title: str, text: str) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        wants_page = scope["path"] == "/" and scope["method"] in _SAFE_METHODS
        answer: Response = (
            HTMLResponse(format_page(title, text), status)
            if wants_page
            else JSONResponse({"error": f"{title}: {_strip_marks(text)}"}, status)
        )
        await answer(scope, receive, send)


def _add_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = list(message.get("headers", ()))
            headers = MutableHeaders(raw=message["headers"])
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return send_with_headers


def _name_cookie(scope: Scope) -> str:
    _, port = scope.get("server") or ("", None)
    return COOKIE if port is None else f"{COOKIE}-{port}"


def _strip_marks(text: str) -> str:
    return text.replace("<code>", "").replace("</code>", "")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
