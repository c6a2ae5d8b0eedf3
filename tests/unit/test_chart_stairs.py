"""Stairs: exact steps of a contract by hand and by brute force, what a cube knows, findings, widths, files."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from drawn_charts import drawn_width, lesson_of_instances

import gridplan
from gridplan import charts
from gridplan.contract.grid import Grid
from gridplan.errors import ContractError

HOSTILE = ("<script>alert('x')</script>", 'a "quoted" & ' + "very " * 40 + "long name", "größer 数")

# The plan of "Capacity Planning: From Traffic Profile to GPU Count": 10 req/s an instance at a target of 0.7 are
# 7 req/s, one spare GPU, nodes of 8 GPUs for 40.96 USD/h over 732 h: a node carries 7 x 7 = 49, two carry 7 x 15 = 105.
NODE = 40.96 * 732


def lesson(grids: Path) -> Grid:
    return gridplan.load_grid(grids / "lesson.yaml")


def simple(rates: str = "[1, 100]", policy: str = "") -> Grid:
    """Replicas of one GPU with 10 req/s each, nodes of 8 for 40 USD/h: 80 req/s a node."""
    return gridplan.loads_grid(
        f"""
schema: 1
workload: {{peak_to_average: 1}}
deployment: {{instance: big}}
capacity: {{capacity_model: measured, lambda_instance_given: 10}}
policy: {{rho_target: 1, redundancy: 0, hours_per_month: 730{policy}}}
catalog:
  instances:
    big: {{gpu: h100-sxm, gpus_per_node: 8, usd_per_node_hour: 40, as_of: 2026-01-01, source: x}}
axes: {{arrival_rate: {rates}}}
"""
    )


def test_the_steps_of_the_lesson_are_those_of_the_text(grids: Path) -> None:
    chart = charts.stairs(lesson(grids), at={"instance": "aws-p4de"})
    assert chart.data.arrival_rate_from.tolist() == [6.0, 49.0, 105.0]
    assert chart.data.arrival_rate_to.tolist() == [49.0, 105.0, 120.0]
    assert chart.data.usd_per_month.tolist() == pytest.approx([NODE, 2 * NODE, 3 * NODE], rel=1e-12)
    assert chart.data.nodes.tolist() == [1, 2, 3]
    assert chart.finding == "60 req/s needs 2 nodes and 59,965 USD/month; the next node is due beyond 105 req/s"
    assert "arrival_rate is no axis here: drawn from a tenth of the contract's rate to twice it" in chart.notes


@pytest.mark.parametrize("measure", ["usd_per_month", "replicas", "nodes", "gpus_deployed", "usd_per_hour"])
def test_each_rate_has_the_plan_that_its_step_says(grids: Path, measure: str) -> None:
    text = (grids / "break-even.yaml").read_text()
    rates = [1.0, 6.3, 6.35, 12.68, 12.69, 13.69, 13.7, 47.3, 99.99, 101.49, 101.5, 250.1, 333.3, 499.0, 500.0]
    grid = gridplan.loads_grid(re.sub(r"arrival_rate: \[[^]]*\]", f"arrival_rate: {rates}", text))
    at = {"purchase": "reserved"}
    data = charts.stairs(grid, measure, by="instance", at=at).data
    cube = gridplan.evaluate(grid, [measure]).sel(at)
    for label in cube.instance.values.tolist():
        own = data[data.instance == label]
        assert (own.arrival_rate_from.to_numpy()[1:] == own.arrival_rate_to.to_numpy()[:-1]).all()
        assert (own.arrival_rate_from.min(), own.arrival_rate_to.max()) == (1.0, 500.0)
        for rate in rates:
            held = own[(own.arrival_rate_from < rate) & (rate <= own.arrival_rate_to)] if rate > 1 else own[:1]
            assert held[measure].item() == cube[measure].sel(instance=label, arrival_rate=rate).item()


def test_a_scenario_that_multiplies_the_rate_brings_the_steps_nearer(grids: Path) -> None:
    chart = charts.stairs(lesson(grids), "nodes", at={"instance": "aws-p4de", "scenario": "surge"})
    assert chart.data.arrival_rate_to.tolist() == pytest.approx([49 / 1.5, 105 / 1.5, 161 / 1.5, 120.0], rel=1e-11)
    assert chart.finding == "60 req/s needs 2 nodes; the next node is due beyond 70 req/s, in scenario=surge"
    assert any("the scenario changes what arrives" in note for note in chart.notes)


def test_a_price_of_tokens_falls_within_each_step(grids: Path) -> None:
    chart = charts.stairs(lesson(grids), "usd_per_mtok_output", at={"instance": "fractional"})
    assert len(chart.data) > 50
    # A month of 732 h at a third of the peak, with 0.7 x 64 + 0.2 x 256 + 0.1 x 256 = 121.6 tokens a request.
    for row in chart.data.to_dict("records"):
        tokens = row["arrival_rate_from"] / 3 * 732 * 3600 * 121.6
        gpus = math.ceil(row["arrival_rate_from"] / 7 - 1e-13) + 1
        assert row["usd_per_mtok_output"] == pytest.approx(gpus * 2.49 * 732 / tokens * 1e6, rel=1e-9)
    assert (chart.data.arrival_rate_from == chart.data.arrival_rate_to).all()
    assert "<path" in chart.svg()


def test_who_is_cheapest_over_which_rates() -> None:
    twice = gridplan.loads_grid(
        """
schema: 1
workload: {peak_to_average: 1}
capacity: {capacity_model: measured, lambda_instance_given: {by: instance, big: 10, small: 8}}
policy: {rho_target: 1, redundancy: 0, hours_per_month: 730}
catalog:
  instances:
    big: {gpu: h100-sxm, gpus_per_node: 8, usd_per_node_hour: 40, as_of: 2026-01-01, source: x}
    small: {gpu: a100-sxm-80gb, gpus_per_node: 1, usd_per_node_hour: 6, as_of: 2026-01-01, source: x}
axes: {instance: [big, small], arrival_rate: [1, 80]}
"""
    )
    # Small nodes carry 8 req/s for 6 USD/h: six of them (48 req/s) cost 36, a seventh makes 42 against 40.
    assert charts.stairs(twice, by="instance").finding == (
        "usd_per_month is least with small up to 48 req/s, big up to 80 req/s"
    )


def test_a_fleet_that_is_bought_has_a_range_without_a_plan() -> None:
    chart = charts.stairs(simple(policy=", nodes_given: 1"))
    assert chart.data.arrival_rate_to.tolist() == pytest.approx([80.0, 100.0])
    assert chart.data.infeasible_reason.tolist() == [None, "fleet_sufficient false"]
    assert chart.data.usd_per_month.tolist()[0] == 40 * 730
    assert math.isnan(chart.data.usd_per_month.tolist()[1])
    assert "no plan: from 80 req/s to 100 req/s (fleet_sufficient false)" in chart.notes
    assert 'url(#hatch-up)"' in chart.svg()


def test_no_price_is_said_and_hatched(grids: Path) -> None:
    at = {"model": "llama-3.3-70b", "failure_policy": "node", "instance": "nebius-hgx-b200"}
    chart = charts.stairs(gridplan.load_grid(grids / "buy.yaml"), by="purchase", at=at)
    spot = chart.data[chart.data.purchase == "spot"]
    assert spot.infeasible_reason.tolist() == ["usd_per_month is null"]
    assert "no plan: spot from 1 req/s to 1000 req/s (usd_per_month is null)" in chart.notes


def test_nothing_but_ranges_without_a_plan(grids: Path) -> None:
    text = (grids / "lesson.yaml").read_text().replace("14.90 GiB", "140 GiB")
    chart = charts.stairs(gridplan.loads_grid(text), at={"instance": "fractional"})
    assert chart.data.infeasible_reason.tolist() == ["weights_exceed_memory"]
    assert chart.finding == "No plan to draw at 6 req/s to 120 req/s: weights_exceed_memory"
    assert chart.png()[:4] == b"\x89PNG"


def test_too_many_steps_end_where_it_is_said() -> None:
    chart = charts.stairs(simple("[1, 1000000]"))
    assert len(chart.data) == 200
    assert chart.data.arrival_rate_to.max() == 200 * 80
    assert "200 steps are drawn, which end at 16000 req/s; the stair goes on" in chart.notes


def test_of_a_cube_only_what_it_knows(grids: Path) -> None:
    axes = "instance: [aws-p4de], arrival_rate: [10, 40, 60, 110]"
    text = (grids / "lesson.yaml").read_text().replace("instance: [aws-p4de, fractional]", axes)
    text = text.replace("  arrival_rate: 60\n", "")
    cube = gridplan.evaluate(gridplan.loads_grid(text))
    chart = charts.stairs(cube)
    assert chart.data.arrival_rate_from.tolist() == [10, 40, 60, 110]
    assert chart.data.arrival_rate_to.tolist() == [40, 49, 105, 110]
    assert chart.data.usd_per_month.tolist() == pytest.approx([NODE, NODE, 2 * NODE, 3 * NODE])
    bare = charts.stairs(cube.drop_vars("arrival_rate_next_step"))
    assert (bare.data.arrival_rate_from == bare.data.arrival_rate_to).all()
    # In scenario surge 15 arrive where the label says 10: how far the plan reaches is said of what arrives.
    surge = charts.stairs(cube, at={"scenario": "surge"})
    assert (surge.data.arrival_rate_from == surge.data.arrival_rate_to).all()
    points = charts.stairs(cube, "usd_per_mtok_output")
    assert (points.data.arrival_rate_from == points.data.arrival_rate_to).all()


def test_another_axis_has_plans_at_its_labels_alone(grids: Path, cube: Any, folder: Any) -> None:
    chart = charts.stairs(gridplan.load_grid(grids / "latency.yaml"), "replicas", x="rho_target", by="gpu")
    assert len(chart.data) == 9
    known = cube("latency").replicas
    for row in chart.data.to_dict("records"):
        assert row["replicas"] == known.sel(gpu=row["gpu"], rho_target=row["rho_target_from"]).item()
    assert any("nothing is known between" in note for note in chart.notes)
    assert charts.stairs(folder("latency"), "replicas", x="rho_target", by="gpu").data.equals(chart.data)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"measure": "usd_per_mont"}, "did you mean usd_per_month"),
        ({"measure": "status"}, "stairs show a number"),
        ({"x": "gpu_"}, "gpu_ is not an axis here"),
        ({"x": "instance"}, "an axis of labels"),
        ({"by": "instance_"}, "did you mean instance"),
        ({"by": "arrival_rate"}, "arrival_rate"),
        ({}, "fix instance at one of its 2 labels"),
        ({"at": {"instance": "aws-p4de", "arrival_rate": 3}}, "arrival_rate is drawn"),
        ({"by": "scenario", "at": {"instance": "aws-p4de"}}, "scenario has 10 labels, 6 series are the most"),
    ],
)
def test_what_is_refused(grids: Path, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ContractError, match=re.escape(said)):
        charts.stairs(lesson(grids), **asked)


def test_all_that_is_wrong_is_said_at_once(grids: Path) -> None:
    with pytest.raises(ContractError) as error:
        charts.stairs(lesson(grids), "usd", x="instance", by="instance_")
    assert [problem.key for problem in error.value.problems] == ["measure", "x", "by"]


def test_widths_and_bytes(grids: Path) -> None:
    first, again = (charts.stairs(lesson(grids), by="instance") for _ in range(2))
    for width in (760, 340):
        drawn = first.svg(width)
        assert abs(drawn_width(drawn) - width) <= 8
        assert drawn == again.svg(width)


def test_labels_are_text_and_nothing_else(grids: Path) -> None:
    chart = charts.stairs(lesson_of_instances(grids, HOSTILE), by="instance")
    svg = chart.svg(340)
    assert "<script" not in svg
    assert "&lt;script&gt;" in svg
    assert "größer 数" in svg
    assert set(chart.data.instance) == set(HOSTILE)


def test_the_command(cli: Any, grids: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    done = cli("chart", "stairs", grids / "lesson.yaml", "--by", "instance", "-o", out, "-o", tmp_path / "a.csv")
    assert (done.code, done.out.strip()) == (
        0,
        "usd_per_month is least with fractional at every rate from 6 req/s to 120 req/s",
    )
    assert out.read_text().startswith("<svg")
    for wrong in (["--x", "gpu"], ["--measure", "usd"], ["--by", "model"]):
        failed = cli("chart", "stairs", grids / "lesson.yaml", *wrong, "-o", tmp_path / "b.svg")
        assert failed.code == 2
        assert wrong[0] in failed.err
    assert not (tmp_path / "b.svg").exists()
