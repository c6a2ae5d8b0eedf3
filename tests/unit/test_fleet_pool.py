"""`gridplan.pool`: packed fleets worked by hand, what a loss leaves, and what cannot share nodes."""

from __future__ import annotations

import re

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan.dictionary import dictionary
from gridplan.errors import ContractError, GridTooLargeError

THREE = """
schema: 1
name: three
workloads:
  chat: {arrival_rate: 60}
  code: {arrival_rate: 10}
  batch: {arrival_rate: 9}
deployment:
  gpus_per_node: 8
  usd_per_node_hour: 10
  tensor_parallel: {by: workload, chat: 4, code: 2, batch: 1}
capacity: {capacity_model: measured, lambda_instance_given: {by: workload, chat: 20, code: 4, batch: 1.5}}
policy: {rho_target: 0.75, redundancy: 1, failure_domain: replica}
"""
# At 0.75 of their rates the services need 60/15, 10/3 and 9/1.125 replicas: 4, 4 and 8, with the spare 5, 5 and 9.

MODELS = """
schema: 1
name: models
workload: {prompt_tokens: 1000, output_tokens: 200}
deployment:
  instance: aws-p5-48xlarge
  engine: vllm@0.25
  weight_dtype: bf16
  tensor_parallel: {by: model, llama-3.1-8b: 1, llama-3.3-70b: 1, default: 1}
slo: {tpot: {limit: 50 ms, percentile: mean}}
capacity: {capacity_model: replica_seconds}
policy: {rho_target: 0.7, redundancy: 1}
axes: {model: [llama-3.1-8b, llama-3.3-70b], arrival_rate: [5, 50]}
"""


def pooled(text: str, **question: object) -> xr.Dataset:
    return gridplan.pool(gridplan.loads_grid(text), **question)  # type: ignore[arg-type]


def problems(text: str, **question: object) -> list[str]:
    with pytest.raises(ContractError) as error:
        pooled(text, **question)
    return [str(problem) for problem in error.value.problems]


def numbers(found: xr.Dataset, *names: str) -> list[object]:
    return [found[name].values.tolist() for name in names]


def test_three_services_on_five_nodes() -> None:
    found = pooled(THREE)
    assert numbers(found, "replicas", "gpus_per_replica") == [[5, 5, 9], [4, 2, 1]]
    # Nodes of two chats, two chats, one chat and two codes, three codes and two batches, seven batches.
    assert numbers(found, "pool_nodes", "pool_nodes_bound", "pool_gap") == [5, 5, 0]
    assert numbers(found, "pool_gpus", "pool_gpus_stranded") == [20 + 10 + 9, 1]
    assert numbers(found, "pool_label_nodes_separate", "pool_nodes_separate") == [[3, 2, 2], 7]
    assert numbers(found, "pool_usd_per_hour", "pool_usd_per_hour_separate") == [50, 70]
    np.testing.assert_allclose(found["pool_label_share"], [20 / 39, 10 / 39, 9 / 39], rtol=1e-15)
    assert "zone" not in found.dims


def test_headroom_and_limits_after_a_loss_are_two_questions() -> None:
    found = pooled(THREE)
    # The worst node of each takes two chats, three codes or seven batches.
    assert found["pool_label_replicas_left"].values.tolist() == [3, 2, 2]
    # Three chats carry 45 req/s with headroom and 60 without: just enough.
    assert numbers(found, "pool_label_headroom_kept", "pool_label_slo_held") == [[0, 0, 0], [1, 0, 0]]
    assert found["pool_label_slo_held"].attrs["dtype"] == "bool"
    nothing = pooled(THREE, lost=0)
    assert nothing["pool_label_replicas_left"].values.tolist() == [5, 5, 9]
    assert nothing["pool_label_headroom_kept"].values.tolist() == [1, 1, 1]
    assert pooled(THREE, lost=99)["pool_label_replicas_left"].values.tolist() == [0, 0, 0]


def test_slots_and_saturation_say_nothing_about_limits() -> None:
    slots = "capacity: {capacity_model: littles_law, e2e_latency_s: 2}\n"
    text = "".join(slots if line.startswith("capacity") else line for line in THREE.splitlines(keepends=True))
    text = text.replace("gpus_per_node: 8\n", "gpus_per_node: 8\n  max_num_seqs: 32\n")
    found = pooled(text)
    assert np.isnan(found["pool_label_slo_held"]).all()
    assert not np.isnan(found["pool_label_headroom_kept"]).any()


def test_what_separate_fleets_need_is_what_the_cube_plans() -> None:
    grid = gridplan.loads_grid(THREE)
    cube = gridplan.evaluate(grid, ["nodes", "usd_per_hour", "replicas"])
    found = gridplan.pool(grid)
    np.testing.assert_array_equal(found["pool_label_nodes_separate"], cube["nodes"])
    np.testing.assert_array_equal(found["replicas"], cube["replicas"])
    assert found["pool_usd_per_hour_separate"] == cube["usd_per_hour"].sum()


def test_wide_replicas_stand_beside_the_others() -> None:
    found = pooled(
        THREE.replace("chat: 4, code", "chat: 16, code").replace(
            "gpus_per_node: 8", "gpus_per_node: 8\n  scale_up_gpus: 16"
        )
    )
    # Five chats of two nodes each; 10 + 9 GPUs of the others on three more.
    assert numbers(found, "pool_nodes", "pool_label_nodes_separate") == [13, [10, 2, 2]]
    assert found["pool_label_replicas_left"].values.tolist()[0] == 4


def test_axes_and_scenarios_stay_where_they_change_something() -> None:
    text = (
        THREE
        + "axes: {rho_target: [0.75, 1.0]}\nscenarios:\n  nominal: {}\n  dear: {usd_per_node_hour: {multiply: 2}}\n"
    )
    text = text.replace("rho_target: 0.75, ", "")
    found = pooled(text)
    assert found["pool_nodes"].dims == ("rho_target",)
    assert found["pool_usd_per_hour"].dims == ("scenario", "rho_target")
    # At the full rates 3, 3 and 6 replicas and their spares: 16 + 8 + 7 GPUs.
    assert found["pool_nodes"].values.tolist() == [5, 4]
    assert found["pool_usd_per_hour"].values.tolist() == [[50, 40], [100, 80]]
    cut = pooled(text, at={"rho_target": "1", "scenario": "dear"})
    assert (cut["pool_usd_per_hour"].dims, float(cut["pool_usd_per_hour"])) == ((), 80)
    assert cut.attrs["at"] == "scenario=dear, rho_target=1"


def test_zones_share_the_nodes_evenly() -> None:
    found = pooled(THREE.replace("policy: {", "policy: {zones: 3, "))
    assert found["pool_zone_nodes"].values.tolist() == [2, 2, 1]
    # The nodes of the first test in turn: first and fourth, second and fifth, third.
    assert found["pool_zone_replicas"].values.tolist() == [[2, 2, 1], [3, 0, 2], [2, 7, 0]]
    assert found["zone"].values.tolist() == ["1", "2", "3"]
    # Nodes are dealt evenly, labels are not: the second zone takes seven of nine batches with it.
    assert found["pool_label_replicas_left_zone"].values.tolist() == [3, 2, 2]
    assert numbers(found, "pool_label_headroom_kept_zone", "pool_label_slo_held_zone") == [[0, 0, 0], [1, 0, 0]]
    assert "warnings" not in found.attrs


def test_a_price_of_gpus_is_paid_for_those_in_use() -> None:
    found = pooled(THREE.replace("usd_per_node_hour: 10", "usd_per_gpu_hour: 2"))
    assert numbers(found, "pool_usd_per_hour", "pool_usd_per_hour_separate") == [78, 78]


def test_a_label_without_a_plan_leaves_no_pool_and_is_named() -> None:
    found = pooled(MODELS, over="model")
    assert found["pool_infeasible_label"].values.tolist() == ["llama-3.3-70b"] * 2
    assert found["pool_infeasible_reason"].values.tolist() == ["weights_exceed_memory"] * 2
    assert found["infeasible_reason"].transpose("model", ...).values.ravel()[0] is None
    for name in ("pool_nodes", "pool_usd_per_hour", "pool_label_share", "pool_label_headroom_kept"):
        assert np.isnan(found[name]).all()
    # What the other model needs alone is still known.
    alone = found["pool_label_nodes_separate"].sel(model="llama-3.1-8b")
    assert (alone > 0).all()
    whole = pooled(MODELS.replace("llama-3.3-70b: 1", "llama-3.3-70b: 4"), over="model")
    assert whole["pool_infeasible_label"].values.tolist() == [None, None]
    assert (whole["pool_nodes"] <= whole["pool_nodes_separate"]).all()


def test_every_figure_has_its_unit_and_meaning() -> None:
    for name, item in pooled(THREE.replace("policy: {", "policy: {zones: 2, ")).data_vars.items():
        row = dictionary()[str(name)]
        assert row.role in ("answer", "measure")
        assert (item.attrs["unit"], item.attrs["long_name"]) == (row.unit, row.long_name)


def test_services_on_other_nodes_share_no_fleet() -> None:
    text = THREE.replace("gpus_per_node: 8", "gpus_per_node: {by: workload, chat: 8, code: 4, batch: 8}")
    assert problems(text) == [
        "<text>:9:18: deployment.gpus_per_node: gpus_per_node differs along workload (chat: 8, code: 4, batch: 8), "
        "and a pool is one fleet of one kind of node"
    ]


def test_the_cheapest_shapes_of_two_models_may_be_two_kinds_of_nodes() -> None:
    text = MODELS.replace("instance: aws-p5-48xlarge", "gpu: h100-sxm").replace("llama-3.3-70b: 1", "llama-3.3-70b: 4")
    said = problems(text, over="model")
    assert len(said) == 1
    assert "priced_by differs along model (llama-3.1-8b: " in said[0]
    assert said[0].endswith("one kind of node: state one instance, or gpus_per_node and a price")


def test_inputs_that_a_pool_does_not_read_are_named() -> None:
    found = pooled(THREE.replace("policy: {", "policy: {nodes_given: 9, lost_units: 1, "))
    assert found["pool_nodes"] == 5
    said = found.attrs["warnings"]
    assert "nodes_given is not used here: a pool counts the nodes it needs" in said
    assert "lost_units is not used here" in said


def test_bad_questions_are_named_at_once() -> None:
    assert problems(THREE, over="workloads", lost=-1) == [
        "over: workloads is not an axis of this grid: it has workload (did you mean workload?)",
        "lost: must be a whole number from 0, not -1",
    ]
    assert "scenarios are alternatives" in problems(THREE + "scenarios: {nominal: {}}\n", over="scenario")[0]
    assert "cannot be fixed at one label" in problems(THREE, at={"workload": "chat"})[0]
    assert problems(THREE, at={"model": "x"}) == ["model: model is not an axis of this grid"]


def test_a_node_without_a_size_is_asked_for() -> None:
    text = THREE.replace("  gpus_per_node: 8\n  usd_per_node_hour: 10\n", "")
    assert "gpus_per_node is needed for a pool" in problems(text)[0]


def test_a_cell_is_packed_alone_as_among_others() -> None:
    text = MODELS.replace("llama-3.3-70b: 1", "llama-3.3-70b: 4").replace("[5, 50]", "[5, 17, 50]")
    text = text.replace("redundancy: 1", "redundancy: 1, zones: 2")
    whole = pooled(text, over="model")
    for rate in (5, 17, 50):
        alone = pooled(text, over="model", at={"arrival_rate": rate})
        of_rate = whole.sel(arrival_rate=rate)
        for name, item in alone.data_vars.items():
            np.testing.assert_array_equal(item, of_rate[name])


def test_labels_may_be_numbers() -> None:
    text = MODELS.replace("model: [llama-3.1-8b, llama-3.3-70b], ", "").replace(
        "engine:", "model: llama-3.1-8b\n  engine:"
    )
    found = pooled(text, over="arrival_rate")
    assert found["pool_nodes"].dims == ()
    assert found["pool_label_share"].dims == ("arrival_rate",)
    refused = pooled(text.replace("llama-3.1-8b\n", "llama-3.1-405b\n"), over="arrival_rate")
    assert refused["pool_infeasible_label"].item() == "5"


def test_too_many_cells_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridplan.engine.fleets.figures.MAX_CELLS", 2)
    with pytest.raises(GridTooLargeError, match=r"3 cells are more than the 2 .* workload \(3\)"):
        pooled(THREE)
    monkeypatch.setattr("gridplan.engine.fleets.figures.MAX_CELLS", 100)
    monkeypatch.setattr("gridplan.engine.fleets.figures.MAX_NUMBERS", 8)  # three labels for each of three cells
    with pytest.raises(GridTooLargeError, match="3 cells are more than the 2"):
        pooled(THREE)


def test_nodes_of_a_pool_are_bought_as_purchase_says() -> None:
    reserved = THREE.replace("usd_per_node_hour: 10", "usd_per_node_hour: 10\n  reserved_discount: 0.25")
    reserved = reserved.replace("redundancy: 1", "redundancy: 1, purchase: reserved")
    assert pooled(reserved).pool_usd_per_hour.item() == 0.75 * pooled(THREE).pool_usd_per_hour.item()
    portfolio = re.sub("(arrival_rate: [0-9]+)", r"\1, peak_to_average: 2", reserved)
    said = problems(portfolio.replace("purchase: reserved", "purchase: portfolio"))
    assert any("purchase portfolio follows the load of one service" in line for line in said)
