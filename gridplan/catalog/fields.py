"""What a person may write for a catalog entry: the fields of each section, how each is read, and which are required.

A parser takes the value as YAML gives it and returns it in base units, or raises ValueError with a sentence that says
what is due. Numbers are in the unit of the field's name; text with a unit ("80 GiB") is converted.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gridplan.catalog.versions import parse_version
from gridplan.errors import suggestion
from gridplan.quantities import parse_quantity

__all__ = ["FIELDS", "FLOP_FORMATS", "UNKNOWN", "FieldSpec", "Parser"]

Parser = Callable[[object], object]
FLOP_FORMATS = ("fp16", "bf16", "fp8", "int8", "fp4")
UNKNOWN = "unknown"
"""What stands for a figure that exists and is not known."""
CLASSES = ("fact", "policy", "measurement", "assumption")


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """How one field is read; `required` holds for an entry that the catalog does not have yet."""

    parse: Parser
    required: bool = False


def text(value: object) -> str:
    """Any text."""
    if not isinstance(value, str):
        raise ValueError(f"a text is due, not {value!r}")
    return value


def flag(value: object) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"true or false is due, not {value!r}")
    return value


def date(value: object) -> str:
    """A calendar date as ISO text; YAML's own dates are taken."""
    if isinstance(value, datetime.datetime):
        return value.date().isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    try:
        return datetime.date.fromisoformat(text(value)).isoformat()
    except ValueError:
        raise ValueError(f"a date such as 2026-11-29 is due, not {value!r}") from None


def version(value: object) -> str:
    """An engine version; a bare number is refused, because 0.20 and 0.2 are one number and two versions."""
    if not isinstance(value, str):
        raise ValueError(f"a version in quotes is due (as '0.21'), not {value!r}")
    parse_version(value)
    return value


def choice(*names: str) -> Parser:
    """One of a few labels."""

    def parse(value: object) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError(f"one of {', '.join(names)} is due, not {value!r}{suggestion(str(value), names)}")
        return value

    return parse


def quantity(unit: str = "count", zero: bool = False, most: float = math.inf) -> Callable[[object], float]:
    """A finite number above zero (or from zero), in `unit`; text must carry a unit."""

    def parse(value: object) -> float:
        number = parse_quantity(value, unit)
        if number < 0 or (number == 0 and not zero) or number > most:
            upper = f" and at most {most:g}" if math.isfinite(most) else ""
            raise ValueError(f"a number {'from' if zero else 'above'} 0{upper} is due, not {value!r}")
        return number

    return parse


def tower(value: object) -> float | None:
    """Parameters of a vision tower, 0 without one, or `unknown` where there is one that nobody counted."""
    return None if value == UNKNOWN else quantity(zero=True)(value)


def count(least: int = 1, unit: str = "count") -> Parser:
    """A whole number of at least `least`."""

    def parse(value: object) -> int:
        number = parse_quantity(value, unit)
        if number != int(number) or number < least:
            raise ValueError(f"a whole number from {least} is due, not {value!r}")
        return int(number)

    return parse


def rates(value: object) -> dict[str, float | None]:
    """Dense peaks [FLOP/s] by format, as in `{bf16: 312e12}`; a null says that the GPU has no such path."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"peaks by format are due, as in {{bf16: 312e12}}, not {value!r}")
    unknown = [str(name) for name in value if name not in FLOP_FORMATS]
    if unknown:
        hint = f"{suggestion(unknown[0], FLOP_FORMATS)}; known: {', '.join(FLOP_FORMATS)}"
        raise ValueError(f"unknown format {unknown[0]}{hint}")
    parse = quantity("FLOP/s")
    return {name: None if rate is None else parse(rate) for name, rate in value.items()}


def mappings(value: object) -> list[Mapping[str, object]]:
    """A list of layer groups, each with fields and values; what a group may state is read by `layer_fields`."""
    if not isinstance(value, list) or not value:
        raise ValueError(f"a list of layer groups is due, as in [{{kind: full, layers: 32, ...}}], not {value!r}")
    odd = [item for item in value if not isinstance(item, Mapping) or not item]
    if odd:
        raise ValueError(f"a layer group is fields and values, as in {{kind: full, layers: 32, ...}}, not {odd[0]!r}")
    return value


_PROVENANCE = {
    "class": FieldSpec(choice(*CLASSES)),
    "source": FieldSpec(text),
    "as_of": FieldSpec(date),
    "notes": FieldSpec(text),
}

_GPU = {
    "name": FieldSpec(text),
    "vendor": FieldSpec(text),
    "family": FieldSpec(text),
    "memory_bytes": FieldSpec(quantity("bytes"), required=True),
    "memory_bandwidth_bytes_per_s": FieldSpec(quantity("bytes/s"), required=True),
    "flops": FieldSpec(rates, required=True),
    "scale_up_bytes_per_s": FieldSpec(quantity("bytes/s")),
    "pcie_generation": FieldSpec(count()),
    "max_scale_up_domain": FieldSpec(count()),
    "tdp_w": FieldSpec(quantity("W")),
    "devices_per_card": FieldSpec(count()),
    "marketed_memory_bytes": FieldSpec(quantity("bytes")),
}

_MODEL = {
    "hf_id": FieldSpec(text),
    "params_total": FieldSpec(quantity(), required=True),
    "params_active": FieldSpec(quantity()),
    "params_embedding": FieldSpec(quantity()),
    "checkpoint_bytes": FieldSpec(quantity("bytes")),
    "params_routed_experts": FieldSpec(quantity()),
    "params_replicated": FieldSpec(quantity(zero=True)),
    "params_vision": FieldSpec(tower),
    "num_layers": FieldSpec(count(), required=True),
    "kv_layers": FieldSpec(count(0)),
    "hidden_size": FieldSpec(count(), required=True),
    "attention_heads": FieldSpec(count(), required=True),
    "kv_heads": FieldSpec(count(), required=True),
    "head_dim": FieldSpec(count()),
    "kv_lora_rank": FieldSpec(count()),
    "qk_rope_head_dim": FieldSpec(count()),
    "q_lora_rank": FieldSpec(count()),
    "intermediate_size": FieldSpec(count()),
    "moe_intermediate_size": FieldSpec(count()),
    "num_experts": FieldSpec(count()),
    "experts_per_token": FieldSpec(count()),
    "num_moe_layers": FieldSpec(count(0)),
    "vocab_size": FieldSpec(count(), required=True),
    "max_position_embeddings": FieldSpec(count(unit="tokens")),
    "native_weight_dtype": FieldSpec(text),
    "native_kv_dtype": FieldSpec(text),
    "tie_word_embeddings": FieldSpec(flag),
    "family": FieldSpec(text),
    "layer_groups": FieldSpec(mappings),
    "num_sliding_layers": FieldSpec(count(0)),
    "num_chunked_layers": FieldSpec(count(0)),
    "num_linear_layers": FieldSpec(count(0)),
    "sliding_window": FieldSpec(count(unit="tokens")),
    "index_head_dim": FieldSpec(count()),
}

_INSTANCE = {
    "provider": FieldSpec(text),
    "instance_type": FieldSpec(text),
    "gpu": FieldSpec(text, required=True),
    "gpus_per_node": FieldSpec(count(), required=True),
    "scale_up_gpus": FieldSpec(count()),
    "usd_per_node_hour": FieldSpec(quantity("USD/h")),
    "price_kind": FieldSpec(choice("list", "historic", "marketplace", "range", "no_price")),
    "spot_usd": FieldSpec(quantity("USD/h")),
    "region": FieldSpec(text),
}

_ENGINE = {
    "version_from": FieldSpec(version),
    "version_to": FieldSpec(version),
    "fraction_meaning": FieldSpec(choice("of_total", "of_free_static", "of_free"), required=True),
    "default_fraction": FieldSpec(quantity("1", most=1.0), required=True),
    "block_tokens": FieldSpec(count(unit="tokens")),
    "max_num_seqs_large_gpu": FieldSpec(count()),
    "max_num_seqs_else": FieldSpec(count()),
    "max_num_batched_tokens_large_gpu": FieldSpec(count(unit="tokens")),
    "max_num_batched_tokens_huge_gpu": FieldSpec(count(unit="tokens")),
    "max_num_batched_tokens_else": FieldSpec(count(unit="tokens")),
    "batched_tokens_rule": FieldSpec(choice("fixed", "max_model_len_to_32768")),
    "fraction_rule": FieldSpec(choice("fixed", "static_tp", "static_buckets", "static_parts")),
    "activation_rule": FieldSpec(choice("sampler_forward", "sampler_forward_kept", "by_family", "none")),
    "sampler_bytes_per_logit": FieldSpec(quantity("bytes")),
    "non_torch_gib_tp1": FieldSpec(quantity(zero=True)),
    "non_torch_gib_tp2plus": FieldSpec(quantity(zero=True)),
    "cuda_graphs_in_budget": FieldSpec(flag),
    "cuda_graphs_gib": FieldSpec(quantity(zero=True)),
    "sliding_policy": FieldSpec(choice("full", "engine_admission", "engine_pool")),
    "chunked_policy": FieldSpec(choice("full", "")),
    "sliding_pool_ratio": FieldSpec(quantity("1", most=1.0)),
    "mla_row_align_bytes": FieldSpec(count(unit="bytes")),
    "state_blocks": FieldSpec(count()),
    "in_flight_steps": FieldSpec(count()),
    "block_alignment_tokens": FieldSpec(count(unit="tokens")),
    "mbu": FieldSpec(quantity("1", most=1.0)),
    "mfu": FieldSpec(quantity("1", most=1.0)),
}

FIELDS: Mapping[str, Mapping[str, FieldSpec]] = {
    "gpus": _GPU | _PROVENANCE,
    "models": _MODEL | _PROVENANCE,
    "instances": _INSTANCE | _PROVENANCE,
    "engines": _ENGINE | _PROVENANCE,
}
"""Fields by section of the catalog, under the names a person writes."""
