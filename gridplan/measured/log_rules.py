"""Sentences of a log as templates: `Available KV cache memory: {kv_pool_bytes} GiB` reads one value.

The field in braces says how a value is read: `_bytes` is a number of GiB, `_exact` of bytes, `_tokens`, `_len` and so
on are whole numbers, `_rounded` is a number that the engine rounded to two decimals. A space stands for any white
space, so a sentence that was wrapped is read too; `...` stands for what varies within a line.

Both engines mean GiB also where they print GB: SGLang divides by 1 << 30 (`get_available_gpu_memory`,
python/sglang/srt/utils/common.py; `GB = 1024 * 1024 * 1024`, mem_cache/memory_pool.py), and so does vLLM up to 0.7 in
"Loading model weights took 14.9888 GB" (vllm/worker/model_runner.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from gridplan.measured.engine_log import Reading
from gridplan.measured.log_text import LogText

__all__ = ["GIB", "Found", "collect", "collect_keys", "compile_keys", "compile_rules", "named"]

GIB = 2**30
Found = dict[str, list[Reading[Any]]]
"""Readings by field, in the order of the log."""

_NUMBER = r"[-+]?\d{1,15}(?:\.\d{1,12})?"
_WHOLE = r"\d{1,3}(?:,\d{3}){1,5}|\d{1,15}"
_WORD = r"[^\s,;'\"(){}\[\]]{1,200}"
_TEXTS = ("engine_version", "dtype", "kv_cache_dtype", "model", "quantization", "gpu_name")
_FLAGS = ("expert_parallel", "enforce_eager", "attention_data_parallel", "prefix_caching")
_REGIONS = 2_000
"""Printed configurations looked at: one a process, and a large deployment has some hundred."""

_REGION_CHARS = 30_000
"""Length of the longest configuration line looked at; vLLM's has about 4,000 characters, SGLang's about 9,000."""


def compile_rules(templates: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    """Templates as patterns with one named group a field."""
    return tuple(re.compile(_pattern(template)) for template in templates)


def named(kind: str) -> str:
    """The pattern of a field's value: a whole number, a number or a word."""
    if kind in _TEXTS:
        return _WORD
    real = kind.endswith(("_bytes", "_rounded", "_fraction", "_concurrency"))
    return _NUMBER if real else _WHOLE


def _pattern(template: str) -> str:
    parts: list[str] = []
    for index, part in enumerate(re.split(r"\{(\w+)\}", template)):
        if index % 2:
            parts.append(rf"\s*(?P<{part}>{named(part)})\s*")
            continue
        escaped = re.escape(part.strip(" ")).replace(r"\.\.\.", r"[^\n]{0,400}?").replace(r"\ ", r"\s+")
        parts.append(escaped)
    return "".join(parts)


def collect(text: LogText, rules: Iterable[re.Pattern[str]], found: Found) -> None:
    """Add what the rules read from the text, each value once a place."""
    for rule in rules:
        for match in rule.finditer(text.text):
            for group, raw in match.groupdict().items():
                if raw is not None:
                    name, reading = _reading(group, raw, text, match.start(group))
                    found.setdefault(name, []).append(reading)


def _reading(group: str, raw: str, text: LogText, offset: int) -> tuple[str, Reading[Any]]:
    line, rank = text.line_at(offset), text.rank_at(offset)
    if group in _TEXTS:
        return group, Reading(raw.rstrip("."), line, 0.0, rank)
    number = float(raw.replace(",", ""))
    if group.endswith("_exact"):
        return group.removesuffix("_exact"), Reading(number, line, 0.0, rank)
    if group.endswith("_bytes"):
        # `15.0` is a figure rounded to two decimals whose last digit is not printed.
        decimals = max(2, len(raw.partition(".")[2]))
        return group, Reading(number * GIB, line, 0.5 * 10**-decimals * GIB, rank)
    if group.endswith("_rounded") or group == "max_concurrency":
        return group.removesuffix("_rounded"), Reading(number, line, 0.005, rank)
    return group, Reading(number, line, 0.0, rank)


def compile_keys(keys: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    """Keys of a printed configuration as patterns: `key=value`, `'key': value`."""
    value = r"(?:'([^'\n]{0,300})'|\"([^\"\n]{0,300})\"|([^\s,(){}\[\]'\"]{1,200}))"
    return {key: re.compile(rf"(?<![\w.-])['\"]?{key}['\"]?\s*[=:]\s*{value}") for key in keys}


def collect_keys(
    text: LogText, marker: re.Pattern[str], keys: Mapping[str, str], patterns: Mapping[str, re.Pattern[str]]
) -> Found:
    """Values of a printed configuration: from the marker to the end of its line, key by key, the first of each."""
    found: Found = {}
    read_to = -1
    for head in islice(marker.finditer(text.text), _REGIONS):
        if head.start() < read_to:  # inside the last one
            continue
        end = text.text.find("\n", head.end())
        end = len(text.text) if end < 0 else end
        read_to = min(end, head.end() + _REGION_CHARS)
        region = text.text[head.end() : read_to]
        line, rank = text.line_at(head.start()), text.rank_at(head.start())
        for key, name in keys.items():
            match = patterns[key].search(region)
            raw = next((group for group in match.groups() if group is not None), "") if match else ""
            value = _key_value(name, raw)
            if value is not None:
                found.setdefault(name, []).append(Reading(value, line, 0.0, rank))
    return found


def _key_value(name: str, raw: str) -> float | str | bool | None:
    if raw in ("", "None", "null"):
        return None
    if name in _FLAGS:
        return {"True": True, "False": False, "true": True, "false": False}.get(raw)
    if name in _TEXTS:
        return raw.removeprefix("torch.")
    return float(raw) if re.fullmatch(_NUMBER, raw) and not raw.startswith("-") else None
