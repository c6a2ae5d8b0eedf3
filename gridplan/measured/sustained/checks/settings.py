"""Points that were not measured on one server under one load: a rate taken from all of them would be of none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gridplan.measured.sustained.check import Load, SweepCheck
from gridplan.measured.sweep import Setting, SweepPoint

__all__ = ["mixed_settings", "served_more"]

SERVER = re.compile(
    r"(max[_-]num[_-](seqs|batched[_-]tokens)|max[_-](running[_-]requests|model[_-]len)|gpu[_-]memory[_-]utilization"
    r"|(tensor|pipeline|data|expert)[_-]parallel([_-]size)?|(tp|pp|dp|ep)([_-]size)?|kv[_-]cache[_-]dtype|dtype"
    r"|quantization|enable[_-](prefix[_-]caching|chunked[_-]prefill)|speculative.*|tag|base[_-]url|model([_-]id)?)",
    re.IGNORECASE,
)
"""Settings that make another server (policy); what sets the pace of a test, its seed and its size do not."""

LENGTHS_APART = 1.5
"""Times by which mean tokens of two points differ only by another load (policy)."""

MORE, DEVIATIONS = 1.25, 5.0
"""Completed over offered from which a rate is in another unit (policy), and standard deviations of random arrivals that
few requests are allowed beside."""


def mixed_settings(load: Load) -> Iterator[SweepCheck]:
    """Open-loop points of several models or server settings (error), of several tools or lengths (warning)."""
    used = [(row, point) for row, point in load.rows() if point.loop == "open" and point.offered_rate_per_s]
    rows = tuple(row for row, _ in used)
    stated = [_server(point) for _, point in used]
    for name in dict.fromkeys(name for item in stated for name in item):
        found = list(dict.fromkeys(str(item[name]) for item in stated if name in item))
        if len(found) > 1:
            shown = ", ".join(value[:40] for value in found[:4])
            said = f"{name} is {shown}: judge the runs of each on their own (--only {name}={found[0][:40]})"
            yield SweepCheck("mixed_settings", "error", said, rows)
    tools = list(dict.fromkeys(point.tool for _, point in used))
    if len(tools) > 1:
        yield SweepCheck("mixed_settings", "warning", f"measured by several tools: {', '.join(tools)}", rows)
    for name in ("input_tokens_mean", "output_tokens_mean"):
        values = [value for _, point in used if (value := getattr(point, name)) is not None and value > 0]
        if values and max(values) > LENGTHS_APART * min(values):
            said = f"{name} is {min(values):.4g} to {max(values):.4g}: rates of different requests are no sweep"
            yield SweepCheck("mixed_settings", "warning", said, rows)


def _server(point: SweepPoint) -> dict[str, Setting]:
    """What the point says of the server that was tested."""
    found: dict[str, Setting] = {} if point.model is None else {"model": point.model}
    return found | {
        name: value
        for name, value in point.settings.items()
        if SERVER.fullmatch(name.split(".")[-1]) and name != "model"
    }


def served_more(load: Load) -> Iterator[SweepCheck]:
    """Points that completed far more than was offered: requests a minute taken for a second, or two tests in one."""
    for row, point in load.rows():
        offered, achieved = point.offered_rate_per_s, point.achieved_rate_per_s
        if point.loop != "open" or not offered or not achieved:
            continue
        count = point.requests_completed
        most = 1.0 + max(MORE - 1.0, DEVIATIONS / count**0.5 if count else 0.0)
        if achieved > most * offered:
            said = f"{achieved:.4g} requests a second completed of {offered:.4g} offered: are both a second?"
            yield SweepCheck("served_more", "error", said, (row,))
