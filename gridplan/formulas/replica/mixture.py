"""Quantiles and shares of a mixture of shifted gamma and uniform distributions, the shape of every latency here.

A component has a weight, a mean, a variance and, if it is a gamma, a shift: the least value it can have. Components are
on the first axis, uniform ones last.
The gamma distribution follows its cube root's normal law closely (Wilson and Hilferty 1931,
doi:10.1073/pnas.17.12.684): that gives the fast method, and the exact one its start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gridplan.formulas.replica.traffic import Array

__all__ = ["Mixture", "mixture_quantile", "mixture_share"]

STEPS = 60
"""Most steps of the search; each at least halves the bracket or converges as Newton does (policy)."""
BLOCK = 2048
"""Cells that are searched together: their components stay in the processor's cache (policy)."""
TOLERANCE, FAST, ROUGH = 1e-10, 1e-6, 1e-3
"""Error of the share at which a search ends, the fast one ends, and the fast one hands over to the exact (policy)."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Components first: weight [1], mean [s], variance [s^2], shift [s]; the last `uniforms` are uniform."""

    weight: Array
    mean: Array
    variance: Array
    shift: Array
    uniforms: int = 0


def mixture_quantile(mixture: Mixture, q: Array, method: str) -> Array:
    """Value below which the share q of the mixture lies; NaN where a parameter is NaN.

    method 'exact' takes the gamma distribution itself, 'fast' the Wilson-Hilferty form of it.

    >>> one = Mixture(np.ones(1), np.ones(1), np.ones(1), np.zeros(1))  # exponential of mean 1: -log(0.05)
    >>> round(float(mixture_quantile(one, np.array(0.95), "exact")), 4)
    2.9957
    """
    if method not in ("exact", "fast"):
        raise ValueError(f"method must be 'exact' or 'fast', not {method!r}")
    parts = (mixture.weight, mixture.mean, mixture.variance, mixture.shift)
    shape = np.broadcast_shapes(*(part.shape[1:] for part in parts), q.shape)
    count = max(part.shape[0] for part in parts)
    # Parts have all leading axes of the replica; q may have more in front of them.
    padded = (part.reshape(part.shape[0], *(1,) * (len(shape) + 1 - part.ndim), *part.shape[1:]) for part in parts)
    weight, mean, variance, shift = (np.broadcast_to(part, (count, *shape)).reshape(count, -1) for part in padded)
    level = np.broadcast_to(q, shape).reshape(-1)
    known = ~np.isnan(weight + mean + variance + shift).any(axis=0) & ~np.isnan(level)
    out, cut = np.full(known.shape, np.nan), count - mixture.uniforms
    cells = np.flatnonzero(known)
    for start in range(0, cells.size, BLOCK):
        at = cells[start : start + BLOCK]
        gamma = _gamma(weight[:cut, at], mean[:cut, at], variance[:cut, at], shift[:cut, at])
        even = _even(weight[cut:, at], mean[cut:, at], variance[cut:, at])
        out[at] = _search(gamma, even, level[at], method == "exact")
    return out.reshape(shape)


def mixture_share(mean: Array, variance: Array, shift: Array, limit: Array) -> Array:
    """Share of one gamma at or below a limit [1], by component; a component without variance is its mean."""
    from scipy import special

    body = np.maximum(mean - shift, 0.0)
    narrow = (variance <= 1e-18 * mean * mean) | (body <= 0.0)
    shape = np.where(narrow, 1.0, body * body / np.where(narrow, 1.0, variance))
    scale = np.where(narrow, 1.0, variance / np.where(narrow, 1.0, body))
    share = special.gammainc(shape, np.maximum(limit - shift, 0.0) / scale)
    out: Array = np.where(narrow, np.where(np.isnan(mean), np.nan, (limit >= mean) * 1.0), share)
    return out


@dataclass(frozen=True, eq=False)
class _Gamma:
    weight: Array
    shape: Array
    scale: Array
    shift: Array
    log_norm: Array

    def keep(self, cells: npt.NDArray[np.bool_]) -> _Gamma:
        return _Gamma(*(part[:, cells] for part in (self.weight, self.shape, self.scale, self.shift, self.log_norm)))


@dataclass(frozen=True, eq=False)
class _Even:
    weight: Array
    low: Array
    slope: Array

    def keep(self, cells: npt.NDArray[np.bool_]) -> _Even:
        return _Even(self.weight[:, cells], self.low[:, cells], self.slope[:, cells])


def _gamma(weight: Array, mean: Array, variance: Array, shift: Array) -> _Gamma:
    from scipy import special

    body = np.maximum(mean - shift, 1e-12 * mean + 1e-300)
    spread = np.maximum(variance, 1e-12 * body * body)
    shape = body * body / spread
    return _Gamma(weight, shape, spread / body, shift, special.gammaln(shape))


def _even(weight: Array, mean: Array, variance: Array) -> _Even:
    half = np.sqrt(3.0 * np.maximum(variance, 1e-18 * mean * mean))
    return _Even(weight, mean - half, 0.5 / half)


def _search(gamma: _Gamma, even: _Even, q: Array, exact: bool) -> Array:
    single = _single_quantiles(gamma, even, q, exact and gamma.weight.shape[0] == 1 and not even.weight.shape[0])
    if single.shape[0] == 1:
        only: Array = single[0]
        return only
    weight = np.concatenate([gamma.weight, even.weight])
    largest = np.where(weight > 0.0, single, -np.inf).max(axis=0)
    near = np.minimum((weight * single).sum(axis=0), largest)
    near = _newton(gamma, even, q, near, largest, False, ROUGH if exact else FAST)
    return _newton(gamma, even, q, near, largest, True, TOLERANCE) if exact else near


def _newton(gamma: _Gamma, even: _Even, q: Array, at: Array, largest: Array, exact: bool, tolerance: float) -> Array:
    """Newton's steps on the logarithm of the tail, within a bracket, on all cells that have not yet converged."""
    # The largest quantile of a component bounds that of the mixture, but for the error of the fast form.
    low, high = np.zeros_like(at), 2.0 * largest
    out, live = at.copy(), np.arange(q.size)
    for turn in range(STEPS):
        share, density = _mixture_at(gamma, even, at, exact)
        off = np.abs(share - q) > tolerance
        below = share < q
        low, high = np.where(below, at, low), np.where(below, high, at)
        tail = np.maximum(1.0 - share, 1e-300)
        step = at + tail / np.maximum(density, 1e-300) * np.log(tail / (1.0 - q))
        # Where a component begins its density may be infinite and Newton's steps vanish: halve now and then.
        newton = (step > low) & (step < high) & (turn % 4 != 3)
        at = np.where(off, np.where(newton, step, 0.5 * (low + high)), at)
        out[live] = at
        wide = off & (high - low > 1e-12 * high)
        left = np.count_nonzero(wide)
        if left == 0:
            break
        if left < 0.8 * wide.size:
            live, at, low, high, q = live[wide], at[wide], low[wide], high[wide], q[wide]
            gamma, even = gamma.keep(wide), even.keep(wide)
    return out


def _single_quantiles(gamma: _Gamma, even: _Even, q: Array, exact: bool) -> Array:
    """Quantile of each component; from the normal law of the cube root unless `exact`."""
    from scipy import special

    ninth = 1.0 / (9.0 * gamma.shape)
    if exact:
        body = special.gammaincinv(gamma.shape, np.broadcast_to(q, gamma.shape.shape))
    else:
        body = gamma.shape * np.maximum(1.0 - ninth + special.ndtri(q) * np.sqrt(ninth), 0.0) ** 3
    parts = [gamma.shift + gamma.scale * body]
    if even.weight.shape[0]:
        parts.append(even.low + q / even.slope)
    out: Array = np.concatenate(parts)
    return out


def _mixture_at(gamma: _Gamma, even: _Even, at: Array, exact: bool) -> tuple[Array, Array]:
    """Share and density of the mixture at a value."""
    from scipy import special

    share: Array
    density: Array
    z = np.maximum(at - gamma.shift, 0.0) / gamma.scale
    if exact:
        share = special.gammainc(gamma.shape, z)
        density = np.exp((gamma.shape - 1.0) * np.log(np.maximum(z, 1e-300)) - z - gamma.log_norm) / gamma.scale
    else:
        root = np.cbrt(z / gamma.shape)
        normal = (root - 1.0 + 1.0 / (9.0 * gamma.shape)) * 3.0 * np.sqrt(gamma.shape)
        share = special.ndtr(normal)
        slope = 1.0 / (np.maximum(root, 1e-100) ** 2 * np.sqrt(gamma.shape) * gamma.scale)
        density = np.exp(-0.5 * normal * normal) * 0.3989422804014327 * slope
    share, density = (gamma.weight * share).sum(axis=0), (gamma.weight * density).sum(axis=0)
    if even.weight.shape[0]:
        part = (at - even.low) * even.slope
        inside = (part > 0.0) & (part < 1.0)
        share = share + (even.weight * np.clip(part, 0.0, 1.0)).sum(axis=0)
        density = density + (even.weight * inside * even.slope).sum(axis=0)
    return share, density
