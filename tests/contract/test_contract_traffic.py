"""What a class may state of itself: random lengths, latency limits, prefix hits; all faults at once, each in place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gridplan.contract import contract_schema, loads_grid
from gridplan.contract.grid import Lengths
from gridplan.errors import ContractError

WORKLOAD = "schema: 1\nworkload: {{arrival_rate: 10, {0}}}\npolicy: {{rho_target: 0.7}}\n{1}"
"""A workload on line 2, and what follows from line 4 on."""


def contract(entry: str = "", *, prompt: str = "1000", output: str = "200", rest: str = "") -> str:
    """A contract with one class, which stands on line 5."""
    return (
        "schema: 1\nworkload:\n  arrival_rate: 10\n  classes:\n"
        f"  - {{name: chat, weight: 1, prompt_tokens: {prompt}, output_tokens: {output}{entry}}}\n"
        f"policy: {{rho_target: 0.7}}\n{rest}"
    )


def problems_of(text: str) -> list[tuple[int | None, str | None, str]]:
    with pytest.raises(ContractError) as caught:
        loads_grid(text, "f.yaml")
    return [(problem.line, problem.key, problem.message) for problem in caught.value.problems]


def length(written: str) -> Any:
    return loads_grid(contract(output=written)).workloads[0].classes[0].output_tokens


@pytest.mark.parametrize(
    ("written", "kind", "mean", "scv"),
    [
        ("{mean: 300, scv: 1.5, kind: lognormal}", "lognormal", 300.0, 1.5),
        ("{mean: 3k tokens, scv: 50%, kind: gamma}", "gamma", 3000.0, 0.5),
        ("{mean: 300, kind: exponential}", "exponential", 300.0, 1.0),
        ("{mean: 300, kind: exponential, scv: 1}", "exponential", 300.0, 1.0),
        ("{mean: 300, kind: deterministic}", "deterministic", 300.0, 0.0),
    ],
)
def test_a_length_may_be_a_kind_with_its_moments(written: str, kind: str, mean: float, scv: float) -> None:
    found = length(written)
    assert isinstance(found, Lengths)
    assert (found.kind, found.mean, found.scv, found.quantiles, found.longest, found.nodes) == (
        *(kind, mean, scv, ()),
        *(None, None),
    )


def test_a_length_may_be_given_by_quantiles_in_any_order() -> None:
    found = length("{quantiles: {99: 4k tokens, 50: 120, 90: 800, 99.9: 5000}, max: 8000, nodes: 32}")
    assert (found.kind, found.longest, found.nodes) == ("empirical", 8000.0, 32)
    assert found.quantiles == ((50.0, 120.0), (90.0, 800.0), (99.0, 4000.0), (99.9, 5000.0))


@pytest.mark.parametrize(
    ("written", "key", "part"),
    [
        ("{mean: 300, scv: 1, kind: lognormall}", "kind", "lognormall is not (did you mean lognormal?)"),
        ("{mean: 300, scv: -0.5, kind: gamma}", "scv", "scv must be 0, or from 1e-06 to 100; -0.5 is not"),
        ("{mean: 300, scv: 1 s, kind: gamma}", "scv", "unknown unit"),
        ("{mean: 300, scv: 300, kind: gamma}", "scv", "from 1e-06 to 100; 300 is not"),
        ("{mean: 300, scv: 2, kind: exponential}", "scv", "exponential lengths have scv 1, not 2"),
        ("{mean: 300, scv: 1, kind: deterministic}", "scv", "deterministic lengths have scv 0, not 1"),
        ("{mean: 300, kind: gamma}", "", "scv is missing: gamma lengths have a squared coefficient of variation"),
        ("{mean: 300, scv: 1}", "", "kind is missing: one of deterministic, exponential, gamma, lognormal"),
        ("{scv: 1, kind: gamma}", "", "mean is missing"),
        ("{mean: 0, scv: 1, kind: gamma}", "mean", "output_tokens must be >= 1; 0 is not"),
        ("{kind: empirical}", "kind", "are given by quantiles"),
        ("{quantiles: {50: 100, 90: 200}, mean: 120}", "mean", "mean and quantiles both describe the lengths"),
        ("{quantiles: {50: 100, 90: 200}, scv: 1}", "scv", "scv and quantiles both describe the lengths"),
        ("{quantiles: {50: 100, 90: 200}, kind: gamma}", "kind", "quantiles are of kind empirical, not gamma"),
        ("{quantiles: {50: 100}}", "quantiles", "fewer than two percentiles"),
        ("{quantiles: {50: 100, 90: 100}}", "quantiles.90", "lengths must rise: 100 at percentile 90"),
        ("{quantiles: {90: 100, 50: 200}}", "quantiles.90", "100 at percentile 90 is not above 200 at 50"),
        ("{quantiles: {50: 100, 50.0: 200}}", "quantiles.50.0", "percentile 50 is given twice"),
        ("{quantiles: {50: 100, 100: 200}}", "quantiles.100", "above 0 and below 100; 100 is not"),
        ("{quantiles: {p50: 100, 90: 200}}", "quantiles.p50", "p50 is not"),
        ("{quantiles: {50: 0, 90: 200}}", "quantiles.50", "output_tokens must be >= 1; 0 is not"),
        ("{quantiles: {50: 100, 90: 200}, max: 150}", "max", "max 150 is below the last quantile, 200"),
        ("{mean: 300, scv: 1, kind: gamma, max: 200}", "max", "max 200 is below the mean, 300"),
        ("{mean: 300, scv: 1, kind: gamma, nodes: 0}", "nodes", "whole number from 1 to 256; 0 is not"),
        ("{mean: 300, scv: 1, kind: gamma, nodes: 2.5}", "nodes", "whole number from 1 to 256; 2.5 is not"),
        ("{mean: 300, scv: 1, kind: gamma, node: 8}", "node", "did you mean nodes"),
        ("{max: 300}", "", "must be a number, a text, {mean: ..., scv: ..., kind: ...} or {quantiles:"),
        ("[1, 2]", "", "must be a number"),
    ],
)
def test_one_fault_of_a_distribution(written: str, key: str, part: str) -> None:
    expected = f"workload.classes[0].output_tokens{'.' if key else ''}{key}"
    (line, found, message), *others = problems_of(contract(output=written))
    assert not others
    assert (line, found) == (5, expected)
    assert part in message
    # The workload's own length is read alike.
    own = WORKLOAD.format(f"prompt_tokens: 9, output_tokens: {written}", "")
    if not part.startswith("must be"):
        (line, found, message), *others = problems_of(own)
        assert not others
        assert (line, found) == (2, expected.replace("classes[0].", ""))
        assert part in message


def test_all_faults_of_two_distributions_are_said_at_once() -> None:
    text = contract(
        prompt="{mean: 100, scv: -1, kind: normal, nodes: 0}",
        output="{quantiles: {50: 9, 90: 8}, mean: 3}",
        entry=", ttft: {limit: -1, percentile: 20}, prefix_hit_ratio: 1.5",
    )
    within = "workload.classes[0]."
    assert {key for _, key, _ in problems_of(text)} == {
        *(f"{within}prompt_tokens.{name}" for name in ("scv", "kind", "nodes")),
        *(f"{within}output_tokens.{name}" for name in ("quantiles.90", "mean")),
        *(f"{within}{name}" for name in ("ttft.limit", "ttft.percentile", "prefix_hit_ratio")),
    }


def test_a_class_states_limits_and_hits_of_its_own() -> None:
    entry = ", ttft: {limit: 500 ms, percentile: 95}, itl: {limit: {value: 0.1, class: policy, source: team}}"
    item = loads_grid(contract(entry + ", prefix_hit_ratio: 60%")).workloads[0].classes[0]
    assert {name: given.value for name, given in item.own.items()} == {
        **{"ttft_slo_s": 0.5, "ttft_slo_percentile": "95", "itl_slo_s": 0.1, "prefix_hit_ratio": 0.6},
    }
    assert item.own["itl_slo_s"].source == "team"


@pytest.mark.parametrize(
    ("entry", "key", "part"),
    [
        ("ttft: {limitt: 1 s}", "ttft.limitt", "did you mean limit?"),
        ("ttft: 1 s", "ttft", "must be a mapping"),
        ("tfft: {limit: 1 s}", "tfft", "did you mean ttft"),
        ("e2e: {limit: 0 s}", "e2e.limit", "e2e_slo_s must be > 0"),
        ("tpot: {limit: 1 s, percentile: p99}", "tpot.percentile", "'p99' is not"),
        ("tpot_slo_s: 1", "tpot_slo_s", "unknown key"),
        ("prefix_hit_ratio: 1", "prefix_hit_ratio", ">= 0 and < 1; 1 is not"),
        ("prefix_hit_ratio: {by: modl, a: 0.5}", "prefix_hit_ratio.by", "unknown dimension modl"),
    ],
)
def test_one_fault_of_a_class(entry: str, key: str, part: str) -> None:
    found = problems_of(contract(f", {entry}"))
    assert [item[:2] for item in found] == [(5, f"workload.classes[0].{key}")]
    assert part in found[0][2]


def test_scenarios_change_what_a_class_states() -> None:
    chat = "{ttft: {limit: {multiply: 2}}, prefix_hit_ratio: 0.5, tpot: {percentile: 99}}"
    changes = (
        loads_grid(contract(rest=f"scenarios: {{x: {{classes: {{chat: {chat}}}}}}}\n")).scenarios[1].classes["chat"]
    )
    assert {name: (change.op, change.value) for name, change in changes.items()} == {
        **{"ttft_slo_s": ("multiply", 2.0), "tpot_slo_percentile": ("set", "99"), "prefix_hit_ratio": ("set", 0.5)},
    }


@pytest.mark.parametrize(
    ("change", "key", "part"),
    [
        ("{ttft: {limit: {multiply: 0}}}", "ttft.limit.multiply", "a factor must be > 0"),
        ("{ttft: {limit: {by: model, a: 1}}}", "ttft.limit", "a value of a class cannot differ by label"),
        ("{ttft: {percentile: {multiply: 2}}}", "ttft.percentile", "is a text; a scenario cannot multiply it"),
        ("{ttft: {limits: 1 s}}", "ttft.limits", "did you mean limit?"),
        ("{prefix_hit_ratio: 1.5}", "prefix_hit_ratio", "< 1; 1.5 is not"),
        ("{output_tokens: {mean: 3}}", "output_tokens", "must be a value"),
    ],
)
def test_one_fault_of_a_change(change: str, key: str, part: str) -> None:
    found = problems_of(contract(rest=f"scenarios: {{x: {{classes: {{chat: {change}}}}}}}\n"))
    assert [item[:2] for item in found] == [(7, f"scenarios.x.classes.chat.{key}")]
    assert part in found[0][2]


def test_random_lengths_of_a_workload_make_one_class_without_a_name() -> None:
    text = WORKLOAD.format("prompt_tokens: {value: 500}, output_tokens: {mean: 90, kind: exponential}", "")
    workload = loads_grid(text).workloads[0]
    (item,) = workload.classes
    assert (item.name, item.weight, item.prompt_tokens) == ("", 1.0, 500.0)
    assert isinstance(item.output_tokens, Lengths)
    assert "prompt_tokens" not in workload.given


@pytest.mark.parametrize(
    ("lengths", "rest", "key", "part"),
    [
        ("", "", "workload.prompt_tokens", "and output_tokens does not stand beside it"),
        ("", "deployment: {output_tokens: 5}\n", "workload.prompt_tokens", "does not stand beside it"),
        ("", "axes: {output_tokens: [5, 6]}\n", "workload.prompt_tokens", "does not stand beside it"),
        (", output_tokens: {by: model, a: 4}", "", "workload.output_tokens", "cannot differ by label"),
        (", output_tokens: 9, context_tokens: 99", "", "workload.context_tokens", "beside a distribution of lengths"),
        (", output_tokens: 9", "axes: {context_tokens: [50, 99]}\n", "axes.context_tokens", "beside a distribution"),
        (", output_tokens: 9", "axes: {prompt_tokens: [50, 99]}\n", "workload.prompt_tokens", "is an axis"),
        (", output_tokens: 9", "scenarios: {x: {context_tokens: 99}}\n", "scenarios.x.context_tokens", "distribution"),
    ],
)
def test_random_lengths_stand_beside_the_other_length(lengths: str, rest: str, key: str, part: str) -> None:
    text = WORKLOAD.format("prompt_tokens: {mean: 90, scv: 2, kind: gamma}" + lengths, rest)
    found = problems_of(text)
    assert key in [item[1] for item in found], found
    assert any(part in message for *_, message in found)


def test_a_distribution_stands_in_a_workload_alone() -> None:
    text = WORKLOAD.format("output_tokens: 3", "deployment: {prompt_tokens: {mean: 3, scv: 1, kind: gamma}}\n")
    ((line, key, message),) = problems_of(text)
    assert (line, key) == (4, "deployment.prompt_tokens")
    assert message.startswith("must be a number")


def test_goodput_is_short_for_its_target() -> None:
    grid = loads_grid(WORKLOAD.format("arrival_scv: 4", "slo: {goodput: 99%, itl: {limit: 100 ms, percentile: 99}}\n"))
    assert grid.given["goodput_target"].value == 0.99
    assert grid.given["itl_slo_s"].value == 0.1
    assert grid.given["itl_slo_percentile"].value == "99"
    assert grid.workloads[0].given["arrival_scv"].value == 4.0


@pytest.mark.parametrize(
    "entry",
    [
        {"output_tokens": {"mean": 300, "scv": 1, "kind": "lognormal", "max": "8k tokens", "nodes": 32}},
        {"output_tokens": {"quantiles": {"50": 120, "99": 4000}}},
        {"ttft": {"limit": "1 s", "percentile": 95}, "prefix_hit_ratio": 0.5},
        {"e2e": {"limit": {"value": 4, "source": "team"}}},
    ],
)
def test_the_schema_takes_what_is_read_and_no_other_key(entry: dict[str, Any]) -> None:
    row = {"name": "chat", "weight": 1, "prompt_tokens": 9, "output_tokens": 9, **entry}
    document = {"schema": 1, "workload": {"arrival_rate": 1, "classes": [row]}, "policy": {"rho_target": 0.7}}
    validator = jsonschema.Draft202012Validator(contract_schema())
    validator.validate(document)
    loads_grid(json.dumps(document))
    key = next(iter(entry))
    inner = {**row, key: {**entry[key], "colour": 1}}
    document["workload"]["classes"] = [inner]  # type: ignore[index]
    assert not validator.is_valid(document)
    with pytest.raises(ContractError, match="colour"):
        loads_grid(json.dumps(document))


def test_the_contract_of_the_documentation_is_read(grids: Path) -> None:
    page = grids.parent / "docs" / "traffic.md"
    if not page.is_file():
        pytest.skip("the documentation is not in this checkout")
    written = page.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    grid = loads_grid(f"schema: 1\npolicy: {{rho_target: 0.7}}\n{written}")
    assert [item.name for item in grid.workloads[0].classes] == ["chat", "code"]
    assert len(grid.scenarios) == 4
