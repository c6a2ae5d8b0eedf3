"""The decision record says what the cube says: figures of published plans, of every derivation, of scenarios."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import xarray as xr
from record_tables import ShownTable, tables_of

import gridplan
from gridplan.report.record import Record, html_page, markdown_page, record_of
from gridplan.report.record.case import Asked
from gridplan.report.record.derivation import appendix
from gridplan.report.record.found import case_of
from gridplan.sensitivity.cut_grid import grid_at

ROOT = Path(__file__).parents[2]
GRIDS = ROOT / "grids"
SWEEP = str(ROOT / "docs" / "lesson-sweep.csv")


@cache
def lesson(instance: str | None = "aws-p4de") -> Record:
    """The record of the lesson's plan with its load test, without charts."""
    grid = gridplan.load_grid(GRIDS / "lesson.yaml")
    at = {} if instance is None else {"instance": instance}
    return record_of(grid, at=at, sweep=[SWEEP], charts=False)


@cache
def lesson_tables() -> dict[str, ShownTable]:
    return tables_of(html_page(lesson()))


# "Capacity Planning: From Traffic Profile to GPU Count", sections 2 to 5, with what its errata correct: E10, E12, E13.
GIB = 2.0**30
PLAN = {
    "Where the memory of one GPU goes": {
        ("usable memory", "GiB"): 79.65 * 0.90 * GIB,
        ("- weights", "GiB"): 14.90 * GIB,
        ("- workspace", "GiB"): 1.75 * GIB,
        ("= KV pool", "GiB"): (79.65 * 0.90 - 14.90 - 1.75) * GIB,
    },
    "Physical bounds of one replica": {
        ("KV bytes of one token", "value"): 131072.0,
        ("KV pool of a replica in tokens", "value"): 450_846.0,
        ("memory ceiling on concurrency, L_max", "value"): 1970.0,
        ("memory ceiling with every sequence at its longest", "value"): 587.0,
        ("FLOP of prefilling the longest prompt", "value"): 2 * 8.03e9 * 512,
    },
    "Rate of one replica": {
        ("rate one replica sustains, λ_i", "value"): 10.0,
        ("planned rate of one replica", "value"): 7.0,
    },
    "Fleet": {
        ("replicas that carry the peak", "value"): 9.0,
        ("replicas with spares", "value"): 10.0,
        ("nodes", "value"): 2.0,
        ("GPUs in the nodes", "value"): 16.0,
        ("rate the deployed replicas carry safely", "value"): 112.0,
    },
    "Traffic: arrivals as a Poisson process at the peak rate": {
        ("peak arrival rate", "value"): 60.0,
        ("peak-to-average ratio", "value"): 3.0,
        ("average arrival rate", "value"): 20.0,
        ("requests in a month", "value"): 52_704_000.0,
        ("output tokens in a month", "value"): 6_408_806_400.0,
        ("mean prompt length", "value"): 99.2,
        ("mean output length", "value"): 121.6,
        ("mean context length", "value"): 220.8,
        ("longest context", "value"): 768.0,
    },
    "Cost by way of buying": {
        ("aws-p4de", "nodes"): 2.0,
        ("aws-p4de", "GPUs"): 16.0,
        ("aws-p4de", "bill [USD/month]"): 2 * 40.96 * 732,
        ("aws-p4de", "per 1M output [USD/Mtok]"): 2 * 40.96 * 732 / 6408.8064,
        ("fractional", "GPUs"): 10.0,
        ("fractional", "bill [USD/month]"): 10 * 2.49 * 732,
        ("fractional", "per 1M output [USD/Mtok]"): 10 * 2.49 * 732 / 6408.8064,
    },
}


@pytest.mark.parametrize(("caption", "place"), [(caption, place) for caption, rows in PLAN.items() for place in rows])
def test_the_record_of_the_lesson_has_every_figure_of_its_plan(caption: str, place: tuple[str, str]) -> None:
    assert lesson_tables()[caption].value(*place) == pytest.approx(PLAN[caption][place], rel=1e-9)


def test_decode_step_and_prefill_are_those_of_the_lesson() -> None:
    bounds = lesson_tables()["Physical bounds of one replica"]
    moved = 8.03e9 * 2 + 32 * 220.8 * 131072  # section 2.2: 16.99 GB in 10.96 ms at 1,550 GB/s
    assert bounds.value("time of the quoted decode step") == pytest.approx(moved / 1550e9, rel=1e-5)
    assert bounds.value("unqueued prefill") == pytest.approx(2 * 8.03e9 * 512 / 140e12, rel=1e-5)  # 2.3: 58.7 ms


def test_stress_rows_of_the_record_are_those_of_the_stress_table() -> None:
    found = gridplan.stress(gridplan.load_grid(GRIDS / "lesson.yaml"), at={"instance": "aws-p4de"})
    anew = lesson_tables()["Each scenario planned anew"]
    bought = lesson_tables()["The fleet of the nominal plan, as bought, in each scenario"]
    assert [row[0].text for row in anew.rows] == found.scenario.values.tolist()
    columns = {"λ_safe": "lambda_safe", "active": "replicas_active", "with spares": "replicas", "nodes": "nodes"}
    columns |= {"GPUs": "gpus_deployed", "USD/month": "usd_per_month", "USD/Mtok out": "usd_per_mtok_output"}
    for row in anew.rows:
        for head, name in columns.items():
            assert row[anew.heads.index(head)].value == found[name].sel(scenario=row[0].text).item(), (
                row[0].text,
                head,
            )
    for row in bought.rows:
        for head, name in {"replicas left": "bought_replicas_left", "safe req/s": "bought_arrival_rate_safe"}.items():
            assert row[bought.heads.index(head)].value == found[name].sel(scenario=row[0].text).item()
    # Errata E6 and E7 of the text: a lost GPU leaves 105 req/s, a lost node 56.
    assert bought.value("gpu_loss", "safe req/s") == 105.0
    assert bought.value("node_loss", "safe req/s") == 56.0


def test_the_sweep_of_the_lesson_supports_its_plan() -> None:
    page = html_page(lesson())
    points = next(table for caption, table in tables_of(page).items() if caption.startswith("Measured points"))
    assert len(points.rows) == 8  # seven rates and the line of the limits
    assert "10 requests/s hold every limit; at 12" in page
    assert "The plan uses that rate: lambda_instance is 10 req/s." in page.replace("<wbr>", "")


def test_a_sweep_that_the_plan_does_not_use_is_a_warning() -> None:
    text = (
        (GRIDS / "lesson.yaml")
        .read_text(encoding="utf-8")
        .replace("lambda_instance_given: 10.0", "lambda_instance_given: 12.0")
    )
    grid = gridplan.loads_grid(text)
    said = markdown_page(record_of(grid, at={"instance": "aws-p4de"}, sweep=[SWEEP], charts=False))
    assert (
        "The plan is not made with that rate: lambda_instance is 12 req/s, +20.0% from what the load test found" in said
    )


def test_levers_left_open_are_chosen_along() -> None:
    record = lesson(None)
    assert record.decision.startswith("Rent 10 x fractional (10 GPUs)")
    assert record.place == "instance=fractional"
    rejected = tables_of(html_page(record))["Other labels of instance, everything else as in the plan"]
    assert rejected.row("aws-p4de")[-1].text == "6.51 USD/Mtok more (+229.0%)"
    assert rejected.row("fractional (this plan)")[-1].text == "chosen"


def test_the_opening_of_the_lesson_is_infeasible_and_the_record_says_why() -> None:
    """Errata E17: one A100 cannot give 500 tokens in 2 s; E2: at 1,000 tok/s a GPU 25 replicas at rho 1, 36 at 0.7."""
    grid = gridplan.load_grid(GRIDS / "lesson-opening.yaml")
    record = record_of(grid, at={"rho_target": 0.7}, charts=False)
    assert record.state == "infeasible"
    assert record.decision == "No plan: e2e_unreachable: the best possible is 5.24 s, against 2.00 s."
    assert any("36 active replicas, 37 with spares on 5 nodes" in text for text in record.findings)
    assert not any(part.name in ("sizing", "cost") for part in record.sections)
    full = record_of(grid, at={"rho_target": 1.0}, charts=False)
    assert any("25 active replicas, 26 with spares on 4 nodes, 119,930.88 USD/month" in text for text in full.findings)


def test_an_overview_of_nothing_feasible_says_why() -> None:
    record = record_of(gridplan.load_grid(GRIDS / "lesson-opening.yaml"), charts=False)
    assert record.state == "infeasible"
    assert record.decision.startswith("No cell has a plan: e2e_unreachable in 2 of 2; at the first, e2e_unreachable")


CELLS = {
    "lesson": {"instance": "fractional"},
    "quickstart": {
        "model": "qwen3-32b",
        "gpu": "h200-sxm",
        "kv_dtype": "fp8",
        "context_tokens": 8192,
        "rho_target": 0.7,
    }
    | {"arrival_rate": 10},
    "latency": {"gpu": "h100-sxm", "rho_target": 0.6},
    "capacity": {"gpu": "b200", "capacity_model": "queueing"},
    "memory": {"model": "gpt-oss-120b", "gpu": "h100-sxm", "tensor_parallel": 2, "max_model_len": 131072},
    "buy": {"model": "llama-3.3-70b", "instance": "lambda-gpu-8x-h100-sxm", "purchase": "reserved", "arrival_rate": 40}
    | {"failure_policy": "node"},
    "break-even": {"instance": "nebius-hgx-b200", "purchase": "reserved", "arrival_rate": 20},
    "chains-70b": {},
}


@pytest.mark.parametrize("name", CELLS)
def test_every_figure_of_the_derivation_equals_the_cube(name: str) -> None:
    from gridplan.dictionary import all_measures

    grid = gridplan.load_grid(GRIDS / f"{name}.yaml")
    # Of one that is whole its appendix is the same; without studies and alternatives it takes a third of the time.
    case = case_of(grid, Asked(CELLS[name]))
    record = replace(lesson(), sections=(appendix(case),))
    scenario = {"scenario": "nominal"} if grid.scenarios else {}
    one = gridplan.evaluate(grid_at(grid, CELLS[name] | scenario)[0], all_measures())
    shown = dict(_named(html_page(record)))
    if name == "lesson":
        assert shown == dict(_named(html_page(record_of(grid, at=CELLS[name], charts=False))))
    assert len(shown) > 60
    for figure, value in shown.items():
        assert value == pytest.approx(one[figure].item(), rel=1e-12), figure


def _named(page: str) -> list[tuple[str, float]]:
    """Figures of the appendix with their names."""
    found = []
    for table in tables_of(page[page.index('id="chain"') :]).values():
        for row in table.rows:
            name = re.search(r"\(([a-z0-9_]+)\)$", row[0].text)
            assert name is not None
            assert row[1].value is not None
            found.append((name[1], row[1].value))
    return found


def test_a_folder_says_what_its_contract_says(folder: Path) -> None:
    grid = gridplan.load_grid(GRIDS / "lesson.yaml")
    ours, theirs = (record_of(source, at={"instance": "aws-p4de"}, charts=False) for source in (grid, folder("lesson")))  # type: ignore[operator]
    assert ours.sections == theirs.sections
    assert (ours.decision, ours.findings) == (theirs.decision, theirs.findings)


def test_the_same_input_makes_the_same_bytes() -> None:
    one, other = (
        record_of(gridplan.load_grid(GRIDS / "break-even.yaml"), at={"arrival_rate": 20.0}, charts=False)
        for _ in range(2)
    )
    for write in (html_page, markdown_page):
        assert write(one) == write(other)


def test_the_split_of_the_bill_adds_up() -> None:
    rows = lesson_tables()["What the bill of a month pays for"].rows
    assert math.fsum(row[1].value or 0.0 for row in rows) == pytest.approx(59965.44, rel=1e-9)


def test_every_input_of_the_chain_has_its_class() -> None:
    page = tables_of(html_page(lesson()))
    classes = {"Facts": "kv_layers", "Policies": "rho_target", "Measurements": "lambda_instance_given"}
    for caption, name in (classes | {"Assumptions": "peak_to_average"}).items():
        table = next(found for title, found in page.items() if title.startswith(caption))
        assert table.row(name)[0].text == name
    explained = gridplan.explain(gridplan.load_grid(GRIDS / "lesson.yaml"), instance="aws-p4de").inputs
    listed = [
        row[0].text
        for title, found in page.items()
        if title.split(":")[0] in (*classes, "Assumptions")
        for row in found.rows
    ]
    assert len(listed) == len(set(listed))
    assert {item.name for item in explained} < set(listed)
    assert {"ttft_slo_s", "e2e_slo_s"} < set(listed)  # limits that no formula names, and that decide all the same


def test_the_month_and_its_prices_are_dated() -> None:
    said = html_page(lesson()).replace("<wbr>", "")
    assert "Prices as of 2025-04-28: aws-p4de, on_demand. A month has 732 h." in said


def test_an_unknown_cube_measure_is_refused() -> None:
    with pytest.raises(gridplan.ContractError, match="did you mean usd_per_month"):
        record_of(gridplan.load_grid(GRIDS / "lesson.yaml"), measure="usd_per_mont", charts=False)


def test_overview_counts_are_those_of_the_run(folder: Path, cube: xr.Dataset) -> None:
    record = record_of(folder("quickstart"), charts=False)  # type: ignore[operator]
    whole = cube("quickstart")  # type: ignore[operator]

    def count(name: str, label: str) -> int:
        return int((whole[name] == label).broadcast_like(whole.usd_per_mtok_output).sum())

    counts = tables_of(html_page(record))["Cells of the cube"]
    assert counts.value("feasible", "count") == count("status", "ok")
    assert counts.value("binds: decode TPOT", "count") == count("binding_constraint", "tpot")
    cheapest = tables_of(html_page(record))["The cheapest feasible plan of each model"]
    best = whole.usd_per_mtok_output.where(whole.status == "ok").sel(model="qwen3-32b").min().item()
    assert cheapest.row("qwen3-32b")[1].value == best
