"""The JSON Schema: made from the models and the dictionary, complete, and true to what the reader accepts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridplan.contract import contract_schema
from gridplan.contract.models import section_inputs
from gridplan.contract.yaml import parse_document
from gridplan.dictionary import dictionary


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return contract_schema()


def test_it_is_plain_json_of_one_dialect(schema: dict[str, Any]) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(schema)) == schema
    assert schema["required"] == ["schema"]
    assert schema["properties"]["schema"]["const"] == 1


def test_every_reference_has_its_definition(schema: dict[str, Any]) -> None:
    def references(node: object) -> set[str]:
        if isinstance(node, dict):
            own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
            return own.union(*(references(value) for value in node.values()))
        return set().union(*(references(item) for item in node)) if isinstance(node, list) else set()

    found = references(schema)
    assert found
    assert {reference.removeprefix("#/$defs/") for reference in found} <= schema["$defs"].keys()


def test_every_input_has_unit_section_and_bounds(schema: dict[str, Any]) -> None:
    for name in section_inputs():
        row, entry = dictionary()[name], schema["$defs"][f"input.{name}"]
        assert entry["x-home-section"] == row.section
        assert entry["x-unit"] == row.unit
        assert row.long_name in entry["description"]
    plain = schema["$defs"]["plain.rho_target"]["anyOf"]
    assert plain[0] == {"type": "number", "exclusiveMinimum": 0.0, "maximum": 1.0}
    assert schema["$defs"]["plain.tensor_parallel"]["anyOf"][0] == {"type": "integer", "minimum": 1.0}
    assert "a text with a unit (%)" in schema["$defs"]["input.rho_target"]["description"]
    assert "GiB" in schema["$defs"]["input.weights_bytes"]["description"]


def test_sections_take_every_input_and_only_slo_takes_fewer(schema: dict[str, Any]) -> None:
    definitions = schema["$defs"]
    for section in ("WorkloadSection", "Deployment", "Capacity", "Policy", "ScenarioEntry"):
        assert set(section_inputs()) <= definitions[section]["properties"].keys()
        assert definitions[section]["additionalProperties"] is False
    limits = {"ttft", "tpot", "e2e", "itl", "goodput"}
    assert definitions["Slo"]["properties"].keys() == {*limits, *section_inputs(slo_only=True)}
    assert set(schema["properties"]["axes"]["anyOf"][0]["properties"]) == set(section_inputs())


def test_choices_and_ids_are_enumerated(schema: dict[str, Any]) -> None:
    definitions = schema["$defs"]
    assert definitions["plain.capacity_model"]["anyOf"] == [
        {"enum": ["littles_law", "replica_seconds", "queueing", "measured"]}
    ]
    assert "h100-sxm" in definitions["plain.gpu"]["anyOf"][0]["enum"]
    assert definitions["plain.gpu"]["anyOf"][1] == {"type": "string"}
    assert {"bf16", "fp8"} <= set(definitions["plain.kv_dtype"]["anyOf"][0]["enum"])


def test_every_key_is_described(schema: dict[str, Any]) -> None:
    assert schema["$defs"]["ByLabel"]["properties"]["default"]["description"].startswith("The value of every label")
    assert schema["$defs"]["ClassEntry"]["properties"]["weight"]["description"].startswith("Share of the arrivals")

    for name, definition in schema["$defs"].items():
        described = definition.get("properties", {}).values()
        assert all("description" in entry or "#/$defs/" in entry["$ref"] for entry in described), name
    assert all(entry.get("description") for entry in schema["properties"].values())


def test_the_published_copy_is_what_the_command_prints(
    schema: dict[str, Any], grids: Path, cli: Callable[..., Any]
) -> None:
    published = (grids / "contract.schema.json").read_text(encoding="utf-8")
    assert json.loads(published) == schema
    assert cli("schema").out == published


def test_whoever_changes_the_result_changes_no_other() -> None:
    contract_schema()["$defs"]["Stated"]["properties"]["value"]["oneOf"].clear()
    assert len(contract_schema()["$defs"]["Stated"]["properties"]["value"]["oneOf"]) == 2


GOOD = """\
schema: 1
workload:
  classes: [{name: a, weight: 1, prompt_tokens: 1k tokens, output_tokens: 5}]
  arrival_rate: {value: 3, class: assumption, source: x}
slo: {ttft: {limit: 1 s, percentile: 95}, tpot_slo_s: 0.05}
deployment: {tensor_parallel: {by: model, a: 2, default: 1}, engine: vllm@0.21}
capacity: {applies_to: {slo: any}, measured_at: {kv_dtype: bf16}}
policy:
axes: {rho_target: {linspace: [0.5, 0.9, 5]}, gpu: {catalog: gpus, where: {vendor: NVIDIA}}, kv_dtype: [fp8]}
scenarios: {nominal: , surge: {arrival_rate: {multiply: 1.5}}, x: {classes: {a: {prompt_tokens: {add: 3}}}}}
catalog: {instances: {ours: {gpu: l4, gpus_per_node: 1, usd_per_node_hour: 1}}}
"""
BAD = (
    "schema: 2",
    "schema: 1\nnamee: x",
    "schema: 1\ndeployment: {mfuu: 1}",
    "schema: 1\ndeployment: {mfu: 2}",
    'schema: 1\ndeployment: {mfu: "0.5"}',
    "schema: 1\ndeployment: {kv_dtype: fp9}",
    "schema: 1\ndeployment: {tensor_parallel: 1.5}",
    "schema: 1\nslo: {rho_target: 0.5}",
    "schema: 1\naxes: {rho_target: []}",
    "schema: 1\naxes: {kv_dtype: [fp8, fp8]}",
    "schema: 1\naxes: {kv_dtype: {linspace: [1, 2, 3]}}",
    "schema: 1\naxes: {replicas: [1]}",
    "schema: 1\nscenarios: {x: {kv_dtype: {multiply: 2}}}",
    "schema: 1\nworkload: {classes: [{name: a, weight: 1}]}",
)


def test_a_validator_agrees(schema: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert [error.message for error in validator.iter_errors(parse_document(GOOD).data)] == []
    for text in BAD:
        assert not validator.is_valid(parse_document(text).data), text
