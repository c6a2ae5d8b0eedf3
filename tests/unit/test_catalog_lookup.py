"""Look-ups by name: engine versions, and errors that name what is near."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridplan.catalog import load_catalog
from gridplan.catalog.versions import holds, parse_version, range_text
from gridplan.errors import CatalogError

SHIPPED = load_catalog()


@pytest.mark.parametrize(
    ("spec", "first"),
    [
        ("vllm", "0.28"),
        ("vllm@0.7.3", "0.4"),
        ("vllm@0.8", "0.8"),
        ("vllm@0.8.3", "0.8"),
        ("vllm@0.8.5", "0.8.4"),
        ("vllm@0.9.1", "0.8.4"),
        ("vllm@0.12", "0.10"),
        ("vllm@0.16", "0.13"),
        ("vllm@0.18.1", "0.17"),
        ("vllm@0.20.0", "0.17"),
        ("vllm@0.21", "0.21"),
        ("vllm@v0.21.1rc2", "0.21"),
        ("vllm@0.22", "0.22"),
        ("vllm@1.3", "0.28"),
        ("sglang", "0.5.3"),
        ("sglang@0.4.2", "0.3"),
        ("sglang@0.5.13.post1", "0.5.3"),
        ("tensorrt-llm@1.2", "1.0"),
    ],
)
def test_a_version_finds_the_range_that_holds_it(spec: str, first: str) -> None:
    assert SHIPPED.engine(spec).version_from == first


def test_constants_change_with_the_version() -> None:
    # Default fraction 0.90, and 0.92 from about 0.22; CUDA graphs in the budget since 0.21.
    fractions = {version: SHIPPED.engine(f"vllm@{version}").default_fraction for version in ("0.7", "0.21", "0.22")}
    assert fractions == {"0.7": 0.90, "0.21": 0.90, "0.22": 0.92}
    graphs = [SHIPPED.engine(f"vllm@{version}").cuda_graphs_in_budget for version in ("0.20", "0.21", "0.22")]
    assert graphs == [False, True, True]
    rules = [SHIPPED.engine(f"vllm@{version}").activation_rule for version in ("0.11", "0.19")]
    assert rules == ["sampler_forward", "sampler_forward_kept"]


def test_scheduler_defaults_depend_on_the_gpu() -> None:
    # 8,192 batched tokens and 1,024 sequences on large GPUs, else 2,048 and 256 (vLLM V1 server defaults).
    engine = SHIPPED.engine("vllm@0.19")
    assert (engine.max_num_seqs(True), engine.max_num_batched_tokens(True, 131072)) == (1024, 8192)
    assert (engine.max_num_seqs(False), engine.max_num_batched_tokens(False, 131072)) == (256, 2048)


@pytest.mark.parametrize(
    ("length", "tokens"), [(1024, 2048), (8192, 8192), (32768, 32768), (32769, 2048), (131072, 2048)]
)
def test_v0_batches_whole_prompts_up_to_32768(length: int, tokens: int) -> None:
    # vLLM 0.6 SchedulerConfig: max(max_model_len, 2048), and 2,048 where chunked prefill turns itself on.
    assert SHIPPED.engine("vllm@0.6").max_num_batched_tokens(True, length) == tokens


def test_what_is_not_known_of_an_engine_is_none() -> None:
    engine = SHIPPED.engine("tensorrt-llm")
    assert engine.fraction_meaning == "of_free"
    assert engine.max_num_seqs(True) is None
    assert engine.max_num_batched_tokens(True, 4096) is None
    assert engine.non_torch_gib_tp1 is None
    assert engine.cuda_graphs_in_budget is None


def test_activation_figures_by_family_and_for_all_others() -> None:
    # vLLM 0.19 on an H100 (llm-d-planner): Llama 1.89, Qwen3 2.21, Qwen3-MoE 2.68, Mixtral 1.21, Granite 0.85 GiB.
    names = ("llama-3.3-70b", "qwen3-32b", "qwen3-30b-a3b", "mixtral-8x7b", "granite-3.3-8b", "phi-4", "deepseek-v3")
    figures = [SHIPPED.activation_family(SHIPPED.model(name)) for name in names]
    assert [figure.activation_gib for figure in figures] == [1.89, 2.21, 2.68, 1.21, 0.85, 2.21, 2.68]
    assert [figure.cls for figure in figures] == ["measurement"] * 5 + ["assumption"] * 2


def test_no_shipped_engine_states_a_share_of_its_own() -> None:
    """Shares of peak rates have one home, the table of step constants."""
    assert {(engine.mbu, engine.mfu) for engine in SHIPPED.engines} == {(None, None)}


@pytest.mark.parametrize(
    ("look_up", "parts"),
    [
        (lambda: SHIPPED.gpu("h100"), ["unknown GPU h100", "h100-sxm", "h100-pcie"]),
        (lambda: SHIPPED.model("lama-3-8b"), ["unknown model lama-3-8b", "llama-3-8b"]),
        (lambda: SHIPPED.instance("aws-p5-48xlarg"), ["unknown instance", "aws-p5-48xlarge"]),
        (lambda: SHIPPED.engine("vlm"), ["unknown engine vlm", "did you mean vllm", "sglang"]),
        (lambda: SHIPPED.engine("vllm@0.3"), ["vllm 0.3 is not in the catalog", "0.4 to 0.7", "0.28 and later"]),
        (lambda: SHIPPED.engine("vllm@newest"), ["'newest' is not a version"]),
        (lambda: SHIPPED.dtype("kv", "int4"), ["unknown kv dtype int4", "fp8"]),
    ],
)
def test_an_unknown_name_is_answered_with_near_ones(look_up: object, parts: list[str]) -> None:
    assert callable(look_up)
    with pytest.raises(CatalogError) as caught:
        look_up()
    for part in parts:
        assert part in str(caught.value)


def test_entries_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        SHIPPED.gpu("l4").tdp_w = 1.0  # type: ignore[misc]
    assert hash(SHIPPED.gpu("l4")) == hash(SHIPPED.gpu("l4"))


@given(st.lists(st.integers(0, 99), min_size=1, max_size=4))
def test_a_version_lies_in_its_own_range(numbers: list[int]) -> None:
    version = ".".join(map(str, numbers))
    assert parse_version(version) == tuple(numbers)
    assert holds(tuple(numbers), version, version)
    assert holds(tuple(numbers), version, None)
    assert not holds(tuple(numbers), "100", None)
    assert range_text(version, version) == version


@pytest.mark.parametrize("text", ["", "x", "0..1", "0.1 .2", "-1"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a version"):
        parse_version(text)
