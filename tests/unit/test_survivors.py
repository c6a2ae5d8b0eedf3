"""The cheapest plan of each load that survives a lost node: as a search through all cells finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

import gridplan
from gridplan.errors import ContractError

GRID = """schema: 1
workload: {prompt_tokens: 500, output_tokens: 100, peak_to_average: 2}
deployment:
  tensor_parallel: {by: model, llama-3.1-8b: 1, llama-3.3-70b: 4}
  gpus_per_node: {by: gpu, h100-sxm: 8, l40s: 4}
  usd_per_node_hour: {by: gpu, h100-sxm: 32, l40s: 5}
slo: {tpot: {limit: 60 ms}}
policy:
  rho_target: 0.7
  redundancy: {by: failure_policy, none: 0, one gpu: 1, one node: 1}
  failure_domain: {by: failure_policy, one node: node, default: gpu}
outputs: [status, usd_per_hour, replicas, nodes, survives_node_loss_slo, survives_node_loss_headroom, fleet_sufficient]
axes:
  failure_policy: [none, one gpu, one node]
  model: [llama-3.1-8b, llama-3.3-70b]
  gpu: [h100-sxm, l40s]
  arrival_rate: [1, 20, 300]
scenarios: {nominal: {}, cheap: {usd_per_node_hour: {multiply: 0.1}}}
"""


def loaded(tmp_path: Path, text: str = GRID) -> gridplan.Grid:
    path = tmp_path / "buy.yaml"
    path.write_text(text)
    return gridplan.load_grid(path)


def test_a_contract_names_its_measures(tmp_path: Path) -> None:
    cube = gridplan.evaluate(loaded(tmp_path))
    named = [
        "status",
        "replicas",
        "nodes",
        "fleet_sufficient",
        "survives_node_loss_headroom",
        "survives_node_loss_slo",
        "usd_per_hour",
    ]
    assert list(cube.data_vars) == named
    assert list(gridplan.evaluate(loaded(tmp_path), ["nodes"]).data_vars) == ["nodes"]


@pytest.mark.parametrize("question", ["survives_node_loss_slo", "survives_node_loss_headroom"])
def test_winners_are_those_of_a_search_through_all_cells(tmp_path: Path, question: str) -> None:
    grid = loaded(tmp_path)
    result = gridplan.run(grid, tmp_path / "cube")
    found = result.to_dict()["cheapest_surviving"][question]
    table = gridplan.evaluate(grid).sel(scenario="nominal").to_dataframe().reset_index()
    lives = table[(table[question] == 1) & (table.status == "ok")]
    expected = lives.groupby(["model", "arrival_rate"], sort=False).usd_per_hour.min()
    assert [(plan["model"], plan["labels"]["arrival_rate"]) for plan in found] == [
        (model, rate) for model in ("llama-3.1-8b", "llama-3.3-70b") for rate in (1.0, 20.0, 300.0)
    ]
    for plan in found:
        assert plan["usd_per_hour"] == expected[plan["model"], plan["labels"]["arrival_rate"]]
        assert plan["labels"]["scenario"] == "nominal"
        cell = lives
        for name, label in plan["labels"].items():
            cell = cell[cell[name] == label] if name != "scenario" else cell
        assert (cell.usd_per_hour.item(), cell.nodes.item()) == (plan["usd_per_hour"], plan["nodes"])


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ("[defaults, nodes]", r"outputs.0.*defaults is not a measure \(did you mean default"),
        ("[default, usd_per_our]", r"usd_per_our is not a measure \(did you mean usd_per_hour"),
        ("[]", "outputs names no measure"),
    ],
)
def test_unknown_measures_are_named_at_their_line(tmp_path: Path, outputs: str, said: str) -> None:
    text = GRID.replace(next(line for line in GRID.splitlines() if line.startswith("outputs")), f"outputs: {outputs}")
    with pytest.raises(ContractError, match=said):
        loaded(tmp_path, text)


def test_a_policy_without_a_value_is_named(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="redundancy has no value for failure_policy one gpu; add it or a default"):
        gridplan.evaluate(loaded(tmp_path, GRID.replace("one gpu: 1, ", "")))


def test_a_cube_of_a_price_alone_asks_nothing(tmp_path: Path) -> None:
    """Without the status of its cells nothing is known of who survives, and nothing else is wrong."""
    grid = gridplan.load_grid(Path(__file__).parents[2] / "grids" / "lesson.yaml")
    result = gridplan.run(grid, tmp_path / "cube", outputs=["usd_per_mtok_output"])
    assert result.summary.to_dict()["cheapest_surviving"] == {}
