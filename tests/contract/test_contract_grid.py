"""Contracts that are right: every form of value lands in the grid with its number, class, source and place."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from gridplan.contract import Grid, load_grid, loads_grid
from gridplan.contract.grid import By, Change, Measured

HEAD = "schema: 1\nworkload: {arrival_rate: 10}\npolicy: {rho_target: 0.7}\n"

LESSON = """\
# yaml-language-server: $schema=contract.schema.json
schema: 1
name: lesson
description: a mix of three classes
workload:
  classes:
    - {name: short chat,    weight: 0.70, prompt_tokens: 32,  output_tokens: 64}
    - {name: code query,    weight: 20%,  prompt_tokens: 128, output_tokens: 256}
    - {name: summarisation, weight: 0.10, prompt_tokens: 512, output_tokens: 256}
  arrival_rate: 60
  peak_to_average: 3.0
slo:
  ttft: {limit: 1.0 s,  percentile: 95}
  tpot: {limit: 25 ms,  percentile: 99.9}
  e2e:  {limit: 5.0 s,  percentile: mean}
deployment:
  model: llama-3-8b
  gpu_memory_bytes: 79.65 GiB
  params_total: 8.03e9
  mbu: {value: 0.76, class: measurement, source: profiler, as_of: 2025-04-28}
capacity:
  capacity_model: measured
  lambda_instance_given: 10.0
  applies_to: any
policy: {rho_target: 0.70, redundancy: 1, hours_per_month: 732}
catalog:
  instances:
    aws-p4de:   {gpu: a100-sxm-80gb, gpus_per_node: 8, usd_per_node_hour: 40.96, as_of: 2025-04-28, source: lesson}
    fractional: {gpu: a100-sxm-80gb, gpus_per_node: 1, usd_per_node_hour: 2.49,  as_of: 2025-04-28, source: lesson}
axes: {instance: [aws-p4de, fractional]}
scenarios:
  surge: {arrival_rate: {multiply: 1.5}}
  context_x2: {classes: {summarisation: {prompt_tokens: 2048}}, lambda_instance_given: 7.5}
  nominal: {}
  fp8_kv: {kv_dtype: fp8}
"""


@pytest.fixture(scope="module")
def lesson() -> Grid:
    return loads_grid(LESSON, "lesson.yaml")


def value(grid: Grid, name: str) -> object:
    return grid.given[name].value


def test_quantities_become_base_units(lesson: Grid) -> None:
    assert value(lesson, "gpu_memory_bytes") == 79.65 * 2**30
    assert value(lesson, "params_total") == 8.03e9
    assert value(lesson, "tpot_slo_s") == 0.025
    assert value(lesson, "redundancy") == 1.0
    assert lesson.workloads[0].given["arrival_rate"].value == 60.0


def test_percentiles_are_labels(lesson: Grid) -> None:
    names = ("ttft_slo_percentile", "tpot_slo_percentile", "e2e_slo_percentile")
    assert [value(lesson, name) for name in names] == ["95", "99.9", "mean"]


def test_provenance_is_the_stated_one_or_the_dictionarys(lesson: Grid) -> None:
    mbu = lesson.given["mbu"]
    assert (mbu.value, mbu.cls, mbu.source, mbu.as_of) == (0.76, "measurement", "profiler", "2025-04-28")
    rho = lesson.given["rho_target"]
    assert (rho.cls, rho.source, rho.as_of) == ("policy", "contract", "")
    assert lesson.given["gpu_memory_bytes"].cls == "fact"


def test_places_count_from_one(lesson: Grid) -> None:
    place = lesson.given["rho_target"].place
    assert place is not None
    assert (place.file, place.line, place.column, place.key) == ("lesson.yaml", 25, 22, "policy.rho_target")
    limit = lesson.given["ttft_slo_s"].place
    assert limit is not None
    assert (limit.line, limit.key) == (13, "slo.ttft.limit")


def test_classes_keep_order_and_shares(lesson: Grid) -> None:
    workload = lesson.workloads[0]
    assert workload.name == ""
    assert [item.name for item in workload.classes] == ["short chat", "code query", "summarisation"]
    assert [item.weight for item in workload.classes] == [0.7, 0.2, 0.1]
    assert (workload.classes[2].prompt_tokens, workload.classes[2].output_tokens) == (512.0, 256.0)


def test_nominal_comes_first_and_changes_are_typed(lesson: Grid) -> None:
    assert [item.name for item in lesson.scenarios] == ["nominal", "surge", "context_x2", "fp8_kv"]
    surge, context, fp8 = lesson.scenarios[1:]
    assert (surge.changes["arrival_rate"].op, surge.changes["arrival_rate"].value) == ("multiply", 1.5)
    change = context.classes["summarisation"]["prompt_tokens"]
    assert (change.op, change.value) == ("set", 2048.0)
    assert (fp8.changes["kv_dtype"].op, fp8.changes["kv_dtype"].value) == ("set", "fp8")


def test_nominal_is_inserted_only_beside_other_scenarios() -> None:
    assert [item.name for item in loads_grid(HEAD + "scenarios: {surge: {}}").scenarios] == ["nominal", "surge"]
    assert loads_grid(HEAD).scenarios == ()
    assert loads_grid(HEAD + "scenarios:\n").scenarios == ()
    assert [item.name for item in loads_grid(HEAD + "scenarios:\n  nominal:\n").scenarios] == ["nominal"]


def test_text_name_hash_and_catalog_are_kept(lesson: Grid) -> None:
    assert lesson.name == "lesson"
    assert lesson.text == LESSON
    assert lesson.sha256 == hashlib.sha256(LESSON.encode()).hexdigest()
    assert lesson.catalog["instances"]["fractional"]["usd_per_node_hour"] == 2.49
    assert lesson.catalog["instances"]["fractional"]["as_of"] == "2025-04-28"
    assert lesson.measured == Measured({}, frozenset({"any"}), "none", lesson.measured.place)


def test_the_hash_is_of_the_bytes_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "unnamed.yaml"
    content = b"\xef\xbb\xbf" + HEAD.replace("\n", "\r\n").encode()
    path.write_bytes(content)
    grid = load_grid(path)
    assert grid.sha256 == hashlib.sha256(content).hexdigest()
    assert (grid.name, grid.path) == ("unnamed", str(path))


def test_a_grid_is_frozen(lesson: Grid) -> None:
    with pytest.raises(AttributeError):
        lesson.name = "other"  # type: ignore[misc]


def test_values_by_label() -> None:
    text = HEAD + (
        "axes: {model: [llama-3-8b, llama-3.3-70b]}\n"
        "deployment:\n"
        "  tensor_parallel: {by: model, llama-3.3-70b: 4, default: 1}\n"
        "  weight_dtype: {value: {by: model, llama-3-8b: bf16, llama-3.3-70b: fp8}, source: policy of the team}\n"
    )
    grid = loads_grid(text)
    assert value(grid, "tensor_parallel") == By("model", {"llama-3.3-70b": 4.0}, 1.0)
    assert value(grid, "weight_dtype") == By("model", {"llama-3-8b": "bf16", "llama-3.3-70b": "fp8"}, None)
    assert grid.given["weight_dtype"].source == "policy of the team"


def test_several_workloads() -> None:
    text = """\
schema: 1
workloads:
  chat: {prompt_tokens: 1k tokens, output_tokens: 200, arrival_rate: 5}
  code: {classes: [{name: a, count: 3, prompt_tokens: 10, output_tokens: 10}, {name: b, count: 1, prompt_tokens: 20,
         output_tokens: 20}], arrival_rate: 7}
deployment: {prefix_hit_ratio: {by: workload, chat: 0.5, code: 0}}
policy: {rho_target: 0.7}
"""
    grid = loads_grid(text)
    assert [item.name for item in grid.workloads] == ["chat", "code"]
    assert grid.workloads[0].given["prompt_tokens"].value == 1000.0
    assert [item.weight for item in grid.workloads[1].classes] == [0.75, 0.25]


def test_inputs_may_stand_in_any_section() -> None:
    grid = loads_grid("schema: 1\ndeployment: {arrival_rate: 2, rho_target: 0.5}\nworkload: {model: llama-3-8b}\n")
    assert value(grid, "arrival_rate") == 2.0
    assert grid.workloads[0].given["model"].value == "llama-3-8b"


def test_a_measurement_says_what_it_belongs_to() -> None:
    text = HEAD + (
        "capacity:\n  capacity_model: measured\n  lambda_instance_given: 4\n  applies_to: {slo: any, zones: any}\n"
        "  measured_at: {kv_dtype: bf16, tensor_parallel: 2, ttft_slo_s: 400 ms}\n  fallback: analytical\n"
    )
    measured = loads_grid(text).measured
    assert measured.measured_at == {"kv_dtype": "bf16", "tensor_parallel": 2.0, "ttft_slo_s": 0.4}
    assert measured.applies_to == {"slo", "zones"}
    assert measured.fallback == "analytical"


def test_a_scenario_value_may_carry_its_source() -> None:
    text = HEAD + (
        "scenarios:\n  sweep:\n"
        "    lambda_instance_given: {value: 7.5, class: measurement, source: run 12, as_of: 2025-05-01}\n"
    )
    change = loads_grid(text).scenarios[1].changes["lambda_instance_given"]
    assert change == Change("set", 7.5, change.place, "measurement", "run 12", "2025-05-01")


def test_engine_versions_and_new_catalog_entries_are_labels() -> None:
    text = HEAD + (
        "deployment: {engine: vllm@0.21, gpu: ours}\n"
        "catalog:\n  gpus:\n    ours: {name: Ours, vendor: NVIDIA, memory_bytes: 80 GiB,\n"
        "           memory_bandwidth_bytes_per_s: 3 TB/s, peak_flops: {bf16: 900 TFLOP/s}}\n"
    )
    grid = loads_grid(text)
    assert (value(grid, "engine"), value(grid, "gpu")) == ("vllm@0.21", "ours")


def test_sections_of_comments_alone_are_empty() -> None:
    assert loads_grid(HEAD + "deployment:\n  # gpu: l4\nslo:\naxes:\n").given.keys() == {"rho_target"}


def test_importing_contracts_loads_no_array_library_and_no_pydantic() -> None:
    heavy = ("numpy", "xarray", "pandas", "pyarrow", "scipy")
    code = (
        "import sys, gridplan.contract, gridplan.quantities, gridplan.cli.validate, gridplan.cli.schema\n"
        f"assert not {{'pydantic', *{heavy!r}}} & sys.modules.keys()\n"
        f"gridplan.contract.loads_grid({HEAD!r})\n"
        f"assert not {{*{heavy!r}}} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


EXAMPLES = Path(__file__).parents[3] / "shared" / "design" / "examples"


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the reference material is not here")
def test_every_reference_example_loads() -> None:
    grids = {path.stem: load_grid(path) for path in sorted(EXAMPLES.glob("*.yaml"))}
    assert len(grids) == 7
    sizes = {name: [len(axis.labels) for axis in grid.axes] for name, grid in grids.items()}
    assert sizes["quickstart"] == [8, 10, 3, 6, 5, 10]
    assert len(grids["lesson"].scenarios) == 10
    assert grids["lesson-opening"].scenarios[0].name == "nominal"
