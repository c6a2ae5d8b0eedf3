"""The memory of one GPU as a column: printed figures add up, measured pools show what is left over, sums must agree."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.catalog import load_catalog
from gridplan.report.budget import TERMS, BudgetLine, budget_lines, budget_text
from gridplan.report.explanation import Explanation

GIB = 2**30
NAN = float("nan")
CATALOG = load_catalog()
LINE = re.compile(r"^  ([ +=-]) (.{28}) +(-?[\d,]+\.\d{3})(?:  .*)?$")

PLAN = """
schema: 1
workload: {{prompt_tokens: 2000, output_tokens: 300, arrival_rate: 2}}
deployment: {{gpu: h100-sxm, {stated}}}
policy: {{rho_target: 0.65}}
"""


def explained(stated: str) -> Explanation:
    return gridplan.explain(gridplan.loads_grid(PLAN.format(stated=stated)))


def printed(lines: tuple[BudgetLine, ...]) -> list[tuple[str, str, int]]:
    """Sign, name and thousandths of a GiB of each printed line."""
    rows = []
    for text in budget_text(lines):
        match = LINE.match(text)
        assert match, text
        rows.append((match[1], match[2].strip(), round(float(match[3].replace(",", "")) * 1000)))
    return rows


def adds_up(rows: list[tuple[str, str, int]]) -> bool:
    """Whether each sum is what stands above it, to the last printed digit."""
    running = 0
    for sign, _, thousandths in rows:
        if sign == "=":
            if running != thousandths:
                return False
        else:
            running += -thousandths if sign == "-" else thousandths
    return True


amounts = st.one_of(st.just(0.0), st.floats(0, 0.02), st.floats(0, 5), st.floats(0, 200))


@st.composite
def memory(draw: Any) -> dict[str, float]:
    """One cell's memory, of either meaning of the fraction, with terms or their sum, sometimes a measured pool."""
    known = {f"{name}_bytes_per_gpu": draw(amounts) * GIB for name in TERMS}
    known["workspace_bytes_per_gpu"] = draw(amounts) * GIB
    if draw(st.booleans()):
        known["non_torch_bytes_per_gpu"] = NAN
    known |= {
        "gpu_memory_bytes": draw(st.floats(1, 300)) * GIB,
        "gpu_memory_utilization": draw(st.floats(0.05, 1)),
        "fraction_of_free": draw(st.sampled_from([0.0, 1.0])),
        "tensor_parallel": draw(st.sampled_from([1.0, 2.0])),
        "kv_pool_bytes_given": NAN,
        "kv_pool_tokens_given": NAN,
        "kv_pool_bytes_per_gpu": draw(st.floats(0, 300)) * GIB,
    }
    if draw(st.booleans()):
        known[draw(st.sampled_from(["kv_pool_bytes_given", "kv_pool_tokens_given"]))] = 1.0
    return known


@given(memory(), st.sampled_from([None, "vllm@0.25", "sglang@0.5.3"]))
@settings(max_examples=400, deadline=None)
def test_a_printed_column_adds_up(known: dict[str, float], engine: str | None) -> None:
    lines = budget_lines(known, engine, CATALOG, frozenset())
    rows = printed(lines)
    assert adds_up(rows)
    for line, (_, _, thousandths) in zip(lines, rows, strict=True):
        # A figure moves by one thousandth at most, and a sum is never moved at all.
        slack = 0.5 if line.sign == "=" else 1.5
        assert abs(thousandths - line.bytes / GIB * 1000) <= slack + 1e-6
        # Of memory that is short an engine would leave a share of less than nothing.
        assert line.sign == "=" or line.bytes < 0 or thousandths >= 0


@given(st.lists(amounts, min_size=1, max_size=9), st.floats(0, 300))
@settings(max_examples=300, deadline=None)
def test_any_column_of_terms_adds_up(terms: list[float], total: float) -> None:
    lines = [BudgetLine("usable memory", "+", total * GIB), *(BudgetLine("term", "-", x * GIB) for x in terms)]
    lines.append(BudgetLine("KV pool", "=", (total - sum(terms)) * GIB))
    assert adds_up(printed(tuple(lines)))


@given(memory())
@settings(max_examples=100, deadline=None)
def test_the_bytes_behind_the_column_add_up(known: dict[str, float]) -> None:
    running = 0.0
    for line in budget_lines(known, None, CATALOG, frozenset()):
        if line.sign == "=":
            assert running == pytest.approx(line.bytes, abs=1.0)
        else:
            running += -line.bytes if line.sign == "-" else line.bytes


def test_a_pool_is_that_of_the_plan() -> None:
    for stated in ("engine: vllm@0.25", "engine: sglang@0.5.3", "engine: vllm@0.11, max_loras: 3",
                   "engine: tensorrt-llm, workspace_bytes: 3 GiB"):  # fmt: skip
        found = explained(f"model: llama-3.1-8b, {stated}")
        (pool,) = (line for line in found.budget if line.name == "KV pool")
        (value,) = (line.value for line in found.lines if line.name == "kv_pool_bytes_per_gpu")
        assert pool.bytes == pytest.approx(value, rel=1e-12), stated


def test_an_engine_that_takes_a_share_of_what_is_free() -> None:
    found = explained("model: llama-3.1-8b, engine: tensorrt-llm, workspace_bytes: 4 GiB, gpu_memory_bytes: 80 GiB")
    assert [line.name for line in found.budget] == [
        "memory of the GPU", "weights", "workspace", "free after loading", "left free by the engine", "KV pool",
    ]  # fmt: skip
    free, left, pool = (line.bytes for line in found.budget[3:])
    assert left == pytest.approx(0.1 * free)
    assert pool == pytest.approx(0.9 * free)
    assert adds_up(printed(found.budget))


@pytest.mark.parametrize(("measured", "sign"), [("50 GiB", "-"), ("60 GiB", "+")])
def test_a_measured_pool_shows_what_the_terms_do_not_explain(measured: str, sign: str) -> None:
    found = explained(f"model: llama-3.1-8b, engine: vllm@0.25, kv_pool_bytes_given: {measured}")
    pool, gap, as_measured = found.budget[-3:]
    assert (pool.name, gap.name, as_measured.name) == (
        "KV pool", "not explained by the terms", "KV pool as measured",
    )  # fmt: skip
    assert (gap.sign, as_measured.bytes) == (sign, float(measured.split()[0]) * GIB)
    assert gap.bytes == abs(as_measured.bytes - pool.bytes)
    assert adds_up(printed(found.budget))


def test_a_pool_measured_in_tokens_is_shown_in_bytes() -> None:
    found = explained("model: llama-3.1-8b, engine: vllm@0.25, kv_pool_tokens_given: 400000")
    assert found.budget[-1].bytes == 400000 * 131072


def test_a_workspace_in_one_figure_is_one_line() -> None:
    found = explained("model: llama-3.1-8b, engine: vllm@0.25, workspace_bytes: 4 GiB")
    assert [line.name for line in found.budget] == ["usable memory", "weights", "workspace", "KV pool"]
    assert found.budget[2].low_bytes is None


def test_predicted_terms_have_a_spread_and_stated_ones_none() -> None:
    found = explained("model: llama-3.1-8b, engine: vllm@0.25, non_torch_bytes: 0.25 GiB")
    spread = {line.name: line.low_bytes for line in found.budget}
    assert spread["non-torch"] is None
    assert spread["activation peak"] is not None
    assert "seen:" in str(found)


def test_memory_that_is_not_known_has_no_column() -> None:
    assert explained("model: deepseek-v4-flash, engine: vllm@0.25").budget == ()
    assert budget_text(()) == []


# -------------------------------------------------------------------------------------------- adapters, draft models


def test_adapters_and_a_draft_model_are_lines_of_their_own() -> None:
    found = explained("model: llama-3.1-8b, engine: vllm@0.25, max_loras: 4, draft_model: llama-3.2-1b")
    lines = {line.name: line.bytes for line in found.budget}
    assert lines["LoRA slots"] == 4 * 80 * 2**20  # 41,943,040 parameters of rank 16, two bytes each
    params = CATALOG.model("llama-3.2-1b").params_total
    assert params is not None
    assert lines["draft model"] == 2 * params
    without = {line.name: line.bytes for line in explained("model: llama-3.1-8b, engine: vllm@0.25").budget}
    apart = without["KV pool"] - lines["KV pool"]
    assert apart == pytest.approx(lines["LoRA slots"] + lines["draft model"])


def test_a_draft_model_is_split_as_its_target_and_charged_for_its_cache() -> None:
    found = explained("model: llama-3.3-70b, tensor_parallel: 4, engine: vllm@0.25, draft_model: llama-3.2-1b")
    params = CATALOG.model("llama-3.2-1b").params_total
    assert params is not None
    assert {line.name: line.bytes for line in found.budget}["draft model"] == 2 * params / 4
    values = {line.name: line.value for line in found.lines}
    # 80 layers of 8 heads of 128 and 16 of 8 heads of 64, two heads a rank.
    assert values["kv_bytes_per_token_per_gpu"] == 80 * 2 * 256 * 2 + 16 * 2 * 128 * 2


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("workspace_bytes: 4 GiB", "the weights of draft_model are not counted: workspace_bytes is given"),
        ("kv_bytes_per_token_given: 1e5", "the cache of draft_model is not counted: kv_bytes_per_token_given is given"),
    ],
)
def test_a_draft_model_that_a_figure_leaves_out_is_said(stated: str, said: str) -> None:
    warnings = explained(f"model: llama-3.1-8b, draft_model: llama-3.2-1b, {stated}").warnings
    assert any(text.startswith(said) for text in warnings)


@pytest.mark.parametrize(
    "name", ["sliding_policy: full", "in_flight_steps: 2", "state_blocks: 2", "num_speculative_tokens: 1",
             "draft_layers: 1"]
)  # fmt: skip
def test_what_a_figure_per_token_replaces_is_said(name: str) -> None:
    found = explained(f"model: gemma-3-27b, kv_bytes_per_token_given: 1e5, {name}").warnings
    assert f"{name.partition(':')[0]} is not used: kv_bytes_per_token_given is given" in found


def test_a_draft_model_without_a_parameter_count_is_named() -> None:
    with pytest.raises(gridplan.ContractError, match=r"no parameter count of draft_model gemma-4-e2b") as caught:
        explained("model: llama-3.1-8b, draft_model: gemma-4-e2b")
    assert len(caught.value.problems) == 1
    explained("model: llama-3.1-8b, draft_model: gemma-4-e2b, draft_weights_bytes: 5 GB")


def test_an_explanation_as_data_has_the_column_and_the_groups(cli: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text(PLAN.format(stated="model: gemma-3-27b, engine: vllm@0.25"), encoding="utf-8")
    data = json.loads(cli("explain", path, "--json").out)
    assert [line["name"] for line in data["memory_budget"]][:2] == ["usable memory", "weights"]
    assert [line["layers"] for line in data["kv_layer_groups"]] == ["10 full 16x128", "52 sliding 16x128 window 1024"]
    total = sum(line["bytes"] for line in data["kv_layer_groups"])
    assert total == pytest.approx(data["values"]["kv_bytes_per_token_per_gpu"] * 2300)
