"""Builds an entry from the values that are known: fills what follows from others, and says what contradicts what.

The shipped files and the `catalog:` section of a contract both end here, so an entry means the same wherever it was
written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gridplan.catalog.derive import derived_groups, is_derived, layer_contradictions, layer_counts
from gridplan.catalog.entries import Engine, Gpu, Instance, LayerGroup, Model
from gridplan.catalog.legality import attention_kind
from gridplan.catalog.parts import mla_down_params, routed_expert_params
from gridplan.catalog.versions import parse_version

__all__ = [
    "complete_engine",
    "complete_gpu",
    "complete_instance",
    "complete_model",
    "engine_contradictions",
    "instance_contradictions",
    "model_contradictions",
]

Values = Mapping[str, Any]


def _provenance(values: Values) -> dict[str, Any]:
    return {
        "cls": values.get("cls", "assumption"),
        "source": values.get("source", "contract"),
        "as_of": values.get("as_of"),
        "notes": values.get("notes") or "",
    }


def complete_gpu(gpu_id: str, values: Values) -> Gpu:
    """A GPU; a device is a card of its own unless stated."""
    return Gpu(
        id=gpu_id,
        name=values.get("name") or gpu_id,
        vendor=values.get("vendor") or "",
        family=values.get("family") or "",
        memory_bytes=values.get("memory_bytes"),
        memory_source=values.get("memory_source", ""),
        memory_bandwidth_bytes_per_s=values.get("memory_bandwidth_bytes_per_s"),
        flops=dict(values.get("flops") or {}),
        scale_up_bytes_per_s=values.get("scale_up_bytes_per_s"),
        pcie_generation=values.get("pcie_generation"),
        max_scale_up_domain=values.get("max_scale_up_domain"),
        tdp_w=values.get("tdp_w"),
        devices_per_card=values.get("devices_per_card") or 1,
        marketed_memory_bytes=values.get("marketed_memory_bytes"),
        **_provenance(values),
    )


def _first(groups: Iterable[LayerGroup], name: str) -> int | None:
    """That field of the first group that has it."""
    return next((value for group in groups if (value := getattr(group, name)) is not None), None)


def complete_model(model_id: str, values: Values) -> Model:
    """A model. Unless stated: dense ones use all parameters, plain layers keep KV, and experts are in every layer.

    Layer groups that are not given follow from the counts, where these say what each layer keeps.
    """
    layers, heads = int(values["num_layers"]), int(values["attention_heads"])
    kv_heads, rank = int(values.get("kv_heads") or heads), values.get("kv_lora_rank")
    total, experts = values.get("params_total"), values.get("num_experts")
    own = tuple(values.get("layer_groups") or ())
    counts = layer_counts(values, own)
    groups = own or derived_groups({**values, "kv_heads": kv_heads}, counts, _provenance(values))
    return Model(
        id=model_id,
        hf_id=values.get("hf_id") or "",
        params_total=total,
        params_active=values.get("params_active") or (None if experts else total),
        params_embedding=values.get("params_embedding") or float(values["vocab_size"] * values["hidden_size"]),
        params_routed_experts=_routed_experts(values),
        params_replicated=_replicated(values),
        params_vision=values.get("params_vision", 0.0),
        checkpoint_bytes=values.get("checkpoint_bytes"),
        num_layers=layers,
        kv_layers=counts["kv_layers"],
        hidden_size=int(values["hidden_size"]),
        attention_heads=heads,
        kv_heads=kv_heads,
        head_dim=values.get("head_dim") or _first(own, "k_head_dim"),
        attention=attention_kind(heads, kv_heads, rank),
        kv_lora_rank=rank,
        qk_rope_head_dim=values.get("qk_rope_head_dim"),
        q_lora_rank=values.get("q_lora_rank"),
        intermediate_size=values.get("intermediate_size"),
        moe_intermediate_size=values.get("moe_intermediate_size"),
        num_experts=experts,
        experts_per_token=values.get("experts_per_token"),
        num_moe_layers=_moe_layers(values),
        vocab_size=int(values["vocab_size"]),
        max_position_embeddings=values.get("max_position_embeddings"),
        native_weight_dtype=values.get("native_weight_dtype") or "bf16",
        native_kv_dtype=values.get("native_kv_dtype"),
        tie_word_embeddings=bool(values.get("tie_word_embeddings")),
        family=values.get("family") or "",
        layer_groups=groups,
        num_sliding_layers=counts["num_sliding_layers"],
        num_chunked_layers=counts["num_chunked_layers"],
        num_linear_layers=counts["num_linear_layers"],
        sliding_window=values.get("sliding_window") or _first(own, "window_tokens"),
        index_head_dim=values.get("index_head_dim"),
        **_provenance(values),
    )


def _moe_layers(values: Values) -> int:
    stated, experts = values.get("num_moe_layers"), values.get("num_experts")
    return int(stated if stated is not None else values["num_layers"] if experts else 0)


def _routed_experts(values: Values) -> float | None:
    stated: float | None = values.get("params_routed_experts")
    if stated is not None:
        return stated
    experts, width = values.get("num_experts"), values.get("moe_intermediate_size")
    return routed_expert_params(_moe_layers(values), experts, int(values["hidden_size"]), width)


def _replicated(values: Values) -> float:
    stated: float | None = values.get("params_replicated")
    if stated is not None:
        return stated
    ranks = (values.get(name) for name in ("q_lora_rank", "kv_lora_rank", "qk_rope_head_dim"))
    return mla_down_params(int(values["num_layers"]), int(values["hidden_size"]), *ranks)


def complete_instance(instance_id: str, values: Values) -> Instance:
    """A rentable shape. All its GPUs share one fast fabric, and a price is a list price, unless stated."""
    price = values.get("usd_per_node_hour")
    return Instance(
        id=instance_id,
        provider=values.get("provider") or "contract",
        instance_type=values.get("instance_type") or instance_id,
        gpu=values["gpu"],
        gpus_per_node=int(values["gpus_per_node"]),
        scale_up_gpus=int(values.get("scale_up_gpus") or values["gpus_per_node"]),
        usd_per_node_hour=price,
        price_kind=values.get("price_kind") or ("no_price" if price is None else "list"),
        spot_usd=values.get("spot_usd"),
        region=values.get("region") or "",
        **_provenance(values),
    )


_ENGINE_OPTIONAL = (
    "version_to",
    "block_tokens",
    "max_num_seqs_large_gpu",
    "max_num_seqs_else",
    "max_num_batched_tokens_large_gpu",
    "max_num_batched_tokens_huge_gpu",
    "max_num_batched_tokens_else",
    "batched_tokens_rule",
    "activation_rule",
    "sampler_bytes_per_logit",
    "non_torch_gib_tp1",
    "non_torch_gib_tp2plus",
    "cuda_graphs_in_budget",
    "cuda_graphs_gib",
    "sliding_pool_ratio",
    "mla_row_align_bytes",
    "state_blocks",
    "in_flight_steps",
    "block_alignment_tokens",
)


def complete_engine(name: str, values: Values) -> Engine:
    """An engine entry; the shares of a step are None unless it states them."""
    optional: dict[str, Any] = {field: values.get(field) for field in _ENGINE_OPTIONAL}
    return Engine(
        name=name,
        version_from=values.get("version_from") or "0",
        fraction_meaning=values["fraction_meaning"],
        default_fraction=values["default_fraction"],
        fraction_rule=values.get("fraction_rule") or "fixed",
        sliding_policy=values.get("sliding_policy") or "full",
        chunked_policy=values.get("chunked_policy") or "",
        mbu=values.get("mbu"),
        mfu=values.get("mfu"),
        step_cls=values.get("step_cls", "assumption"),
        step_source=values.get("step_source", ""),
        step_as_of=values.get("step_as_of"),
        **optional,
        **_provenance(values),
    )


def model_contradictions(model: Model) -> Iterator[str]:
    """What cannot be true of a model at once."""
    if (model.kv_lora_rank is None) != (model.qk_rope_head_dim is None):
        yield "kv_lora_rank and qk_rope_head_dim describe latent attention together: give both or neither"
    if model.kv_lora_rank is None and model.head_dim is None:
        yield "head_dim is missing (only latent attention, with kv_lora_rank, does without it)"
    state = model.num_sliding_layers + model.num_chunked_layers + model.num_linear_layers
    if is_derived(model.layer_groups) and state + model.kv_layers > model.num_layers:
        total = state + model.kv_layers
        yield f"kv_layers and the other kinds of layer sum to {total}, above num_layers {model.num_layers}"
    else:
        yield from layer_contradictions(model)
    if model.num_moe_layers > model.num_layers:
        yield f"num_moe_layers {model.num_moe_layers} is above num_layers {model.num_layers}"
    active_missing = model.params_total is not None and model.params_active is None
    if model.num_experts is not None and (active_missing or model.experts_per_token is None):
        yield "a model with num_experts needs params_active and experts_per_token"
    if model.params_total is not None and (model.params_active or 0) > model.params_total:
        yield f"params_active {model.params_active:g} is above params_total {model.params_total:g}"
    if model.params_total is not None and (model.params_routed_experts or 0) > model.params_total:
        experts = f"{model.params_routed_experts:g} parameters of routed experts"
        yield f"{experts} are above params_total {model.params_total:g}"


def instance_contradictions(instance: Instance) -> Iterator[str]:
    """What cannot be true of a rentable shape at once."""
    if (instance.price_kind == "no_price") != (instance.usd_per_node_hour is None):
        price = "no price" if instance.usd_per_node_hour is None else f"{instance.usd_per_node_hour:g} USD an hour"
        yield f"price_kind {instance.price_kind} contradicts {price}"


def engine_contradictions(engine: Engine) -> Iterator[str]:
    """What cannot be true of an engine entry at once."""
    if engine.version_to is not None and parse_version(engine.version_to) < parse_version(engine.version_from):
        yield f"version_to {engine.version_to} is before version_from {engine.version_from}"
