"""Labels that must agree: instances and GPUs, overrides of catalog values, values by label."""

from __future__ import annotations

import pytest

from gridplan.contract import loads_grid
from gridplan.errors import ContractError

HEAD = """\
schema: 1
workload: {arrival_rate: 10}
policy: {rho_target: 0.7}
catalog:
  instances:
    eight: {gpu: a100-sxm-80gb, gpus_per_node: 8, usd_per_node_hour: 40.96}
    one: {gpu: a100-sxm-80gb, gpus_per_node: 1, usd_per_node_hour: 2.49}
    small: {gpu: l4, gpus_per_node: 1, usd_per_node_hour: 0.7}
"""  # what follows starts on line 9


def problems(text: str) -> list[tuple[int | None, str | None, str]]:
    """Line, key and message of every problem."""
    try:
        loads_grid(HEAD + text + "\n")
    except ContractError as error:
        return [(item.line, item.key, item.message) for item in error.problems]
    return []


TWO_GPUS = "axes: {instance: [eight, small]}"
TWO_MODELS = "axes: {model: [llama-3-8b, qwen3-8b]}"


@pytest.mark.parametrize(
    "text",
    [
        "deployment: {gpu: a100-sxm-80gb, instance: eight}",
        "deployment: {gpu: a100-sxm-80gb}\naxes: {instance: [eight, one]}",
        "axes: {instance: [eight, small]}",
        "deployment: {gpu_memory_bytes: 79.65 GiB}\naxes: {instance: [eight, one]}",
        "deployment: {gpu_memory_bytes: {by: gpu, l4: 22 GiB, a100-sxm-80gb: 79 GiB}}\n" + TWO_GPUS,
        "deployment: {gpu_memory_bytes: {by: instance, small: 22 GiB, default: 79 GiB}}\n" + TWO_GPUS,
        "axes: {gpu: [l4, h100-sxm], gpu_memory_bytes: [20 GiB, 40 GiB]}",
        "deployment: {weights_bytes: 14.9 GiB, model: llama-3-8b}",
        "deployment: {weights_bytes: {by: model, llama-3-8b: 15 GB, qwen3-8b: 16 GB}}\n" + TWO_MODELS,
        "deployment: {gpu: l4}\nscenarios: {x: {gpu: l40s}}",
        "deployment: {mfu: {by: engine, vllm: 0.4}}",
        "deployment: {mfu: {by: kv_dtype, fp8: 0.4, default: 0.3}}",
        "capacity: {lambda_instance_given: {by: gpu, l4: 2}}\naxes: {gpu: [l4, l40s]}",
    ],
)
def test_allowed(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(
    ("text", "line", "key", "parts"),
    [
        (
            "deployment: {gpu: l4, instance: eight}",
            *(9, "deployment.gpu"),
            ("gpu l4 contradicts the instance: eight has a100-sxm-80gb",),
        ),
        (
            "deployment: {gpu: a100-sxm-80gb}\naxes: {instance: [eight, small]}",
            *(9, "deployment.gpu"),
            ("contradicts the instance: small has l4.", "leave gpu out"),
        ),
        (
            "deployment:\n  instance: eight\naxes: {gpu: [a100-sxm-80gb, l4]}",
            *(11, "axes.gpu"),
            ("contradicts the instance: eight has a100-sxm-80gb",),
        ),
        (
            "axes:\n  gpu: [a100-sxm-80gb]\n  instance: [eight]",
            *(10, "axes.gpu"),
            ("gpu comes from the instance, which is an axis (line 11)",),
        ),
        (
            "axes: {instance: [eight]}\nscenarios: {x: {gpu: l4}}",
            *(10, "scenarios.x.gpu"),
            ("scenario x may not change gpu: the instance of line 9 fixes it",),
        ),
        (
            "deployment: {instance: eight}\nscenarios: {x: {instance: one}}",
            *(10, "scenarios.x.instance"),
            ("scenario x may not change instance",),
        ),
        (
            "deployment: {gpu: l4}\nscenarios: {x: {instance: eight}}",
            *(9, "deployment.gpu"),
            ("eight has a100-sxm-80gb",),
        ),
        (
            "deployment: {gpu_memory_bytes: 80 GB}\naxes: {gpu: [l4, l40s, a10g, h100-sxm, h200-sxm]}",
            *(9, "deployment.gpu_memory_bytes"),
            ("one value for 5 gpus (l4, l40s, a10g, h100-sxm and 1 more); write {by: gpu, ...}",),
        ),
        (
            "deployment: {peak_flops: 300 TFLOP/s}\naxes: {instance: [eight, small]}",
            *(9, "deployment.peak_flops"),
            ("one value for 2 gpus",),
        ),
        (
            "deployment: {machine_intensity: {by: kv_dtype, default: 300, fp8: 600}}\naxes: {gpu: [l4, l40s]}",
            *(9, "deployment.machine_intensity"),
            ("one value for 2 gpus (l4, l40s); write {by: gpu, ...}",),
        ),
        (
            "deployment: {weights_bytes: 14.9 GiB}\naxes: {model: [llama-3-8b, qwen3-8b]}",
            *(9, "deployment.weights_bytes"),
            ("weights_bytes is one value for 2 models (llama-3-8b, qwen3-8b); write {by: model, ...}",),
        ),
        (
            "deployment: {model: llama-3-8b}\nscenarios: {x: {model: qwen3-8b}, y: {params_total: 8e9}}",
            *(10, "scenarios.y.params_total"),
            ("one value for 2 models",),
        ),
        (
            "deployment: {mfu: {by: model, llama-3-8b: 0.4}}\naxes: {model: [llama-3-8b, qwen3-8b]}",
            *(9, "deployment.mfu"),
            ("mfu has no value for model qwen3-8b; add it or a default",),
        ),
        (
            "deployment: {mfu: {by: gpu, l4: 0.4}}\naxes: {instance: [eight, small]}",
            *(9, "deployment.mfu"),
            ("no value for gpu a100-sxm-80gb",),
        ),
        ("deployment: {mfu: {by: gpu, l4: 0.4}}", 9, "deployment.mfu", ("the contract names no gpu",)),
        ("deployment: {mfu: {by: gpu, default: 0.4}}", 9, "deployment.mfu", ("by gpu names no gpu",)),
        ("deployment: {mfu: {by: gpu, l5: 0.4}}", 9, "deployment.mfu.l5", ("unknown gpu l5",)),
        ("deployment: {mfu: {by: gpu, l4: 4}}", 9, "deployment.mfu.l4", ("<= 1; 4 is not",)),
        ("deployment: {mfu: {by: modeld, a: 0.4}}", 9, "deployment.mfu.by", ("did you mean model",)),
        ("deployment: {mfu: {by: rho_target, a: 0.4}}", 9, "deployment.mfu.by", ("rho_target has no labels",)),
        ("deployment: {mfu: {by: scenario, a: 0.4}}", 9, "deployment.mfu.by", ("written under scenarios",)),
        ("deployment: {mfu: {by: workload, a: 0.4}}", 9, "deployment.mfu.by", ("needs the section workloads",)),
        ("deployment: {gpu: {by: gpu, l4: l4}}", 9, "deployment.gpu.by", ("gpu cannot differ by itself",)),
        ("deployment: {mfu: {by: 3, l4: 1}}", 9, "deployment.mfu.by", ("must be a text, not a number",)),
        ("deployment: {mfu: {by: gpu, l4: [1]}}", 9, "deployment.mfu.l4", ("not a list",)),
    ],
)  # fmt: skip
def test_one_fault(text: str, line: int, key: str, parts: tuple[str, ...]) -> None:
    found = problems(text)
    assert [item[:2] for item in found] == [(line, key)]
    for part in parts:
        assert part in found[0][2]


def test_inputs_that_differ_by_each_other() -> None:
    found = problems("deployment: {kv_dtype: {by: weight_dtype, fp8: fp8}, weight_dtype: {by: kv_dtype, fp8: fp8}}")
    assert [item[1] for item in found] == ["deployment.kv_dtype", "deployment.weight_dtype"]
    assert all("in turn" in item[2] for item in found)


def test_workload_labels() -> None:
    text = "schema: 1\nworkloads: {chat: {arrival_rate: 1}, code: {arrival_rate: 2}}\npolicy: {rho_target: 0.7}\n"
    with pytest.raises(ContractError, match=r"unknown workload cht \(did you mean chat\?\)"):
        loads_grid(text + "deployment: {mfu: {by: workload, cht: 0.3, default: 0.4}}")
    with pytest.raises(ContractError, match="mfu has no value for workload code"):
        loads_grid(text + "deployment: {mfu: {by: workload, chat: 0.3}}")
