"""An S3 that tests start: moto's server, and a way to it that refuses what it is told to refuse."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

SECRET = "a-secret-nobody-prints"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "an-id", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}

ANSWERS = {
    "AccessDenied": (403, "Forbidden", "Access Denied"),
    "SlowDown": (503, "Slow Down", "Please reduce your request rate."),
    "InternalError": (500, "Internal Server Error", "We encountered an internal error. Please try again."),
    "ExpiredToken": (400, "Bad Request", "The provided token has expired."),
}
"""How S3 refuses: status, reason and message of each code (fact, S3 API reference, "Error responses")."""

KEPT = "kept"
"""A request to delete several files that is answered with 200 and an error for each (fact, DeleteObjects)."""

_OWN_HEADERS = ("connection", "transfer-encoding", "content-length", "date", "server", "expect", "host")


@dataclass
class Fault:
    """Requests that are refused: their method and their path with its query by a pattern, all or the next `times`."""

    code: str
    method: str
    path: str
    times: int | None
    answered: int = 0

    def meets(self, method: str, path: str) -> bool:
        """Whether this request is refused, and counted as such."""
        if self.answered == self.times or not re.fullmatch(self.method, method) or not re.search(self.path, path):
            return False
        self.answered += 1
        return True


@dataclass
class FaultyStore:
    """A server that hands every request on to another one, unless a fault meets it."""

    behind: str
    faults: list[Fault] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    """Every request, as `METHOD /path?query`."""

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        store = self

        class Handler(_Handler):
            faulty = store

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def refuse(self, code: str, method: str, path: str, times: int | None = None) -> Fault:
        """Answer such requests with this code of S3 from now on; the next `times`, or all."""
        fault = Fault(code, method, path, times)
        with self.lock:
            self.faults.append(fault)
        return fault

    def relent(self) -> None:
        """Refuse nothing any more, and forget what was heard."""
        with self.lock:
            self.faults.clear()
            self.heard.clear()

    def fault_of(self, method: str, path: str) -> Fault | None:
        """What meets a request, if anything."""
        with self.lock:
            self.heard.append(f"{method} {path}")
            return next((fault for fault in self.faults if fault.meets(method, path)), None)

    @contextlib.contextmanager
    def listening(self) -> Iterator[FaultyStore]:
        """The server, at work as long as the block."""
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield self
        finally:
            self.server.shutdown()
            thread.join()
            self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    faulty: FaultyStore
    protocol_version = "HTTP/1.1"  # clients ask whether to go on before they send a file

    def answer(self) -> None:
        """Refuse the request or hand it on; one request a connection, so that none is left open."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.faulty.fault_of(self.command, self.path)
        if fault is None:
            self._hand_on(body)
        elif fault.code == KEPT:
            keys = re.findall(r"<Key>.*?</Key>", body.decode())
            errors = (f"<Error>{key}<Code>AccessDenied</Code><Message>Access Denied</Message></Error>" for key in keys)
            self._say(200, "OK", f"<DeleteResult>{''.join(errors)}</DeleteResult>")
        else:
            status, reason, message = ANSWERS[fault.code]
            self._say(status, reason, f"<Error><Code>{fault.code}</Code><Message>{message}</Message></Error>")

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = answer

    def _say(self, status: int, reason: str, said: str) -> None:
        content = f'<?xml version="1.0" encoding="UTF-8"?>\n{said}'.encode()
        self.send_response(status, reason)
        self._end({"Content-Type": "application/xml"}, len(content))
        if self.command != "HEAD":  # S3 says no more than the status then
            self.wfile.write(content)

    def _hand_on(self, body: bytes) -> None:
        behind = http.client.HTTPConnection(urlsplit(self.faulty.behind).netloc, timeout=60)
        with contextlib.closing(behind):
            given = {name: value for name, value in self.headers.items() if name.lower() not in _OWN_HEADERS}
            behind.request(self.command, self.path, body, given)
            said = behind.getresponse()
            self.send_response(said.status, said.reason)
            headers = {name: value for name, value in said.getheaders() if name.lower() not in _OWN_HEADERS}
            self._end(headers, int(said.getheader("Content-Length") or 0))
            if self.command != "HEAD":
                shutil.copyfileobj(said, self.wfile)

    def _end(self, headers: dict[str, str], length: int) -> None:
        for name, value in {**headers, "Content-Length": str(length), "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: what was heard is kept for the test."""


@contextlib.contextmanager
def moto_server(**environment: str) -> Iterator[str]:
    """The address of moto's S3, a process of its own that knows nothing yet, with more in its environment."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    own = {**os.environ, **environment}
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=own) as server:
        try:
            _wait_for(port)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()


def _wait_for(port: int) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < end, "moto does not listen"
            time.sleep(0.1)


@contextlib.contextmanager
def known(address: str, bucket: str, attempts: int = 2) -> Iterator[None]:
    """Have programs find the store at `address` as they find any, with a bucket in it."""
    said = {**CREDENTIALS, "AWS_ENDPOINT_URL_S3": address, "AWS_DEFAULT_REGION": "us-east-1"}
    said |= {"AWS_MAX_ATTEMPTS": str(attempts)}
    before = {name: os.environ.get(name) for name in said}
    os.environ.update(said)
    try:
        import s3fs

        # The library keeps a client for each set of arguments, and those of another test know another address.
        s3fs.S3FileSystem.clear_instance_cache()
        store = s3fs.S3FileSystem(anon=False)
        if not store.exists(bucket):
            store.mkdir(bucket)
        yield
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
