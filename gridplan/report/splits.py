"""Why the split of a cell is illegal, in the words of the rule that it breaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gridplan.catalog import (
    Model,
    context_parallel_problem,
    data_parallel_problem,
    expert_parallel_problem,
    pipeline_parallel_problem,
    tensor_parallel_problem,
)

__all__ = ["split_problem"]


def split_problem(reason: str | None, model: Model | None, known: Mapping[str, float]) -> str | None:
    """The sentence behind an `..._parallel_illegal`; `known` has the degrees [GPUs]. None for any other reason."""
    tp, pp, dp, ep, dcp = (
        int(known[f"{name}_parallel"]) for name in ("tensor", "pipeline", "data", "expert", "decode_context")
    )
    rules: dict[str, Callable[[], str | None]] = {
        "tensor_parallel_illegal": lambda: _tensor(model, tp, ep),
        "pipeline_parallel_illegal": lambda: pipeline_parallel_problem(model, pp),
        "data_parallel_illegal": lambda: data_parallel_problem(model, tp, dp, ep),
        "expert_parallel_illegal": lambda: expert_parallel_problem(model, tp, dp, ep),
        "context_parallel_illegal": lambda: context_parallel_problem(model, tp, dcp),
    }
    rule = rules.get(reason or "")
    return None if rule is None else rule()


def _tensor(model: Model | None, tp: int, ep: int) -> str:
    """A split that the model allows does not fit the fast fabric."""
    problem = None if model is None else tensor_parallel_problem(model, tp, ep)
    return problem or f"tensor_parallel {tp} is above scale_up_gpus, the GPUs that share a fast interconnect"
