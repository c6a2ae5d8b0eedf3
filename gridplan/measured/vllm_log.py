"""vLLM's start-up log, of V0 and V1, in the normal form.

The sentences are those of these places, looked up in the stored public sources: vllm/worker/worker.py and
vllm/worker/model_runner.py (V0, 0.2 to 0.10), vllm/v1/worker/gpu_worker.py, gpu_model_runner.py and
vllm/v1/core/kv_cache_utils.py (V1, 0.8 on); vllm_ascend/worker for NPUs. All of them print GiB, `GB` included.
"""

from __future__ import annotations

import re

from gridplan.measured.engine_log import EngineLog
from gridplan.measured.log_rules import Found, collect, collect_keys, compile_keys, compile_rules
from gridplan.measured.log_text import LogText
from gridplan.measured.normal_form import first_of, normal_form

__all__ = ["BANNERS", "ENDS", "LOOKED_FOR", "vllm_log", "vllm_sentences"]

BANNERS = (
    re.compile(r"vLLM API server version \d"),
    re.compile(r"non-default args: \{"),
    re.compile(r"Initializing an? (?:V[01] )?LLM engine\b"),
)
"""What a start-up begins with, the earliest sentence first."""

LOOKED_FOR = (
    "Initializing a V1 LLM engine",
    "Available KV cache memory",
    "the rest of the memory reserved for KV Cache",
)
"""Sentences that a person can look for, for messages."""

RULES = compile_rules(
    [
        "vLLM API server version {engine_version}",
        "LLM engine (v{engine_version}) with config",
        # V0: one sentence a line from 0.6.4.post1 on, key=value before.
        "total_gpu_memory ({total_bytes}GiB) x gpu_memory_utilization ({memory_fraction_rounded}) = "
        "{requested_bytes}GiB",
        "model weights take {weights_bytes}GiB; non_torch_memory takes {non_torch_bytes}GiB; PyTorch activation peak "
        "memory takes {activation_bytes}GiB; the rest of the memory reserved for KV Cache is {kv_pool_bytes}GiB",
        "total_gpu_memory={total_bytes}GiB",
        "peak_torch_memory={peak_torch_bytes}GiB",
        "non_torch_memory={non_torch_bytes}GiB",
        "kv_cache_size={kv_pool_bytes}GiB",
        "kv_cache_size={pool_again_bytes}GiB, gpu_memory_utilization={memory_fraction_rounded}",
        "kv_cache_size={pool_again_bytes}GiB gpu_memory_utilization={memory_fraction_rounded}",
        "# GPU blocks: {kv_blocks}",
        "# CUDA blocks: {kv_blocks}",
        "# cuda blocks: {kv_blocks}",
        "num_gpu_blocks is: {kv_blocks}",
        "Loading model weights took {weights_bytes} GB",
        "Model loading took {weights_bytes} GiB",
        "Model loading took {weights_bytes} GB",
        "Graph capturing finished in {seconds} secs, took {cuda_graphs_bytes} GiB",
        # V1
        "Available KV cache memory: {kv_pool_bytes} GiB",
        "GPU KV cache size: {kv_tokens} tokens",
        "Maximum concurrency for {concurrency_len} tokens per request: {max_concurrency}x",
        "Free memory on device ({free_bytes}/{total_bytes} GiB) on startup. Desired GPU memory utilization is "
        "({memory_fraction}, {requested_bytes} GiB)",
        "Actual usage is {weights_bytes} GiB for weight, {activation_bytes} GiB for peak activation, "
        "{non_torch_bytes} GiB for non-torch memory, and {cuda_graphs_bytes} GiB for CUDAGraph memory",
        "Actual usage: {weights_bytes} GiB for weights, {activation_bytes} GiB for peak activation, "
        "{non_torch_bytes} GiB for non-torch memory, {cuda_graphs_bytes} GiB for NPU graph memory",
        "Actual usage is {consumed_bytes} GiB for consumed memory (weights + non-torch), {activation_bytes} GiB for "
        "peak activation, and {cuda_graphs_bytes} GiB for CUDAGraph memory",
        "Current kv cache memory in use is {kv_pool_bytes} GiB",
        "Current kv cache memory in use is {kv_pool_bytes_exact} bytes",
        "Current KV cache memory: {kv_pool_bytes} GiB",
        "Initial free memory: {free_bytes} GiB; Requested memory: {memory_fraction_rounded} (util), "
        "{requested_bytes} GiB",
        "Initial free memory {free_bytes} GiB, reserved {pool_limit_bytes} GiB memory for KV Cache as specified by "
        "kv_cache_memory_bytes",
        "torch peak memory increase: {activation_bytes}GiB; non-torch forward increase memory: {non_torch_bytes}GiB; "
        "weights memory: {weights_bytes}GiB",
        "Estimated CUDA graph memory: {cuda_graphs_estimated_bytes} GiB total",
        "CUDA graph pool memory: {cuda_graphs_bytes} GiB (actual), {cuda_graphs_estimated_bytes} GiB (estimated)",
        "The current --gpu-memory-utilization={memory_fraction} is equivalent to",
        "Using max model len {using_len}",
        "Chunked prefill is enabled with max_num_batched_tokens={max_num_batched_tokens}",
        "Setting attention block size to {block_size} tokens",
        # Refusals
        "max seq len ({refused_len}), ({need_bytes} GiB KV cache is needed, which is larger than the available KV "
        "cache memory ({kv_pool_bytes} GiB)",
        "the estimated maximum model length is {estimated_max_model_len}",
        "max seq len ({refused_len}) is larger than the maximum number of tokens that can be stored in KV cache "
        "({kv_tokens})",
    ]
)

_REFUSALS = (
    re.compile(r"To serve at least one request with the model(?:s)?'s max seq len"),
    re.compile(r"No available memory for the cache blocks"),
    re.compile(r"model's max seq len \(\d{1,12}\) is larger than the maximum number of tokens"),
    re.compile(r"Free memory on device \([^)\n]{1,40}\) on startup is less than desired GPU memory utilization"),
)
ENDS = (
    re.compile(
        r"Available KV cache memory:|GPU KV cache size:|# (?:GPU|CUDA|cuda) blocks:"
        r"|the rest of the memory reserved for KV Cache is"
    ),
    *_REFUSALS,
)
"""What a start-up has printed when it has its pool, or when it gives up."""

_CONFIG = re.compile(r"Initializing an? (?:V[01] )?LLM engine(?: \(v[^)\n]{1,80}\))? with config:")
_ARGUMENTS = re.compile(r"args: (?:Namespace\(|\{)")
_OWN_ARGUMENTS = re.compile(r"non-default args: \{")
_CONFIG_KEYS = {
    "model": "model",
    "dtype": "dtype",
    "max_seq_len": "max_model_len",
    "tensor_parallel_size": "tensor_parallel",
    "pipeline_parallel_size": "pipeline_parallel",
    "data_parallel_size": "data_parallel",
    "decode_context_parallel_size": "decode_context_parallel",
    "quantization": "quantization",
    "kv_cache_dtype": "kv_cache_dtype",
    "enforce_eager": "enforce_eager",
    "enable_prefix_caching": "prefix_caching",
    "num_spec_tokens": "num_speculative_tokens",
}
_ARGUMENT_KEYS = {
    **{key: name for key, name in _CONFIG_KEYS.items() if key != "max_seq_len"},
    "model_tag": "model",
    "max_model_len": "max_model_len",
    "gpu_memory_utilization": "memory_fraction",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "max_num_seqs": "max_num_seqs",
    "block_size": "block_size",
    "enable_expert_parallel": "expert_parallel",
    "num_speculative_tokens": "num_speculative_tokens",
}
_CONFIG_PATTERNS, _ARGUMENT_PATTERNS = compile_keys(_CONFIG_KEYS), compile_keys(_ARGUMENT_KEYS)
_NAMED = re.compile(r"Initializing a (V[01]) LLM engine")
_V1 = re.compile(r"Available KV cache memory:|GPU KV cache size:|\(EngineCore")
_V0 = re.compile(r"Initializing an LLM engine|the rest of the memory reserved for KV Cache|# (?:GPU|CUDA|cuda) blocks:")


def vllm_sentences(text: LogText) -> int:
    """How many of vLLM's sentences occur."""
    return sum(rule.search(text.text) is not None for rule in (*RULES, *BANNERS, *_REFUSALS, _OWN_ARGUMENTS))


def _found(text: LogText) -> Found:
    """Every value that vLLM's sentences and its printed configuration hold."""
    found: Found = {}
    collect(text, RULES, found)
    # The configuration is what the engine made of its arguments, so it is asked first.
    for region in (
        collect_keys(text, _CONFIG, _CONFIG_KEYS, _CONFIG_PATTERNS),
        collect_keys(text, _ARGUMENTS, _ARGUMENT_KEYS, _ARGUMENT_PATTERNS),
    ):
        for name, readings in region.items():
            found.setdefault(name, []).extend(readings)
    return found


def vllm_log(file: str, text: LogText, start: int, starts: int) -> EngineLog:
    """One start-up of vLLM in the normal form."""
    found = _found(text)
    # The length that the engine worked with: a model length of `auto` is fitted after the configuration is printed.
    lengths = [*found.get("concurrency_len", ()), *found.get("refused_len", ())]
    found["max_model_len"] = [*lengths, *found.get("max_model_len", ()), *found.get("using_len", ())]
    if "pool_limit_bytes" in found:
        found.setdefault("kv_pool_bytes", []).extend(found["pool_limit_bytes"])
    _activation_of_v0(found)
    return normal_form(file, "vllm", _generation(text), text, found, _REFUSALS, start, starts)


def _generation(text: LogText) -> str | None:
    """V0 or V1, as the engine calls itself, else by the sentences that only one of them has."""
    if said := _NAMED.search(text.text):
        return said[1]
    return "V1" if _V1.search(text.text) else "V0" if _V0.search(text.text) else None


def _activation_of_v0(found: Found) -> None:
    """V0 before 0.6.4.post1 prints the peak of torch's memory, weights included."""
    peak, weights = first_of(found, "peak_torch_bytes"), first_of(found, "weights_bytes")
    if "activation_bytes" not in found and peak is not None and weights is not None:
        found["activation_bytes"] = [
            type(peak)(peak.value - weights.value, peak.line, peak.half_step + weights.half_step, peak.rank)
        ]
