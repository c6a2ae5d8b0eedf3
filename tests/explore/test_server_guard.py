"""Who is answered, over real HTTP: this page alone, under its own names, with GET, at a sensible length."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_server import Live, live
from packed import unpacked

import gridplan
from gridplan.explore.explorer import explorer_of
from gridplan.explore.guard import MOST_QUERY

CELLS = "/cells?at=0:3,0:2&columns=status,usd_per_hour"


@pytest.fixture(scope="module")
def server(grids: Path) -> Iterator[Live]:
    with live(explorer_of(gridplan.load_grid(grids / "theory.yaml"))) as found:
        yield found


@pytest.fixture(autouse=True)
def still_answers(server: Live) -> Iterator[None]:
    """Whatever a test sends, the next one is answered."""
    yield
    assert server.ask(CELLS).status == 200


def test_every_answer_has_its_headers(server: Live) -> None:
    done = server.ask("/")
    assert done.status == 200
    assert done.headers["content-type"] == "text/html; charset=utf-8"
    due = {
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
    }
    evil = ("Origin", "http://evil.example")
    others = [server.ask(CELLS), server.ask("/cells"), server.ask(CELLS, evil), server.ask("/now"), server.ask("/no")]
    for answer in (done, *others):
        assert due.items() <= answer.headers.items(), answer
        assert not {"server", "set-cookie"} & set(answer.headers)
        assert not any(name.startswith("access-control") for name in answer.headers)


def test_cells_are_those_of_the_cube(server: Live, grids: Path) -> None:
    cube = gridplan.evaluate(gridplan.load_grid(grids / "theory.yaml"))
    done = server.ask(CELLS)
    assert done.headers["content-type"] == "application/octet-stream"
    box = unpacked(done.body)
    assert (box.start, box.size) == ([0, 0], [3, 2])
    assert (cube["status"] == "ok").all()
    assert set(box.columns["status"].ravel().tolist()) == {"ok"}
    assert json.loads(server.ask("/now?at=0,0").body)["redundancy"] == "0"


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "https://127.0.0.1", "http://127.0.0.1", "file://", "http://localhost:1"],
)
@pytest.mark.parametrize("target", ["/", CELLS, "/explain?at=0,0", "/now?at=0,0"])
def test_pages_of_other_origins_are_refused(origin: str, target: str, server: Live) -> None:
    done = server.ask(target, ("Origin", origin))
    assert (done.status, done.body) == (403, b"pages of other origins are not answered\n")


def test_another_port_of_this_machine_is_another_origin(server: Live) -> None:
    for origin in (f"http://127.0.0.1:{server.port + 1}", f"http://localhost:{server.port}"):
        assert server.ask(CELLS, ("Origin", origin)).status == 403
    assert server.ask(CELLS, ("Origin", f"http://{server.host}")).status == 200
    here = f"localhost:{server.port}"
    assert server.ask(CELLS, ("Origin", f"http://{here}"), hosts=[here]).status == 200


@pytest.mark.parametrize("first", [True, False])
def test_two_origins_are_no_better_than_one(first: bool, server: Live) -> None:
    both = [("Origin", f"http://{server.host}"), ("Origin", "http://evil.example")]
    assert server.ask(CELLS, *(both if first else both[::-1])).status == 403


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8417", "evil.example:80", "0.0.0.0"),
        *("127.0.0.2", "127.1", "2130706433", "0x7f000001", "[::]", "localhost.", "user@localhost", ""),
    ],
)
def test_foreign_names_of_this_machine_are_refused(host: str, server: Live) -> None:
    for target in ("/", CELLS):
        done = server.ask(target, hosts=[host])
        assert done.status in (400, 421)
        assert b"usd" not in done.body


@pytest.mark.parametrize("host", ["localhost:9999", "LOCALHOST", "127.0.0.1", "[::1]:8417", "localhost"])
def test_its_own_names_are_accepted_at_any_port(host: str, server: Live) -> None:
    """A tunnel ends at a port of its own."""
    assert server.ask(CELLS, hosts=[host]).status == 200


def test_no_host_and_two_hosts_are_refused(server: Live) -> None:
    for hosts in ([], [server.host, server.host], [server.host, "evil.example"], ["evil.example", server.host]):
        assert server.ask(CELLS, hosts=hosts).status in (400, 421)
    for data in (
        b"GET / HTTP/1.0\r\n\r\n",
        # The name in an absolute target does not stand in for the header.
        b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
    ):
        assert server.send(data).split(b" ", 2)[1] in (b"400", b"421")


@pytest.mark.parametrize("site", ["cross-site", "same-site", "CROSS-SITE", ""])
def test_what_other_sites_ask_for_is_refused_but_for_a_link_to_the_page(site: str, server: Live) -> None:
    sent, navigate = ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "navigate")
    for target in (CELLS, "/explain?at=0,0", "/now?at=0,0"):
        assert server.ask(target, sent).status == 403
        assert server.ask(target, sent, navigate).status == 403
    assert server.ask("/", sent).status == 403
    assert server.ask("/", sent, ("Sec-Fetch-Mode", "no-cors")).status == 403
    assert server.ask("/", sent, navigate).status == 200


def test_what_the_page_and_the_address_bar_ask_for_is_answered(server: Live) -> None:
    for site in ("same-origin", "none"):
        assert server.ask(CELLS, ("Sec-Fetch-Site", site)).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "BREW"])
def test_nothing_is_changed_by_a_request(method: str, server: Live) -> None:
    for target in ("/", CELLS, "/nothing"):
        preflight = ("Access-Control-Request-Method", "GET")
        done = server.ask(target, preflight, ("Content-Length", "0"), method=method)
        assert done.status == 405
        assert not any(name.startswith("access-control") for name in done.headers)


def test_a_head_is_a_get_without_a_body(server: Live) -> None:
    done = server.ask("/", method="HEAD")
    assert (done.status, done.body) == (200, b"")


def test_a_websocket_is_refused(server: Live) -> None:
    upgrade = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13")]
    upgrade.append(("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="))
    for target in ("/", "/ws", CELLS):
        assert server.ask(target, *upgrade).status != 101
        assert server.ask(target, *upgrade, ("Origin", "http://evil.example")).status == 403


def test_a_question_has_a_longest_length(server: Live) -> None:
    longest = "/cells?at=" + "0" * (MOST_QUERY - len("/cells?at="))
    assert server.ask(longest).status == 400
    assert server.ask(longest + "0").status == 414


@pytest.mark.parametrize(
    "data",
    [
        b"GET /cells?at=" + b"0" * 10**6 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 10**6 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X-Many: x\r\n" * 100_000 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500,
        b"\x00" * 10**5,
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    ],
)
def test_what_is_too_long_or_no_request_ends_the_connection(data: bytes, server: Live) -> None:
    done = server.send(data)
    assert done == b"" or done.split(b" ", 2)[1][:1] == b"4"
