"""Contracts that are wrong: each fault at its line, under its key, with the nearest valid name, and all at once."""

from __future__ import annotations

import pytest

from gridplan.contract import loads_grid
from gridplan.errors import ContractError

HEAD = "schema: 1\nworkload: {arrival_rate: 10}\npolicy: {rho_target: 0.7}\n"  # what follows starts on line 4


def problems_of(text: str) -> list[tuple[int | None, str | None, str]]:
    """Line, key and message of every problem of a text."""
    with pytest.raises(ContractError) as caught:
        loads_grid(text, "f.yaml")
    assert all(problem.file == "f.yaml" for problem in caught.value.problems)
    return [(problem.line, problem.key, problem.message) for problem in caught.value.problems]


def only_problem(text: str) -> tuple[int | None, str | None, str]:
    """The one problem of a text."""
    found = problems_of(text)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("text", "line", "key", "parts"),
    [
        ("deployment: {mfuu: 0.4}", 4, "deployment.mfuu", ("unknown key", "did you mean mfu, mbu?")),
        ("deploymentt: {mfu: 0.4}", 4, "deploymentt", ("unknown key", "did you mean deployment?")),
        ("rho_targt: 0.4", 4, "rho_targt", ("unknown key", "here go schema, name")),
        ("redundancy: 1", 4, "redundancy", ("does not go here; write it under policy",)),
        ("slo: {kv_dtype: fp8}", 4, "slo.kv_dtype", ("does not go here; write it under deployment",)),
        ("slo: {ttft: {limitt: 1 s}}", 4, "slo.ttft.limitt", ("did you mean limit?", "here go limit, percentile")),
        ("slo: {ttft: 1 s}", 4, "slo.ttft", ("must be a mapping, not a text",)),
        ("deployment: {replicas: 3}", 4, "deployment.replicas", ("is a measure",)),
        ("deployment: {scenario: a}", 4, "deployment.scenario", ("comes from the section scenarios",)),
        ("deployment: {classes: []}", 4, "deployment.classes", ("write it under workload",)),
        ("deployment: [gpu]", 4, "deployment", ("must be a mapping, not a list",)),
        ("deployment: {gpu: h100}", 4, "deployment.gpu", ("unknown gpu h100", "h100-sxm", "gridplan catalog gpus")),
        ("deployment: {model: lamma-3-8b}", 4, "deployment.model", ("unknown model lamma-3-8b", "llama-3-8b")),
        ("deployment: {instance: aws-p4d}", 4, "deployment.instance", ("unknown instance", "aws-p4d-24xlarge")),
        ("deployment: {engine: vlm}", 4, "deployment.engine", ("unknown engine vlm", "did you mean vllm?")),
        ("deployment: {engine: vllm@99x}", 4, "deployment.engine", ("vllm",)),
        ("deployment: {kv_dtype: fp9}", 4, "deployment.kv_dtype", ("must be one of", "fp8", "fp9 is not")),
        ("deployment: {kv_dtype: int4}", 4, "deployment.kv_dtype", ("int4 is not",)),
        (
            "capacity: {capacity_model: queuing}",
            4,
            "capacity.capacity_model",
            ("did you mean queueing", "queuing is not"),
        ),
        ("deployment: {gpu: 100}", 4, "deployment.gpu", ("gpu is a text; 100 is a number",)),
        ("deployment: {gpu: ''}", 4, "deployment.gpu", ("may not be empty",)),
        ("deployment: {gpu: true}", 4, "deployment.gpu", ("not true or false",)),
        ("deployment: {mfu: }", 4, "deployment.mfu", ("has no value",)),
        ("deployment: {mfu: [0.4]}", 4, "deployment.mfu", ("must be a number or a text, not a list",)),
        ("deployment: {mfu: {x: 1}}", 4, "deployment.mfu", ("{by: ...} or {value: ...",)),
        ("deployment: {mfu: {value: 0.4, clas: fact}}", 4, "deployment.mfu.clas", ("did you mean class?",)),
        ("deployment: {mfu: {value: 0.4, class: guess}}", 4, "deployment.mfu.class", ("fact, policy, measurement or",)),
        ("deployment: {mfu: {value: 0.4, as_of: 2025-02-30}}", 4, "deployment.mfu.as_of", ("YYYY-MM-DD",)),
        ("deployment: {mfu: {value: 2}}", 4, "deployment.mfu.value", ("must be > 0 and <= 1; 2 is not",)),
        ("priced_on: 28 April 2025", 4, "priced_on", ("YYYY-MM-DD",)),
        ("deployment: {mfu: 0}", 4, "deployment.mfu", ("mfu must be > 0 and <= 1; 0 is not",)),
        ("deployment: {mfu: 1.5e999}", 4, "deployment.mfu", ("too large a number",)),
        ("deployment: {workspace_bytes: -1 GB}", 4, "deployment.workspace_bytes", (">= 0; -1 GB is not",)),
        ("deployment: {weights_bytes: 14.9 Gib}", 4, "deployment.weights_bytes", ("did you mean GiB", "units: B, kB")),
        (
            "deployment: {tensor_parallel: 1.5}",
            4,
            "deployment.tensor_parallel",
            ("must be a whole number; 1.5 is not",),
        ),
        ("deployment: {tensor_parallel: 0}", 4, "deployment.tensor_parallel", (">= 1; 0 is not",)),
        ("deployment: {prefix_hit_ratio: 100%}", 4, "deployment.prefix_hit_ratio", (">= 0 and < 1; 100% is not",)),
        ("deployment: {hours_per_month: 745}", 4, "deployment.hours_per_month", ("<= 744; 745 is not",)),
        (
            "slo: {ttft: {limit: 1 s, percentile: 99.99}}",
            4,
            "slo.ttft.percentile",
            (">= 50 and <= 99.9; 99.99 is not",),
        ),
        ("slo: {ttft: {limit: 1 s, percentile: p95}}", 4, "slo.ttft.percentile", ("mean, or a number", "'p95' is not")),
        ("slo: {ttft_slo_percentile: '95'}", 4, "slo.ttft_slo_percentile", ("'95' is not",)),
        ("slo: {itl: {limit: 0}}", 4, "slo.itl.limit", ("itl_slo_s must be > 0; 0 is not",)),
        ("slo: {goodput: 0}", 4, "slo.goodput", ("goodput_target must be > 0 and <= 1; 0 is not",)),
        ("slo: {goodput: 0.9, goodput_target: 0.9}", 4, "slo.goodput_target", ("given twice", "slo.goodput on line 4")),
        ("deployment: {arrival_scv: -1}", 4, "deployment.arrival_scv", ("arrival_scv must be >= 0; -1 is not",)),
        ("deployment:\n  rho_target: 0.5", 5, "deployment.rho_target", ("given twice", "policy.rho_target on line 3")),
        ("slo: {ttft: {limit: 1 s}, ttft_slo_s: 2}", 4, "slo.ttft_slo_s", ("given twice", "slo.ttft.limit on line 4")),
        ("name: 3", 4, "name", ("must be a text, not a number",)),
        ("catalog: {gpu: {}}", 4, "catalog.gpu", ("did you mean gpus?",)),
        ("catalog: {gpus: {x: 3}}", 4, "catalog.gpus.x", ("must be a mapping",)),
        ("capacity: {fallback: analytic}", 4, "capacity.fallback", ("did you mean analytical?",)),
        ("capacity: {applies_to: {kv_dtyp: any}}", 4, "capacity.applies_to.kv_dtyp", ("unknown setting", "kv_dtype")),
        ("capacity: {applies_to: {kv_dtype: fp8}}", 4, "capacity.applies_to.kv_dtype", ("must be any",)),
        ("capacity: {applies_to: all}", 4, "capacity.applies_to", ("must be any; 'all' is not",)),
        ("capacity: {measured_at: {slo: 1}}", 4, "capacity.measured_at.slo", ("stands for several", "ttft_slo_s")),
        ("capacity: {measured_at: {kv_dtype: fp9}}", 4, "capacity.measured_at.kv_dtype", ("fp9 is not",)),
        ("capacity: {measured_at: {workload: chat}}", 4, "capacity.measured_at.workload", ("unknown workload",)),
        ("capacity: {measured_at: {gpus: 3}}", 4, "capacity.measured_at.gpus", ("is a measure",)),
    ],
)
def test_one_fault(text: str, line: int, key: str, parts: tuple[str, ...]) -> None:
    found_line, found_key, message = only_problem(HEAD + text + "\n")
    assert (found_line, found_key) == (line, key)
    for part in parts:
        assert part in message


def test_required_inputs_say_what_they_are_and_propose() -> None:
    arrival, rho = problems_of("schema: 1\nworkload: {output_tokens: 3}\npolicy: {redundancy: 1}\n")
    assert arrival[:2] == (2, "workload.arrival_rate")
    assert rho[:2] == (3, "policy.rho_target")
    for part in ("slots 0.9", "mean 0.65", "percentile 0.85", "queueing", "margin_forecast"):
        assert part in rho[2]


def test_each_workload_needs_its_arrival_rate() -> None:
    text = "schema: 1\nworkloads:\n  chat: {arrival_rate: 1}\n  code: {output_tokens: 3}\npolicy: {rho_target: 0.7}\n"
    assert only_problem(text)[:2] == (4, "workloads.code.arrival_rate")


def test_schema_must_be_known() -> None:
    assert only_problem(HEAD.replace("schema: 1", "schema: 2")) == (1, "schema", "must be 1; 2 is not")
    assert "starts with `schema: 1`" in only_problem(HEAD.replace("schema: 1", "name: x"))[2]


def test_negative_rate_and_share_above_one() -> None:
    text = "schema: 1\nworkload: {arrival_rate: -3 req/s}\npolicy:\n  rho_target: 1.2\n"
    assert problems_of(text) == [
        (2, "workload.arrival_rate", "arrival_rate must be > 0; -3 req/s is not"),
        (4, "policy.rho_target", "rho_target must be > 0 and <= 1; 1.2 is not"),
    ]


def test_quoted_number_and_nan_are_not_numbers() -> None:
    text = "schema: 1\nworkload: {arrival_rate: '60'}\npolicy: {rho_target: .nan}\n"
    quoted, nan = problems_of(text)
    assert quoted[:2] == (2, "workload.arrival_rate")
    assert "'60' is a text where a number is due: remove the quotes" in quoted[2]
    assert nan == (3, "policy.rho_target", ".nan is not a finite number")


CLASSES = """\
schema: 1
workload:
  arrival_rate: 1
  classes:
    - {name: a, weight: 0.7, prompt_tokens: 10, output_tokens: 10}
    - {name: b, weight: 0.2, prompt_tokens: 10, output_tokens: 10}
policy: {rho_target: 0.7}
"""


def test_weights_that_sum_to_something_else_print_their_sum() -> None:
    assert only_problem(CLASSES) == (4, "workload.classes", "class weights sum to 0.9, not 1")
    assert loads_grid(CLASSES.replace("0.2", "0.3000000005"))


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "part"),
    [
        ("name: b, weight: 0.2", "name: a, weight: 0.3", 6, "workload.classes[1].name", "class a is given twice"),
        ("weight: 0.2", "weight: -0.2", 6, "workload.classes[1].weight", "weight must be > 0; -0.2 is not"),
        ("weight: 0.2", "weight: 0", 6, "workload.classes[1].weight", "weight must be > 0; 0 is not"),
        ("weight: 0.2", "weight: '0.3'", 6, "workload.classes[1].weight", "remove the quotes"),
        ("weight: 0.2", "count: 2", 4, "workload.classes", "some classes have a weight and others a count"),
        ("weight: 0.2", "weight: 0.3, count: 2", 6, "workload.classes[1]", "has both weight and count"),
        ("weight: 0.2, ", "", 6, "workload.classes[1]", "has neither weight nor count"),
        ("weight: 0.2, prompt_tokens: 10,", "weight: 0.3,", 6, "workload.classes[1]", "prompt_tokens is missing"),
        (
            "weight: 0.2, prompt_tokens: 10",
            "weight: 0.3, prompt_tokens: 0",
            6,
            "workload.classes[1].prompt_tokens",
            ">= 1",
        ),
        ("name: b, weight: 0.2", "name: b, weigt: 0.3", 6, "workload.classes[1].weigt", "did you mean weight"),
    ],
)
def test_classes_that_are_wrong(old: str, new: str, line: int, key: str, part: str) -> None:
    found = problems_of(CLASSES.replace(old, new))
    assert (line, key) in [item[:2] for item in found]
    assert any(part in message for *_, message in found)


def test_lengths_beside_classes() -> None:
    text = CLASSES.replace("0.2", "0.3").replace("arrival_rate: 1", "prompt_tokens: 5\n  arrival_rate: 1")
    assert only_problem(text)[:2] == (3, "workload.prompt_tokens")
    axis = CLASSES.replace("0.2", "0.3") + "axes: {context_tokens: [100, 200]}\n"
    assert only_problem(axis) == (8, "axes.context_tokens", "context_tokens cannot stand beside classes, which state "
                                  "their own lengths")  # fmt: skip


def test_context_prompt_and_output_are_one_too_many() -> None:
    text = HEAD.replace("10}", "10, prompt_tokens: 5, output_tokens: 5}") + "axes: {context_tokens: [100]}\n"
    line, key, message = only_problem(text)
    assert (line, key) == (4, "axes.context_tokens")
    assert "keep two" in message


def test_context_must_exceed_output_and_names_both() -> None:
    text = HEAD.replace("10}", "10, output_tokens: 1024}") + "axes: {context_tokens: [4096, 1024]}\n"
    line, key, message = only_problem(text)
    assert (line, key) == (4, "axes.context_tokens")
    assert "context_tokens 1024 leaves no prompt beside output_tokens 1024 (line 2)" in message
    assert loads_grid(text.replace("[4096, 1024]", "[4096, 1025]"))


def test_each_workload_has_its_own_lengths() -> None:
    text = (
        "schema: 1\nworkloads:\n  a: {arrival_rate: 1, prompt_tokens: 5, output_tokens: 5}\n"
        "  b: {arrival_rate: 1, context_tokens: 100, output_tokens: 5}\npolicy: {rho_target: 0.7}\n"
    )
    assert len(loads_grid(text).workloads) == 2
    both = text.replace("a: {arrival_rate: 1,", "a: {arrival_rate: 1, context_tokens: 4,")
    assert [item[:2] for item in problems_of(both)] == [(3, "workloads.a.context_tokens")] * 2


def test_workload_and_workloads_exclude_each_other() -> None:
    text = "schema: 1\nworkload: {peak_to_average: 2}\nworkloads: {a: {arrival_rate: 1}}\npolicy: {rho_target: 0.7}\n"
    line, key, message = only_problem(text)
    assert (line, key) == (3, "workloads")
    assert "line 2" in message
    assert "names no workload" in only_problem("schema: 1\nworkloads: {}\npolicy: {rho_target: 0.7}\n")[2]


def test_catalog_entries_are_checked_at_their_place() -> None:
    text = HEAD + (
        "catalog:\n"
        "  instances:\n"
        "    ours: {gpu: h100-smx, gpus_per_node: 8, usd_per_node_hour: 20}\n"
        "    qwen2.5.x: {gpu: l4, gpus_per_node: 1, usd_per_node_hour: -3}\n"
        "deployment: {instance: ours}\n"
    )
    ours, other = problems_of(text)
    assert ours[:2] == (6, "catalog.instances.ours.gpu")
    assert "h100-sxm" in ours[2]
    assert other[:2] == (7, "catalog.instances.qwen2.5.x.usd_per_node_hour")


MANY = """\
schema: 1
namee: x
workload: {arrival_rate: -1, output_tokens: 1024}
slo: {ttft: {limit: 1, percentile: 20}}
deployment:
  gpu: h100
  mfuu: 0.4
  kv_dtype: fp8
  kv_dtype: bf16
policy: {rho_target: 1.2}
axes:
  replicas: [1, 2]
  context_tokens: [512]
  redundancy: []
  kv_dtype: [fp8, bf16]
scenarios:
  x: {kv_dtype: fp8, rho_target: {multiply: high}}
"""


def test_all_problems_come_at_once_and_in_the_order_of_the_file() -> None:
    found = problems_of(MANY)
    assert [item[0] for item in found] == sorted(item[0] or 0 for item in found)
    assert {item[:2] for item in found} == {
        (2, "namee"),
        (3, "workload.arrival_rate"),
        (4, "slo.ttft.percentile"),
        (6, "deployment.gpu"),
        (7, "deployment.mfuu"),
        (8, "deployment.kv_dtype"),
        (9, "deployment.kv_dtype"),
        (10, "policy.rho_target"),
        (12, "axes.replicas"),
        (13, "axes.context_tokens"),
        (14, "axes.redundancy"),
        (17, "scenarios.x.kv_dtype"),
        (17, "scenarios.x.rho_target.multiply"),
    }


def test_the_text_of_the_error_has_one_line_per_problem() -> None:
    with pytest.raises(ContractError) as caught:
        loads_grid(MANY, "f.yaml")
    lines = str(caught.value).splitlines()
    assert len(lines) == len(caught.value.problems)
    assert lines[0].startswith("f.yaml:2:1: namee: unknown key (did you mean name?)")
