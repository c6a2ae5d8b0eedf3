"""What cannot be planned: tensor-parallel splits, number formats."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridplan.catalog import compute_flops, dtype_problem, load_catalog, tensor_parallel_problem

SHIPPED = load_catalog()


def legal(model: str, candidates: tuple[int, ...] = (1, 2, 4, 7, 8, 14, 16)) -> list[int]:
    return [tp for tp in candidates if tensor_parallel_problem(SHIPPED.model(model), tp) is None]


def test_legal_widths_of_qwen25_05b() -> None:
    # 14 heads, 2 KV heads, MLP 4,864 = 2^8 x 19 (Qwen2.5-0.5B config.json): heads allow 1, 2, 7, 14; KV heads rule out
    # 7, and the MLP 7 and 14 (llm-d-planner's test accepts 7, which the engine rejects).
    assert legal("qwen2.5-0.5b") == [1, 2]


def test_kv_heads_may_be_replicated() -> None:
    # Llama-3.3-70B: 64 heads, 8 KV heads: at 16 ranks each KV head lives on two.
    assert legal("llama-3.3-70b") == [1, 2, 4, 8, 16]


def test_latent_attention_ignores_kv_heads_and_checks_both_mlps() -> None:
    # DeepSeek-V3: 128 heads, dense MLP 18,432 = 2^11 x 9, experts 2,048.
    assert legal("deepseek-v3") == [1, 2, 4, 8, 16]
    assert (
        tensor_parallel_problem(SHIPPED.model("deepseek-v3"), 3)
        == "128 attention heads do not divide by tensor_parallel 3"
    )


def test_the_experts_width_counts_where_there_are_experts() -> None:
    # Qwen3-30B-A3B: 32 heads, 4 KV heads, experts of 768 = 3 x 256; all layers are MoE, so the 6,144 of config.json is
    # not used by any layer.
    assert legal("qwen3-30b-a3b", (8, 16, 32)) == [8, 16, 32]
    assert legal("falcon-180b", (4, 8, 16, 29)) == [4, 8]  # 232 = 8 x 29 heads, MLP 59,392 = 2^11 x 29, 8 KV heads


def test_a_width_below_one_is_no_width() -> None:
    assert tensor_parallel_problem(SHIPPED.model("llama-3-8b"), 0) == "tensor_parallel is at least 1, not 0"


@given(model=st.sampled_from(sorted(SHIPPED.models)), exponent=st.integers(1, 8))
def test_half_of_a_legal_power_of_two_is_legal(model: str, exponent: int) -> None:
    entry = SHIPPED.model(model)
    if tensor_parallel_problem(entry, 2**exponent) is None:
        assert tensor_parallel_problem(entry, 2 ** (exponent - 1)) is None


@pytest.mark.parametrize(
    ("role", "name", "bits"),
    [
        ("weight", "bf16", 16),
        ("weight", "int4", 4.15625),
        ("weight", "int4_experts", 4.5),
        ("weight", "bnb4", 4.127),
        ("weight", "mxfp4", 4.25),
        ("weight", "nvfp4", 4.5),
        ("kv", "fp8", 8),
    ],
)
def test_bits_per_element_include_scales(role: str, name: str, bits: float) -> None:
    # int4: 4 + (16 + 4)/128; bnb4: 4 + 8/64 + 32/(64 * 256), to three decimals.
    # MXFP4: 4 + 8/32; NVFP4: 4 + 8/16 (OCP MX specification, NVFP4 format).
    assert SHIPPED.dtype(role, name).bits_per_element == bits


@pytest.mark.parametrize(
    ("gpu", "name", "tflops"),
    [
        ("h100-sxm", "fp8", 1979.0),
        ("a100-sxm-80gb", "fp8", 312.0),
        ("v100-sxm2-16gb", "int4", 125.0),
        ("b200", "nvfp4", 9000.0),
        ("h100-sxm", "nvfp4", 989.0),
        ("gaudi2", "fp16", 432.0),
    ],
)
def test_formats_without_a_path_compute_at_the_16_bit_rate(gpu: str, name: str, tflops: float) -> None:
    assert compute_flops(SHIPPED.dtype("weight", name), SHIPPED.gpu(gpu)) == tflops * 1e12


def test_no_rate_is_invented() -> None:
    assert compute_flops(SHIPPED.dtype("weight", "fp32"), SHIPPED.gpu("h100-sxm")) is None
    assert compute_flops(SHIPPED.dtype("weight", "bf16"), SHIPPED.gpu("v100-sxm2-32gb")) is None


@pytest.mark.parametrize(
    ("gpu", "role", "name", "allowed"),
    [
        ("t4", "weight", "bf16", False),
        ("t4", "weight", "fp16", True),
        ("t4", "kv", "bf16", False),
        ("t4", "kv", "fp8", True),
        ("b200", "kv", "nvfp4", True),
        ("h100-sxm", "kv", "nvfp4", False),
        ("mi355x", "kv", "nvfp4", False),
    ],
)
def test_which_gpu_holds_which_format(gpu: str, role: str, name: str, allowed: bool) -> None:
    assert (dtype_problem(SHIPPED.dtype(role, name), SHIPPED.gpu(gpu)) is None) is allowed
