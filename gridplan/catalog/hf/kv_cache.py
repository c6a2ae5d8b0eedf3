"""The format of the KV cache that a checkpoint brings scales for, as the catalog names it."""

from __future__ import annotations

from gridplan.catalog.hf.fields import Fields

__all__ = ["KV_FIELDS", "read_kv"]

KV_FIELDS = ("kv_cache_quant_algo", "kv_cache_scheme")
"""By modelopt, and by compressed-tensors (and modelopt inside a config.json)."""
_ALGORITHMS = {"FP8": "fp8", "NVFP4": "nvfp4", "INT8": "int8"}


def read_kv(fields: Fields) -> str | None:
    """The format of the cache, or None where the checkpoint leaves it in 16 bits; what is not known is refused."""
    algorithm = _named(fields, "kv_cache_quant_algo") if fields.has(KV_FIELDS[0]) else ""
    scheme = ""
    if fields.has("kv_cache_scheme"):
        # Modelopt writes the name of its algorithm here too.
        by_name = isinstance(fields.data["kv_cache_scheme"], str)
        scheme = _named(fields, "kv_cache_scheme") if by_name else _of_scheme(fields.sub("kv_cache_scheme"))
    if algorithm and scheme and algorithm != scheme:
        fields.clash("kv_cache_scheme", f"is {scheme}, and kv_cache_quant_algo is {algorithm}")
    return algorithm or scheme or None


def _named(fields: Fields, name: str) -> str:
    return _ALGORITHMS[fields.choice(name, _ALGORITHMS, "FP8")]


def _of_scheme(fields: Fields) -> str:
    """The format that bits, kind and group size of a scheme mean."""
    if not fields.data:
        return ""
    kind = fields.choice("type", ("int", "float"), "int")
    bits = fields.count("num_bits", most=32)
    group = fields.count("group_size", 0, least=-1)
    if bits == 8:
        return "fp8" if kind == "float" else "int8"
    if (bits, kind, group) == (4, "float", 16):
        return "nvfp4"
    fields.clash(
        "num_bits", f"is {bits} ({kind}): a cache of 8 bits, or of 4-bit floats in groups of 16, is understood"
    )
    return ""
