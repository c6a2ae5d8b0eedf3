"""What is compared: models with their configs and checkpoint sizes, and GPUs under each planner's name.

aiconfigurator-core ships config.json of most models; where it does not, the fields are written here. Checkpoint bytes
are those that kvfit would read from the hub, which holds MTP heads and vision towers too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LENGTH = 32768
FRACTION = 0.92
"""Default `gpu_memory_utilization` of vLLM since 0.22, the version that aiconfigurator-core knows (0.24)."""
ENGINE = "vllm@0.24"
BATCHED_TOKENS, SEQUENCES = 8192, 1024
"""vLLM's server defaults on GPUs of 70 GiB and more."""
DEGREES = (1, 2, 4, 8)

GEMMA_3: Mapping[str, Any] = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "torch_dtype": "bfloat16",
    "text_config": {
        "head_dim": 128,
        "hidden_size": 5376,
        "intermediate_size": 21504,
        "model_type": "gemma3_text",
        "num_attention_heads": 32,
        "num_hidden_layers": 62,
        "num_key_value_heads": 16,
        "query_pre_attn_scalar": 168,
        "sliding_window": 1024,
        "vocab_size": 262208,
    },
}
"""google/gemma-3-27b-it: the hub's file names a window and no layer types (as copied in vllm-project/tpu-inference)."""

GEMMA_3_SPELLED: Mapping[str, Any] = {
    "architectures": ["Gemma3ForCausalLM"],
    "model_type": "gemma3_text",
    "torch_dtype": "bfloat16",
    "head_dim": 256,
    "hidden_size": 2560,
    "intermediate_size": 10240,
    "num_attention_heads": 8,
    "num_hidden_layers": 34,
    "num_key_value_heads": 4,
    "sliding_window": 1024,
    "vocab_size": 262208,
    "layer_types": ["full_attention" if layer % 6 == 5 else "sliding_attention" for layer in range(34)],
}
"""google/gemma-3-4b-it with its defaults and layer types written out: more than the hub's file says."""

QWEN_3_NEXT: Mapping[str, Any] = {
    "architectures": ["Qwen3NextForCausalLM"],
    "model_type": "qwen3_next",
    "torch_dtype": "bfloat16",
    "hidden_size": 2048,
    "num_hidden_layers": 48,
    "vocab_size": 151936,
    "head_dim": 256,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "intermediate_size": 5120,
    "num_experts": 512,
    "num_experts_per_tok": 10,
    "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512,
    "linear_num_key_heads": 16,
    "linear_key_head_dim": 128,
    "linear_num_value_heads": 32,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
    "full_attention_interval": 4,
    "max_position_embeddings": 262144,
    "tie_word_embeddings": False,
}
"""Qwen/Qwen3-Next-80B-A3B-Instruct."""


@dataclass(frozen=True)
class Model:
    """A model of gridplan's catalog, the config that the others read, and the bytes of its checkpoint."""

    name: str
    hf_id: str
    checkpoint_bytes: int
    config: Mapping[str, Any] | None = None


MODELS = (
    Model("llama-3.1-8b", "meta-llama/Meta-Llama-3.1-8B", 2 * 8030261248),
    Model("llama-3.3-70b", "meta-llama/Meta-Llama-3.1-70B", 2 * 70553706496),
    Model("qwen3-32b", "Qwen/Qwen3-32B", 2 * 32762123264),
    Model("qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B", 2 * 30532122624),
    Model("qwen3-235b-a22b", "Qwen/Qwen3-235B-A22B", 2 * 235093634560),
    Model("mixtral-8x7b", "mistralai/Mixtral-8x7B-v0.1", 2 * 46702792704),
    Model("deepseek-v3", "deepseek-ai/DeepSeek-V3", 688586727753),
    Model("deepseek-v3.2", "deepseek-ai/DeepSeek-V3.2", 689500000000),
    Model("gpt-oss-120b", "openai/gpt-oss-120b", 65248815744),
    Model("gemma-3-27b", "google/gemma-3-27b-it", 2 * 27432406640, GEMMA_3),
    Model("llama-4-scout-17b-16e", "meta-llama/Llama-4-Scout-17B-16E-Instruct", 2 * 108641793536),
    Model("qwen3-next-80b-a3b", "Qwen/Qwen3-Next-80B-A3B-Instruct", 2 * 81324862720, QWEN_3_NEXT),
)
"""Parameters of 16-bit checkpoints are the hub's own counts. DeepSeek-V3.2 is an assumption: V3 and its indexer.

Llama-3.3-70B has the geometry of Llama-3.1-70B, whose config is shipped.
"""


@dataclass(frozen=True)
class Gpu:
    """One GPU: gridplan's id, aiconfigurator's system, and the size that the other two take for it [GiB]."""

    name: str
    system: str
    nominal_gib: float


H100, B200 = Gpu("h100-sxm", "h100_sxm", 80), Gpu("b200", "b200_sxm", 180)


def gpu_for(model: Model, degree: int) -> Gpu:
    """An H100 where a rank's share of the checkpoint is below 0.85 of it, else a B200 (policy)."""
    return H100 if model.checkpoint_bytes / degree < 0.85 * H100.nominal_gib * 2**30 else B200
