"""`gridplan stress`, `tornado` and `diff`: pages, JSON, files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from gridplan.cli import cli, main

LESSON = str(Path(__file__).parents[2] / "grids" / "lesson.yaml")
AT = ("--at", "instance=aws-p4de")


def said(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert stop.value.code == 2
    shown = capsys.readouterr()
    assert not shown.out
    return shown.err


def line(text: str, start: str, which: int = 0) -> list[str]:
    return [row.split() for row in text.splitlines() if row.startswith(start)][which]


def test_the_stress_page_answers_both_questions() -> None:
    page = said("stress", LESSON, *AT)
    assert page.startswith("at instance=aws-p4de\nplanned anew")
    assert line(page, "context_x2 ")[1:8] == ["60", "5.25", "12", "13", "+3", "2", "16"]
    assert line(page, "node_loss ", 1) == ["node_loss", "8", "60", "56", "107%", "80", "75%", "no", "yes", "headroom"]
    assert "fp8_kv: scaled_by_far_anchor" in page


def test_the_stress_library_says_what_it_left_out() -> None:
    page = said("stress", LESSON, "--library", *AT)
    assert "left out: spot_loss: nothing is on spot" in page
    assert line(page, "surge_x1.5 ")[3] == "13"
    data = json.loads(said("stress", LESSON, "--library", "--json", *AT))
    assert "zone_loss: the fleet has one zone" in data["left_out"]
    assert len(data["warnings"]) == 1
    lost = next(row for row in data["rows"] if row["scenario"] == "node_loss")
    assert (lost["bought_slo_held"], lost["bought_headroom_kept"], lost["bought_replicas_left"]) == (True, False, 8)


@pytest.mark.parametrize("command", ["stress", "tornado"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_are_written_once(tmp_path: Path, command: str, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"table.{suffix}"
    vary = ("--vary", "rho_target=0.6:0.8,peak_to_average=2:5") if command == "tornado" else ()
    assert said(command, LESSON, *vary, *AT, "-o", str(path)) == ""
    table = pq.read_table(path) if suffix == "parquet" else pacsv.read_csv(path)
    assert table.num_rows == (10 if command == "stress" else 4)
    assert {"replicas", "bought_breaks"} <= set(table.column_names) or {"swing", "flips"} <= set(table.column_names)
    with pytest.raises(SystemExit) as stop:
        main([command, LESSON, *vary, *AT, "-o", str(path)])
    assert stop.value.code == 3
    assert "already there" in capsys.readouterr().err


def test_the_tornado_page_has_the_finding_and_bars() -> None:
    page = said(
        "tornado",
        LESSON,
        "--vary",
        "rho_target=0.6:0.8",
        "--vary",
        "lambda_instance_given=7:10,",
        "--measure",
        "replicas_active,nodes",
        *AT,
    )
    assert page.startswith(
        "lambda_instance_given from 7 req/s to 10 req/s moves replicas_active most, by 4 (13, 9, 9; 3.673 before "
        "rounding up); no limit flips.\nat scenario=nominal, instance=aws-p4de"
    )
    assert line(page, "rho_target")[:8] == ["rho_target", "0.6", "..", "0.8", "10", "9", "8", "2"]
    assert "|" in page


def test_the_tornado_in_json() -> None:
    data = json.loads(said("tornado", LESSON, "--vary", "rho_target=0.6:0.8", "--json", *AT))
    assert data["cell"] == "scenario=nominal, instance=aws-p4de"
    row = data["rows"][0]
    assert (row["input"], row["measure"], row["base"], row["swing"]) == ("rho_target", "nodes", 2, 0)
    assert row["swing_unrounded"] == pytest.approx(0.3125)
    assert row["why_low"] is None


def test_the_diff_page(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    text = Path(LESSON).read_text(encoding="utf-8")
    other.write_text(text.replace("arrival_rate: 60", "arrival_rate: 90").replace("fractional", "single"), "utf-8")
    page = said("diff", LESSON, str(other), "--at", "scenario=nominal")
    assert "only A has instance=fractional: not compared" in page
    assert "only B has instance=single: not compared" in page
    assert "1 cell is on both sides" in page
    assert line(page, "replicas ")[:4] == ["replicas", "1", "of", "1"]
    assert line(page, "arrival_rate", 1)[:2] == ["arrival_rate", "+4"]
    assert line(page, "interaction")[1] == "0"
    data = json.loads(said("diff", LESSON, str(other), "--at", "scenario=nominal", "--json"))
    assert data["measures"][0]["change"] == 4
    assert data["labels"][0] == {"axis": "instance", "only_in": "A", "label": "fractional"}
    said("diff", LESSON, str(other), "-o", str(tmp_path / "diff.json"))
    assert json.loads((tmp_path / "diff.json").read_text(encoding="utf-8"))["cells"] == 10


def test_the_diff_of_cubes(tmp_path: Path) -> None:
    said("run", LESSON, "-o", str(tmp_path / "cube"))
    page = said("diff", str(tmp_path / "cube"), LESSON)
    assert "20 cells are on both sides" in page
    assert "no input that both sides hold differs" in page
    assert "which one did it is not known; compare contracts" in page


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (("tornado", LESSON, "--vary", "rho=1:2,kv_dtype=a:b", *AT), ["--vary: rho is not an input", "is a label"]),
        (("tornado", LESSON, "--vary", "rho_target"), ["--vary takes INPUT=LOW:HIGH, not 'rho_target'"]),
        (("tornado", LESSON, "--vary", "mfu=1:2,mfu=1:2"), ["--vary names mfu twice"]),
        (("tornado", LESSON, "--vary", "rho_target=0.6:0.8"), ["fix instance at one of: aws-p4de, fractional"]),
        (("tornado", LESSON, "--vary", "rho_target=0.6:0.8", "--measure", "nodez"), ["--measure: nodez is not a meas"]),
        (("stress", LESSON, "--at", "instance=aws"), ["aws is not on the axis: aws-p4de, fractional"]),
        (("stress", LESSON, "-o", "x.txt"), ["ends in .csv or .parquet"]),
        (("diff", LESSON, LESSON, "--at", "x=1"), ["--at: x is not an axis of either side"]),
        (("diff", LESSON, LESSON, "--measure", "nodez"), ["--measure: nodez is not a measure (did you mean nodes"]),
    ],
)
def test_what_is_refused(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], texts: list[str]) -> None:
    err = refused(capsys, *arguments)
    for text in texts:
        assert text in err
