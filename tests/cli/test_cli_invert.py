"""`gridplan invert`: the finding, the table, JSON, files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from gridplan.cli import cli, main

ROOT = Path(__file__).parents[2]
GRID = "grids/break-even.yaml"


@pytest.fixture(autouse=True)
def in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def asked(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["invert", GRID, *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["invert", GRID, *arguments])
    assert stop.value.code == 2
    shown = capsys.readouterr()
    assert not shown.out
    return shown.err


def test_json_has_the_finding_and_every_cell() -> None:
    found: dict[str, Any] = json.loads(
        asked(
            "--for", "max:arrival_rate", "--while", "usd_per_month <= 150 kUSD/month", "--low", "60 req/min", "--json"
        )
    )
    assert (found["low"], found["conditions"]) == (1.0, "status = ok and usd_per_month <= 150000")
    assert found["finding"].startswith("The largest arrival_rate with status = ok and usd_per_month <= 150000: ")
    assert len(found["rows"]) == 6
    assert all(row["usd_per_month_at_answer"] <= 150000 < row["usd_per_month_at_failure"] for row in found["rows"])


def test_crossings_are_rows_and_cells_without_one_keep_theirs() -> None:
    found = json.loads(asked("--for", "break_even_api", "--vary", "arrival_rate", "--json"))
    rows = found["rows"]
    assert len(rows) == sum(max(row["crossings"], 1) for row in rows if row["crossing"] == 1)
    assert {row["answer"] for row in rows} == {"between", "never"}
    assert "never in 3" in found["finding"]


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_written_table_holds_all_rows(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"answers.{suffix}"
    arguments = ["invert", GRID, "--for", "next_node", "--at", "purchase=reserved", "-o", str(path)]
    result = CliRunner().invoke(cli, arguments)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "The arrival rate up to which the nodes suffice" in result.stderr
    table = pq.read_table(path) if suffix == "parquet" else pacsv.read_csv(path)
    assert table.num_rows == 27
    assert {"instance", "arrival_rate_next_node", "fails_at_arrival_rate", "method"} <= set(table.column_names)
    assert CliRunner().invoke(cli, arguments).exit_code != 0


def test_by_names_the_cell_that_stands_for_the_others() -> None:
    lines = asked("--for", "max:arrival_rate", "--budget", "150000", "--by", "purchase").splitlines()
    assert len([line for line in lines if line.startswith(("on_demand", "reserved"))]) == 2
    assert "best_instance" in "\n".join(lines)


def test_the_fewest_gpus_and_the_cheapest_plan() -> None:
    assert "least_gpus_deployed" in asked("--for", "fewest_gpus", "--at", "arrival_rate=20")
    assert "best_purchase=reserved" in asked("--for", "cheapest")


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["--for", "max:arival_rate"], ["--for: arival_rate is not an input", "did you mean arrival_rate"]),
        (["--for", "break_even_api", "--while", "slo_held", "--by", "x"], ["--while: ", "--by: ", "does not take it"]),
        (["--for", "max:arrival_rate", "--while", "nodez<=2"], ["--while: nodez is not a measure"]),
        (["--for", "max:arrival_rate", "--low", "2 parsec"], ["low", "unknown unit"]),
        (["--for", "max:arrival_rate", "--low", "9", "--high", "2"], ["--low: the range of arrival_rate must rise"]),
        (["--for", "break_even:purchase", "--vary", "arrival_rate"], ["names no two alternatives"]),
        (["--for", "next_node", "--at", "purchase=reservd"], ["purchase: reservd is not on the axis"]),
        (["--for", "max:ttft_slo_s", "--low", "0.01", "--high", "0.0"], ["--high: ttft_slo_s must be > 0"]),
    ],
)
def test_wrong_questions_name_the_option(
    capsys: pytest.CaptureFixture[str], arguments: list[str], messages: list[str]
) -> None:
    said = refused(capsys, *arguments)
    for message in messages:
        assert message in said


@pytest.mark.parametrize("cap", ["--nodes", "--budget", "--power"])
def test_a_cap_of_nothing_is_refused_and_not_forgotten(cap: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"{cap}: must be" in refused(capsys, "--for", "max:arrival_rate", cap, "0")


def test_conditions_are_finite(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "--for", "max:arrival_rate", "--while", "nodes <= nan")
    assert "--while: nodes <= nan: a finite number is due" in said


def test_factors_stay_within_the_bounds_of_the_input() -> None:
    # Outputs of 300 tokens may be a factor of 1/300 and no less.
    at = "instance=nebius-hgx-b200,purchase=reserved,arrival_rate=50"
    found = json.loads(asked("--for", "max:output_tokens", "--factor", "--while", "nodes <= 6", "--at", at, "--json"))
    assert found["low"] == pytest.approx(1 / 300, rel=1e-9)


def test_who_is_cheaper_throughout_is_said() -> None:
    at = "instance=nebius-hgx-b200,purchase=on_demand"
    said = asked("--for", "break_even_api", "--vary", "arrival_rate", "--at", at)
    assert "never in 1 (api is the cheaper one)" in said
