"""What a page logs is caught; what it asks for is caught and does not leave the browser."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from page_checks import assert_quiet
from page_view import View
from small_page import small_page

OpenPage = Callable[..., View]

DOT = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A port of this machine on which any connection waits to be accepted."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def until_told(told: list[str], view: View, times: int = 1) -> None:
    """Wait for so many entries: on a busy machine a page takes longer to say something than a test of quiet waits."""
    for _ in range(200):
        if len(told) >= times:
            return
        view.settle()


def test_a_page_that_needs_only_itself_is_quiet(open_page: OpenPage) -> None:
    body = f"<img alt='dot' src='{DOT}'><a href='#end' id='end'>end</a><script>console.log('drawn')</script>"
    view = open_page(small_page(body))
    view.page.click("#end")
    assert_quiet(view)


@pytest.mark.parametrize(
    ("script", "logged"),
    [
        ("console.error('no data')", "error: no data"),
        ("console.warn('old data')", "warning: old data"),
        ("console.assert(1 > 2, 'order')", "assert: order"),
        ("throw new Error('boom')", "uncaught: boom"),
        ("Promise.reject(new Error('later'))", "uncaught: later"),
    ],
)
def test_an_error_or_a_warning_is_caught(open_page: OpenPage, script: str, logged: str) -> None:
    view = open_page(small_page(f"<script>{script}</script>"))
    until_told(view.console_errors, view)
    with pytest.raises(AssertionError, match=logged):
        assert_quiet(view)
    assert view.console_errors == [logged]
    assert view.requests == []


def test_an_error_after_a_click_is_caught(open_page: OpenPage) -> None:
    view = open_page(small_page("<button onclick='missing()'>sort</button>"))
    assert_quiet(view)
    view.page.click("button")
    until_told(view.console_errors, view)
    with pytest.raises(AssertionError, match="missing is not defined"):
        assert_quiet(view)


@pytest.mark.parametrize(
    "body",
    [
        "<img alt='plot' src='URL'>",
        "<svg><image href='URL' width='9' height='9'/></svg>",
        "<style>h1 { background: url(URL) }</style>",
        "<iframe title='plot' src='URL'></iframe>",
        "<link rel='stylesheet' href='URL'>",
        "<script src='URL'></script>",
        "<script>fetch('URL').catch(() => 0)</script>",
        "<script>navigator.sendBeacon('URL', 'seen')</script>",
        "<script>window.open('URL')</script>",
        "<script>setTimeout(() => { location.href = 'URL' })</script>",
        "<script>new Worker(\"data:,fetch('URL').catch(() => 0)\")</script>",
    ],
)
def test_a_request_is_caught(open_page: OpenPage, body: str) -> None:
    address = "http://example.invalid/x.png"
    view = open_page(small_page(body.replace("URL", address)))
    until_told(view.requests, view)
    with pytest.raises(AssertionError):
        assert_quiet(view)
    assert view.requests == [address]


def test_nothing_reaches_a_port_that_listens(open_page: OpenPage, listener: socket.socket) -> None:
    place = f"127.0.0.1:{listener.getsockname()[1]}"
    script = f"fetch('http://{place}/f').catch(() => 0); new WebSocket('ws://{place}/s')"
    view = open_page(small_page(f"<img alt='plot' src='http://{place}/x.png'><script>{script}</script>"))
    until_told(view.requests, view, 3)
    assert sorted(view.requests) == [f"http://{place}/f", f"http://{place}/x.png", f"ws://{place}/s"]
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_a_file_next_to_the_page_is_not_loaded(open_page: OpenPage, tmp_path: Path) -> None:
    neighbour = tmp_path / "plot.svg"
    neighbour.write_text("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>", encoding="utf-8")
    page = tmp_path / "page.html"
    page.write_text(small_page("<img alt='plot' src='plot.svg'>"), encoding="utf-8")
    view = open_page(page)
    until_told(view.requests, view)
    assert view.requests == [neighbour.as_uri()]
    assert view.page.evaluate("document.images[0].naturalWidth") == 0
