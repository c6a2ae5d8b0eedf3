"""What a catalog holds: one frozen record per accelerator, model, rentable shape, engine version and number format.

Quantities are in base units and the unit is in the name; a value that is not known is None, never zero. Every record
says where it came from: `source` (an address, or what was read where there is none), `as_of` (the date the source
states, else the day the catalog was compiled, 2026-11-29) and `cls` (fact, policy, measurement or assumption).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from gridplan.catalog.layers import LayerGroup, group_as_dict
from gridplan.catalog.spread import MemoryTerm
from gridplan.catalog.step_constants import StepConstant

__all__ = [
    "ActivationFamily",
    "Dtype",
    "Engine",
    "Entry",
    "Gpu",
    "Instance",
    "LayerGroup",
    "MemoryTerm",
    "Model",
    "StepConstant",
    "as_dict",
]

LARGE_GPU_BYTES = 70 * 2**30
"""vLLM raises its scheduler defaults from this memory on, A100 excepted (EngineArgs of vLLM 0.8 and later; a fact)."""

HUGE_GPU_BYTES = 160 * 2**30
"""vLLM doubles its batched tokens from this memory on since 0.28 (vllm-project/vllm#51726; a fact)."""

LONGEST_UNCHUNKED_TOKENS = 32768
"""Model length up to which vLLM V0 leaves chunked prefill off (EngineArgs of vLLM 0.4 to 0.7; a fact)."""


PCIE_X16_BYTES_PER_S = {3: 15.754e9, 4: 31.508e9, 5: 63.015e9, 6: 121e9}
"""Sixteen lanes in one direction after line coding (fact: PCI-SIG: 8, 16 and 32 GT/s with 128b/130b, 64 GT/s in
flits)."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One device as an engine sees it (a card with two dies is two devices; see `devices_per_card`).

    `memory_bytes` is the planning total; `memory_source` says whether an engine printed it (`engine_visible`), a driver
    (`driver_reported`), a contract gave it (`contract`), a folder of entries did (`catalog_folder`) or nobody (empty).
    `family` names the generation (hopper, blackwell, cdna3, ...) that constants of the step time hold for.
    `flops` are dense peaks a second by format (fp16, bf16, fp8, int8, fp4); one that is absent has no published path.
    """

    id: str
    name: str
    vendor: str
    family: str
    memory_bytes: float | None
    memory_source: str
    memory_bandwidth_bytes_per_s: float | None
    flops: Mapping[str, float] = field(hash=False)
    scale_up_bytes_per_s: float | None
    pcie_generation: int | None
    max_scale_up_domain: int | None
    tdp_w: float | None
    devices_per_card: int
    marketed_memory_bytes: float | None
    cls: str
    source: str
    as_of: str | None
    notes: str

    @property
    def link_bytes_per_s(self) -> float:
        """Peak of the link between GPUs of one node, in one direction [bytes/s].

        Half of the scale-up figure, which counts both directions; without one PCIe x16 of its generation, the fourth
        where that is not known (assumption).
        """
        if self.scale_up_bytes_per_s is not None:
            return self.scale_up_bytes_per_s / 2.0
        return PCIE_X16_BYTES_PER_S[self.pcie_generation or 4]

    @property
    def is_huge_for_engine(self) -> bool:
        """Whether vLLM doubles its default of batched tokens: 160 GiB and more."""
        return self.memory_bytes is not None and self.memory_bytes >= HUGE_GPU_BYTES

    @property
    def is_large_for_engine(self) -> bool:
        """Whether vLLM uses its larger scheduler defaults: 70 GiB and more, and not an A100."""
        a100 = "a100" in f"{self.id} {self.name}".casefold()
        return self.memory_bytes is not None and self.memory_bytes >= LARGE_GPU_BYTES and not a100


@dataclass(frozen=True, slots=True)
class Model:
    """One model: parameter counts and the geometry that memory and time follow from.

    `kv_layers` are the layers that keep keys and values for the whole context. `attention` is mla, mqa, gqa or mha,
    from the counts. `layer_groups` say what each layer keeps of a sequence; they are empty where that is not known.
    `params_vision` is beside the total: the vision tower that an engine loads with the text, 0 without one, None where
    there is one that is not counted. `params_embedding` is the input embedding alone, `params_replicated` what every
    tensor-parallel rank holds whole beside the routers (MLA down projections, the indexer of sparse attention).
    `checkpoint_bytes` is what the published checkpoint of the counted parameters (without the tower) takes in its own
    format, where that is known. `native_kv_dtype` is the format of the KV cache that the checkpoint brings, None
    where it leaves the cache in 16 bits.
    """

    id: str
    hf_id: str
    params_total: float | None
    params_active: float | None
    params_embedding: float | None
    params_routed_experts: float | None
    params_replicated: float
    params_vision: float | None
    checkpoint_bytes: float | None
    num_layers: int
    kv_layers: int
    hidden_size: int
    attention_heads: int
    kv_heads: int
    head_dim: int | None
    attention: str
    kv_lora_rank: int | None
    qk_rope_head_dim: int | None
    q_lora_rank: int | None
    intermediate_size: int | None
    moe_intermediate_size: int | None
    num_experts: int | None
    experts_per_token: int | None
    num_moe_layers: int
    vocab_size: int
    max_position_embeddings: int | None
    native_weight_dtype: str
    native_kv_dtype: str | None
    tie_word_embeddings: bool
    family: str
    layer_groups: tuple[LayerGroup, ...]
    num_sliding_layers: int
    num_chunked_layers: int
    num_linear_layers: int
    sliding_window: int | None
    index_head_dim: int | None
    cls: str
    source: str
    as_of: str | None
    notes: str


@dataclass(frozen=True, slots=True)
class Instance:
    """One rentable shape: `gpus_per_node` GPUs for `usd_per_node_hour` on demand, `scale_up_gpus` on one fast fabric.

    `price_kind` is list, historic, marketplace, range or no_price; only list prices are ever chosen by default.
    """

    id: str
    provider: str
    instance_type: str
    gpu: str
    gpus_per_node: int
    scale_up_gpus: int
    usd_per_node_hour: float | None
    price_kind: str
    spot_usd: float | None
    region: str
    cls: str
    source: str
    as_of: str | None
    notes: str


@dataclass(frozen=True, slots=True)
class Engine:
    """Constants of one engine over a range of versions (`version_to` None: still open; both ends belong to it).

    `fraction_meaning`: of_total (pool = total x fraction - weights - workspace), of_free_static (free after the weights
    less (1 - fraction) x free before them) or of_free (a fraction of what is free after loading).
    `batched_tokens_rule`: fixed, or max_model_len_to_32768. `fraction_rule`: fixed (default_fraction), or SGLang's by
    tensor parallelism (static_tp), size of the GPU (static_buckets) or reserved parts (static_parts).
    `activation_rule`: sampler_forward (the larger of sampler and forward), sampler_forward_kept (hidden states and
    expert buffers stay), by_family (one figure a model family), none (inside another term); None where it is not
    known. `cuda_graphs_gib` counts where `cuda_graphs_in_budget`. `sliding_policy`: full (every token),
    engine_admission (window less 1 plus batched tokens) or engine_pool (an own pool of `sliding_pool_ratio` times the
    tokens of the full layers).
    `chunked_policy` full charges chunked layers for every token where sliding ones are admitted by window.
    `mla_row_align_bytes`: rows of a latent cache take whole units of so many bytes. `state_blocks`: state pages a
    sequence holds. `in_flight_steps`: steps whose batched tokens a window admits beside itself. Attention blocks
    beside a state grow by `block_alignment_tokens`. `mbu` and `mfu` are stated by an entry of one's own alone, as
    achieved shares of the whole step, with their own provenance, `step_*`; else `StepConstant` has them.
    """

    name: str
    version_from: str
    version_to: str | None
    fraction_meaning: str
    default_fraction: float
    block_tokens: int | None
    max_num_seqs_large_gpu: int | None
    max_num_seqs_else: int | None
    max_num_batched_tokens_large_gpu: int | None
    max_num_batched_tokens_huge_gpu: int | None
    max_num_batched_tokens_else: int | None
    batched_tokens_rule: str | None
    activation_rule: str | None
    fraction_rule: str
    sampler_bytes_per_logit: float | None
    non_torch_gib_tp1: float | None
    non_torch_gib_tp2plus: float | None
    cuda_graphs_in_budget: bool | None
    cuda_graphs_gib: float | None
    sliding_policy: str
    chunked_policy: str
    sliding_pool_ratio: float | None
    mla_row_align_bytes: int | None
    state_blocks: int | None
    in_flight_steps: int | None
    block_alignment_tokens: int | None
    mbu: float | None
    mfu: float | None
    step_cls: str
    step_source: str
    step_as_of: str | None
    cls: str
    source: str
    as_of: str | None
    notes: str

    @property
    def id(self) -> str:
        """Name and first version, as in `vllm@0.22`."""
        return f"{self.name}@{self.version_from}"

    def max_num_seqs(self, large_gpu: bool) -> int | None:
        """Default scheduler cap [sequences]; None where it is not known."""
        return self.max_num_seqs_large_gpu if large_gpu else self.max_num_seqs_else

    def max_num_batched_tokens(self, large_gpu: bool, max_model_len: float, huge_gpu: bool = False) -> int | None:
        """Default prefill budget of a step [tokens]; None where it is not known."""
        base = self.max_num_batched_tokens_large_gpu if large_gpu else self.max_num_batched_tokens_else
        if huge_gpu and self.max_num_batched_tokens_huge_gpu is not None:
            base = self.max_num_batched_tokens_huge_gpu
        if base is None or self.batched_tokens_rule != "max_model_len_to_32768":
            return base
        return max(int(max_model_len), base) if max_model_len <= LONGEST_UNCHUNKED_TOKENS else base


@dataclass(frozen=True, slots=True)
class Dtype:
    """One number format in one role (weight or kv).

    `bits_per_element` includes scales. `sixteen_bit` says which parameters stay 16-bit: none, embeddings (with lm_head
    and routers), or all_but_experts (all but the routed ones). `compute_column` names the format of `Gpu.flops` it
    computes in (none: no rate of its own); with `fallback` it computes at the 16-bit rate where the GPU lacks that one.
    `requires` names a format that the GPU must have, `vendor` the only vendor it runs on (empty: any).
    """

    role: str
    name: str
    bits_per_element: float
    sixteen_bit: str
    compute_column: str
    fallback: bool
    requires: str
    vendor: str
    cls: str
    source: str
    as_of: str | None
    notes: str


@dataclass(frozen=True, slots=True)
class ActivationFamily:
    """Activation peak of one model family under the engine rule by_family [GiB]."""

    family: str
    activation_gib: float
    cls: str
    source: str
    as_of: str | None
    notes: str


Entry = Gpu | Model | Instance | Engine | Dtype | ActivationFamily | MemoryTerm | StepConstant


def as_dict(entry: Entry) -> dict[str, object]:
    """All fields of an entry in order, under the names a person writes (`class`, not `cls`); None for the unknown."""
    names = {"cls": "class", "step_cls": "step_class"}
    return {names.get(item.name, item.name): _plain(getattr(entry, item.name)) for item in fields(entry)}


def _plain(value: object) -> object:
    """Mappings and layer groups as dictionaries; anything else as it is."""
    if isinstance(value, tuple):
        return [group_as_dict(group) for group in value]
    return dict(value) if isinstance(value, Mapping) else value
