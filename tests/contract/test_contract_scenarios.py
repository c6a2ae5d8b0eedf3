"""Scenarios: what they may change, and what their changes would make of the contract."""

from __future__ import annotations

import pytest

from gridplan.contract import loads_grid
from gridplan.contract.grid import By
from gridplan.errors import ContractError

HEAD = """\
schema: 1
workload:
  arrival_rate: 10
  classes:
    - {name: chat, weight: 0.5, prompt_tokens: 100, output_tokens: 50}
    - {name: code, weight: 0.5, prompt_tokens: 200, output_tokens: 80}
deployment: {tensor_parallel: 2, kv_dtype: bf16}
policy: {redundancy: 1}
axes: {rho_target: [0.6, 0.8], weight_dtype: [bf16, fp8]}
scenarios:
"""  # a scenario stands on line 11


def scenario(text: str, head: str = HEAD) -> list[tuple[int | None, str | None, str]]:
    """The problems of one scenario `x`."""
    try:
        loads_grid(f"{head}  x: {text}\n")
    except ContractError as error:
        return [(item.line, item.key, item.message) for item in error.problems]
    return []


@pytest.mark.parametrize(
    "text",
    [
        "{arrival_rate: {multiply: 150%}}",
        "{arrival_rate: {add: -5 req/s}}",
        "{rho_target: {multiply: 1.25}}",
        "{kv_dtype: fp8, tensor_parallel: 4}",
        "{tensor_parallel: {multiply: 2}}",
        "{usd_per_node_hour: {multiply: 0.8}}",
        "{hours_per_month: {add: 14}}",
        "{prompt_tokens: {multiply: 2}}",
        "{classes: {chat: {weight: 0.25}, code: {weight: 0.75, prompt_tokens: 1k tokens}}}",
        "{classes: {chat: {output_tokens: {multiply: 3}, prompt_tokens: {add: -99}}}}",
        "{peak_to_average: 4}",
        "{}",
        "",
    ],
)
def test_allowed(text: str) -> None:
    assert scenario(text) == []


@pytest.mark.parametrize(
    ("text", "key", "parts"),
    [
        ("{rho_target: 0.7}", "rho_target", ("sets rho_target, which is an axis (line 9)", "{multiply: x}")),
        ("{weight_dtype: int8}", "weight_dtype", ("sets weight_dtype, which is an axis (line 9)",)),
        ("{weight_dtype: {multiply: 2}}", "weight_dtype", ("weight_dtype is a text; a scenario cannot multiply it",)),
        ("{rho_target: {multiply: 1.5}}", "rho_target", ("0.8 x 1.5 = 1.2 is not", "> 0 and <= 1")),
        ("{tensor_parallel: {multiply: 1.25}}", "tensor_parallel", ("whole number; 2 x 1.25 = 2.5 is not",)),
        ("{redundancy: {add: -2}}", "redundancy", ("must be >= 0", "1 + -2 = -1 is not")),
        ("{arrival_rate: {multiply: 0}}", "arrival_rate.multiply", ("a factor must be > 0; 0 is not",)),
        ("{arrival_rate: {multiply: '2'}}", "arrival_rate.multiply", ("remove the quotes",)),
        ("{arrival_rate: {add: 2 GB}}", "arrival_rate.add", ("unknown unit", "req/s")),
        ("{arrival_rate: {multiply: 2, add: 1}}", "arrival_rate.add", ("unknown key",)),
        ("{arrival_rate: {times: 2}}", "arrival_rate", ("{multiply: ...} or {add: ...}",)),
        ("{peak_to_average: {multiply: 2}}", "peak_to_average", ("changes peak_to_average, which has no base value",)),
        ("{kv_dtype: fp9}", "kv_dtype", ("fp9 is not",)),
        ("{arrival_rate: -1}", "arrival_rate", ("must be > 0; -1 is not",)),
        ("{gpus: 3}", "gpus", ("is a measure",)),
        ("{ttft: {limit: 1 s}}", "ttft", ("unknown key", "ttft_slo_s")),
        ("{scenario: a}", "scenario", ("comes from the section scenarios",)),
        ("{goodput_target: 90}", "goodput_target", ("goodput_target must be > 0 and <= 1; 90 is not",)),
        ("{prompt_tokens: 100}", "prompt_tokens", ("name the class under classes or scale it",)),
        ("{context_tokens: 300}", "context_tokens", ("name the class under classes",)),
        ("{classes: {cht: {weight: 1}}}", "classes.cht", ("unknown class cht (did you mean chat?)",)),
        ("{classes: {chat: {weight: 0.6}}}", None, ("scenario x: class weights sum to 1.1, not 1",)),
        ("{classes: {chat: {weight: 0}}}", "classes.chat.weight", ("must be > 0; 0 is not",)),
        ("{classes: {chat: {count: 3}}}", "classes.chat.count", ("here go weight, prompt_tokens, output_tokens",)),
        ("{classes: {chat: {prompt_tokens: 0}}}", "classes.chat.prompt_tokens", (">= 1; 0 is not",)),
        ("{classes: {chat: {prompt_tokens: {add: -100}}}}", "classes.chat.prompt_tokens", ("would be 0",)),
        ("{classes: {chat: {prompt_tokens: {by: model, a: 1}}}}", "classes.chat.prompt_tokens", ("differ by label",)),
        ("3", None, ("must be a mapping",)),
    ],
)
def test_one_fault(text: str, key: str | None, parts: tuple[str, ...]) -> None:
    found = scenario(text)
    assert [item[:2] for item in found] == [(11, f"scenarios.x.{key}" if key else "scenarios.x")]
    for part in parts:
        assert part in found[0][2]


def test_classes_of_a_workload_that_has_none() -> None:
    head = "schema: 1\nworkload: {arrival_rate: 1}\npolicy: {rho_target: 0.7}\nscenarios:\n"
    ((line, key, message),) = scenario("{classes: {chat: {weight: 1}}}", head)
    assert (line, key) == (5, "scenarios.x.classes.chat")
    assert "the workload has no classes" in message


LENGTHS = """\
schema: 1
workload: {arrival_rate: 1, output_tokens: 100}
policy: {rho_target: 0.7}
axes: {context_tokens: [256, 512]}
scenarios:
"""


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{output_tokens: 256}", "context_tokens 256 leaves no prompt beside output_tokens 256"),
        ("{output_tokens: {multiply: 3}}", "output_tokens 300"),
        ("{context_tokens: {multiply: 0.25}}", "context_tokens 64"),
        ("{prompt_tokens: 100}", "keep two"),
    ],
)
def test_context_stays_above_output_in_scenarios(text: str, part: str) -> None:
    ((line, _, message),) = scenario(text, LENGTHS)
    assert line == 6
    assert part in message


def test_context_and_output_scaled_together_is_fine() -> None:
    assert scenario("{context_tokens: {multiply: 4}, output_tokens: {multiply: 5}}", LENGTHS) == []


def test_a_change_may_differ_by_label() -> None:
    head = HEAD.replace("weight_dtype: [bf16, fp8]", "model: [llama-3-8b, qwen3-8b]")
    text = "{arrival_rate: {multiply: {by: model, llama-3-8b: 2, default: 1}}, kv_dtype: {by: model, qwen3-8b: fp8}}"
    ((_, key, message),) = scenario(text, head)
    assert key == "scenarios.x.kv_dtype"
    assert "has no value for model llama-3-8b" in message
    grid = loads_grid(f"{head}  x: {text.replace('qwen3-8b: fp8', 'default: bf16, qwen3-8b: fp8')}\n")
    assert grid.scenarios[1].changes["arrival_rate"].value == By("model", {"llama-3-8b": 2.0}, 1.0)
