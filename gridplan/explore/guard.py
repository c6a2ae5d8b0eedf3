"""Who may ask: pages of this server alone, under a name that it was given, in requests of a sensible size."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any

__all__ = ["HEADERS", "MOST_QUERY", "Guard", "refusal"]

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Callable[..., Awaitable[Any]], Callable[..., Awaitable[None]]], Awaitable[None]]

MOST_QUERY = 8_192
"""Bytes of a path with its query (policy): several times what the page sends."""

HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""On every answer: nothing is kept, framed, guessed at or read by other pages."""


def refusal(
    method: str, target: bytes, headers: Collection[tuple[bytes, bytes]], names: Collection[str]
) -> tuple[int, str] | None:
    """Why a request is refused, with its status; None for one that may be answered.

    `target` is the path with its query, `names` are the host names under which the server may be reached: a foreign
    name that leads to this machine (DNS rebinding) is none of them.

    >>> refusal("GET", b"/", [(b"host", b"127.0.0.1:8417")], {"127.0.0.1"})
    >>> refusal("GET", b"/", [(b"host", b"evil.example")], {"127.0.0.1"})[0]
    421
    """
    if method not in ("GET", "HEAD"):
        return 405, "only GET is answered"
    if len(target) > MOST_QUERY:
        return 414, f"a request has at most {MOST_QUERY:,} bytes"
    hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
    if len(hosts) != 1 or _host_name(hosts[0]) not in names:
        return 421, f"this server is reached as {', '.join(sorted(names))}"
    sent = {name: value.decode("latin-1") for name, value in headers}
    if any(name == b"origin" and value.decode("latin-1") != f"http://{hosts[0]}" for name, value in headers):
        return 403, "pages of other origins are not answered"
    # A link in a mail or a wiki may open the page; whatever else another site asks for is none of its business.
    opened = sent.get(b"sec-fetch-mode") == "navigate" and target.partition(b"?")[0] == b"/"
    if sent.get(b"sec-fetch-site", "none") not in ("none", "same-origin") and not opened:
        return 403, "pages of other origins are not answered"
    return None


def _host_name(host: str) -> str:
    """The name in `name:port` or `[::1]:port`, lower case."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).strip("[]").lower()


class Guard:
    """An ASGI application that hands on what is not refused."""

    def __init__(self, app: App, names: Collection[str]) -> None:
        self.app, self.names = app, frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer a request; a WebSocket is closed, since nothing here speaks it."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        refused = refusal(scope["method"], target, scope["headers"], self.names)
        own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
        if refused is None:

            async def with_headers(message: Scope) -> None:
                if message["type"] == "http.response.start":
                    message = {**message, "headers": [*message["headers"], *own]}
                await send(message)

            await self.app(scope, receive, with_headers)
            return
        status, said = refused
        kept = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *own]
        await send({"type": "http.response.start", "status": status, "headers": kept})
        await send({"type": "http.response.body", "body": f"{said}\n".encode()})
