"""Formulas of the bill that apply in a cell: which GPUs it pays, and what a cached token costs at the API."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gridplan.dictionary import dictionary

__all__ = ["cost_formulas", "is_idle"]

_OF_CACHE = ("usd_per_mtok_uncached", "usd_per_mtok_uncached_input_allocated")
"""Measures that say nothing new where no prompt token is cached."""

_OF_BILL = ("gpus_paid", "replicas_at_average", "replicas_at_peak")
"""Measures that stand for the parts of a bill."""


def is_idle(name: str, known: Mapping[str, float]) -> bool:
    """Whether a measure adds nothing to the page of a cell: no cached tokens, or no bill."""
    uncached = name in _OF_CACHE and known["cached_tokens_mean"] == 0
    return uncached or (name in _OF_BILL and math.isnan(known["usd_per_month"]))


def cost_formulas(known: Mapping[str, float]) -> dict[str, str]:
    """The branch of each formula that a cell with these numbers takes."""
    of_nodes = known.get("gpus_paid") == known.get("gpus_deployed")
    return {"gpus_paid": "gpus_deployed" if of_nodes else "gpus", "api_usd_per_request": _request(known)}


def _request(known: Mapping[str, float]) -> str:
    """Without cached tokens where there are none; at the price of the others where they have none of their own."""
    formula = dictionary()["api_usd_per_request"].formula
    if known.get("cached_tokens_mean") == 0:
        return formula.replace(" + cached_tokens_mean * api_usd_per_mtok_cached", "")
    if math.isnan(known.get("api_usd_per_mtok_cached", math.nan)):
        return formula.replace("api_usd_per_mtok_cached", "api_usd_per_mtok_input")
    return formula
