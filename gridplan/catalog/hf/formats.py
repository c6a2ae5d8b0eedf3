"""Number formats of quantised checkpoints: the catalog's name for each, and its bits with the scales."""

from __future__ import annotations

from dataclasses import dataclass

from gridplan.catalog.hf.fields import Fields

__all__ = ["Format", "block_fp8", "bnb4", "group_size", "grouped_int", "mx", "nvfp4", "of_algorithm", "of_weights"]

SCALE_BITS_FP32, SCALE_BITS_16, SCALE_BITS_8 = 32, 16, 8
ZERO_POINT_BITS = 4
"""A zero point of a group in AWQ and GPTQ files (fact; packed as the weights are)."""
MOST_GROUP = 65536
"""Published groups have 16 to 1024 elements (policy)."""
STRATEGIES = ("tensor", "channel", "group", "block", "tensor_group", "token")
"""What has a scale of its own in compressed-tensors."""
BNB_BLOCK, BNB_BLOCKS = 64, 256
"""Elements a scale, and scales a second scale, of bitsandbytes' 4-bit formats (fact; QLoRA, section 3)."""


@dataclass(frozen=True, slots=True)
class Format:
    """`name` is the catalog's, `bits` are those of an element with its scales."""

    name: str
    bits: float


def block_fp8(block: list[int]) -> Format:
    """8-bit floats with a 32-bit scale a block; one scale for the whole matrix where no block is given.

    >>> block_fp8([128, 128]).bits
    8.001953125
    """
    return Format("fp8", 8 + SCALE_BITS_FP32 / (block[0] * block[1]) if block else 8.0)


def grouped_int(bits: int, group: int, zero_point: bool) -> Format:
    """Whole numbers with a 16-bit scale a group, and a zero point where the format is not symmetric.

    >>> grouped_int(4, 128, True).bits
    4.15625
    """
    scale = (SCALE_BITS_16 + (ZERO_POINT_BITS if zero_point else 0)) / group if group > 0 else 0.0
    return Format(f"int{bits}", bits + scale)


def mx(bits: int, group: int = 32) -> Format:
    """Microscaling: an 8-bit exponent a block of 32 (OCP MX 1.0)."""
    return Format("mxfp4" if bits == 4 else "fp8", bits + SCALE_BITS_8 / group)


def nvfp4(group: int = 16) -> Format:
    """4-bit floats with an 8-bit scale a block of 16."""
    return Format("nvfp4", 4 + SCALE_BITS_8 / group)


def bnb4(double: bool) -> Format:
    """bitsandbytes in 4 bits: a 32-bit scale a block of 64, or an 8-bit one and a 32-bit one for 256 of those.

    >>> bnb4(True).bits
    4.126953125
    """
    twice = SCALE_BITS_8 / BNB_BLOCK + SCALE_BITS_FP32 / (BNB_BLOCK * BNB_BLOCKS)
    return Format("bnb4", 4 + (twice if double else SCALE_BITS_FP32 / BNB_BLOCK))


def group_size(fields: Fields, name: str, default: int) -> int:
    """Elements of a group with a scale of their own; -1 for a whole row."""
    size = fields.count(name, default, least=-1, most=MOST_GROUP)
    if size == 0 and fields.has(name):
        fields.refuse(name, "must be -1 (a scale for each row) or at least 1; 0 is not")
    return size


def of_algorithm(fields: Fields, name: str = "quant_algo", group: int = 16) -> Format:
    """What modelopt's name of an algorithm means."""
    known = {
        "FP8": Format("fp8", 8.0),
        "FP8_PER_CHANNEL_PER_TOKEN": Format("fp8", 8.0),
        "FP8_PB_WO": block_fp8([128, 128]),
        "MXFP8": mx(8),
        "MXFP4": mx(4),
        "NVFP4": nvfp4(group),
        "W4A16_NVFP4": nvfp4(group),
        "W4A8_NVFP4_FP8": nvfp4(group),
        "NVFP4_AWQ": nvfp4(group),
        "W4A16_AWQ": grouped_int(4, group if group != 16 else 128, False),
        "W8A16": Format("int8", 8.0),
        "W8A8_SQ_PER_CHANNEL": Format("int8", 8.0),
    }
    return known[fields.choice(name, known, "FP8")]


def of_weights(fields: Fields) -> Format:
    """What the `weights` of a group of compressed-tensors mean."""
    bits = fields.count("num_bits", most=16)
    kind = fields.choice("type", ("int", "float"), "int")
    group = group_size(fields, "group_size", 0)
    symmetric = fields.flag("symmetric", True)
    strategy = fields.choice("strategy", STRATEGIES, STRATEGIES[0]) if fields.has("strategy") else ""
    if strategy in ("group", "tensor_group") and group < 1:
        fields.clash("group_size", f"is missing, but strategy {strategy} has a scale for each group")
    if strategy == "block" and not fields.has("block_structure"):
        fields.clash("block_structure", "is missing, but strategy block has a scale for each block")
    if bits not in (4, 8):
        fields.clash("num_bits", f"is {bits}; 4 and 8 are understood")
        return Format("int8", 8.0)
    if kind == "int":
        return grouped_int(bits, group, not symmetric)
    if bits == 8:
        block = fields.counts("block_structure")
        found = block_fp8(block if len(block) == 2 and all(block) else [])
        return Format("fp8", 8 + SCALE_BITS_16 / group) if group > 0 else found
    if group not in (16, 32):
        fields.clash("group_size", "must be 16 (NVFP4) or 32 (MXFP4) for floats of 4 bits")
    return mx(4) if group == 32 else nvfp4()
