"""Prices of an API: a request has input and output, so a price of one alone compares nothing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.engine.field import Field
from gridplan.engine.resolve import Resolver

__all__ = ["check_api_prices"]

_INPUT, _CACHED, _OUTPUT = (f"api_usd_per_mtok_{kind}" for kind in ("input", "cached", "output"))


def check_api_prices(resolver: Resolver, values: Mapping[str, Field]) -> None:
    """Note every price that stands without the ones it goes with, in any cell."""
    known = {name: ~np.isnan(values[name].data) for name in (_INPUT, _CACHED, _OUTPUT)}
    for name, other in ((_INPUT, _OUTPUT), (_OUTPUT, _INPUT), (_CACHED, _INPUT)):
        if (known[name] & ~known[other]).any():
            resolver.problem(f"{name} needs {other} beside it: the price of a request has both", name)
