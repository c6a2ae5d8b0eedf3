"""The distributions of TPOT and E2E: decode time as a gamma, shifted by the time it takes alone in a replica."""

from __future__ import annotations

import numpy as np

from gridplan.formulas._types import Value
from gridplan.formulas.replica.laws import Laws
from gridplan.formulas.replica.mixture import Mixture, mixture_share
from gridplan.formulas.replica.steady import ratio
from gridplan.formulas.replica.traffic import Array, class_first_within, traffic_mean

__all__ = ["decode_law", "e2e_mixture", "e2e_share", "tpot_mixture", "tpot_share"]

STRATUM_SHAPE = 0.8
"""Lower edge to mean of the longest stratum of lengths, in deviations: 1 for an exponential tail, 0.71 to 0.89 for the
last 1/16 to 1/64 of lognormal lengths with scv 2 to 0.5 (fact, rounded)."""


def decode_law(laws: Laws, output_scv: Value | None = None) -> tuple[Array, Array, Array]:
    """Mean, variance and least value of the decode time by class [s, s^2, s], class axis first."""
    load, mean, variance = laws._load, laws._state.decode, laws._decode_variance
    least = np.minimum(load.steps * (load.step + load.context), mean)
    if output_scv is None:
        return mean, variance, least
    scv = class_first_within("output_scv", np.atleast_1d(np.asarray(output_scv, dtype=np.float64)), load)
    if np.any(scv < 0.0):
        raise ValueError("output_scv must be at least 0")
    deviation = np.sqrt(scv) * mean
    # Third central moments add; the shift is what gives the gamma their sum.
    third = ratio(variance**2, mean - least) + deviation**3 / STRATUM_SHAPE
    total = variance + deviation**2
    return mean, total, np.where(scv > 0.0, mean - ratio(total**2, third), least)


def tpot_mixture(laws: Laws) -> Mixture:
    """TPOT over requests that decode."""
    load, n = laws._load, laws._load.steps
    decodes = np.where(n > 0.0, load.weights, 0.0)
    steps = np.where(n > 0.0, n, 1.0)
    share = traffic_mean(decodes, np.ones(1))
    weight = decodes / np.where(share > 0.0, share, np.nan)
    least = np.minimum(load.step + load.context, laws._state.tpot)
    return Mixture(weight, laws._state.tpot, laws._decode_variance / steps**2, least)


def e2e_mixture(laws: Laws, output_scv: Value | None = None) -> Mixture:
    """TTFT as one gamma: beside decoding its shape hardly matters. One more by class where slots make it wait."""
    load = laws._load
    with np.errstate(all="ignore"):
        decode, spread, least = decode_law(laws, output_scv)
        mean = laws._ttft_mean + decode
        variance = laws._ttft_variance + spread
        least = np.minimum(laws._firsts[0].own + least, mean)
    if load.slots is None:
        return Mixture(load.weights, mean, variance, least)
    late, time = laws._wait.probability, laws._wait.time_s
    shape = (load.classes, *load.lead)
    pairs = [
        (load.weights * (1.0 - late), load.weights * late),
        (mean, mean + time),
        (variance, variance + time**2),
        (least, least),
    ]
    parts = [np.concatenate([np.broadcast_to(part, shape) for part in pair]) for pair in pairs]
    return Mixture(parts[0], parts[1], parts[2], parts[3])


def tpot_share(laws: Laws, limit: Array) -> Array:
    """Share of requests by class whose TPOT is at most a limit [1], class axis first; 1 for answers of one token."""
    n = laws._load.steps
    return np.where(n > 0.0, mixture_share(*decode_law(laws), n * limit), 1.0)


def e2e_share(laws: Laws, limit: Array, output_scv: Value | None = None) -> Array:
    """Share of requests by class whose E2E is at most a limit [1], class axis first."""
    law, classes = e2e_mixture(laws, output_scv), laws._load.classes
    shares = mixture_share(law.mean, law.variance, law.shift, limit if laws._load.slots is None else _twice(limit))
    if laws._load.slots is None:
        return shares
    late = laws._wait.probability
    out: Array = (1.0 - late) * shares[:classes] + late * shares[classes:]
    return out


def _twice(limit: Array) -> Array:
    """A limit by class for requests on time and, once more, for those that wait."""
    return np.concatenate([limit, limit]) if limit.ndim and limit.shape[0] > 1 else limit
