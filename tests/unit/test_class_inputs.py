"""What classes state of themselves, as the arrays that the chain reads, and what becomes of a plan."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan.engine.inputs import Inputs, build_inputs

DEPLOYMENT = {"model": "llama-3.3-70b", "gpu": "h100-sxm", "weight_dtype": "fp8", "tensor_parallel": 4}
DEPLOYMENT |= {"flop_params": "total", "mfu": 0.5}  # every prompt token costs the same
CHAT = {"name": "chat", "weight": 0.75, "prompt_tokens": 1000, "output_tokens": 200}
CODE = {"name": "code", "weight": 0.25, "prompt_tokens": 4000, "output_tokens": 400}
NAN = np.nan


def text(classes: list[dict[str, Any]] | None = None, **sections: Any) -> str:
    """A contract with two classes, or those given; sections replace or add."""
    workload = {"arrival_rate": 20, "classes": [CHAT, CODE] if classes is None else classes}
    base: dict[str, Any] = {"schema": 1, "workload": workload, "slo": {"tpot": {"limit": 0.05}}}
    return json.dumps({**base, "deployment": DEPLOYMENT, "policy": {"rho_target": 0.65}, **sections})


def inputs(*args: Any, **sections: Any) -> Inputs:
    return build_inputs(gridplan.loads_grid(text(*args, **sections)))


def plan(*args: Any, **sections: Any) -> xr.Dataset:
    return gridplan.evaluate(gridplan.loads_grid(text(*args, **sections)))


def faults(*args: Any, **sections: Any) -> list[str]:
    with pytest.raises(gridplan.ContractError) as caught:
        inputs(*args, **sections)
    return [problem.message for problem in caught.value.problems]


def values(found: Inputs, name: str) -> list[Any]:
    return found.values[name].data.tolist()


def test_a_class_without_a_statement_has_that_of_the_contract() -> None:
    chat = {**CHAT, "ttft": {"limit": 0.5, "percentile": 99}, "tpot": {"percentile": 95}, "prefix_hit_ratio": 0.5}
    slo = {"ttft": {"limit": 2, "percentile": 95}, "tpot": {"limit": 0.05}, "itl": {"limit": 0.2}}
    found = inputs([chat, CODE], slo=slo)
    assert values(found, "class_ttft_slo_s") == [[0.5, 2.0]] or values(found, "class_ttft_slo_s") == [0.5, 2.0]
    np.testing.assert_array_equal(found.values["class_ttft_slo_percentile"].data.ravel(), [99.0, 95.0])
    np.testing.assert_array_equal(found.values["class_tpot_slo_percentile"].data.ravel(), [95.0, NAN])
    np.testing.assert_array_equal(found.values["class_tpot_slo_s"].data.ravel(), [0.05, 0.05])
    np.testing.assert_array_equal(found.values["class_e2e_slo_s"].data.ravel(), [NAN, NAN])
    np.testing.assert_array_equal(found.values["class_itl_slo_s"].data.ravel(), [0.2, 0.2])
    np.testing.assert_array_equal(found.values["class_prefix_hit_ratio"].data.ravel(), [0.5, 0.0])
    np.testing.assert_array_equal(found.values["ttft_slo_percentile"].data.ravel(), [95.0])
    assert np.isnan(found.values["tpot_slo_percentile"].data).all()


def test_one_length_is_one_class_on_the_same_arrays() -> None:
    workload = {"arrival_rate": 20, "arrival_scv": 4, "prompt_tokens": 1000, "output_tokens": 200}
    slo = {"tpot": {"limit": 0.05}, "goodput": 0.99}
    found = inputs(workload=workload, slo=slo, axes={"prefix_hit_ratio": [0.0, 0.5]})
    assert values(found, "class_prefix_hit_ratio") == [[0.0], [0.5]]
    assert found.values["class_prefix_hit_ratio"].dims == {"prefix_hit_ratio"}
    assert values(found, "class_tpot_slo_s") == [[0.05]]
    assert values(found, "arrival_scv") == [4.0]
    assert values(found, "goodput_target") == [0.99]
    cube = plan(workload=workload, slo=slo, axes={"prefix_hit_ratio": [0.0, 0.5]})
    assert cube["uncached_tokens_mean"].values.tolist() == [1000.0, 500.0]


def test_scenarios_change_a_class_alone_or_all_classes() -> None:
    chat = {**CHAT, "ttft": {"limit": 0.5}, "prefix_hit_ratio": 0.5}
    scenarios = {
        "tight": {"classes": {"chat": {"ttft": {"limit": {"multiply": 0.5}}}, "code": {"ttft": {"limit": 1}}}},
        "half": {"prefix_hit_ratio": {"multiply": 0.5}, "ttft_slo_s": {"add": 1}},
        "cold": {"classes": {"chat": {"prefix_hit_ratio": 0}, "code": {"prefix_hit_ratio": {"add": 0.25}}}},
    }
    slo = {"ttft": {"limit": 2}}
    found = inputs([chat, CODE], slo=slo, deployment={**DEPLOYMENT, "prefix_hit_ratio": 0.2}, scenarios=scenarios)
    assert values(found, "class_ttft_slo_s") == [[0.5, 2.0], [0.25, 1.0], [1.5, 3.0], [0.5, 2.0]]
    np.testing.assert_allclose(
        found.values["class_prefix_hit_ratio"].data, [[0.5, 0.2], [0.5, 0.2], [0.25, 0.1], [0.0, 0.45]]
    )
    assert found.values["class_tpot_slo_s"].dims == frozenset()


def test_what_scenarios_may_not_do_to_a_class() -> None:
    chat = {**CHAT, "prefix_hit_ratio": 0.5}
    said = faults([chat, CODE], scenarios={"x": {"prefix_hit_ratio": 0}})
    assert said == ["scenario x sets prefix_hit_ratio, and class chat has its own: name it under classes"]
    change = {"classes": {"chat": {"prefix_hit_ratio": {"multiply": 2}}}}
    said = faults([chat, CODE], scenarios={"x": change})
    assert said == ["scenario x takes prefix_hit_ratio of class chat to 1; it must be >= 0 and < 1"]
    change = {"classes": {"chat": {"e2e": {"limit": {"multiply": 2}}}}}
    assert faults(scenarios={"x": change}) == ["a scenario wants to multiply e2e_slo_s, which has no value"]


def test_workloads_with_their_own_classes_share_one_axis() -> None:
    workloads = {
        "one": {"arrival_rate": 20, "classes": [{**CHAT, "weight": 1, "e2e": {"limit": 9}}], "prefix_hit_ratio": 0.4},
        "two": {"arrival_rate": 20, "classes": [CHAT, {**CODE, "prefix_hit_ratio": 0.9}], "prefix_hit_ratio": 0.1},
    }
    base = json.loads(text())
    del base["workload"]
    found = build_inputs(gridplan.loads_grid(json.dumps({**base, "workloads": workloads})))
    assert values(found, "class_weight") == [[1.0, 0.0], [0.75, 0.25]]
    assert values(found, "class_prompt_tokens") == [[1000.0, 1000.0], [1000.0, 4000.0]]
    np.testing.assert_array_equal(found.values["class_e2e_slo_s"].data, [[9.0, NAN], [NAN, NAN]])
    assert values(found, "class_prefix_hit_ratio") == [[0.4, 0.4], [0.1, 0.9]]


def test_limits_of_a_class_may_differ_by_label() -> None:
    chat = {**CHAT, "tpot": {"limit": {"by": "gpu", "h100-sxm": 0.02, "default": 0.04}}}
    deployment = {name: value for name, value in DEPLOYMENT.items() if name != "gpu"}
    found = inputs([chat, CODE], deployment=deployment, axes={"gpu": ["h100-sxm", "a100-sxm-80gb"]})
    assert values(found, "class_tpot_slo_s") == [[0.02, 0.05], [0.04, 0.05]]


def test_hits_of_classes_count_in_the_work_and_in_the_longest_prefill() -> None:
    hits = [{**CHAT, "prefix_hit_ratio": 0.5}, {**CODE, "prefix_hit_ratio": 0.9}]
    cube, plain = plan(hits), plan()
    # 0.75 * 500 + 0.25 * 400 = 475 of 1750 tokens; the longest prefill is now that of the shorter prompt.
    assert cube["uncached_tokens_mean"].item() == pytest.approx(475, rel=1e-14)
    assert cube["uncached_tokens_max"].item() == 500
    assert cube["prefill_demand"].item() / plain["prefill_demand"].item() == pytest.approx(475 / 1750, rel=1e-13)
    assert cube["prefill_longest_s"].item() / plain["prefill_longest_s"].item() == pytest.approx(500 / 4000, rel=1e-13)
    # Hits save prefill and not memory.
    assert cube["kv_bytes_per_sequence"].item() == plain["kv_bytes_per_sequence"].item()
    assert cube["lambda_instance"].item() > plain["lambda_instance"].item()


def test_the_same_hits_by_class_are_the_same_plan_to_the_last_bit() -> None:
    axes = {"tensor_parallel": [2, 4], "arrival_rate": [1.0, 7.0, 90.0]}
    deployment = {name: value for name, value in DEPLOYMENT.items() if name != "tensor_parallel"}
    policy = {"rho_target": 0.65, "redundancy": 1}
    for hit in (0.3, 0.71):
        own = [{**item, "prefix_hit_ratio": hit} for item in (CHAT, CODE)]
        sections = {"axes": axes, "policy": policy, "slo": {"tpot": {"limit": 0.05}, "ttft": {"limit": 1}}}
        one = json.loads(text(own, deployment=deployment, **sections))
        two = json.loads(text(deployment={**deployment, "prefix_hit_ratio": hit}, **sections))
        del one["workload"]["arrival_rate"], two["workload"]["arrival_rate"]
        cubes = [gridplan.evaluate(gridplan.loads_grid(json.dumps(item))) for item in (one, two)]
        xr.testing.assert_equal(*cubes)


LENGTHS = {"mean": 400, "scv": 1, "kind": "lognormal", "max": "8k tokens"}


def test_a_random_length_keeps_its_mean_and_its_longest_length() -> None:
    found = inputs([{**CHAT, "output_tokens": LENGTHS}, CODE])
    assert found.values["class_weight"].data.shape[-1] == 17
    np.testing.assert_allclose(found.values["class_weight"].data.ravel()[:16], 0.75 / 16)
    cube = plan([{**CHAT, "output_tokens": LENGTHS}, CODE])
    assert cube["output_tokens_mean"].item() == pytest.approx(0.75 * 400 + 0.25 * 400, rel=1e-12)
    assert cube["prompt_tokens_mean"].item() == 1750
    assert cube["context_tokens_max"].item() == 9000  # 1,000 of chat and its 8,000, above the 4,400 of code
    assert cube["prompt_tokens_max"].item() == 4000


def test_nodes_and_what_varies_within_them_make_the_whole_variance() -> None:
    """E[O^2] = sum w O^2 (1 + scv within) = mean^2 (1 + scv), and so after a scenario that scales or shifts."""
    scenarios = {
        **{"double": {"output_tokens": {"multiply": 2}}, "fixed": {"classes": {"chat": {"output_tokens": 300}}}},
        "more": {"output_tokens": {"add": 100}},
    }
    found = inputs([{**CHAT, "weight": 1, "output_tokens": LENGTHS}], scenarios=scenarios)
    weight, output, within = (found.values[f"class_{x}"].data for x in ("weight", "output_tokens", "output_tokens_scv"))
    second = np.sum(weight * output**2 * (1 + within), axis=-1)
    np.testing.assert_allclose(second, [2 * 400**2, 2 * 800**2, 300**2, 500**2 + 400**2], rtol=1e-9)
    assert values(inputs(), "class_output_tokens_scv") == [0.0, 0.0]


def test_prompt_and_output_are_independent() -> None:
    prompt = {"mean": 1000, "scv": 0.5, "kind": "gamma", "max": 9000}
    workload = {"arrival_rate": 20, "prompt_tokens": prompt, "output_tokens": LENGTHS}
    found = inputs(workload=workload)
    weight, prompts, outputs = (found.values[f"class_{x}"].data for x in ("weight", "prompt_tokens", "output_tokens"))
    assert weight.shape[-1] == 8 * 16
    assert np.sum(weight * prompts * outputs) == pytest.approx(1000 * 400, rel=1e-12)
    assert gridplan.evaluate(gridplan.loads_grid(text(workload=workload)))["context_tokens_max"].item() == 17_000
    few = inputs(
        workload={**workload, "prompt_tokens": {**prompt, "nodes": 3}, "output_tokens": {**LENGTHS, "nodes": 5}}
    )
    assert few.values["class_weight"].data.shape[-1] == 15


def test_without_a_longest_length_the_longest_node_is_it_and_said_so() -> None:
    lengths = {"quantiles": {"50": 120, "90": 800, "99": 4000}}
    cube = plan([{**CHAT, "output_tokens": lengths}, CODE])
    said = "output_tokens of class chat has no max: the longest request is taken from its longest node"
    assert said in cube.attrs["warnings"]
    with_max = plan([{**CHAT, "output_tokens": {**lengths, "max": 8000}}, CODE])
    assert "has no max" not in with_max.attrs["warnings"]
    assert with_max["context_tokens_max"].item() == 9000


def test_a_longest_length_below_its_nodes_contradicts_them() -> None:
    (said,) = faults([{**CHAT, "output_tokens": {**LENGTHS, "max": 900}}, CODE])
    assert said.startswith("class chat: max 900 is below 1")
    assert said.endswith(
        "the mean of the longest 1/16 of lognormal lengths with mean 400 and scv 1: the two do not agree"
    )


def test_a_steep_tail_is_a_fault_of_its_own_length() -> None:
    steep = {"quantiles": {"1": 1, "2": 1e6}}
    with pytest.raises(gridplan.ContractError) as caught:
        inputs([{**CHAT, "prompt_tokens": LENGTHS, "output_tokens": steep}, CODE])
    (problem,) = caught.value.problems
    assert problem.key == "workload.classes[0].output_tokens"
    assert problem.message.startswith("class chat: the last two quantiles rise so steeply")


def test_equal_lengths_plan_as_numbers_do() -> None:
    for form in ({"mean": 200, "kind": "deterministic"}, {"mean": 200, "scv": 0, "kind": "gamma"}):
        cube, plain = plan([{**CHAT, "output_tokens": form}, CODE]), plan()
        xr.testing.assert_equal(cube, plain)


def test_more_nodes_change_no_mean_and_no_demand() -> None:
    """Prefill and decode work of a request are sums of O, P and O (P + O/2): only E[O^2] depends on the nodes."""
    cubes = [plan([{**CHAT, "prompt_tokens": {**LENGTHS, "nodes": nodes}}, CODE]) for nodes in (1, 16, 64)]
    for name in ("prefill_demand", "decode_demand", "request_work_s", "lambda_instance", "resident_tokens"):
        np.testing.assert_allclose([cube[name].item() for cube in cubes], cubes[0][name].item(), rtol=1e-12)


def test_scenarios_scale_every_node() -> None:
    scenarios = {
        **{"double": {"output_tokens": {"multiply": 2}}, "more": {"classes": {"chat": {"output_tokens": {"add": 50}}}}},
        **{"fixed": {"classes": {"chat": {"output_tokens": 300}}}, "lighter": {"prompt_tokens": {"multiply": 0.5}}},
    }
    cube = plan([{**CHAT, "weight": 1, "output_tokens": LENGTHS}], scenarios=scenarios)
    np.testing.assert_allclose(cube["output_tokens_mean"], [400, 800, 450, 300, 400], rtol=1e-12)
    np.testing.assert_allclose(cube["context_tokens_max"], [9000, 17_000, 9050, 1300, 8500], rtol=1e-12)


def test_a_scenario_may_fix_the_random_lengths_of_a_workload() -> None:
    workload = {"arrival_rate": 20, "prompt_tokens": 1000, "output_tokens": LENGTHS}
    cube = plan(
        workload=workload, scenarios={"fixed": {"output_tokens": 300}, "half": {"output_tokens": {"multiply": 0.5}}}
    )
    np.testing.assert_allclose(cube["output_tokens_mean"], [400, 300, 200], rtol=1e-12)
    np.testing.assert_allclose(cube["context_tokens_max"], [9000, 1300, 5000], rtol=1e-12)
    none = {"none": {"output_tokens": {"multiply": 0.001}}}
    (said,) = faults(workload=workload, scenarios=none)
    assert said == "scenario none: output_tokens must be >= 1; 400 x 0.001 = 0.4 is not"
    quantiles = {**workload, "output_tokens": {"quantiles": {"50": 100, "90": 300}, "max": 900}}
    few = {"few": {"output_tokens": {"multiply": 0.005}}}
    assert faults(workload=quantiles, scenarios=few) == ["scenario few leaves a class without weight or tokens"]
    half = plan(workload=quantiles, scenarios={"half": {"output_tokens": {"multiply": 0.5}}})["output_tokens_mean"]
    assert half[1].item() == pytest.approx(half[0].item() / 2, rel=1e-12)


def test_no_node_has_less_than_one_token() -> None:
    found = inputs([{**CHAT, "weight": 1, "output_tokens": {"mean": 4, "scv": 4, "kind": "gamma", "max": 900}}])
    weight, output = (found.values[f"class_{name}"].data for name in ("weight", "output_tokens"))
    assert output.min() == 1.0
    assert np.sum(weight * output) == pytest.approx(4.0, rel=1e-12)


def test_random_lengths_are_a_mix_of_lengths() -> None:
    workload = {"arrival_rate": 20, "prompt_tokens": 1000, "output_tokens": LENGTHS}
    assert "resident_context final (the default) averages" in plan(workload=workload).attrs["warnings"]
    equal = {**workload, "output_tokens": {"mean": 400, "kind": "deterministic"}}
    assert "warnings" not in plan(workload=equal).attrs


def test_what_nothing_reads_is_said() -> None:
    chat = {**CHAT, "itl": {"percentile": 99}}
    said = plan([chat, CODE], policy={"rho_target": 0.65, "arrival_scv": 2}).attrs["warnings"]
    assert "itl_slo_percentile of a class is not used: itl_slo_s is not given" in said


MEASURED = {"capacity_model": "measured", "lambda_instance_given": 5.0}


def sources(**sections: Any) -> list[str]:
    return [str(label) for label in plan(capacity=MEASURED, **sections)["capacity_source"].values.ravel()]


def test_a_measured_rate_belongs_to_the_hits_and_limits_of_its_classes() -> None:
    """Nominal is where it was measured; what a scenario changes in one class is another setting."""
    scenarios = {
        "cold": {"classes": {"chat": {"prefix_hit_ratio": 0.1}}},
        "tight": {"classes": {"code": {"ttft": {"limit": 0.5}}}},
        "more": {"arrival_rate": {"multiply": 2}},
    }
    assert sources(scenarios=scenarios) == ["measured", "scaled", "scaled", "measured"]
    free = {**MEASURED, "applies_to": {"prefix_hit_ratio": "any", "slo": "any"}}
    cube = plan(capacity=free, scenarios=scenarios)
    assert cube["capacity_source"].values.tolist() == ["measured"] * 4


def test_a_measured_rate_of_one_workload_holds_there_whatever_classes_others_have() -> None:
    workloads = {
        "one": {"arrival_rate": 20, "classes": [{**CHAT, "weight": 1}], "prefix_hit_ratio": 0.4},
        "two": {"arrival_rate": 20, "classes": [CHAT, CODE], "prefix_hit_ratio": 0.4},
    }
    base = json.loads(text())
    del base["workload"]
    for measured_at, expected in (("one", ["measured", "scaled"]), ("two", ["scaled", "measured"])):
        capacity = {**MEASURED, "measured_at": {"workload": measured_at}}
        written = json.dumps({**base, "workloads": workloads, "capacity": capacity})
        cube = gridplan.evaluate(gridplan.loads_grid(written))
        assert cube["capacity_source"].values.tolist() == expected


def test_a_table_of_workloads_shows_the_mean_of_a_random_length(tmp_path: Any) -> None:
    base = json.loads(text())
    classes = [{**CHAT, "weight": 1, "output_tokens": LENGTHS}]
    workloads = {"a": {**base.pop("workload"), "classes": classes}}
    gridplan.run(gridplan.loads_grid(json.dumps({**base, "workloads": workloads})), tmp_path / "cube")
    import pyarrow.parquet as pq

    (row,) = pq.read_table(tmp_path / "cube" / "dims" / "workload.parquet").to_pylist()
    assert (row["class"], row["prompt_tokens"], row["output_tokens"]) == ("chat", 1000.0, 400.0)
