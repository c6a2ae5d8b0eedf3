"""`gridplan explore` as a program: it prints its address, answers, ends when it is told to, and writes whole files."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from quick_process import Run

import gridplan

Cli = Callable[..., Any]
Folder = Callable[[str], Path]


@contextmanager
def started(*arguments: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The program and the address that it printed."""
    words = [sys.executable, "-m", "gridplan", "explore", *map(str, arguments), "--no-open"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            assert program.stderr is not None
            address = program.stdout.readline().strip()
            assert address, program.stderr.read()
            yield program, address
        finally:
            program.kill()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("source", "sent", "codes"), [("grid", signal.SIGINT, {0}), ("folder", signal.SIGTERM, {143, -15})]
)
def test_it_answers_until_it_is_told_to_end(
    source: str, sent: signal.Signals, codes: set[int], cli: Cli, grids: Path, folder: Folder
) -> None:
    of = grids / "theory.yaml" if source == "grid" else folder("lesson")
    with started(of, "--port", "0") as (program, address):
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{address}now?at=0,0", timeout=30) as answer:
            assert answer.status == 200
        # For a second explorer its port is taken.
        port = address.rstrip("/").rpartition(":")[2]
        other = cli("explore", grids / "theory.yaml", "--port", port, "--no-open")
        program.send_signal(sent)
        out, err = program.communicate(timeout=30)
    assert program.returncode in codes
    assert out == ""
    assert "Traceback" not in err
    assert err.startswith("Ctrl-C ends it\n")
    assert (other.code, other.out) == (3, "")


def test_a_taken_port_is_said(cli: Cli, grids: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = cli("explore", grids / "theory.yaml", "--port", str(port), "--no-open")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith(f"error: cannot listen at 127.0.0.1:{port}: ")
    assert "--port 0 takes a free one" in done.err


@pytest.mark.parametrize("source", ["grid", "folder"])
def test_a_page_as_a_file(source: str, cli: Cli, grids: Path, folder: Folder, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    of = grids / "lesson.yaml" if source == "grid" else folder("lesson")
    done = cli("explore", of, "--static", page)
    assert (done.code, done.out) == (0, "")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert text.rstrip().endswith("</html>")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    # What is there is not replaced unless that is said.
    page.write_text("mine", encoding="utf-8")
    done = cli("explore", of, "--static", page)
    assert done.code == 3
    assert "already there" in done.err
    assert page.read_text(encoding="utf-8") == "mine"
    assert cli("explore", of, "--static", page, "--force").code == 0
    assert page.read_text(encoding="utf-8") == text


def test_no_page_lies_in_the_folder_of_a_cube(cli: Cli, grids: Path, tmp_path: Path) -> None:
    cube = tmp_path / "cube"
    gridplan.run(gridplan.load_grid(grids / "theory.yaml"), cube)
    before = sorted(cube.rglob("*"))
    for page in (cube / "page.html", cube / "facts" / "page.html"):
        done = cli("explore", cube, "--static", page)
        assert done.code == 3
        assert "lies in" in done.err
    assert sorted(cube.rglob("*")) == before


def test_a_file_that_cannot_be_finished_is_not_begun(cli: Cli, grids: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for arguments in (("--outputs", "usd_per_hourr"), ("--at", "scenario=surg"), ("--at", "x=1")):
        done = cli("explore", grids / "lesson.yaml", "--static", page, *arguments)
        assert done.code == 2
        assert done.err.startswith("error: ")
        assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--port", "70000"), 2),
        (("--port", "x"), 2),
        (("--force",), 2),
        (("--at", "scenario=surge"), 2),
        (("--host", "0.0.0.0", "--port", "0"), 2),
        (("--host", "::", "--port", "0"), 2),
        (("--host", "no-such-host.invalid", "--port", "0"), 3),
        (("--host", "203.0.113.7", "--port", "0"), 3),
        (("--static", "page.txt"), 2),
        (("--static", "page.html", "--port", "0"), 2),
        (("--static", "page.html", "--no-open"), 2),
        (("--static", "nowhere/page.html"), 3),
        (("--outputs", "tpot", "--port", "0"), 2),
        (("--nonsense",), 2),
    ],
)
def test_wrong_options(
    arguments: tuple[str, ...], code: int, cli: Cli, grids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("explore", grids / "lesson.yaml", *arguments)
    assert (done.code, done.out) == (code, "")
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_cube_and_no_contract(cli: Cli, tmp_path: Path, folder: Folder) -> None:
    (tmp_path / "bad.yaml").write_text("schema: 1\npolicy: {rho_target: 7}\n", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    for source, code in (("bad.yaml", 2), ("empty", 3), ("nothing.yaml", 2), ("nothing", 2)):
        done = cli("explore", tmp_path / source, "--port", "0", "--no-open")
        assert (done.code, done.out) == (code, ""), source
        assert "Traceback" not in done.err
    done = cli("explore", folder("lesson"), "--outputs", "tpot_s", "--no-open")
    assert done.code == 2
    assert "the cube in a folder has its measures" in done.err


HIDE = """
import importlib.util
import sys

real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == {hidden!r} else real(name, *more)

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {hidden!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden())
for name in [name for name in sys.modules if name.partition(".")[0] == {hidden!r}]:
    del sys.modules[name]  # a process that is forked has some of them
from gridplan.cli import main
main({arguments!r})
"""


@pytest.mark.parametrize(
    ("hidden", "static"),
    [
        *(("vl_convert", True), ("jinja2", True)),
        *(("vl_convert", False), ("jinja2", False), ("starlette", False), ("uvicorn", False)),
    ],
)
def test_the_extra_is_named(hidden: str, static: bool, grids: Path, process: Run, tmp_path: Path) -> None:
    more = ["--static", "page.html"] if static else ["--port", "0", "--no-open"]
    text = HIDE.format(hidden=hidden, arguments=["explore", str(grids / "theory.yaml"), *more])
    done = process(text, folder=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.strip().endswith("pip install 'gridplan[explore]'")
    assert list(tmp_path.iterdir()) == []


def test_a_file_needs_no_server(grids: Path, process: Run, tmp_path: Path) -> None:
    words = ["explore", str(grids / "theory.yaml"), "--static", "page.html"]
    text = HIDE.format(hidden="starlette", arguments=words)
    done = process(text, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").is_file()


HELP = """
import sys
from gridplan.cli import main
try:
    main(["explore", "--help"])
except SystemExit:
    unwanted = ("numpy", "pandas", "xarray", "pyarrow", "duckdb", "starlette", "uvicorn", "jinja2", "yaml")
    print([name for name in unwanted if name in sys.modules])
"""


def test_help_loads_nothing_of_it() -> None:
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "--static FILE" in done.stdout
