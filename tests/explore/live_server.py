"""The server of the explorer as it runs, on a free port of this machine, and requests that no browser would send."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn

from gridplan.explore.explorer import Explorer
from gridplan.explore.server import application, listening

__all__ = ["Answer", "Live", "live"]


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def problems(self) -> list[str]:
        """What is wrong with the question; no answer says where the code stands."""
        assert self.headers["content-type"] == "application/json"
        assert b"Traceback" not in self.body
        assert b".py" not in self.body
        found: list[str] = json.loads(self.body)["problems"]
        assert found
        return found


@dataclass(frozen=True)
class Live:
    """A server that answers at `port`."""

    port: int

    @property
    def host(self) -> str:
        """What a browser would call it."""
        return f"127.0.0.1:{self.port}"

    def ask(
        self, target: str, *headers: tuple[str, str], method: str = "GET", hosts: Sequence[str] | None = None
    ) -> Answer:
        """One request; `hosts` are the Host headers in place of the right one."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for host in [self.host] if hosts is None else hosts:
                connection.putheader("Host", host)
            for name, value in headers:
                connection.putheader(name, value)
            connection.endheaders()
            reply = connection.getresponse()
            kept = {name.lower(): value for name, value in reply.getheaders()}
            return Answer(reply.status, kept, reply.read())
        finally:
            connection.close()

    def send(self, data: bytes) -> bytes:
        """What comes back for these bytes until the connection is closed; none where it is closed at once."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as sock:
            pieces = []
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                while piece := sock.recv(65536):
                    pieces.append(piece)
            except OSError:  # closed while it was still being sent
                pass
            return b"".join(pieces)


@contextmanager
def live(explorer: Explorer) -> Iterator[Live]:
    """A server in a thread of its own, as `serve` starts it, without its signals."""
    with listening("127.0.0.1", 0) as sock:
        about = {"log_level": "critical", "access_log": False, "server_header": False, "ws": "none", "lifespan": "off"}
        server = uvicorn.Server(uvicorn.Config(application(explorer), **about))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        try:
            yield Live(sock.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()
