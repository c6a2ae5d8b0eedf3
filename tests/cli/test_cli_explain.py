"""`gridplan explain`: the chain of one cell with its numbers, and cells that do not exist."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan import chain
from gridplan.dictionary import dictionary
from gridplan.engine.inputs import build_inputs
from gridplan.report.sections import SECTIONS

GRIDS = Path(__file__).parents[2] / "grids"

Line = dict[str, Any]


@pytest.fixture(scope="module")
def page(cli: Any, grids: Path) -> str:
    """chains-70b as text."""
    outcome = cli("explain", grids / "chains-70b.yaml")
    assert (outcome.code, outcome.err) == (0, "")
    text: str = outcome.out
    return text


@pytest.fixture(scope="module")
def data(cli: Any, grids: Path) -> dict[str, Any]:
    """chains-70b as JSON."""
    found: dict[str, Any] = json.loads(cli("explain", grids / "chains-70b.yaml", "--json").out)
    return found


def line_of(page: str, name: str) -> str:
    (found,) = (line for line in page.splitlines() if line.startswith((f"  {name} (", f"  {name} = ")))
    return found


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("prefill_demand", "= 14.26 replica-s/s"),
        ("decode_demand", "= 4.21 replica-s/s"),
        ("tpot_share", "= 0.860"),
        ("replicas_fractional", "= 33.05 replicas → 34"),
        ("replicas", "= 34"),
        ("gpus", "= 136"),
        ("tpot_s", "= 15.4 ms"),
        ("batch_mean", "= 27.1 sequences"),
        ("burst_to_slo", "= 1.58"),
        ("step_weights_read_s", "= 7.02 ms"),
        ("prefill_compute_per_token_s", "= 35.65 us"),
    ],
)
def test_the_figures_of_the_chain(page: str, name: str, shown: str) -> None:
    """ "Inference system design chains": Llama-3.3-70B FP8 on TP4 H100 at 200 requests/s."""
    assert line_of(page, name).endswith(shown)


@pytest.mark.parametrize(
    ("name", "value", "within"),
    [
        ("prefill_demand", 14.260, 5e-4),
        ("decode_demand", 4.206, 5e-4),
        ("tpot_share", 0.8596, 5e-5),
        ("replicas_fractional", 33.05, 5e-3),
        ("replicas", 34, 0),
        ("gpus", 136, 0),
        ("tpot_s", 0.01536, 5e-6),
        ("batch_mean", 27.1, 0.05),
        ("burst_to_slo", 1.583, 5e-4),
        ("prefill_compute_per_token_s", 35.649e-6, 5e-10),
        ("kv_bytes_per_sequence_per_gpu", 176.128e6, 0),
    ],
)
def test_json_has_the_unrounded_numbers(data: dict[str, Any], name: str, value: float, within: float) -> None:
    """ "Inference system design chains", to the digits that its corrected figures have."""
    assert data["values"][name] == pytest.approx(value, rel=0, abs=within)


def on_request(name: str) -> xr.Dataset:
    """The measures that an explanation shows beside those of every cube."""
    names = [item for names in SECTIONS.values() for item in names if dictionary()[item].on_request]
    return gridplan.evaluate(gridplan.load_grid(GRIDS / f"{name}.yaml"), names)


def test_json_equals_the_cube(data: dict[str, Any], cube: Callable[[str], xr.Dataset]) -> None:
    plan = cube("chains-70b").assign(on_request("chains-70b").data_vars)
    assert len(data["values"]) > 50
    assert all(value == plan[name].item() for name, value in data["values"].items())
    assert data["status"] == plan["status"].item() == "ok"
    assert data["labels_of_the_cell"]["binding_constraint"] == plan["binding_constraint"].item() == "tpot"


WIDE = """
schema: 1
workload: {prompt_tokens: 1000, output_tokens: 200, arrival_rate: 50, peak_to_average: 2, prefix_hit_ratio: 0.3}
slo: {tpot: {limit: 50 ms, percentile: mean}, e2e: {limit: 30, percentile: mean}}
deployment:
  {gpu: h100-sxm, model: llama-3.3-70b, weight_dtype: fp8, tensor_parallel: 4, pipeline_parallel: 3, data_parallel: 2,
  workspace_bytes: 4 GiB, step_per_sequence_s: 20 us, max_num_seqs: 64, gpus_per_node: 8, usd_per_node_hour: 30}
policy: {rho_target: 0.7, redundancy: 1, failure_domain: node, lost_units: 1, lost_domain: zone, zones: 3}
"""
MEMORY = """
schema: 1
workload: {{prompt_tokens: 6000, output_tokens: 500, arrival_rate: 10}}
slo: {{tpot_slo_s: 0.05}}
deployment: {{gpu: h100-sxm, {}}}
policy: {{rho_target: 0.65}}
"""
IN_WORDS = {
    *("prompt_tokens_mean", "output_tokens_mean", "context_tokens_mean", "context_tokens_max", "resident_tokens"),
    *("step_context_tokens", "lambda_analytical", "replicas", "arrival_rate_next_step"),
}
"""Results whose formula is a sentence."""
FUNCTIONS = {"min": min, "max": max, "floor": math.floor, "ceil": math.ceil, "__builtins__": {}}


def of_the_chain(grid: gridplan.contract.Grid) -> dict[str, float]:
    """Numbers of the chain behind the measures, for a grid of one cell."""
    inputs = build_inputs(grid)
    if set(inputs.space.shape) - {1}:
        return {}
    values = chain.evaluate(inputs.steps, {name: item.data for name, item in inputs.values.items()})
    found = {name: np.asarray(array) for name, array in values.items()}
    return {
        name: float(array.ravel()[0])
        for name, array in found.items()
        if array.size == 1 and array.dtype == float and not np.isnan(array).any()
    }


PORTFOLIO = """
schema: 1
workload: {{arrival_rate: 60, prompt_tokens: 1000, output_tokens: 300, hourly_load: [60, 60, 60, 14]}}
deployment: {{gpus_per_node: 8, tensor_parallel: {}, usd_per_node_hour: 10, reserved_usd_per_node_hour: 6}}
capacity: {{capacity_model: measured, lambda_instance_given: 1.0, applies_to: any}}
policy: {{rho_target: 0.55, hours_per_month: 720, redundancy: 1, purchase: portfolio}}
"""
"""The bill of a portfolio has other formulas: it pays hours, not the fleet of the peak."""


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("chains-70b", {}),
        ("chains-price", {}),
        ("coding-problem", {}),
        ("theory", {"rho_target": 0.9, "scenario": "w_halved"}),
        ("lesson", {"instance": "aws-p4de", "scenario": "node_loss"}),
        ("lesson", {"instance": "fractional", "scenario": "surge"}),
        ("lesson-opening", {"rho_target": 0.7, "scenario": "given_1000_tok_s"}),
        ("quickstart", {"gpu": "h200-sxm", "model": "deepseek-v3"}),
        ("quickstart", {"gpu": "mi300x", "model": "qwen3-30b-a3b"}),
        ("quickstart", {"gpu": "l4", "model": "llama-3.3-70b"}),
        (WIDE, {}),
        # A fraction of what is free (fits, does not), pages, ranks that share a sequence or have pools of their own
        (MEMORY.format("model: llama-3.1-8b, engine: tensorrt-llm, workspace_bytes: 3 GiB"), {}),
        (MEMORY.format("model: llama-3.3-70b, engine: tensorrt-llm, workspace_bytes: 3 GiB"), {}),
        (MEMORY.format("model: qwen3-next-80b-a3b, tensor_parallel: 8, kv_efficiency: 0.9"), {}),
        (MEMORY.format("model: llama-3.3-70b, tensor_parallel: 16, decode_context_parallel: 2, gpus_per_node: 16"), {}),
        (MEMORY.format("model: llama-3.1-8b, kv_pool_tokens_given: 1e6, data_parallel: 2"), {}),
        (MEMORY.format("model: llama-3.1-8b, tensor_parallel: 16, kv_bytes_per_sequence_given: 1e9"), {}),
        # Commitments that an hour does not need; GPUs that replicas of three cannot use, replicas of two nodes
        (PORTFOLIO.format(3), {}),
        (PORTFOLIO.format("8, pipeline_parallel: 2"), {}),
    ],
)
def test_a_printed_formula_gives_the_printed_value(grids: Path, name: str, labels: dict[str, Any]) -> None:
    """Every formula that is arithmetic, computed by Python from the values of the cell."""
    rest = {"kv_dtype": "fp8", "context_tokens": 8192, "rho_target": 0.7, "arrival_rate": 100}
    labels = {**rest, **labels} if name == "quickstart" else labels
    grid = gridplan.loads_grid(name) if "schema" in name else gridplan.load_grid(grids / f"{name}.yaml")
    found: Any = gridplan.explain(grid, **labels).to_dict()
    cell = gridplan.evaluate(grid).sel(found["labels"])
    # An absent ceiling limits nothing.
    known = {str(key): value.item() for key, value in cell.data_vars.items()}
    known |= {key: math.inf for key in ("concurrency_compute", "concurrency_slo") if known[key] != known[key]}
    known |= {item["name"]: item["value"] for item in found["inputs"]}
    known |= {key: value for key, value in of_the_chain(grid).items() if key not in known}
    floors = {"floor": lambda x: x if math.isinf(x) else math.floor(x * (1 + 1e-12))}
    wrong, checked = [], 0
    for line in found["chain"]:
        formula = line["formula"]
        if line["name"] in IN_WORDS or "flop_params_count" in formula:
            continue
        if not set(re.findall(r"[a-z][a-z0-9_]*", formula)) <= {*known, *FUNCTIONS}:
            continue  # attributes of a catalog entry, which are not listed
        checked += 1
        value = eval(formula, {**FUNCTIONS, **floors}, known)
        if not math.isclose(value, line["value"], rel_tol=1e-9):
            wrong.append(f"{line['name']}: {formula} is {value}, printed {line['value']}")
    assert not wrong, "\n".join(wrong)
    assert checked >= 15


def test_numbers_stand_in_place_of_names(data: dict[str, Any]) -> None:
    chain: list[Line] = data["chain"]
    assert all(line["long_name"] and line["formula"] and line["text"] for line in chain)
    share = next(line for line in chain if line["name"] == "tpot_share")
    assert share["formula"].replace("max(0, ", "").rstrip(")") == "1 - step_weights_read_s / tpot_slo_s"
    assert "1 - 7.02 ms / 50.00 ms" in share["numbers"]


@pytest.mark.parametrize("name", ["chains-70b", "theory", "coding-problem", "chains-price", "lesson-opening"])
def test_every_input_has_a_class_and_a_source(cli: Any, grids: Path, name: str) -> None:
    at = ["--at", "rho_target=0.7"] if name in ("theory", "lesson-opening") else []
    found = json.loads(cli("explain", grids / f"{name}.yaml", *at, "--json").out)
    assert found["inputs"]
    for item in found["inputs"]:
        assert item["class"] in ("fact", "policy", "measurement", "assumption"), item
        assert item["source"], item
        assert item["from"], item
    page = cli("explain", grids / f"{name}.yaml", *at).out
    listed = page[page.index("inputs (class, source, date)") :].splitlines()[1:]
    assert [line.split()[0] for line in listed] == [item["name"] for item in found["inputs"]]
    assert all(item["class"] in line for line, item in zip(listed, found["inputs"], strict=True))


def test_a_value_of_the_catalog_has_its_own_source_and_date(data: dict[str, Any]) -> None:
    bandwidth = next(item for item in data["inputs"] if item["name"] == "memory_bandwidth_bytes_per_s")
    assert (bandwidth["class"], bandwidth["as_of"], bandwidth["from"]) == ("fact", "2026-04-03", "gpu h100-sxm")
    assert bandwidth["source"].startswith("https://github.com/ai-dynamo/aiconfigurator/")


def test_labels_choose_the_cell(cli: Any, grids: Path, cube: Callable[[str], xr.Dataset]) -> None:
    at = "gpu=h200-sxm,model=llama-3.1-8b,kv_dtype=fp8,context_tokens=8192,rho_target=0.7,arrival_rate=10"
    found = json.loads(cli("explain", grids / "quickstart.yaml", "--at", at, "--json").out)
    cell = cube("quickstart").assign(on_request("quickstart").data_vars).sel(found["labels"])
    assert found["labels"] == {**dict(gpu="h200-sxm", model="llama-3.1-8b", kv_dtype="fp8"), **_numbers()}
    assert all(value == cell[name].item() for name, value in found["values"].items())
    # The same labels one by one, and numbers in another spelling.
    parts = [part for pair in at.replace("8192", "8192.0").split(",") for part in ("--at", pair)]
    assert json.loads(cli("explain", grids / "quickstart.yaml", *parts, "--json").out) == found


def _numbers() -> dict[str, float]:
    return {"context_tokens": 8192.0, "rho_target": 0.7, "arrival_rate": 10.0}


def test_an_infeasible_cell_says_what_is_missing(cli: Any, grids: Path) -> None:
    at = "gpu=l4,model=llama-3.3-70b,kv_dtype=fp8,context_tokens=8192,rho_target=0.7,arrival_rate=10"
    outcome = cli("explain", grids / "quickstart.yaml", "--at", at)
    assert outcome.code == 0
    assert "infeasible: weights_exceed_memory: 17.00 GiB a GPU are missing" in outcome.out
    found = json.loads(cli("explain", grids / "quickstart.yaml", "--at", at, "--json").out)
    # By hand: 141.107 GB over 4 GPUs and 4 GiB of workspace, against 90% of 22.06 GiB.
    missing = 70553706496 * 2 / 4 + 4 * 2**30 - 0.9 * 22.06 * 2**30
    assert found["values"]["memory_shortfall_bytes_per_gpu"] == pytest.approx(missing, rel=1e-12)
    assert "replicas" not in found["values"]


def test_a_scenario_may_be_left_out_and_is_nominal(cli: Any, grids: Path) -> None:
    found = json.loads(cli("explain", grids / "lesson.yaml", "--at", "instance=fractional", "--json").out)
    assert found["labels"] == {"scenario": "nominal", "instance": "fractional"}


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (["scenari=surge,instance=aws-p4de"], ["scenari is not an axis of this grid (did you mean scenario?)"]),
        (["instance=aws-p4d"], ["aws-p4d is not on the axis: aws-p4de, fractional (did you mean aws-p4de?)"]),
        (["scenario=surg,instance=aws-p4de"], ["surg is not on the axis", "(did you mean surge?)"]),
        ([], ["instance", "aws-p4de, fractional"]),
        (["instance=aws-p4de,instance=fractional"], ["instance twice"]),
        (["instance=aws-p4de", "instance=aws-p4de"], ["instance twice"]),
        (["instance"], ["AXIS=LABEL", "'instance'"]),
        (["instance="], ["AXIS=LABEL"]),
        (["=aws-p4de"], ["AXIS=LABEL"]),
        (["gpu=a100-sxm-80gb,instance=nope"], ["gpu is not an axis", "nope is not on the axis"]),
    ],
)
def test_a_cell_that_does_not_exist(cli: Any, grids: Path, at: list[str], expected: list[str]) -> None:
    options = [part for pair in at for part in ("--at", pair)]
    outcome = cli("explain", grids / "lesson.yaml", *options)
    assert outcome.code == 2
    assert outcome.out == ""
    assert all(text in outcome.err for text in expected), outcome.err


def test_a_number_off_its_axis_names_the_axis(cli: Any, grids: Path) -> None:
    outcome = cli("explain", grids / "theory.yaml", "--at", "rho_target=0.75")
    assert outcome.code == 2
    assert "0.75 is not on the axis: 0.7, 0.9" in outcome.err
