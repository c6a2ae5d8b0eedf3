"""Which architecture a config describes, by `model_type`, and how its plan is made. An unknown one is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from gridplan.catalog.hf.attention import Style, attention
from gridplan.catalog.hf.base import Base, Block, Plan
from gridplan.catalog.hf.decoder import Decoder, Part
from gridplan.catalog.hf.deepseek_v4 import deepseek_v4
from gridplan.catalog.hf.delta import delta_hybrid
from gridplan.catalog.hf.falcon import falcon
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.gemma4 import gemma4_attention, gemma4_feed_forward
from gridplan.catalog.hf.granite import granite_feed_forward
from gridplan.catalog.hf.llama4 import llama4_feed_forward
from gridplan.catalog.hf.mamba import granite_hybrid
from gridplan.catalog.hf.mimo import mimo_v2_attention
from gridplan.catalog.hf.mla import mla
from gridplan.catalog.hf.moe import MoeStyle, dense, mixture
from gridplan.catalog.hf.mtp import MtpStyle
from gridplan.catalog.hf.nas import nemotron_nas
from gridplan.catalog.hf.nemotron import nemotron_h

__all__ = ["ARCHITECTURES", "BY_CLASS", "FAMILIES", "Builder"]

Builder = Callable[[Fields], Plan]

_DENSE_FIRST = ("first_k_dense_replace", "n_shared_experts")
_FOUR = ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")
_AFTER = ("post_attention_layernorm", "post_feedforward_layernorm")
_DEEPSEEK_MTP = MtpStyle("eh_proj", ("enorm", "hnorm", "shared_head.norm"))
_QWEN_MTP = MtpStyle("fc", ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"), each=False)
_MIMO_MTP = MtpStyle("input_proj", ("token_layernorm", "hidden_layernorm", "final_layernorm"))


def _heads(qkv_bias: bool | None = None, o_bias: bool | None = None, qk_norm: str = "none", windows: str = "none",
           head_dim: int | None = None, sinks: bool = False, multi_head: bool = False) -> Part:  # fmt: skip
    style = Style(qkv_bias, o_bias, qk_norm, windows, head_dim, sinks=sinks, biased=sinks, multi_head=multi_head)
    return partial(attention, style=style)


def _experts(style: MoeStyle) -> Part:
    return partial(mixture, style=style)


def _deepseek_experts(fields: Fields, base: Base, method: str) -> Block:
    """Routers correct their scores where `topk_method` is noaux_tc: V3 where it is silent, and not V2."""
    corrected = fields.text("topk_method", method) == "noaux_tc"
    return mixture(fields, base, MoeStyle(correction=corrected, must_say=_DENSE_FIRST))


def _minimax_experts(fields: Fields, base: Base) -> Block:
    if fields.count("shared_intermediate_size", 0, least=0):
        fields.refuse("shared_intermediate_size", "is above 0: shared experts of MiniMax are not understood")
    corrected = fields.flag("use_routing_bias", True)
    names = ("w1", "w3", "w2")
    width = ("intermediate_size",)
    return mixture(fields, base, MoeStyle("block_sparse_moe", names=names, correction=corrected, expert_width=width))


def _minimax_attention(fields: Fields, base: Base) -> Block:
    if any(kind != 1 for kind in fields.counts("attn_type_list")):
        fields.refuse("attn_type_list", "has layers that are not 1: only full attention is understood")
    fields.choice("qk_norm_type", ("per_layer",), "per_layer")
    return attention(fields, base, Style(False, False, "field:full:use_qk_norm"))


_MIXTRAL = MoeStyle("block_sparse_moe", names=("w1", "w3", "w2"), expert_width=("intermediate_size",))
_GPT_OSS = MoeStyle(router="router", biases=True, expert_width=("intermediate_size",))
_QWEN_SHARED = MoeStyle(shared="shared_expert", shared_gate=True, shared_of="shared_expert_intermediate_size")
_GLM = MoeStyle(correction=True, must_say=_DENSE_FIRST)
_MIMO = MoeStyle(correction=True, must_say=("moe_layer_freq", "n_shared_experts"))
_GEMMA3_DEFAULTS = {"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208,
                    "max_position_embeddings": 131072}  # fmt: skip
"""What published files of Gemma 3 leave out (fact; Gemma3TextConfig of transformers)."""

_LLAMA = Decoder(_heads(multi_head=True), partial(dense, biased=True))
_MISTRAL = Decoder(_heads(False, False, windows="said"), dense)
_QWEN2 = Decoder(_heads(True, False, windows="flag"), dense)
_QWEN3 = Decoder(_heads(qk_norm="head", windows="flag", head_dim=128), dense)
_QWEN3_MOE = Decoder(_heads(qk_norm="head", windows="flag"), _experts(MoeStyle()))
_QWEN35 = Decoder(partial(delta_hybrid, fused=False), dense, mtp=_QWEN_MTP)
_QWEN35_MOE = Decoder(partial(delta_hybrid, fused=False), _experts(_QWEN_SHARED), mtp=_QWEN_MTP)
_GEMMA3 = Decoder(_heads(qk_norm="head", windows="every 6"), dense, _FOUR, tied=True, defaults=_GEMMA3_DEFAULTS,
                  owner="Gemma3TextConfig")  # fmt: skip
_GEMMA4 = Decoder(gemma4_attention, gemma4_feed_forward, _FOUR, scalars=1, tied=True)
_COHERE = Decoder(_heads(qk_norm="field:full:use_qk_norm", multi_head=True), dense, ("input_layernorm",), tied=True)
_LLAMA4 = Decoder(_heads(windows="chunked"), llama4_feed_forward)
_V3_EXPERTS = partial(_deepseek_experts, method="noaux_tc")
_DEEPSEEK = Decoder(mla, _V3_EXPERTS, mtp=_DEEPSEEK_MTP)
_SPARSE = Decoder(partial(mla, sparse=True), _V3_EXPERTS, mtp=_DEEPSEEK_MTP)

ARCHITECTURES: Mapping[str, tuple[str, Builder]] = {
    "llama": ("llama", _LLAMA),
    "mistral": ("mistral", _MISTRAL),
    "ministral3": ("mistral", _MISTRAL),
    "mixtral": ("mixtral", Decoder(_heads(False, False, windows="all"), _experts(_MIXTRAL))),
    "qwen2": ("qwen2", _QWEN2),
    "qwen2_vl": ("qwen2", _QWEN2),
    "qwen2_vl_text": ("qwen2", _QWEN2),
    "qwen2_5_vl": ("qwen2", _QWEN2),
    "qwen2_5_vl_text": ("qwen2", _QWEN2),
    "qwen2_moe": ("qwen2-moe", Decoder(_heads(True, False, windows="flag"), _experts(_QWEN_SHARED))),
    "qwen3": ("qwen3", _QWEN3),
    "qwen3_vl_text": ("qwen3", _QWEN3),
    "qwen3_moe": ("qwen3-moe", _QWEN3_MOE),
    "qwen3_vl_moe_text": ("qwen3-moe", _QWEN3_MOE),
    "qwen3_next": ("qwen3-next", Decoder(partial(delta_hybrid, fused=True), _experts(_QWEN_SHARED), mtp=_QWEN_MTP)),
    "qwen3_5_text": ("qwen3.5", _QWEN35),
    "qwen3_5_moe_text": ("qwen3.5", _QWEN35_MOE),
    "gemma": ("gemma", Decoder(_heads(head_dim=256), dense, tied=True)),
    "gemma2": ("gemma-2", Decoder(_heads(windows="every 2", head_dim=256), dense, _FOUR, tied=True)),
    "gemma3_text": ("gemma-3", _GEMMA3),
    "gemma4_text": ("gemma-4", _GEMMA4),
    "phi3": ("phi", Decoder(_heads(False, False, windows="all", multi_head=True), dense)),
    "llama4_text": ("llama-4", _LLAMA4),
    "deepseek_v2": ("deepseek", Decoder(mla, partial(_deepseek_experts, method="greedy"))),
    "deepseek_v3": ("deepseek", _DEEPSEEK),
    "kimi_k2": ("kimi", _DEEPSEEK),
    "deepseek_v32": ("deepseek", _SPARSE),
    "glm_moe_dsa": ("glm", _SPARSE),
    "deepseek_v4": ("deepseek", deepseek_v4),
    "glm4_moe": ("glm", Decoder(_heads(o_bias=False, qk_norm="field:head:use_qk_norm"), _experts(_GLM),
                                mtp=_DEEPSEEK_MTP)),
    "gpt_oss": ("gpt-oss", Decoder(_heads(windows="every 2", head_dim=64, sinks=True), _experts(_GPT_OSS))),
    "minimax_m2": ("minimax", Decoder(_minimax_attention, _minimax_experts)),
    "cohere": ("command-r", _COHERE),
    "cohere2": ("command-r", Decoder(_heads(windows="every 4"), dense, ("input_layernorm",), tied=True)),
    "falcon": ("falcon", falcon),
    "olmo2": ("olmo", Decoder(_heads(qk_norm="full"), dense, _AFTER)),
    "olmo3": ("olmo", Decoder(_heads(qk_norm="full", windows="every 4"), dense, _AFTER)),
    "granite": ("granite", Decoder(_heads(), partial(dense, biased=True))),
    "granitemoehybrid": ("granite", Decoder(granite_hybrid, granite_feed_forward)),
    "mimo": ("mimo", Decoder(_heads(o_bias=False, windows="flag"), dense, mtp=_MIMO_MTP)),
    "mimo_v2_flash": ("mimo", Decoder(mimo_v2_attention, _experts(_MIMO))),
    "nemotron_h": ("nemotron", nemotron_h),
    "nemotron-nas": ("nemotron", nemotron_nas),
}  # fmt: skip
"""By `model_type`: the family as the catalog names it, and how the plan is made."""

FAMILIES: Mapping[str, str] = {"kimi_k25": "kimi"}
"""The family of a model whose language model is that of another family."""

BY_CLASS: Mapping[str, str] = {"DeepseekV4ForCausalLM": "deepseek_v4"}
"""The model type that a class in `architectures` stands for, where a file has a model type of its own."""
