"""`gridplan report` and `gridplan chart` on the command line: what is refused and how, and which files they leave."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gridplan
from gridplan.report.record import record_of

Cli = Callable[..., Any]

ROOT = Path(__file__).parents[2]
SWEEP = ROOT / "docs" / "lesson-sweep.csv"
PLAN = ("--at", "instance=aws-p4de")


@pytest.fixture
def lesson(grids: Path) -> Path:
    return grids / "lesson.yaml"


@pytest.fixture
def made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One record for the same question to the same contract: in question is where it is written and what stays."""
    monkeypatch.setattr("gridplan.report.record.record_of", _record_of)


_records: dict[str, Any] = {}


def _record_of(given: gridplan.Grid, **asked: Any) -> Any:
    key = repr((given.text, sorted(asked.items())))
    if key not in _records:
        _records[key] = record_of(given, **asked)
    return _records[key]


def _left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.usefixtures("made_once")
def test_a_record_without_charts(cli: Cli, lesson: Path, tmp_path: Path) -> None:
    for name in ("r.html", "r.md"):
        done = cli("report", lesson, *PLAN, "--no-charts", "-o", tmp_path / name)
        assert done.code == 0
        assert done.out.startswith("Rent 2 x aws-p4de (16 GPUs): 9 replicas carry")
        assert "<svg" not in (tmp_path / name).read_text(encoding="utf-8")
    assert _left(tmp_path) == ["r.html", "r.md"]


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("none.yaml", 2, "none.yaml: no such file"),
        ("empty-folder", 3, "it does not hold a cube"),
    ],
)
def test_a_source_that_is_none(cli: Cli, tmp_path: Path, name: str, code: int, said: str) -> None:
    (tmp_path / "empty-folder").mkdir()
    found = cli("report", tmp_path / name, "-o", tmp_path / "r.html")
    assert found.code == code
    assert said in found.err
    assert "Traceback" not in found.err
    assert _left(tmp_path) == ["empty-folder"]


@pytest.mark.parametrize("name", ["r.pdf", "r", "r.HTML", "r.html.gz"])
def test_another_suffix_is_refused(cli: Cli, lesson: Path, tmp_path: Path, name: str) -> None:
    found = cli("report", lesson, *PLAN, "-o", tmp_path / name)
    assert found.code == 2
    assert "a file that ends in .html or .md is due" in found.err
    assert _left(tmp_path) == []


@pytest.mark.usefixtures("made_once")
def test_files_that_are_there_stay(cli: Cli, lesson: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.md"
    page.write_text("mine")
    found = cli("report", lesson, *PLAN, "--no-charts", "-o", page)
    assert (found.code, page.read_text()) == (3, "mine")
    assert "--force" in found.err
    assert cli("report", lesson, *PLAN, "--no-charts", "-o", page, "--force").code == 0
    assert page.read_text(encoding="utf-8").startswith("# lesson")
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts" / "memory.csv").write_text("mine")
    found = cli("report", lesson, *PLAN, "-o", tmp_path / "other.md", "--charts", tmp_path / "charts")
    assert found.code == 3
    assert _left(tmp_path) == ["charts", "r.md"]
    assert _left(tmp_path / "charts") == ["memory.csv"]


def test_everything_wrong_with_a_question_is_said_at_once(cli: Cli, lesson: Path, tmp_path: Path) -> None:
    found = cli(
        *("report", lesson, "--at", "instancex=aws-p4de", "--measure", "usd_per_mont", "--survives", "nod"),
        *("--where", "usd_per_mnth <= 3", "--accept", "kv_dtyp=bf16", "--sweep", tmp_path / "none.csv"),
        *("--vary", "rho_targe=0.6:0.8", "-o", tmp_path / "r.html"),
    )
    assert found.code == 2
    for said in (
        "--at: instancex is not an axis of this grid (did you mean instance?)",
        "--measure: usd_per_mont is not a measure to choose by (did you mean usd_per_month",
        "--survives: nod is none of gpu, gpu-headroom, node",
        "--where: usd_per_mnth is not a measure of this cube (did you mean usd_per_month",
        "--accept: kv_dtyp is not a measure of this cube (did you mean kv_dtype",
        "none.csv: sweep: no such file",
        "--vary: rho_targe is not an input (did you mean rho_target",
    ):
        assert said in found.err
    assert len(found.err.splitlines()) == 7
    assert _left(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--at", "instance=aws-p4d"), "did you mean aws-p4de"),
        (("--at", "instance"), "--at takes AXIS=LABEL pairs"),
        (("--accept", "kv_dtype"), "--accept takes AXIS=LABEL"),
        (("--accept", "kv_dtype=fp8"), "--accept: no kv_dtype of this cube is fp8"),
        (("--vary", "rho_target=a:b"), "--vary"),
        (("--where", "usd_per_month <"), "--where: 'usd_per_month <' is no condition"),
        (("--no-charts", "--charts", "x"), "give one of them"),
    ],
)
def test_wrong_options(cli: Cli, lesson: Path, tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    found = cli("report", lesson, *options, "-o", tmp_path / "r.html")
    assert found.code == 2
    assert said in found.err
    assert "Traceback" not in found.err
    assert _left(tmp_path) == []


def test_what_asks_about_a_plan_is_refused_where_none_is_meant(cli: Cli, grids: Path, tmp_path: Path) -> None:
    found = cli(
        *("report", grids / "quickstart.yaml", "--where", "usd_per_month <= 3", "--vary", "rho_target=0.6:0.8"),
        *("--survives", "node", "--sweep", SWEEP, "-o", tmp_path / "r.html"),
    )
    assert found.code == 2
    assert [line.split(":")[1].strip() for line in found.err.splitlines()] == [
        "--survives",
        "--where",
        "--sweep",
        "--vary",
    ]
    assert "fix model, context_tokens, rho_target, arrival_rate" in found.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "No plan: none of 2 cells is a candidate (not usd_per_month <= 18000: 2)."),
        (PLAN, "No plan: the cell is no candidate (not usd_per_month <= 18000: 1)."),
    ],
)
def test_no_plan_is_decided_for_that_breaks_a_condition(
    cli: Cli, lesson: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    """The cheapest of the lesson costs 18,226.80 USD a month."""
    page = tmp_path / "r.md"
    found = cli("report", lesson, *options, "--where", "usd_per_month <= 18000", "--no-charts", "-o", page)
    assert found.code == 0
    assert found.out.startswith(said)
    assert "Rent" not in page.read_text(encoding="utf-8").partition("## ")[0]


def test_the_plan_that_just_holds_a_condition_is_decided_for(cli: Cli, lesson: Path, tmp_path: Path) -> None:
    found = cli("report", lesson, "--where", "usd_per_month <= 18227", "--no-charts", "-o", tmp_path / "r.md")
    assert found.out.startswith("Rent 10 x fractional")


def test_targets_that_cannot_be_written(
    cli: Cli, lesson: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def planned(*_: object, **__: object) -> None:
        raise AssertionError("a target that cannot be written is refused before anything is planned")

    monkeypatch.setattr("gridplan.report.record.record_of", planned)
    found = cli("report", lesson, *PLAN, "--no-charts", "-o", tmp_path / "none" / "r.html")
    assert found.code == 3
    assert "there is no folder" in found.err
    (tmp_path / "dir.html").mkdir()
    found = cli("report", lesson, *PLAN, "--no-charts", "-o", tmp_path / "dir.html", "--force")
    assert found.code == 3
    assert "a folder is in the way of a file" in found.err
    (tmp_path / "file").write_text("")
    found = cli("report", lesson, *PLAN, "-o", tmp_path / "r.md", "--charts", tmp_path / "file")
    assert found.code == 3
    assert "a file is in the way" in found.err
    assert _left(tmp_path) == ["dir.html", "file"]


@pytest.mark.usefixtures("made_once")
def test_an_interrupt_leaves_nothing_half_written(
    cli: Cli, lesson: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "r.md"
    page.write_text("before")

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", stopped)
        found = cli("report", lesson, *PLAN, "--no-charts", "-o", page, "--force")
    assert found.code == 130
    assert page.read_text() == "before"
    assert _left(tmp_path) == ["r.md"]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if altair were not installed."""
    found = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> object:
        return None if name == "altair" else found(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)


@pytest.mark.usefixtures("bare")
def test_without_the_extra_charts_are_refused_and_records_are_not(cli: Cli, lesson: Path, tmp_path: Path) -> None:
    memory = ("chart", "memory", lesson, *PLAN, "-o", tmp_path / "m.svg")
    for arguments in (("report", lesson, *PLAN, "-o", tmp_path / "r.html"), memory):
        found = cli(*arguments)
        assert found.code == 2
        assert "pip install 'gridplan[report]'" in found.err
        assert _left(tmp_path) == []
    for name in ("r.html", "r.md"):
        assert cli("report", lesson, *PLAN, "--no-charts", "-o", tmp_path / name).code == 0


@pytest.mark.parametrize(
    "kind", ["heatmap", "stairs", "pareto", "tornado", "sweep", "memory", "break-even", "measured"]
)
def test_each_chart_says_what_is_missing_and_leaves_no_file(cli: Cli, lesson: Path, tmp_path: Path, kind: str) -> None:
    more = {"heatmap": ("--x", "instancex", "--y", "scenario"), "tornado": ("--vary", "rho_targe=0.6:0.8")}
    more |= {"pareto": ("--objectives", "usd_per_mtok_output,tpot_s")}
    more |= {"measured": ("--sweep", str(tmp_path / "none.csv")), "sweep": ("--grid", str(lesson))}
    first = str(tmp_path / "none.csv") if kind == "sweep" else str(lesson)
    at = () if kind == "sweep" else ("--at", "instance=aws-p4d")
    found = cli("chart", kind, first, *more.get(kind, ()), *at, "-o", tmp_path / "c.svg")
    assert found.code == 2, found.err
    assert "Traceback" not in found.err
    assert re.search("did you mean|no such file|no such option", found.err)
    for name, code in (("c.pdf", 2), ("none/c.svg", 3)):
        found = cli("chart", kind, first, *more.get(kind, ()), "-o", tmp_path / name)
        assert found.code == code, found.err
    assert _left(tmp_path) == []


def test_no_such_kind_of_chart(cli: Cli, lesson: Path) -> None:
    found = cli("chart", "heatmp", lesson)
    assert found.code == 2
    assert "did you mean heatmap" in found.err


def test_charts_of_a_record_are_written_and_linked(cli: Cli, lesson: Path, tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    page, folder = tmp_path / "pages" / "r.md", tmp_path / "my charts"
    done = cli("report", lesson, *PLAN, "--sweep", SWEEP, "-o", page, "--charts", folder)
    assert done.code == 0
    links = re.findall(r"^!\[.*\]\(([^)]+)\)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [Path(link).stem for link in links] == ["memory", "sweep", "measured", "stairs", "tornado"]
    assert not any(" " in link for link in links)  # a space would end the link
    assert {path.suffix for path in folder.iterdir()} == {".svg", ".png", ".csv"}
    assert len(_left(folder)) == 3 * len(links)
    from urllib.parse import unquote

    for link in links:
        assert not Path(link).is_absolute()
        assert (page.parent / unquote(link)).resolve().parent == folder.resolve()
        assert (page.parent / unquote(link)).read_text(encoding="utf-8").startswith("<svg")
    before = {path.name: path.read_bytes() for path in (*folder.iterdir(), page)}
    again = cli("report", lesson, *PLAN, "--sweep", SWEEP, "-o", page, "--charts", folder, "--force")
    assert again.code == 0
    assert {path.name: path.read_bytes() for path in (*folder.iterdir(), page)} == before


def test_the_same_page_twice(cli: Cli, grids: Path, tmp_path: Path) -> None:
    for name in ("one.html", "two.html"):
        cli("report", grids / "lesson-opening.yaml", "--at", "rho_target=0.7", "-o", tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_the_record_does_not_say_where_its_load_test_lay(cli: Cli, lesson: Path, tmp_path: Path) -> None:
    texts = []
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        copy = shutil.copy(SWEEP, tmp_path / place)
        page = tmp_path / place / "r.md"
        assert cli("report", lesson, *PLAN, "--no-charts", "--sweep", copy, "-o", page).code == 0
        texts.append(page.read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    assert str(tmp_path) not in texts[0]


def test_a_folder_of_feasible_cells_alone_is_no_cube(cli: Cli, lesson: Path, tmp_path: Path) -> None:
    gridplan.run(gridplan.load_grid(lesson), tmp_path / "cube", drop_infeasible=True)
    found = cli("report", tmp_path / "cube", *PLAN, "--no-charts", "-o", tmp_path / "r.md")
    assert found.code == 3
    assert "leaves out the rows of cells without a plan, so it is a table and no cube" in found.err
    assert _left(tmp_path) == ["cube"]


def test_a_folder_of_another_catalog_keeps_its_figures(cli: Cli, folder: Callable[[str], Path], tmp_path: Path) -> None:
    cube = tmp_path / "cube"
    shutil.copytree(folder("lesson"), cube)
    manifest = cube / "manifest.json"
    known = json.loads(manifest.read_text(encoding="utf-8"))
    text = manifest.read_text(encoding="utf-8")
    found = re.findall(r'"catalog_sha256":\s*"([0-9a-f]{64})"', text)
    assert len(found) == 1, sorted(known)
    manifest.write_text(text.replace(found[0], "0" * 64), encoding="utf-8")
    page = tmp_path / "r.md"
    done = cli("report", cube, *PLAN, "--no-charts", "-o", page)
    assert done.code == 0, done.err
    assert "Rent 2 x aws-p4de (16 GPUs): 9 replicas carry" in done.out
    said = page.read_text(encoding="utf-8")
    assert "planned with another catalog than the one in use here, so nothing is planned anew" in said
    assert "59,965.44" in said
    assert f"sha256 {'0' * 64}" in said
