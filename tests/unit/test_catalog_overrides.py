"""The `catalog:` section of a contract: added and overridden entries, and every problem at once."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import pytest

from gridplan.catalog import Catalog, groups_text, load_catalog
from gridplan.errors import CatalogError

GIB = 2**30
SHIPPED = load_catalog()
NEW_GPU = {"memory_bytes": 64e9, "memory_bandwidth_bytes_per_s": 2e12, "peak_flops": {"bf16": 312e12}}
NEW_MODEL = {
    "params_total": 8.03e9,
    "num_layers": 32,
    "hidden_size": 4096,
    "attention_heads": 32,
    "kv_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
}


def over(**sections: Mapping[str, Any]) -> Catalog:
    return SHIPPED.with_entries(sections)


def problems_of(**sections: Mapping[str, Any]) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        over(**sections)
    return [str(problem) for problem in caught.value.problems]


def test_the_fleet_of_the_lesson() -> None:
    # Sizing a Serving Cluster End to End: 8 GPUs at $40.96 an hour, or one at $2.49.
    ours = over(
        instances={
            "aws-p4de": {
                "gpu": "a100-sxm-80gb",
                "gpus_per_node": 8,
                "usd_per_node_hour": 40.96,
                "as_of": datetime.date(2025, 4, 28),
                "source": "lesson",
            },
            "fractional": {"gpu": "a100-sxm-80gb", "gpus_per_node": 1, "usd_per_node_hour": "2.49 USD/h"},
        }
    )
    node, single = ours.instance("aws-p4de"), ours.instance("fractional")
    assert (node.usd_per_node_hour, node.gpus_per_node, node.scale_up_gpus) == (40.96, 8, 8)
    assert (node.price_kind, node.provider, node.as_of, node.source) == ("list", "contract", "2025-04-28", "lesson")
    assert (node.cls, single.cls, single.source, single.as_of) == ("assumption", "assumption", "contract", None)
    assert single.usd_per_node_hour == 2.49
    assert "aws-p4de" not in SHIPPED.instances


def test_an_override_changes_the_fields_it_gives_and_no_others() -> None:
    changed = over(
        gpus={"h100-sxm": {"memory_bytes": "79.65 GiB", "source": "our start-up log", "class": "measurement"}}
    )
    before, after = SHIPPED.gpu("h100-sxm"), changed.gpu("h100-sxm")
    assert after.memory_bytes == 79.65 * GIB
    assert after.memory_source == "contract"
    assert (after.memory_bandwidth_bytes_per_s, after.flops) == (before.memory_bandwidth_bytes_per_s, before.flops)
    assert after.cls == "measurement"
    assert after.source == f"our start-up log; fields it does not give: {before.source}"
    assert changed.gpus["l4"] is SHIPPED.gpus["l4"]


def test_peaks_are_overridden_one_format_at_a_time() -> None:
    peaks = over(gpus={"h100-sxm": {"flops": {"bf16": "800 TFLOP/s", "fp8": None}}}).gpu("h100-sxm").flops
    assert peaks == {"fp16": 989e12, "bf16": 800e12, "int8": 1979e12}


def test_a_new_gpu() -> None:
    gpu = over(gpus={"ours": NEW_GPU}).gpu("ours")
    assert (gpu.name, gpu.flops, gpu.devices_per_card) == ("ours", {"bf16": 312e12}, 1)
    assert (gpu.memory_source, gpu.cls, gpu.source) == ("contract", "assumption", "contract")


def test_a_new_model_gets_what_follows_from_its_geometry() -> None:
    model = over(models={"ours": NEW_MODEL}).model("ours")
    assert (model.kv_layers, model.attention, model.num_moe_layers) == (32, "gqa", 0)
    assert (model.params_active, model.params_embedding) == (8.03e9, 128256 * 4096)
    assert (model.native_weight_dtype, groups_text(model.layer_groups)) == ("bf16", "32 full 8x128")


def test_counts_of_sliding_layers_become_groups() -> None:
    model = over(models={"ours": NEW_MODEL | {"num_sliding_layers": 24, "sliding_window": "4Ki tokens"}}).model("ours")
    assert model.kv_layers == 8
    assert groups_text(model.layer_groups) == "8 full 8x128, 24 sliding 8x128 window 4096"


def test_overriding_one_count_renews_what_followed_from_it() -> None:
    model = over(models={"llama-3-8b": {"vocab_size": 32000, "params_total": 7e9, "num_layers": 30}}).model(
        "llama-3-8b"
    )
    assert (model.params_embedding, model.params_active, model.kv_layers) == (32000 * 4096, 7e9, 30)
    moe = over(models={"mixtral-8x7b": {"params_total": 50e9}}).model("mixtral-8x7b")
    assert (moe.params_active, moe.num_moe_layers) == (12_879_925_248, 32)


def test_a_written_price_is_a_list_price_unless_stated() -> None:
    changed = over(
        instances={
            "aws-trn2-48xlarge": {"usd_per_node_hour": 50},
            "aws-p5-48xlarge": {"usd_per_node_hour": 30, "price_kind": "marketplace"},
            "lambda-gpu-8x-h100-sxm": {"region": "us-east"},
        }
    )
    kinds = [
        changed.instance(name).price_kind for name in ("aws-trn2-48xlarge", "aws-p5-48xlarge", "lambda-gpu-8x-h100-sxm")
    ]
    assert kinds == ["list", "marketplace", "list"]


def test_an_instance_may_hold_a_gpu_of_the_same_contract() -> None:
    changed = over(gpus={"ours": NEW_GPU}, instances={"box": {"gpu": "ours", "gpus_per_node": 4}})
    assert changed.instance("box").price_kind == "no_price"


def test_engines_are_overridden_by_version_and_added_by_name() -> None:
    changed = over(
        engines={
            "vllm@0.21": {"mbu": 0.7, "source": "our sweep", "class": "measurement"},
            "mine": {"fraction_meaning": "of_total", "default_fraction": 0.85, "block_tokens": 32},
            "vllm@0.3": {"fraction_meaning": "of_total", "default_fraction": 0.9},
        }
    )
    tuned = changed.engine("vllm@0.21.1")
    assert (tuned.mbu, tuned.mfu, tuned.step_cls, tuned.version_to) == (0.7, None, "measurement", "0.21")
    assert changed.engine("vllm").mbu is None
    assert (changed.engine("mine@7").default_fraction, changed.engine("mine").step_cls) == (0.85, "assumption")
    assert changed.engine("vllm@0.3.2").default_fraction == 0.9
    assert len(changed.engines) == len(SHIPPED.engines) + 2


def test_all_problems_come_at_once() -> None:
    found = problems_of(
        gpu={"x": {}},
        gpus={"h100-sxm": {"memory_gib": 80}, "h100_sxm": {"memory_bytes": "80 GB"}},
        instances={
            "a": {"gpu": "h100", "gpus_per_node": 8, "usd_per_node_hour": -1},
            "b": {"gpu": "h100", "gpus_per_node": 8},
        },
    )
    assert len(found) == 5
    text = "\n".join(found)
    assert "catalog.gpu: unknown section (did you mean gpus?)" in text
    assert "catalog.gpus.h100-sxm.memory_gib: unknown field" in text
    assert "catalog.gpus.h100_sxm: a new entry needs memory_bandwidth_bytes_per_s, flops (did you mean h100-sxm" in text
    assert "catalog.instances.a.usd_per_node_hour: a number above 0 is due, not -1" in text
    assert "catalog.instances.b.gpu: unknown GPU h100 (did you mean h100-" in text


@pytest.mark.parametrize("price", [0, -1.0, float("nan"), float("inf"), True, "free", "0 USD/h", "40"])
def test_a_price_is_a_finite_number_above_zero(price: object) -> None:
    found = problems_of(instances={"aws-p5-48xlarge": {"usd_per_node_hour": price}})
    assert len(found) == 1
    assert found[0].startswith("catalog.instances.aws-p5-48xlarge.usd_per_node_hour: ")


@pytest.mark.parametrize(
    ("sections", "part"),
    [
        ({"gpus": {"ours": NEW_GPU | {"flops": {"bf16": 1e12}}}}, "catalog.gpus.ours.flops: given twice"),
        ({"gpus": {"l4": {"peak_flops": {"bf61": 1e12}}}}, "unknown format bf61 (did you mean bf16"),
        ({"gpus": {"l4": {"flops": 312e12}}}, "peaks by format are due"),
        ({"gpus": {"l4": {"memory_bytes": None}}}, "catalog.gpus.l4.memory_bytes: a value is due"),
        ({"gpus": {"l4": {"max_scale_up_domain": 1.5}}}, "a whole number from 1 is due, not 1.5"),
        ({"gpus": {"l4": 5}}, "fields and values are due, not 5"),
        ({"gpus": [1]}, "catalog.gpus: entries by id are due"),
        ({"gpus": {"l4": {"as_of": "29 Nov 2026"}}}, "a date such as 2026-11-29 is due"),
        ({"gpus": {"l4": {"class": "guess"}}}, "one of fact, policy, measurement, assumption is due"),
        ({"models": {"ours": NEW_MODEL | {"head_dim": None}}}, "head_dim is missing"),
        ({"models": {"ours": NEW_MODEL | {"kv_lora_rank": 512}}}, "give both or neither"),
        ({"models": {"ours": NEW_MODEL | {"num_experts": 8}}}, "needs params_active and experts_per_token"),
        ({"models": {"ours": NEW_MODEL | {"kv_layers": 33}}}, "sum to 33, above num_layers 32"),
        ({"models": {"ours": NEW_MODEL | {"num_moe_layers": 33}}}, "num_moe_layers 33 is above num_layers 32"),
        (
            {"models": {"ours": NEW_MODEL | {"params_active": 9e9}}},
            "params_active 9e+09 is above params_total 8.03e+09",
        ),
        (
            {"models": {"ours": NEW_MODEL | {"native_weight_dtype": "bf61"}}},
            "unknown weight format bf61 (did you mean bf16",
        ),
        (
            {"models": {"ours": NEW_MODEL | {"native_kv_dtype": "int4"}}},
            "unknown kv format int4 (did you mean int8",
        ),
        ({"models": {"ours": NEW_MODEL | {"tie_word_embeddings": "no"}}}, "true or false is due, not 'no'"),
        ({"models": {"ours": NEW_MODEL | {"family": 3}}}, "a text is due, not 3"),
        (
            {"instances": {"aws-p5-48xlarge": {"price_kind": "no_price"}}},
            "price_kind no_price contradicts 55.04 USD an hour",
        ),
        ({"instances": {"aws-trn2-48xlarge": {"price_kind": "list"}}}, "price_kind list contradicts no price"),
        ({"engines": {"vllm@newest": {"mbu": 0.7}}}, "'newest' is not a version"),
        ({"engines": {"@0.21": {"mbu": 0.7}}}, "no engine name before the @"),
        ({"engines": {"vllm": {"mbu": 1.2}}}, "a number above 0 and at most 1 is due, not 1.2"),
        ({"engines": {"vllm": {"version_to": 0.3}}}, "a version in quotes is due"),
        ({"engines": {"vllm": {"version_to": "0.3"}}}, "version_to 0.3 is before version_from 0.28"),
        ({"engines": {"vlm": {"default_fraction": 0.9}}}, "catalog.engines.vlm: a new entry needs fraction_meaning"),
    ],
)
def test_each_mistake_has_its_sentence(sections: dict[str, Any], part: str) -> None:
    found = problems_of(**sections)
    assert len(found) == 1
    assert part in found[0]


def test_a_faulty_gpu_is_not_blamed_again_on_its_instances() -> None:
    found = problems_of(gpus={"ours": {"memory_bytes": 1e9}}, instances={"box": {"gpu": "ours", "gpus_per_node": 4}})
    assert found == ["catalog.gpus.ours: a new entry needs memory_bandwidth_bytes_per_s, flops"]


def test_nothing_written_changes_nothing() -> None:
    same = SHIPPED.with_entries({})
    assert (same.gpus, same.models, same.instances, same.engines) == (
        SHIPPED.gpus,
        SHIPPED.models,
        SHIPPED.instances,
        SHIPPED.engines,
    )
