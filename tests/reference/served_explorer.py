"""The page of an explorer, answered from a thread of the test."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import uvicorn

from gridplan.explore.explorer import Explorer
from gridplan.explore.server import application, listening

__all__ = ["served"]


@contextmanager
def served(explorer: Explorer) -> Iterator[str]:
    """The address at which an explorer is answered while the block runs, without a slash at its end."""
    with listening("127.0.0.1", 0) as sock:
        config = uvicorn.Config(application(explorer), log_level="warning", lifespan="off", ws="none")
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the server ended before it began"
                time.sleep(0.01)
            yield f"http://127.0.0.1:{sock.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
