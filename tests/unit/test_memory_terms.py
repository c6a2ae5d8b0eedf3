"""Spread of the terms of a memory budget: sane figures, ranges that lie in engine entries, and the values in use."""

from __future__ import annotations

import pytest

from gridplan.catalog import Engine, load_catalog
from gridplan.catalog.versions import holds, parse_version

SHIPPED = load_catalog()
TERMS = ("non_torch", "activation", "cuda_graphs")


@pytest.mark.parametrize("row", SHIPPED.memory_terms, ids=lambda row: f"{row.engine}@{row.version_from}-{row.term}")
def test_a_row_says_what_was_seen_and_where(row) -> None:  # type: ignore[no-untyped-def]
    assert row.term in TERMS
    assert row.condition in ("any", "tp1", "tp2plus")
    assert row.spread_unit in ("gib", "ratio")
    assert row.rows >= 1
    assert row.rule
    assert row.valid_where
    best = row.best_gib if row.spread_unit == "gib" else row.low
    assert best is not None
    assert row.low <= best <= row.high
    assert (row.best_gib is None) == (row.spread_unit == "ratio")
    assert row.version_to is None or parse_version(row.version_from) <= parse_version(row.version_to)
    assert any(entry.name == row.engine for entry in SHIPPED.engines)


def shipped_with_terms() -> list[Engine]:
    return [entry for entry in SHIPPED.engines if entry.name in ("vllm", "sglang")]


@pytest.mark.parametrize("engine", shipped_with_terms(), ids=lambda engine: engine.id)
def test_every_term_of_an_engine_has_one_row_with_the_value_in_use(engine: Engine) -> None:
    used = {1: engine.non_torch_gib_tp1, 2: engine.non_torch_gib_tp2plus}
    for gpus, gib in used.items():
        row = SHIPPED.memory_term(engine, "non_torch", gpus)
        assert row is not None
        assert row.best_gib == gib
    graphs = SHIPPED.memory_term(engine, "cuda_graphs", 1)
    assert graphs is not None
    assert graphs.best_gib == (engine.cuda_graphs_gib if engine.cuda_graphs_in_budget else 0.0)
    activation = SHIPPED.memory_term(engine, "activation", 1)
    assert activation is not None
    # Both ends of the entry lie in the range of the row: no version of it was measured elsewhere alone.
    for row in (graphs, activation):
        assert holds(parse_version(engine.version_from), row.version_from, row.version_to)
        assert row.version_to is None or engine.version_to is not None


def test_no_two_rows_answer_for_one_term() -> None:
    for engine in SHIPPED.engines:
        first = parse_version(engine.version_from)
        for term in TERMS:
            for condition in ("tp1", "tp2plus"):
                rows = [
                    row
                    for row in SHIPPED.memory_terms
                    if (row.engine, row.term) == (engine.name, term)
                    and row.condition in ("any", condition)
                    and holds(first, row.version_from, row.version_to)
                ]
                assert len(rows) == (0 if engine.name == "tensorrt-llm" else 1), (engine.id, term, condition)


def test_the_spread_is_in_gib_or_a_ratio_to_the_formula() -> None:
    engine = SHIPPED.engine("vllm@0.19")
    non_torch, activation = (SHIPPED.memory_term(engine, term, 2) for term in ("non_torch", "activation"))
    assert non_torch is not None
    assert activation is not None
    assert non_torch.spread_bytes(2.1 * 2**30) == (2.06 * 2**30, 2.17 * 2**30)
    assert activation.spread_bytes(100.0) == pytest.approx((98.0, 105.0))
    assert SHIPPED.memory_term(SHIPPED.engine("tensorrt-llm"), "non_torch", 1) is None


@pytest.mark.parametrize(
    ("spec", "policy", "ratio", "align"),
    # Hybrid KV cache manager of vLLM (design document written at 0.10.1); SGLang swa_full_tokens_ratio;
    # vllm-project/vllm#12676: rows of the latent cache in units of 256 bytes, until #14842
    [
        ("vllm@0.7", "full", None, 256),
        ("vllm@0.9", "full", None, None),
        ("vllm@0.11", "engine_admission", None, None),
        ("sglang", "engine_pool", 0.8, None),
    ],
)
def test_how_an_engine_keeps_sliding_layers(spec: str, policy: str, ratio: float | None, align: int | None) -> None:
    engine = SHIPPED.engine(spec)
    assert (engine.sliding_policy, engine.sliding_pool_ratio, engine.mla_row_align_bytes) == (policy, ratio, align)
