"""The local server of the page: three addresses, each answered from the cube, nothing kept and nothing changed."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from gridplan.errors import ContractError, GridplanError, MissingExtraError, Problem, StoreError
from gridplan.explore.explorer import Explorer
from gridplan.explore.guard import Guard
from gridplan.explore.page import needs_drawing, page

if TYPE_CHECKING:
    from anyio import CapacityLimiter
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["PORT", "application", "listening", "needs_explore", "reached", "serve"]

PORT = 8417
"""Where the page is served unless another port is asked for (policy: unassigned by IANA)."""

AT_ONCE = 1
"""Questions that are answered at once (policy), in the order in which they come: each plans for some milliseconds, and
threads that take turns would make the first wait for the last."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def needs_explore() -> None:
    """Refuse where the server is not installed. Raises MissingExtraError."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise MissingExtraError("the explorer is served by starlette and uvicorn", "explore")
    needs_drawing()


def application(explorer: Explorer, names: Collection[str] = _LOOPBACK) -> Any:
    """The ASGI application; `names` are host names under which it may be reached."""
    needs_explore()
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    text = page(explorer.about())

    def whole(request: Request) -> Response:
        return Response(text, media_type="text/html")

    def block(at: str, request: Request) -> Response:
        columns = request.query_params.get("columns", "")
        packed = explorer.block(at, columns, request.query_params.getlist("if"))
        return Response(packed, media_type="application/octet-stream")

    def explain(at: str, request: Request) -> Response:
        found = explorer.explain(at, request.query_params.getlist("if"))
        try:
            return JSONResponse(found)
        except ValueError:
            raise ContractError(
                [Problem("a number of this chain is infinite: nobody can mean that", key="if")]
            ) from None

    def now(at: str, request: Request) -> Response:
        return JSONResponse(explorer.now(at))

    from anyio import CapacityLimiter

    turn = CapacityLimiter(AT_ONCE)
    questions = {"cells": (block, {"at", "columns", "if"}), "explain": (explain, {"at", "if"}), "now": (now, {"at"})}
    routes = [Route("/", whole)]
    routes += [Route(f"/{name}", _answering(answer, known, turn)) for name, (answer, known) in questions.items()]
    return Guard(Starlette(routes=routes), names)


def _answering(
    answer: Callable[[str, Request], Response], known: set[str], turn: CapacityLimiter
) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that says what is wrong with a question in place of an answer."""
    from anyio.to_thread import run_sync
    from starlette.responses import JSONResponse

    def answered(request: Request) -> Response:
        try:
            _check_keys(request, known)
            return answer(request.query_params.get("at", ""), request)
        except GridplanError as error:
            status = 500 if isinstance(error, StoreError) else 400
            return JSONResponse({"problems": str(error).splitlines()}, status)

    async def endpoint(request: Request) -> Response:
        return await run_sync(answered, request, limiter=turn)

    return endpoint


def _check_keys(request: Request, known: set[str]) -> None:
    """Refuse a key that nothing reads, or one that is there twice and counts once. Raises ContractError."""
    keys = [key for key, _ in request.query_params.multi_items()]
    problems = [Problem(f"{key[:40]} is none of {', '.join(sorted(known))}") for key in keys if key not in known]
    problems += [Problem(f"{key} is there twice") for key in {"at", "columns"} & set(keys) if keys.count(key) > 1]
    if problems:
        raise ContractError(problems[:5])


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens at one address of this machine; port 0 takes a free one.

    Raises StoreError for an address that this machine does not have or a port that is taken, ContractError for one
    that stands for all addresses: who reaches them would be anybody.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if ip_address(str(address[0]).partition("%")[0]).is_unspecified:
            said = f"{host} stands for every address of this machine: give the one it is to be reached at"
            raise ContractError([Problem(said, key="host")])
        found = socket.create_server(address[:2], family=family)
    except (OSError, UnicodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        hint = "; --port 0 takes a free one" if "in use" in reason.lower() else ""
        raise StoreError(f"cannot listen at {host}:{port}: {reason}{hint}") from None
    return found


def serve(explorer: Explorer, sock: socket.socket, host: str) -> None:
    """Answer at a listening socket until the process is asked to stop. Raises MissingExtraError."""
    app = application(explorer, {*_LOOPBACK, host} if _is_loopback(sock) else {host, sock.getsockname()[0]})
    import uvicorn

    config = uvicorn.Config(app, log_level="error", access_log=False, server_header=False, ws="none", lifespan="off")
    with suppress(KeyboardInterrupt):  # which is how a person ends it
        uvicorn.Server(config).run(sockets=[sock])


def _is_loopback(sock: socket.socket) -> bool:
    return ip_address(sock.getsockname()[0]).is_loopback


def reached(sock: socket.socket, host: str) -> str:
    """The address of the page.

    >>> with listening("127.0.0.1", 0) as sock:
    ...     reached(sock, "127.0.0.1").startswith("http://127.0.0.1:")
    True
    """
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{sock.getsockname()[1]}/"
