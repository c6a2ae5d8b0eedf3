"""How the weights of a checkpoint are stored: the format of each matrix, from `quantization_config` or modelopt's file.

Norms, biases, embeddings and routers stay in 16 bits whatever the method. The lm_head does too for methods whose
engines skip it, and where a file lists what it leaves out without naming the lm_head, that file is followed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.formats import Format, block_fp8, bnb4, group_size, grouped_int, mx, of_algorithm, of_weights
from gridplan.catalog.hf.kv_cache import KV_FIELDS, read_kv
from gridplan.catalog.hf.modules import Modules, bare
from gridplan.catalog.hf.weights import Weight

__all__ = ["Scheme", "read_scheme", "with_experts"]


@dataclass(frozen=True)
class Scheme:
    """Formats by module.

    `named` are modules with a format of their own, `groups` those meant by a list, `base` holds for all others; None
    leaves a matrix in 16 bits. `experts` is the format of routed experts where it differs. `lm_head` says whether
    `base` reaches the lm_head, `kv` is the format of the KV cache where the checkpoint brings one.
    """

    base: Format | None
    left_out: Modules | None = None
    lm_head: bool = False
    groups: tuple[tuple[Modules, Format], ...] = ()
    named: Mapping[str, Format] = field(default_factory=dict)
    experts: Format | None = None
    kv: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no format is stated at all, as where the cache alone is quantised."""
        return self.base is None and not self.groups and not self.named and self.experts is None

    def format_of(self, weight: Weight) -> Format | None:
        """The format of a tensor; None for 16 bits."""
        if not weight.quantised:
            return None
        parts = weight.name.split(".")
        for length in range(len(parts), 0, -1):
            own = self.named.get(".".join(parts[:length]))
            if own is not None:
                return own
        if self.left_out is not None and self.left_out.holds(weight.name):
            return None
        for modules, found in self.groups:
            if modules.holds(weight.name):
                return found
        if weight.part == "experts" and self.experts is not None:
            return self.experts
        return None if weight.part == "lm_head" and not self.lm_head else self.base


def read_scheme(fields: Fields) -> Scheme:
    """The scheme of a `quantization_config`, or of `quantization` in a hf_quant_config.json."""
    kv = read_kv(fields)
    return replace(_of_weights(fields), kv=kv)


def _of_weights(fields: Fields) -> Scheme:
    """The formats of the weights; a file may speak of the cache alone."""
    if not fields.has("quant_algo") and not fields.has("quant_method") and any(map(fields.has, KV_FIELDS)):
        return Scheme(None)
    if fields.has("quant_algo") and fields.text("quant_method") in ("", "modelopt", "modelopt_fp4", "modelopt_mixed"):
        return _modelopt(fields)
    readers: dict[str, Callable[[Fields], Scheme]] = {
        "fp8": _fp8,
        "fbgemm_fp8": _fp8,
        "mxfp4": lambda own: Scheme(mx(4), _skipped(own)),
        "compressed-tensors": _compressed,
        "awq": _awq,
        "gptq": _gptq,
        "bitsandbytes": _bitsandbytes,
    }
    if not fields.has("quant_method"):
        fields.refuse("quant_method", f"is missing; known: {', '.join(readers)}")
        return Scheme(None)
    return readers[fields.choice("quant_method", readers, "fp8")](fields)


def with_experts(scheme: Scheme, fields: Fields) -> Scheme:
    """The scheme with the format that `expert_dtype` gives routed experts (DeepSeek V4: MXFP4)."""
    if not fields.has("expert_dtype"):
        return scheme
    fields.choice("expert_dtype", ("fp4",), "fp4")
    return replace(scheme, experts=mx(4))


def _skipped(fields: Fields, *names: str) -> Modules:
    name = fields.first(*names, "modules_to_not_convert", "ignored_layers")
    return Modules(fields.texts(name), fields, name)


def _fp8(fields: Fields) -> Scheme:
    """8-bit floats; layers that a later step quantised further are in `quantized_layers`."""
    block = fields.counts("weight_block_size")
    if block and (len(block) != 2 or not all(block)):
        fields.refuse("weight_block_size", "must be two whole numbers from 1")
        block = []
    return Scheme(block_fp8(block), _skipped(fields), named=_named(fields))


def _named(fields: Fields) -> dict[str, Format]:
    """The formats of `quantized_layers` by module."""
    layers = fields.sub("quantized_layers")
    return {bare(name): _algorithm(layers.sub(name)) for name in layers.data}


def _algorithm(fields: Fields) -> Format:
    group = fields.count("group_size", 16)
    if not fields.has("quant_algo"):
        fields.refuse("quant_algo", "is missing")
        return Format("fp8", 8.0)
    return of_algorithm(fields, group=group)


def _modelopt(fields: Fields) -> Scheme:
    name = fields.first("exclude_modules", "ignore")
    left_out = Modules(fields.texts(name), fields, name)
    if fields.text("quant_algo") == "MIXED_PRECISION":
        if not fields.has("quantized_layers"):
            fields.refuse("quantized_layers", "is missing; it says which layers have which format")
        return Scheme(None, left_out, named=_named(fields))
    if not left_out:
        fields.report.note(
            "modelopt lists no modules that it leaves out: all linear layers but the lm_head are counted"
        )
    return Scheme(of_algorithm(fields, group=fields.count("group_size", 16)), left_out, lm_head=bool(left_out))


_PACKED = (
    *("pack-quantized", "int-quantized", "float-quantized", "naive-quantized", "nvfp4-pack-quantized"),
    *("mxfp4-pack-quantized", "mixed-precision"),
)
"""Ways in which compressed-tensors writes quantised weights as small as they are."""


def _compressed(fields: Fields) -> Scheme:
    groups = fields.sub("config_groups")
    if not groups.data and not fields.has("kv_cache_scheme"):
        fields.refuse("config_groups", "is missing; it says what is quantised, and how")
    if fields.has("format"):
        fields.choice("format", _PACKED, _PACKED[0])
    sparsity = fields.sub("sparsity_config") if fields.has("sparsity_config") else None
    if sparsity is not None and sparsity.data and sparsity.text("format", "dense") != "dense":
        sparsity.refuse("format", "is not understood: what sparse weights take is not counted")
    left_out = Modules(fields.texts("ignore"), fields, "ignore")
    base: Format | None = None
    listed: list[tuple[Modules, Format]] = []
    for name in groups.data:
        own = groups.sub(name)
        found = of_weights(own.sub("weights"))
        targets = own.texts("targets")
        if "Linear" in targets:
            base = found
        modules = [target for target in targets if target != "Linear"]
        if modules:
            listed.append((Modules(modules, own, "targets"), found))
    return Scheme(base, left_out, lm_head=True, groups=tuple(listed))


def _bits(fields: Fields, *names: str) -> int:
    name = fields.first(*names)
    bits = fields.count(name, most=32)
    if bits not in (4, 8):
        fields.clash(name, f"is {bits}; 4 and 8 are understood")
        return 8
    return bits


def _awq(fields: Fields) -> Scheme:
    group = group_size(fields, fields.first("group_size", "q_group_size"), 128)
    found = grouped_int(_bits(fields, "bits", "w_bit"), group, fields.flag("zero_point", True))
    return Scheme(found, _skipped(fields))


def _gptq(fields: Fields) -> Scheme:
    if fields.has("dynamic") and fields.data["dynamic"]:
        fields.refuse("dynamic", "is not understood: formats that differ by module are not counted for GPTQ")
    # GPTQ files hold zero points also where they are symmetric.
    found = grouped_int(_bits(fields, "bits"), group_size(fields, "group_size", 128), True)
    return Scheme(found, _skipped(fields), lm_head=fields.flag("lm_head", False))


def _bitsandbytes(fields: Fields) -> Scheme:
    four = fields.flag("load_in_4bit", fields.flag("_load_in_4bit", False))
    eight = fields.flag("load_in_8bit", fields.flag("_load_in_8bit", False))
    if four == eight:
        fields.refuse("load_in_4bit", "must be true, or load_in_8bit, and not both")
    double = fields.flag("bnb_4bit_use_double_quant", False)
    return Scheme(bnb4(double) if four else Format("int8", 8.0), _skipped(fields, "llm_int8_skip_modules"))
