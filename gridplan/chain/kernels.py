"""The formulas without their face for scalars and labels: the chain holds float64 arrays under one errstate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridplan import formulas

__all__ = ["bare", "kernels"]


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel inside a wrapped formula, or the function itself."""
    kernel: Callable[..., Any] = getattr(function, "__wrapped__", function)
    return kernel


class _Kernels:
    """`kernels.name` is the bare kernel of `gridplan.formulas.name`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return bare(getattr(formulas, name))


kernels = _Kernels()
