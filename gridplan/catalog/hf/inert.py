"""Which fields change neither a weight nor a cache. Any other one that is set and was not read is refused by name.

An architecture grows a field when it grows a feature; a field that sounds like geometry and is not understood means
that the counts would be a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gridplan.catalog.hf.fields import Report

__all__ = ["check_understood"]

_GEOMETRY = re.compile(
    r"layer|head|hidden|size|dim|rank|expert|window|mlp|ffn|kv|attn|attention|sliding|chunk|mamba|ssm|conv|latent|bias"
    r"|pattern|compress|moe|index|block|group|gate|router|mtp|nextn|shared|state|lora|norm_type|qk_norm|altup|laurel"
    r"|hc_|delta|linear|spars|quant|depth|width|loop|recurren|engram|memory|register|adapter|per_token|swa|sink|first_k"
    r"|residual|tie_|encoder|position"
)
_INERT = frozenset(
    [
        *("attention_dropout", "attn_logit_softcapping", "attention_multiplier", "attention_value_scale", "attn_scale"),
        *("attn_implementation", "attn_temperature_tuning", "attn_temperature_scale"),
        *("attention_probs_dropout_prob", "query_pre_attn_scalar", "hidden_act", "hidden_activation", "mlp_hidden_act"),
        *("mamba_hidden_act", "hidden_dropout", "hidden_dropout_prob", "embedding_dropout", "resid_pdrop"),
        *("layer_norm_eps", "layer_norm_epsilon", "layernorm_epsilon", "norm_eps", "partial_rotary_factor"),
        *("moe_router_dtype", "moe_router_scaling_factor", "router_aux_loss_coef", "router_jitter_noise"),
        *("output_router_logits", "output_attentions", "output_hidden_states", "num_logits_to_keep", "seq_aux"),
        *("n_group", "topk_group", "num_expert_group", "norm_topk_prob", "routed_scaling_factor", "ep_size"),
        *("moe_renormalize", "moe_router_activation_func", "moe_shared_expert_overlap", "index_topk"),
        *("index_topk_freq", "index_topk_pattern", "index_skip_topk_offset", "index_share_for_mtp_iteration"),
        *("indexer_rope_interleave", "ignore_index", "chunk_size", "chunk_size_feed_forward", "expand"),
        *("experts_per_token", "qk_head_dim", "rotary_dim", "hc_eps", "hc_sinkhorn_iters", "use_mrope"),
        *("rescale_prenorm_residual", "residual_in_fp32", "use_mamba_kernels", "use_mtp", "cache_implementation"),
        *("use_bidirectional_attention", "num_beam_groups", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size"),
        *("cross_attention_hidden_size", "is_decoder", "time_step_rank", "mamba_chunk_size"),
        *("bos_token_id", "tf_legacy_loss", "mamba_expand", "attn_pdrop"),
        *("use_cache", "layer_scale_init_value", "aux_loss_alpha", "init_method", "initializer_range"),
        *("output_gate_type", "attn_type"),
        *("boi_token_index", "eoi_token_index", "image_token_index", "audio_token_index", "eoa_token_index"),
        *("original_max_position_embeddings",),
        *("use_unified_vision_chunk", "compress_rope_theta", "unsloth_fixed"),
        *("use_parallel_block", "use_gated_activation", "use_parallel_embedding", "use_embedding_sharing"),
        *("swa_rope_theta", "dual_chunk_attention_config", "layer_norm_type", "tie_encoder_decoder"),
        *("mm_hidden_size", "image_size", "patch_size"),
    ]
)  # fmt: skip


_WEIGHTLESS = {"position_embedding_type": ("rope", "rotary", "nope", "alibi")}
"""Values of a field that bring no weights; others do."""


def check_understood(report: Report, data: Mapping[str, Any], prefix: str, model_type: str) -> None:
    """Refuse the fields of an object that are set, sound like geometry and were not read."""
    for name, value in data.items():
        known = f"{prefix}{name}" in report.seen or name in _INERT or name.startswith("_")
        known = known or value in _WEIGHTLESS.get(name, ())
        if known or value in (None, False, "", 0) or value in ([], {}):
            continue
        if _GEOMETRY.search(name):
            why = "it may change weights or cache, and nothing is guessed"
            report.add(f"{prefix}{name}", f"is not understood for model_type {model_type}: {why}")
