"""Terms of the memory budget: formulas by hand, start-up logs, and terms as inputs that add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridplan
from gridplan.catalog import load_catalog
from gridplan.engine.budget import BUDGET_TERMS
from gridplan.engine.inputs import Inputs, build_inputs
from gridplan.formulas import (
    budget_sum_bytes,
    context_share_bytes,
    draft_weights_bytes_per_gpu,
    expert_workspace_bytes,
    lora_bytes,
    static_fraction_buckets,
    static_fraction_parts,
    static_fraction_tp,
)

GIB = 2**30
CATALOG = load_catalog()
PLAN = """
schema: 1
workload: {{prompt_tokens: 2000, output_tokens: 300, arrival_rate: 2}}
slo: {{tpot_slo_s: 0.05}}
deployment: {{model: {model}, {gpu}, {more}}}
policy: {{rho_target: 0.65}}
{rest}
"""


def inputs(more: str, rest: str = "", gpu: str = "gpu: h100-sxm", model: str = "llama-3.1-8b") -> Inputs:
    return build_inputs(gridplan.loads_grid(PLAN.format(more=more, rest=rest, gpu=gpu, model=model)))


def term(given: Inputs, name: str) -> Any:
    values = given.values[name].data.ravel().tolist()
    return values[0] if len(values) == 1 else values


def test_a_sum_is_a_sum() -> None:
    parts = [float(2**power) for power in range(len(BUDGET_TERMS))]
    assert budget_sum_bytes(*parts) == 127.0
    assert budget_sum_bytes(1e9, 2e9, 0.0) == 3e9


def test_expert_buffers_by_hand() -> None:
    # Mixtral-8x7B over 2 GPUs, 8,192 tokens of 2 experts: 2 x 16,384 x (2 x 7,168 + 7,168) B
    assert expert_workspace_bytes(4096, 14336, 2, 2, 8192) == 2 * 16384 * (14336 + 7168)
    # Narrow experts: the output (hidden) is wider than gate and up together.
    assert expert_workspace_bytes(2048, 768, 8, 1, 1) == 2 * 8 * (2048 + 768)


def test_adapter_slots_by_hand() -> None:
    # Llama-3-8B: q 4096, k and v 1024, o 4096, gate, up and down 14336, times rank 16 and 32 layers: 41,943,040
    # parameters (the figure that PEFT prints for all linear modules), two bytes each.
    one = lora_bytes(1, 16, 32, 4096, 4096, 1024, 14336, 1, 1)
    assert one == 2 * 41_943_040
    assert lora_bytes(4, 64, 32, 4096, 4096, 1024, 14336, 1, 1) == 16 * one
    # Over 2 GPUs A of q, k, v, gate, up and B of o, down stay whole: 7 x 4096 of 81,920 a layer and rank.
    whole = 7 * 4096
    assert lora_bytes(1, 16, 32, 4096, 4096, 1024, 14336, 2, 2) == 2 * 16 * 32 * (whole + (81_920 - whole) / 2)


def test_draft_weights_and_the_share_of_a_context() -> None:
    assert draft_weights_bytes_per_gpu(2.5e9, 2) == 1.25e9
    assert context_share_bytes(0.5 * GIB, 0.5) == 0.25 * GIB


def test_static_fractions_by_hand() -> None:
    # H100, 81,559 MiB. Buckets at tp 1: 9.5 + 0.5 GiB reserved. Parts: 512 + 1.5 x 8192 + 2 x 256 + 128 = 13,440 MiB
    h100 = 81559 * 2**20
    assert static_fraction_buckets(h100, 1) == round(1 - 10 * 1024 / 81559, 3)
    assert static_fraction_parts(h100, 1) == round(1 - 13440 / 81559, 3)
    # RTX 4090, 24,564 MiB. Buckets: 2.9 GiB. Parts: 512 + 1.5 x 2048 + 2 x 24 + 128 = 3,760 MiB
    rtx4090 = 24564 * 2**20
    assert static_fraction_buckets(rtx4090, 1) == round(1 - 2.9 * 1024 / 24564, 3)
    assert static_fraction_parts(rtx4090, 1) == round(1 - 3760 / 24564, 3)
    # MI300X, 196,592 MiB: 32 GiB; 512 + 1.5 x 16384 + 2 x 512 + 128 x 8 = 27,136 MiB over 8 GPUs
    assert static_fraction_buckets(196592 * 2**20, 8) == round(1 - 32 * 1024 / 196592, 3)
    assert static_fraction_parts(196592 * 2**20, 8) == round(1 - 27136 / 196592, 3)
    assert static_fraction_tp(np.array([1.0, 2.0, 4.0, 8.0, 16.0])).tolist() == [0.88, 0.87, 0.85, 0.81, 0.79]


@pytest.mark.parametrize(
    ("spec", "model", "tp", "seqs", "tokens", "logged_gib"),
    [
        # llm-d-incubation/llm-d-planner@e50305a:docs/empirical-vllm-memory-results.md (vLLM 0.11, H100)
        ("vllm@0.11", "qwen3-0.6b", 1, 1024, 8192, 5.56),
        ("vllm@0.11", "llama-3.3-70b", 1, 1024, 8192, 4.84),
        ("vllm@0.11", "gpt-oss-20b", 1, 1024, 8192, 7.38),
        # vllm-project/vllm#10517 (0.6.4, RTX 3090) and #13882 (0.7, 256 sequences)
        ("vllm@0.6.4", "llama-3.1-8b", 1, 256, 20000, 2.07),
        ("vllm@0.6.4", "llama-3.1-8b", 1, 256, 29000, 2.99),
        ("vllm@0.7", "qwen2.5-7b", 1, 256, 4096, 1.42),
        # Public logs that no constant was made from: Llama-3.1-8B on an A100, Qwen3-8B over four GPUs (V0)
        ("vllm@0.7", "llama-3.1-8b", 1, 256, 2048, 1.19),
        ("vllm@0.7", "qwen3-8b", 4, 256, 8192, 1.45),
        # llm-d-incubation/llm-d-planner@2d557dc:docs/accuracy/vllm-v0.19.0-accuracy-report.md (vLLM 0.19, H100)
        ("vllm@0.19", "llama-3.1-8b", 1, 1024, 8192, 1.89),
        ("vllm@0.19", "llama-2-7b", 1, 1024, 8192, 0.77),  # CodeLlama-7b, of the same shape
        ("vllm@0.19", "qwen2.5-7b", 4, 1024, 8192, 2.21),
        ("vllm@0.19", "qwen3-8b", 1, 1024, 8192, 2.21),
        ("vllm@0.19", "phi-4", 1, 1024, 8192, 1.52),
        ("vllm@0.19", "gpt-oss-20b", 1, 1024, 8192, 2.87),
        ("vllm@0.19", "mixtral-8x7b", 2, 1024, 8192, 1.21),
        ("vllm@0.19", "qwen3-30b-a3b", 1, 1024, 8192, 2.68),
        ("vllm@0.19", "deepseek-v2-lite", 1, 1024, 8192, 1.93),
    ],
)
def test_activation_peaks_match_start_up_logs(
    spec: str, model: str, tp: int, seqs: int, tokens: int, logged_gib: float
) -> None:
    at = f"engine: {spec}, tensor_parallel: {tp}, max_num_seqs: {seqs}, max_num_batched_tokens: {tokens}"
    peak = term(inputs(at, model=model), "activation_bytes")
    entry = CATALOG.model(model)
    assert peak / GIB == pytest.approx(logged_gib, rel=0.055 if entry.num_experts else 0.025)


def test_terms_sum_to_the_workspace_exactly() -> None:
    given = inputs("engine: vllm@0.22, max_loras: 2, draft_weights_bytes: 1 GB, reserve_bytes: 0.5 GiB")
    parts = [term(given, name) for name in BUDGET_TERMS]
    assert all(part > 0 for part in parts[:5])
    assert term(given, "workspace_bytes") == sum(parts)
    assert term(given, "lora_bytes") == 2 * 80 * 2**20
    assert (term(given, "draft_weights_bytes"), term(given, "reserve_bytes")) == (1e9, 0.5 * GIB)


def test_a_measured_term_replaces_its_rule_alone() -> None:
    rule, measured = inputs("engine: vllm@0.11"), inputs("engine: vllm@0.11, activation_bytes: 4.76 GiB")
    assert term(measured, "activation_bytes") == 4.76 * GIB
    assert term(measured, "non_torch_bytes") == term(rule, "non_torch_bytes") == 0.13 * GIB
    assert term(measured, "workspace_bytes") == 4.76 * GIB + 0.13 * GIB


def test_a_given_workspace_leaves_no_terms_beside_it() -> None:
    given = inputs("workspace_bytes: 4 GiB")
    assert term(given, "workspace_bytes") == 4 * GIB
    assert all(np.isnan(term(given, name)) for name in BUDGET_TERMS)


@pytest.mark.parametrize("name", BUDGET_TERMS)
def test_a_sum_and_one_of_its_terms_contradict_each_other(name: str) -> None:
    with pytest.raises(
        gridplan.ContractError, match=r"workspace_bytes is the sum of non_torch_bytes, .*: give it or its"
    ):
        inputs(f"workspace_bytes: 4 GiB, {name}: 1 GiB")


def test_a_sum_by_engine_and_a_term_for_the_others_agree() -> None:
    # The sum holds for one engine alone; the other one still has its terms.
    both = "axes: {engine: [vllm@0.11, sglang@0.5.3]}"
    given = inputs("workspace_bytes: {by: engine, vllm@0.11: 4 GiB, sglang@0.5.3: 1 GiB}", both)
    assert term(given, "workspace_bytes") == [4 * GIB, 1 * GIB]


def test_graphs_count_since_0_21_and_context_by_the_fraction_in_sglang() -> None:
    graphs = term(inputs("", "axes: {engine: [vllm@0.20, vllm@0.21]}"), "cuda_graphs_bytes")
    assert graphs == [0.0, 0.5 * GIB]
    given = inputs("engine: sglang@0.5.3, gpu_memory_utilization: 0.8")
    assert term(given, "non_torch_bytes") == 0.8 * 0.5 * GIB
    assert term(given, "activation_bytes") == term(given, "cuda_graphs_bytes") == 0.0


def test_sglang_chooses_its_fraction() -> None:
    of_h100 = term(inputs("", "axes: {engine: [sglang@0.4.2, sglang@0.4.9, sglang@0.5.3]}"), "gpu_memory_utilization")
    total = 79.19 * GIB
    assert of_h100 == [0.88, static_fraction_buckets(total, 1), static_fraction_parts(total, 1)]
    own = "catalog: {engines: {sglang: {default_fraction: 0.7}}}"
    assert term(inputs("engine: sglang", own), "gpu_memory_utilization") == 0.7


def test_a_term_says_which_rule_and_versions_it_is_of() -> None:
    given = inputs("engine: vllm@0.19")
    origin = given.origins["activation_bytes"]({})
    assert "15 B x sequences x vocabulary" in origin.source
    assert "(vllm 0.17 to 0.20)" in origin.source
    assert origin.cls == "measurement"
    own = inputs("engine: vllm@0.19", "catalog: {engines: {vllm@0.19: {non_torch_gib_tp1: 1, source: our log}}}")
    assert term(own, "non_torch_bytes") == GIB
    assert own.origins["non_torch_bytes"]({}).source.startswith("our log")


def test_adapters_of_layers_that_are_not_understood_must_be_given() -> None:
    with pytest.raises(gridplan.ContractError) as error:
        inputs("engine: vllm@0.11, max_loras: 1, tensor_parallel: 8", model="deepseek-v3")
    (problem,) = error.value.problems
    assert (problem.line, problem.key) == (5, "deployment.max_loras")
    assert "adapters of deepseek-v3 take is not understood" in problem.message
    stated = inputs("max_loras: 1, tensor_parallel: 8, lora_bytes: 1 GiB", model="deepseek-v3")
    assert term(stated, "lora_bytes") == GIB


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("max_loras: 2, workspace_bytes: 4 GiB", "max_loras is not used: workspace_bytes is given"),
        ("max_lora_rank: 64", "max_lora_rank is not used: max_loras is not given"),
    ],
)
def test_adapters_that_nothing_reads_are_said(stated: str, said: str) -> None:
    assert said in inputs(stated).warnings


def test_a_term_depends_on_what_makes_a_difference_to_it() -> None:
    axes = "axes: {tensor_parallel: [1, 2], max_model_len: [4096, 8192], max_num_batched_tokens: [2048, 16384]}"
    given = inputs("engine: vllm@0.22", axes)
    dims = {name: set(given.values[name].dims) for name in BUDGET_TERMS}
    both = {"tensor_parallel", "max_num_batched_tokens"}
    moving = {"non_torch_bytes": {"tensor_parallel"}, "activation_bytes": both}
    assert dims == {name: moving.get(name, set()) for name in BUDGET_TERMS}


def test_a_pool_larger_than_its_gpu_is_an_error() -> None:
    for name, value in (("kv_pool_bytes_given", "100 GiB"), ("kv_pool_tokens_given", "5e6")):
        with pytest.raises(gridplan.ContractError, match=rf"{name}: a pool of .* GiB on each GPU is more than its mem"):
            inputs(f"{name}: {value}")
    inputs("kv_pool_tokens_given: 1e6, data_parallel: 2")  # 131 GB over two ranks


@pytest.mark.parametrize(("model", "tp"), [("deepseek-v2-lite", 8), ("llama-3.1-8b", 16), ("gemma-3-27b", 8)])
def test_bytes_of_a_sequence_are_sharded_as_the_models_own(model: str, tp: int) -> None:
    def concurrency(more: str) -> int:
        at = PLAN.format(gpu="gpu: h100-sxm", model=model, more=f"tensor_parallel: {tp}{more}", rest="")
        return int(gridplan.evaluate(gridplan.loads_grid(at)).concurrency_memory)

    at = PLAN.format(gpu="gpu: h100-sxm", model=model, more=f"tensor_parallel: {tp}", rest="")
    own = float(gridplan.evaluate(gridplan.loads_grid(at)).kv_bytes_per_sequence)
    assert concurrency(f", kv_bytes_per_sequence_given: {own}") == concurrency("")
