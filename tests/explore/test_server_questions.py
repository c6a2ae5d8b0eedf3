"""Addresses and questions over real HTTP: what is wrong is said as a list, and no file of the machine is ever read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from live_server import Live, live

import gridplan
from gridplan.explore.explorer import explorer_of


@pytest.fixture(scope="module")
def server(grids: Path) -> Iterator[Live]:
    with live(explorer_of(gridplan.load_grid(grids / "theory.yaml"))) as found:
        yield found


@pytest.mark.parametrize(
    "target",
    [
        *("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "/%2e%2e/", "//etc/passwd", "/..%2f..%2fx"),
        *("/cells/../../etc/passwd", "/static/x.js", "/favicon.ico", "/Cells?at=0,0", "/%00", "/index.html"),
        *("/explore.css", "/main.js", "/..\\..\\windows", "/cells;x?at=0,0", "/openapi.json", "/docs"),
    ],
)
def test_there_is_nothing_else(target: str, server: Live) -> None:
    done = server.ask(target)
    assert done.status == 404
    assert b"root:" not in done.body


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("at=0,0&columns=../../etc/passwd", "../../etc/passwd is no column"),
        ("at=0;DROP TABLE cells&columns=status", "2 positions are due"),
        ("at=0;DROP TABLE cells,0&columns=status", "scenario: a position is a number"),
        ("at=0,9&columns=status", "rho_target: it has the positions 0 to 1"),
        ("at=nominal,0&columns=status", "scenario: a position is a number"),
        ("at=</script><img src=x onerror=alert(1)>,0&columns=status", "a position is a number"),
        ("at=0,0&columns=</script><script>alert(1)</script>", "is no column"),
        ("at=0,0&columns=tpot", "did you mean tpot_s"),
        ("at=0,0", "no column is named"),
        ("columns=status", "2 positions are due"),
        ("", "2 positions are due"),
        ("at=0,0&columns=status&callback=alert", "callback is none of at, columns, if"),
        ("at=0,0&at=1,1&columns=status", "at is there twice"),
        ("at=0,0&columns=status&columns=usd_per_hour", "columns is there twice"),
        ("at=0,0&columns=status&if=rho_target=0.5", "rho_target cannot be changed here"),
        ("at=0,0&columns=status&if=model=/etc/passwd", "model cannot be changed here"),
        ("at=0,0&columns=status&if=redundancy=-1", "redundancy"),
        ("at=0,0&columns=status&if=redundancy=!!python/object:os.system", "redundancy"),
        ("at=0,0&columns=status&if=redundancy={by: scenario, nominal: 1}", "redundancy"),
        ("at=0,0&columns=status" + "&if=redundancy=1" * 41, "41 changes are more than 40"),
        ("at=0,0&columns=status&if=redundancy=1&if=redundancy=2", "redundancy is changed twice"),
    ],
)
def test_what_is_wrong_is_said(query: str, said: str, server: Live) -> None:
    done = server.ask(f"/cells?{quote(query, safe='=&,')}")
    assert done.status == 400
    assert any(said in problem for problem in done.problems), done.body


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("/explain?at=0:2,0", "one position is due for each axis"),
        ("/now?at=0:2,0", "one position is due for each axis"),
        ("/explain?at=0,0&columns=status", "columns is none of at, if"),
        ("/now?at=0,0&if=redundancy=1", "if is none of at"),
        ("/explain?at=x", "2 positions are due"),
    ],
)
def test_the_same_of_the_other_addresses(target: str, said: str, server: Live) -> None:
    done = server.ask(target)
    assert done.status == 400
    assert any(said in problem for problem in done.problems)


@pytest.mark.parametrize("query", ["at=%ff%fe,0&columns=status", "%00=1", "at=0,0&columns=%00", "=&=&=", "%ED%A0%80=1"])
def test_bytes_that_are_no_text_are_no_question(query: str, server: Live) -> None:
    done = server.ask(f"/cells?{query}")
    assert done.status == 400
    assert done.problems


def test_a_question_may_be_written_in_more_than_one_way(server: Live) -> None:
    whole = server.ask("/cells?at=0,0&columns=status")
    assert whole.status == 200
    assert server.ask("/cells?columns=status&at=0%2C0").body == whole.body
    assert server.ask("/cells?at=0:1,0:1&columns=status,status").body == whole.body
