"""Whatever stands in a file, reading it gives a grid or a ContractError with at least one placed problem."""

from __future__ import annotations

import math

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gridplan.contract import Grid, loads_grid
from gridplan.contract.grid import By
from gridplan.contract.models import section_inputs
from gridplan.errors import ContractError

LESSON = """\
schema: 1
name: lesson
workload:
  classes:
    - {name: short chat, weight: 0.70, prompt_tokens: 32, output_tokens: 64}
    - {name: code query, weight: 0.20, prompt_tokens: {mean: 128, scv: 0.5, kind: gamma}, output_tokens: 256}
    - name: summarisation
      weight: 0.10
      prompt_tokens: {quantiles: {50: 400, 99: 2000}, max: 4k tokens}
      output_tokens: 256
      prefix_hit_ratio: 0.5
      ttft: {limit: 2 s, percentile: 99}
  arrival_rate: 60
  peak_to_average: 3.0
slo:
  ttft: {limit: 1.0 s, percentile: 95}
  tpot: {limit: 25 ms, percentile: 95}
deployment:
  model: llama-3-8b
  kv_dtype: bf16
  gpu_memory_bytes: 79.65 GiB
  tensor_parallel: {by: model, llama-3-8b: 1, default: 2}
capacity: {capacity_model: measured, lambda_instance_given: 10.0, applies_to: {slo: any}, measured_at: {kv_dtype: bf16}}
policy: {rho_target: 0.70, redundancy: 1}
catalog:
  instances:
    ours: {gpu: a100-sxm-80gb, gpus_per_node: 8, usd_per_node_hour: 40.96, as_of: 2025-04-28, source: lesson}
axes: {instance: [ours], hours_per_month: {linspace: [700, 740, 3]}}
scenarios:
  nominal: {}
  surge: {arrival_rate: {multiply: 1.5}}
  context_x2: {classes: {summarisation: {prompt_tokens: 2048}}, lambda_instance_given: 7.5}
"""
TOKENS = (
    *(
        "{",
        "}",
        "[",
        "]",
        ":",
        ": ",
        ",",
        "- ",
        "\n",
        "\n  ",
        "\t",
        "#",
        "&a ",
        "*a",
        "!!int ",
        "'",
        '"',
        "|",
        ">",
        "? ",
    ),
    *(
        "%",
        "@",
        "---\n",
        "...\n",
        "\x00",
        "\x07",
        "\ufeff",
        "\u2028",
        "\U0001f600",
        "<<",
        "null",
        "true",
        ".nan",
        "-.inf",
    ),
    *(
        "1e999",
        "-1",
        "0",
        "1e308",
        "0x1F",
        "9" * 400,
        "'60'",
        "80 gb",
        "by",
        "value",
        "multiply",
        "add",
        "default",
        "catalog",
    ),
    *("mean", "scv", "kind", "quantiles", "max", "nodes", "lognormal", "99", "ttft", "limit", "percentile"),
    *("where", "nominal", "classes", "workloads", "axes", "schema", "gpu", "instance", "rho_target", "context_tokens"),
)


def check(error: ContractError) -> None:
    """Every problem has a message and a file, and takes one line."""
    assert error.problems
    assert all(problem.message and problem.file == "f.yaml" for problem in error.problems)
    assert len(str(error).splitlines()) == len(error.problems)


def read(text: str) -> Grid | None:
    """The grid of a text, or None after checking the error."""
    try:
        grid = loads_grid(text, "f.yaml")
    except ContractError as error:
        return check(error)
    for given_ in grid.given.values():
        values = [*given_.value.values.values()] if isinstance(given_.value, By) else [given_.value]
        assert all(isinstance(value, str) or math.isfinite(value) for value in values)
    assert all(axis.labels and len(set(axis.labels)) == len(axis.labels) for axis in grid.axes)
    return grid


def test_the_text_itself_is_right() -> None:
    assert read(LESSON) is not None


@settings(max_examples=250, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, len(LESSON)), st.integers(0, 12), st.sampled_from(TOKENS)), min_size=1, max_size=4
    )
)
def test_mutated_text(edits: list[tuple[int, int, str]]) -> None:
    text = LESSON
    for start, length, token in edits:
        text = text[:start] + token + text[start + length :]
    read(text)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**70),
    st.floats(),
    st.sampled_from(
        ["", "fp8", "bf16", "llama-3-8b", "l4", "ours", "80 GB", "25 ms", "60", "mean", "any", "measured", "1e3 s"]
    ),
    st.text(max_size=5),
)
FORM_KEYS = ("by", "value", "class", "default", "multiply", "add", "linspace", "catalog", "where", "limit", "name")
OTHER_KEYS = (
    "weight",
    "count",
    "summarisation",
    "ttft",
    "applies_to",
    "measured_at",
    "replicas",
    "model",
    "gpu",
    "fp8",
)
KEYS = st.sampled_from([*section_inputs(), *FORM_KEYS, *OTHER_KEYS])
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
SECTIONS = st.sampled_from(
    [
        "schema",
        "name",
        "workload",
        "workloads",
        "slo",
        "deployment",
        "capacity",
        "policy",
        "catalog",
        "axes",
        "scenarios",
    ]
)
BASE = yaml.safe_load(LESSON)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(SECTIONS, TREES, min_size=1, max_size=3), st.booleans())
def test_sections_replaced_by_anything(sections: dict[str, object], merge: bool) -> None:
    data = dict(BASE)
    for name, tree in sections.items():
        both = merge and isinstance(tree, dict) and isinstance(data.get(name), dict)
        data[name] = {**data[name], **tree} if both and isinstance(tree, dict) else tree
    read(yaml.safe_dump(data, allow_unicode=True, sort_keys=False))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([*section_inputs()]), TREES, st.sampled_from(["deployment", "axes", "scenario"]))
def test_one_input_may_be_anything(name: str, tree: object, where: str) -> None:
    data = {**BASE, "scenarios": {**BASE["scenarios"], "x": {name: tree}}} if where == "scenario" else dict(BASE)
    if where != "scenario":
        data[where] = {**BASE[where], name: tree}
    read(yaml.safe_dump(data, allow_unicode=True, sort_keys=False))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    from gridplan.contract import load_grid

    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)
    with pytest.raises(ContractError):
        load_grid(path)
