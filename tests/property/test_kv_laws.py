"""Laws of the charge of layer groups: what can only grow, and what bounds what."""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gridplan.catalog import load_catalog, tensor_parallel_problem
from gridplan.engine.kv_rows import Charge, Setting, charge_of, read_of
from gridplan.formulas import kv_charge_bytes, kv_charge_bytes_unrounded

CATALOG = load_catalog()
GROUPED = [
    name
    for name, model in CATALOG.models.items()
    if len(model.layer_groups) > 1 or model.layer_groups[0].kind == "sparse_mla"
]
ALL = [*GROUPED, "llama-3.1-8b", "llama-3.3-70b", "deepseek-v3", "qwen2.5-0.5b", "falcon-7b"]
POLICIES = ("ideal_window", "engine_admission", "full")
MANY = settings(max_examples=150, deadline=None)

models = st.sampled_from(ALL)
lengths = st.one_of(st.integers(1, 300), st.integers(1, 20_000), st.integers(1, 300_000))
bits = st.sampled_from([16.0, 8.0, 4.5])
manners = st.fixed_dictionaries(
    {
        "sliding_policy": st.sampled_from(POLICIES),
        "block_tokens": st.sampled_from([1.0, 16.0, 32.0, 64.0]),
        "block_alignment_tokens": st.just(16.0),
        "in_flight_tokens": st.sampled_from([256.0, 2048.0, 8192.0, 16384.0]),
        "state_blocks": st.sampled_from([1.0, 2.0]),
        "num_speculative_tokens": st.sampled_from([0.0, 1.0, 3.0]),
        "draft_layers": st.sampled_from([0.0, 1.0]),
        "sliding_pool_ratio": st.sampled_from([None, None, 0.8]),
    }
)


@functools.cache
def charged(model: str, kv_bits: float, in_flight_tokens: float, **manner: Any) -> Charge:
    return beside(charge_of(CATALOG.model(model).layer_groups, Setting(kv_bits, **manner)), in_flight_tokens)


def beside(charge: Charge, tokens: float) -> Charge:
    """The charge with the tokens in flight beside the windows that admit them."""
    rows = (row._replace(limit_tokens=row.limit_tokens + row.in_flight * tokens, in_flight=0.0) for row in charge.rows)
    return charge._replace(rows=tuple(rows))


def total(charge: Charge, tokens: float) -> float:
    return float(kv_charge_bytes(tokens, *map(list, zip(*(row[:4] for row in charge.rows), strict=True))))


def page_of(charge: Charge) -> float:
    """The largest block that a rounding can add."""
    return sum(row.block_bytes for row in charge.rows)


# -------------------------------------------------------------------------------------------------------- the charge


@given(models, bits, manners, lengths, lengths)
@MANY
def test_a_longer_sequence_never_costs_less(model: str, b: float, manner: dict[str, Any], one: int, two: int) -> None:
    charge = charged(model, b, **manner)
    assert total(charge, min(one, two)) <= total(charge, max(one, two))


@given(models, bits, manners, lengths)
@MANY
def test_whole_blocks_cost_at_most_a_block_of_each_group_more(
    model: str, b: float, manner: dict[str, Any], tokens: int
) -> None:
    charge = charged(model, b, **manner)
    smooth = float(kv_charge_bytes_unrounded(tokens, *map(list, zip(*(row[:4] for row in charge.rows), strict=True))))
    whole = total(charge, tokens)
    assert smooth * (1 - 1e-14) <= whole <= smooth * (1 + 1e-14) + page_of(charge)


@given(models, bits, manners, lengths)
@MANY
def test_what_a_policy_keeps_lies_between_the_window_and_everything(
    model: str, b: float, manner: dict[str, Any], tokens: int
) -> None:
    manner = manner | {"sliding_pool_ratio": None}
    ideal, admitted, full = (charged(model, b, **{**manner, "sliding_policy": policy}) for policy in POLICIES)
    assert total(ideal, tokens) <= total(full, tokens)
    # Pages of one size hold narrow layers in part, and a window that moves needs one block more.
    slack = 2 * page_of(admitted)
    assert total(ideal, tokens) <= total(admitted, tokens) + page_of(ideal)
    waste = max(1.0, _padding(admitted, full))
    assert total(admitted, tokens) <= waste * total(full, tokens) + slack


def _padding(admitted: Charge, full: Charge) -> float:
    """Bytes of a token of every layer in equal pages over those without: unfilled pages and padded bundles."""

    def each(charge: Charge) -> float:
        return sum(row.block_bytes / row.block_tokens for row in charge.rows if row.limit_tokens)

    return each(admitted) / each(full)


@given(models, bits, manners, lengths)
@MANY
def test_more_tensor_parallelism_never_costs_a_rank_more(
    model: str, b: float, manner: dict[str, Any], tokens: int
) -> None:
    entry = CATALOG.model(model)
    degrees = [tp for tp in (1, 2, 4, 8, 16) if tensor_parallel_problem(entry, tp) is None]
    costs = [total(charged(model, b, tensor_parallel=float(tp), **manner), tokens) for tp in degrees]
    assert all(after <= before for before, after in pairwise(costs)), (degrees, costs)


@given(models, bits, manners, lengths)
@MANY
def test_more_stages_never_cost_a_rank_more(model: str, b: float, manner: dict[str, Any], tokens: int) -> None:
    # Bundles of equal size can be padded on a stage: what a stage needs without pages only falls.
    manner = manner | {"sliding_policy": "ideal_window"}
    costs = [total(charged(model, b, pipeline_parallel=float(pp), **manner), tokens) for pp in (1, 2, 3, 4, 8)]
    assert costs == sorted(costs, reverse=True)


@given(models, manners, lengths)
@MANY
def test_half_the_bits_halve_plain_layers_and_raise_none(model: str, manner: dict[str, Any], tokens: int) -> None:
    wide, narrow = (charged(model, width, **manner) for width in (16.0, 8.0))
    assert total(narrow, tokens) <= total(wide, tokens)
    kinds = {group.kind for group in CATALOG.model(model).layer_groups if group.kind != "shared"}
    fixed = any(group.kv_bits or group.fp8_entry_bytes for group in CATALOG.model(model).layer_groups)
    if not fixed and "state" not in kinds:
        assert 2 * total(narrow, tokens) == total(wide, tokens)


@given(models, bits, manners, lengths)
@MANY
def test_a_step_reads_no_more_than_is_stored(model: str, b: float, manner: dict[str, Any], tokens: int) -> None:
    manner = manner | {"sliding_pool_ratio": None}
    groups = CATALOG.model(model).layer_groups
    read = read_of(groups, Setting(b, **{name: value for name, value in manner.items() if name != "in_flight_tokens"}))
    assert total(read, tokens) <= total(charged(model, b, **manner), tokens) * (1 + 1e-14)
