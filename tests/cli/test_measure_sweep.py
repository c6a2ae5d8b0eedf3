"""`gridplan measure sweep`: page, JSON, block, chart, every exit code, and nothing half-written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

LIMITS = "ttft_p95=1s,tpot_p95=25ms,e2e_p99=5s"
FILES = Path(__file__).parents[1] / "unit" / "sweep_files"
LESSON = Path(__file__).parents[2] / "docs" / "lesson-sweep.csv"


def test_the_page(cli: Any, grids: Path) -> None:
    outcome = cli("measure", "sweep", LESSON, "--grid", grids / "lesson.yaml")
    assert (outcome.code, outcome.err) == (0, "")
    assert "lambda_instance  10 requests/s, the last measured rate at which every limit holds" in outcome.out
    assert "not used: below_least_possible" in outcome.out
    assert "warning not_steady" in outcome.out


def test_figures_of_the_machine(cli: Any) -> None:
    machine = ("--weights", "14.9GiB", "--bandwidth", "2039GB/s", "--achieved-bandwidth", "1550 GB/s")
    prefill = ("--params", "8.03e9", "--flops", "312 TFLOP/s")
    outcome = cli("measure", "sweep", LESSON, "--slo", LIMITS, *machine, *prefill, "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["lambda_instance_per_s"] == 10.0


def test_limits_of_the_option_replace_those_of_the_contract(cli: Any, grids: Path) -> None:
    options = ("--grid", grids / "lesson.yaml", "--slo", LIMITS.replace("1s", "400ms"), "--json")
    data = json.loads(cli("measure", "sweep", LESSON, *options).out)
    assert (data["lambda_instance_per_s"], data["slos"][0]["limit"]) == (8.0, 0.4)


def test_the_block_and_the_chart(cli: Any, tmp_path: Path) -> None:
    block, chart = tmp_path / "measured.yaml", tmp_path / "sweep.svg"
    options = ("--slo", LIMITS, "-o", block, "--chart", chart, "--as-of", "2025-04-28")
    assert cli("measure", "sweep", LESSON, *options).code == 0
    assert yaml.safe_load(block.read_text())["capacity"]["lambda_instance_given"]["value"] == 10.0
    assert chart.read_text().startswith("<svg ")
    again = cli("measure", "sweep", LESSON, *options)
    assert (again.code, again.out) == (3, "")
    assert "already there" in again.err
    assert cli("measure", "sweep", LESSON, *options, "--force").code == 0


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".csv", b"row,file,"), (".json", b"{")])
def test_the_chart_as_its_suffix_says(cli: Any, tmp_path: Path, suffix: str, start: bytes) -> None:
    chart = tmp_path / f"sweep{suffix}"
    assert cli("measure", "sweep", LESSON, "--slo", LIMITS, "--chart", chart).code == 0
    assert chart.read_bytes().startswith(start)


def test_a_chart_that_cannot_be_drawn_is_refused_before_anything_is_read(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = tmp_path / "measured.yaml"
    options = ("--slo", LIMITS, "-o", block, "--as-of", "2025-04-28", "--chart")
    outcome = cli("measure", "sweep", tmp_path / "absent.csv", *options, tmp_path / "sweep.jpg")
    assert (outcome.code, outcome.out) == (2, "")
    assert "sweep.jpg: a file that ends in .svg, .png, .csv, .json is due" in outcome.err
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    outcome = cli("measure", "sweep", LESSON, *options, tmp_path / "sweep.svg")
    assert (outcome.code, outcome.out, list(tmp_path.iterdir())) == (2, "", [])
    assert "pip install 'gridplan[report]'" in outcome.err


def test_a_test_that_sends_everything_at_once_has_no_chart(cli: Any, tmp_path: Path) -> None:
    file, block = tmp_path / "drain.csv", tmp_path / "measured.yaml"
    file.write_text("rate_rps,ttft_p95_ms\ninf,500\n", encoding="utf-8")
    outcome = cli("measure", "sweep", file, "--slo", "ttft_p95=1s", "-o", block, "--chart", tmp_path / "sweep.svg")
    assert (outcome.code, outcome.out) == (2, "")
    assert "no point has an offered rate or a number of clients" in outcome.err
    assert list(tmp_path.iterdir()) == [file]


def test_one_output_that_is_there_keeps_the_other_unwritten(cli: Any, tmp_path: Path) -> None:
    block, chart = tmp_path / "measured.yaml", tmp_path / "sweep.svg"
    chart.write_text("mine")
    outcome = cli("measure", "sweep", LESSON, "--slo", LIMITS, "-o", block, "--chart", chart, "--as-of", "2025-04-28")
    assert outcome.code == 3
    assert (block.exists(), chart.read_text()) == (False, "mine")


def test_no_rate_is_code_1_and_no_block(cli: Any, tmp_path: Path) -> None:
    block = tmp_path / "measured.yaml"
    outcome = cli("measure", "sweep", LESSON, "--slo", "ttft_p95=1ms", "-o", block, "--as-of", "2025-04-28")
    assert outcome.code == 1
    assert "no measured rate is known to hold every limit" in outcome.out
    assert "not written" in outcome.err
    assert not block.exists()


def test_a_day_is_asked_for(cli: Any, tmp_path: Path) -> None:
    block = tmp_path / "measured.yaml"
    outcome = cli("measure", "sweep", LESSON, "--slo", LIMITS, "-o", block)
    assert outcome.code == 2
    assert "--as-of: the files do not state the day of the test" in outcome.err
    assert not block.exists()


def test_every_problem_at_once(cli: Any, tmp_path: Path) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_text("rate_rps,ttft_p95\n1,2\n")
    options = ("--slo", "ttft_p95=1,tpott_p95=5ms", "--weights", "5 parsecs", "--bandwidth", "1TB/s")
    outcome = cli(
        "measure", "sweep", broken, tmp_path / "absent.json", *options, "--error-budget", "x", "--as-of", "2025-02-30"
    )
    assert outcome.code == 2
    assert outcome.out == ""
    for said in (
        "the column 'ttft_p95' has no unit",
        "absent.json: no such file",
        "--slo: ttft_p95: '1' has no unit",
        "did you mean tpot_p95",
        "--weights: '5 parsecs' has an unknown unit",
        "--error-budget: 'x' is not a share",
        "--as-of: '2025-02-30' is not a day",
    ):
        assert said in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "give the limits"),
        (("--slo", "ttft_p95=1s", "--weights", "1GB"), "--weights and --bandwidth are given together"),
        (("--slo", "ttft_p95=1s", "--flops", "1 TFLOP/s"), "--params and --flops are given together"),
        (("--slo", "ttft_p95=1s", "--params", "0", "--flops", "1 TFLOP/s"), "must be above 0"),
        (("--grid", "absent.yaml"), "absent.yaml"),
        (("--grid", "absent.yaml", "--weights", "1GB"), "leave --weights"),
    ],
)
def test_options_that_are_wrong(cli: Any, options: tuple[str, ...], said: str) -> None:
    outcome = cli("measure", "sweep", LESSON, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err


@pytest.mark.parametrize("path", sorted(FILES.iterdir()), ids=lambda path: path.name)
def test_every_format_is_judged(cli: Any, path: Path) -> None:
    outcome = cli("measure", "sweep", path, "--slo", "ttft_p99=1s,e2e_mean=5s", "--json")
    assert outcome.code in (0, 1)
    assert "Traceback" not in outcome.err
    json.loads(outcome.out)


def test_a_folder(cli: Any, tmp_path: Path) -> None:
    for number, (rate, ttft) in enumerate(((2, 100), (4, 200), (8, 1500))):
        (tmp_path / f"{number}.csv").write_text(f"rate_rps,ttft_p95_ms\n{rate},{ttft}\n")
    outcome = cli("measure", "sweep", tmp_path, "--slo", "ttft_p95=1s", "--json")
    assert json.loads(outcome.out)["lambda_instance_per_s"] == 4.0


def test_one_server_of_several_is_chosen_by_its_setting(cli: Any) -> None:
    """Two values of max_num_seqs in one file, as `vllm bench sweep` writes it: no rate of both, and one of each."""
    file = Path(__file__).parents[1] / "unit" / "sweep_files" / "vllm_sweep_summary.csv"
    arguments = ("measure", "sweep", file, "--slo", "ttft_p50=1s")
    mixed = cli(*arguments)
    assert (mixed.code, "max_num_seqs is 64, 128" in mixed.out) == (1, True)
    for seqs in (64, 128):
        found = cli(*arguments, "--only", f"max_num_seqs={seqs}", "--json")
        assert json.loads(found.out)["lambda_instance_per_s"] == 8.0
    assert cli(*arguments, "--only", "max_num_seqs=65").code == 2


def test_outputs_are_files_of_their_own(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "sweep.csv"
    file.write_text("rate_rps,ttft_p95_ms\n4,100\n8,2000\n", encoding="utf-8")
    before = file.read_bytes()
    arguments = ("measure", "sweep", file, "--slo", "ttft_p95=1s", "--as-of", "2026-11-01", "--force")
    both = (("-o", file), ("-o", tmp_path / "x.svg", "--chart", tmp_path / "x.svg"), ("-o", "/dev/null"))
    for outputs in both:
        refused = cli(*arguments, *outputs)
        assert (refused.code, "Traceback" in refused.err) == (2, False)
    assert file.read_bytes() == before
