"""Layer groups: the shipped ones, those that follow from counts, and those that a contract gives."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gridplan.catalog import LayerGroup, Model, as_dict, groups_text, load_catalog
from gridplan.catalog.derive import is_derived
from gridplan.catalog.layers import KINDS, OPTIONAL, REQUIRED, layers_of
from gridplan.errors import CatalogError

SHIPPED = load_catalog()
DATA = Path(__file__).parents[2] / "gridplan" / "catalog" / "data"
GROUPED = [model for model in SHIPPED.models.values() if not is_derived(model.layer_groups)]
FIELDS = ("kv_heads", "k_head_dim", "v_head_dim", "kv_lora_rank", "qk_rope_head_dim", "index_head_dim",
          "window_tokens", "recurrent_elements", "conv_elements", "recurrent_bits", "kv_bits")  # fmt: skip


def rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def every_group() -> Iterator[tuple[Model, LayerGroup]]:
    for model in SHIPPED.models.values():
        for group in model.layer_groups:
            yield model, group


def cache_bits(group: LayerGroup, tokens: int) -> int:
    """Bits that one layer keeps of one sequence with a 16-bit KV format, counted token by token."""
    if group.kind == "state":
        assert group.recurrent_elements is not None
        assert group.conv_elements is not None
        assert group.recurrent_bits is not None
        return group.recurrent_elements * group.recurrent_bits + group.conv_elements * 16
    seen = min(tokens, group.window_tokens or tokens)
    heads = (group.kv_heads or 0) * ((group.k_head_dim or 0) + (group.v_head_dim or 0))
    latent = (group.kv_lora_rank or 0) + (group.qk_rope_head_dim or 0) + (group.index_head_dim or 0)
    return int(seen / group.compression) * (heads + latent) * (group.kv_bits or 16)


def test_every_model_has_groups_and_30_have_more_than_one_plain_group() -> None:
    assert all(model.layer_groups for model in SHIPPED.models.values())
    assert len(GROUPED) == 30
    assert {row["model"] for row in rows("layer_groups.csv")} == {model.id for model in GROUPED}
    plain = [model for model in SHIPPED.models.values() if model not in GROUPED]
    assert {group.kind for model in plain for group in model.layer_groups} == {"full", "mla"}
    assert all(len(model.layer_groups) == 1 for model in plain)


def test_positions_count_from_one_without_a_gap() -> None:
    seen: dict[str, int] = {}
    for row in rows("layer_groups.csv"):
        seen[row["model"]] = seen.get(row["model"], 0) + 1
        assert int(row["position"]) == seen[row["model"]]


def test_every_group_has_a_source_a_date_and_a_class() -> None:
    for model, group in every_group():
        assert group.source, model.id
        assert group.cls in ("fact", "measurement", "assumption"), model.id
        assert group.cls != "fact" or "@" in group.source or "http" in group.source, model.id
        assert group.as_of is not None
        assert datetime.date.fromisoformat(group.as_of) <= datetime.date(2026, 11, 29)


def test_a_group_has_the_fields_of_its_kind_and_no_others() -> None:
    for model, group in every_group():
        stated = {name for name in FIELDS if getattr(group, name) is not None}
        assert set(REQUIRED[group.kind]) <= stated, model.id
        assert stated <= {*REQUIRED[group.kind], *OPTIONAL[group.kind]}, model.id
        assert group.layers > 0


@pytest.mark.parametrize("model", GROUPED, ids=lambda model: model.id)
def test_the_layers_add_up_and_agree_with_the_counts(model: Model) -> None:
    groups = model.layer_groups
    assert layers_of(groups, *KINDS) == model.num_layers
    assert layers_of(groups, "full", "mla", "sparse_mla") == model.kv_layers
    assert layers_of(groups, "sliding") == model.num_sliding_layers
    assert layers_of(groups, "chunked") == model.num_chunked_layers
    assert layers_of(groups, "state") == model.num_linear_layers


@pytest.mark.parametrize(
    "row", [row for row in rows("models.csv") if row["state_bytes_per_seq"]], ids=lambda r: r["id"]
)
def test_the_state_is_that_of_the_collected_table(row: dict[str, str]) -> None:
    # state_bytes_per_seq: FP32 recurrent state and a 16-bit convolution, whatever an engine holds it in.
    states = [group for group in SHIPPED.model(row["id"]).layer_groups if group.kind == "state"]
    elements = [(group.layers, group.recurrent_elements or 0, group.conv_elements or 0) for group in states]
    assert sum(layers * (4 * recurrent + 2 * conv) for layers, recurrent, conv in elements) == int(
        row["state_bytes_per_seq"]
    )
    assert {recurrent + conv for _, recurrent, conv in elements} == {int(row["state_elements_per_layer"])}


def test_a_page_of_qwen3_next_says_that_its_state_is_held_in_16_bits() -> None:
    # Start-up log, vLLM 0.11, TP2: blocks of 544 tokens. An attention page of one of two KV heads must cover the state
    # page of one rank; the block is the smallest multiple of 16 tokens that does (HybridAttentionMambaModelConfig).
    full, state = SHIPPED.model("qwen3-next-80b-a3b").layer_groups
    token = cache_bits(full, 1) / 8 / 2
    assert state.recurrent_bits == 16
    assert -(-cache_bits(state, 1) / 8 / 2 // (16 * token)) * 16 == 544


def test_a_request_of_gemma_4_e2b_costs_what_its_log_says() -> None:
    # MI300X, vLLM, context 32,768: 155.04 GiB hold 275.45 requests. Pages are 3 layers x 16 tokens of 1 x 512; a
    # sliding layer has half of that a token, so its blocks hold 32 tokens, and one more block: 2,048 + 4 x 1,025 pages.
    full, sliding, shared = SHIPPED.model("gemma-4-e2b").layer_groups
    assert (full.layers, sliding.layers, shared.layers) == (3, 12, 20)
    page = full.layers * 16 * cache_bits(full, 1) / 8
    assert cache_bits(full, 1) == 2 * cache_bits(sliding, 1)
    assert 155.04 * 2**30 / (page * (32768 / 16 + 12 / 3 * (32768 / 32 + 1))) == pytest.approx(275.45, abs=0.02)


def test_a_request_of_gemma_4_26b_costs_what_its_log_says() -> None:
    # Jetson Thor, context 131,072, 2,048 batched tokens: 51.62 GiB hold 33.42 requests of 8-bit KV, keys and values.
    full, sliding = SHIPPED.model("gemma-4-26b-a4b").layer_groups
    window = (-(-(1023 + 2048) // 16) + 1) * 16
    whole, last = (group.layers * cache_bits(group, 1) / 16 for group in (full, sliding))
    assert 51.62 * 2**30 / (whole * 131072 + last * window) == pytest.approx(33.42, abs=0.005)


def test_deepseek_v4_lists_further_caches_beside_its_43_layers() -> None:
    groups = SHIPPED.model("deepseek-v4-flash").layer_groups
    assert [(group.kind, group.layers) for group in groups if not group.beside] == [
        ("sliding", 2),
        ("sparse_mla", 21),
        ("mla", 20),
    ]
    assert sum(group.layers for group in groups if group.beside and group.kv_bits is None) == 41
    assert sum(group.layers for group in groups if group.kv_bits == 32) == 2 * 21 + 20


def test_groups_are_readable_and_plain_data() -> None:
    assert groups_text(SHIPPED.model("deepseek-v3.2").layer_groups) == "61 sparse_mla 512+64 index 128 656 B in FP8"
    assert groups_text(SHIPPED.model("llama-4-scout-17b-16e").layer_groups).endswith("36 chunked 8x128 chunk 8192")
    written = as_dict(SHIPPED.model("gpt-oss-20b"))["layer_groups"]
    assert isinstance(written, list)
    assert written[1] | {"source": "", "notes": ""} == {
        "kind": "sliding",
        "layers": 12,
        "kv_heads": 8,
        "k_head_dim": 64,
        "v_head_dim": 64,
        "window_tokens": 128,
        "source": "",
        "class": "fact",
        "as_of": "2026-11-29",
        "notes": "",
    }


NEW: dict[str, Any] = {"params_total": 2e10, "num_layers": 24, "hidden_size": 2880, "attention_heads": 64,
                       "kv_heads": 8, "head_dim": 64, "vocab_size": 201088}  # fmt: skip
FULL = {"kind": "full", "layers": 12, "kv_heads": 8, "head_dim": 64}
SLIDING = FULL | {"kind": "sliding", "window_tokens": 128}


def with_model(name: str, entry: dict[str, Any]) -> Model:
    return SHIPPED.with_entries({"models": {name: entry}}).model(name)


def problems(name: str, entry: dict[str, Any]) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        with_model(name, entry)
    return [str(problem).removeprefix(f"catalog.models.{name}") for problem in caught.value.problems]


def test_a_contract_gives_groups() -> None:
    model = with_model("ours", NEW | {"layer_groups": [FULL | {"source": "config.json"}, SLIDING], "source": "us"})
    assert groups_text(model.layer_groups) == "12 full 8x64, 12 sliding 8x64 window 128"
    assert [(group.cls, group.source) for group in model.layer_groups] == [
        ("assumption", "config.json"),
        ("assumption", "us"),
    ]
    assert (model.kv_layers, model.num_sliding_layers) == (12, 12)


def test_groups_of_a_contract_replace_shipped_ones_and_their_counts() -> None:
    model = with_model("gpt-oss-20b", {"layer_groups": [FULL | {"layers": 24, "kv_bits": 8}]})
    assert (model.kv_layers, model.num_sliding_layers) == (24, 0)
    assert groups_text(model.layer_groups) == "24 full 8x64 at 8 bits"


def test_an_override_of_a_plain_model_renews_its_group() -> None:
    model = with_model("llama-3-8b", {"kv_heads": 4, "num_layers": 30, "head_dim": 64})
    assert groups_text(model.layer_groups) == "30 full 4x64"


def test_an_override_of_a_grouped_model_asks_for_its_groups() -> None:
    text = ": kv_heads changed: give layer_groups too, for it has its own (12 full 8x64, 12 sliding 8x64 window 128)"
    assert problems("gpt-oss-20b", {"kv_heads": 4}) == [text]
    same = with_model("gpt-oss-20b", {"kv_heads": 8, "params_total": 21e9})
    assert same.layer_groups == SHIPPED.model("gpt-oss-20b").layer_groups


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([FULL, SLIDING | {"kv_head": 8}], ".layer_groups[1].kv_head: unknown field (did you mean kv_heads"),
        ([FULL, SLIDING | {"kind": "slidng"}], ".layer_groups[1].kind: one of full, sliding, chunked, mla, sparse_mla"),
        ([FULL, {"layers": 12}], ".layer_groups[1]: a layer group needs kind; kinds: full, sliding"),
        ([FULL, FULL | {"kind": "sliding"}], ".layer_groups[1]: kind sliding needs window_tokens"),
        ([FULL, FULL | {"window_tokens": 128}], ".layer_groups[1].window_tokens: kind full has no window_tokens"),
        ([FULL, FULL | {"v_head_dim": 64}], ".layer_groups[1].head_dim: is short for k_head_dim and v_head_dim"),
        (
            [FULL, {"kind": "shared", "layers": 12, "head_dim": 64}],
            ".layer_groups[1].head_dim: kind shared has no head",
        ),
        ([FULL, FULL | {"kv_bits": 7}], ".layer_groups[1].kv_bits: 8, 16 or 32 bits are due, not 7"),
        ([FULL], ": layer_groups add up to 12 layers, not to num_layers 24; layers without a cache"),
        ([FULL, SLIDING | {"layers": 13}], ": layer_groups add up to 25 layers, not to num_layers 24"),
        ([{"kind": "shared", "layers": 24}], ": layer_groups keep no cache: a layer of kind shared reuses"),
        ([], ".layer_groups: a list of layer groups is due"),
        ([FULL, "sliding"], ".layer_groups: a layer group is fields and values"),
    ],
)
def test_each_mistake_in_a_group_has_its_sentence(groups: list[Any], expected: str) -> None:
    found = problems("ours", NEW | {"layer_groups": groups})
    assert len(found) == 1
    assert found[0].startswith(expected)


def test_all_faults_of_all_groups_come_at_once() -> None:
    found = problems("ours", NEW | {"layer_groups": [FULL | {"layers": 0}, {"kind": "state", "layers": 12, "x": 1}]})
    assert len(found) == 2
    found = problems("ours", NEW | {"layer_groups": [FULL, {"kind": "state", "layers": 12}], "num_sliding_layers": 3})
    assert found == [".layer_groups[1]: kind state needs recurrent_elements, conv_elements, recurrent_bits"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"num_linear_layers": 18}, ": what the 18 layers of num_linear_layers keep is not known: give layer_groups"),
        ({"num_sliding_layers": 12}, ": sliding_window is missing"),
        ({"index_head_dim": 128}, ": index_head_dim belongs to latent attention"),
        ({"layer_groups": [FULL, SLIDING], "num_sliding_layers": 6, "kv_layers": 18}, ": kv_layers 18 contradicts"),
    ],
)
def test_counts_that_do_not_say_what_a_layer_keeps_are_refused(fields: dict[str, Any], expected: str) -> None:
    assert problems("ours", NEW | fields)[0].startswith(expected)
