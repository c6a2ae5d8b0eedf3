"""What the memory plan says beside 80 public start-up logs; each test prints its table (`pytest -s`).

Rows are left out by what they say they are, never by how they come out, and the reason is printed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from memory_logs import GIB, Log, error, logs, value

from gridplan.catalog import load_catalog

ROWS = logs()
TIGHT = 0.005
"""Half a percent: two printed decimals of a pool of 1 GiB."""

Verdict = tuple[str, float, float, str]
"""Name of the row, what is predicted, what is printed, and a remark."""


def show(title: str, found: list[Verdict], left_out: dict[str, str], holds: Callable[[Verdict], bool]) -> float:
    """Print the table of a comparison; the share of its rows that hold."""
    print(f"\n{title}\n{'row':42} {'predicted':>14} {'printed':>14} {'error':>8}")
    for item in found:
        name, ours, theirs, remark = item
        mark = " " if holds(item) else "*"
        print(f"{name:42} {ours:14,.3f} {theirs:14,.3f} {error(ours, theirs):8.2%} {mark} {remark}")
    for name, reason in left_out.items():
        print(f"{name:42} left out: {reason}")
    share = sum(map(holds, found)) / len(found)
    print(f"{sum(map(holds, found))} of {len(found)} rows hold ({share:.1%}); {len(left_out)} left out")
    return share


def within(limit: float) -> Callable[[Verdict], bool]:
    return lambda item: abs(error(item[1], item[2])) <= limit or item[1] == item[2]


RANKS = "the log says that another rank had less memory and decides"


def ranks_differ(log: Log) -> bool:
    return any(words in log.notes for words in ("min over", "MIN over", "MIN rank"))


# ------------------------------------------------------------------------------------------- bytes of a token and rank


def not_of_one_size(log: Log) -> str | None:
    """Why no single figure per token can be read from the row."""
    if not log.is_named:
        return "the model is not named, or was deduced from this very figure"
    if log.is_hybrid:
        return "layers of several kinds: scored by concurrency"
    if log.model is None:
        return f"no entry for {log.row['model']}"
    if log.number("implied_bytes_per_token_per_gpu") is None:
        return "no pool, or no tokens, printed"
    if ranks_differ(log):
        return RANKS
    if "capped at" in log.notes:
        return "the tokens are a cap of the user"
    if "BUG" in log.notes:
        return "the printed figure charges all pipeline stages to one GPU: a bug that was reported"
    return None


def test_bytes_per_token_and_rank() -> None:
    left_out = {log.id: reason for log in ROWS if (reason := not_of_one_size(log))}
    found = [
        (
            log.id,
            value(log.cube(kv_pool_bytes_given=GIB), "kv_bytes_per_token_per_gpu"),
            log.number("implied_bytes_per_token_per_gpu") or np.nan,
            log.model or "",
        )
        for log in ROWS
        if log.id not in left_out
    ]
    assert show("KV bytes of a token on one rank", found, left_out, within(TIGHT)) >= 0.95
    assert len(found) >= 25


# ------------------------------------------------------------------------------------------------------- concurrency


NEW_TOKEN_LINE = "2026-06"
"""Logs of hybrids print tokens as concurrency x length since vLLM 0.21 (May 2026), older ones one group's blocks."""


def prints_admitted_tokens(log: Log) -> bool:
    return bool(log.number("kv_tokens_printed")) and (
        not log.is_hybrid or log.row["date"] >= NEW_TOKEN_LINE or not log.row["date"]
    )


def no_concurrency(log: Log) -> str | None:
    """Why the plan has nothing to compute the row's concurrency from."""
    if log.number("max_concurrency_printed") is None:
        return "no concurrency printed"
    if "derived" in log.notes and "summed over" in log.notes:
        return "the source sums over ranks; the figure was derived"
    has_pool = log.number("kv_pool_gib") is not None and log.model is not None
    if not has_pool and not prints_admitted_tokens(log):
        return "the model is not named" if log.model is None else "neither pool nor tokens printed"
    return None


def concurrency(log: Log) -> Verdict:
    """From the printed pool in GiB by the layers of the model, or from the tokens where only these say what is held."""
    printed = log.number("max_concurrency_printed") or 0.0
    pool, tokens = log.number("kv_pool_gib"), log.number("kv_tokens_printed")
    by_bytes = np.nan
    if log.model is not None and pool is not None:
        # A pool below nothing: the terms leave none, and the plan says 0.
        by_bytes = value(log.cube(kv_pool_bytes_given=pool * GIB), "concurrency_at_limit") if pool > 0 else 0.0
    read_tokens = np.isnan(by_bytes) or ranks_differ(log) or (log.is_hybrid and prints_admitted_tokens(log))
    if not (read_tokens and tokens):
        return log.id, by_bytes, printed, "from the pool"
    given = {"kv_pool_tokens_given": tokens, "kv_bytes_per_token_given": 1024}
    stated = {name: item for name, item in log.deployment().items() if name in ("max_model_len", "kv_block_tokens")}
    found = value(Log({**log.row, "model": "("}).cube(**stated, **given), "concurrency_at_limit")
    return (
        log.id,
        found,
        printed,
        f"from the tokens; the layers say {by_bytes:.2f}" if log.is_hybrid else "from the tokens",
    )


def test_max_concurrency() -> None:
    left_out = {log.id: reason for log in ROWS if (reason := no_concurrency(log))}
    found = [concurrency(log) for log in ROWS if log.id not in left_out]
    two_decimals = 0.0051  # the log rounds to 0.01: 0.29 stands for 0.285 to 0.295

    def holds(item: Verdict) -> bool:
        return within(TIGHT)(item) or abs(item[1] - item[2]) <= two_decimals

    assert show("Maximum concurrency", found, left_out, holds) >= 0.95
    assert len(found) >= 40


# ----------------------------------------------------------------------------------------------------------- budget


TERMS = ("total_gib", "util_or_mem_fraction", "weights_gib", "non_torch_gib", "activation_peak_gib", "kv_pool_gib")


def budget(log: Log) -> Verdict:
    """The printed terms as inputs; newer engines print weights and non-torch as one, and graphs in the peak."""
    total, fraction, weights, non_torch, activation, pool = (log.number(name) for name in TERMS)
    consumed = log.number("consumed_gib_weights_plus_nontorch")
    if consumed is not None:
        weights, non_torch = consumed, 0.0
    degrees = [log.number(name) or 1.0 for name in ("tp", "pp")]
    # A rank's weights are printed; the plan takes those of the whole model, without the model's own split.
    plain = Log({**log.row, "model": "("})
    cube = plain.cube(
        gpu_memory_bytes=(total or 0) * GIB,
        gpu_memory_utilization=fraction,
        weights_bytes=(weights or 0) * GIB * degrees[0] * degrees[1],
        non_torch_bytes=(non_torch or 0) * GIB,
        activation_bytes=(activation or 0) * GIB,
        cuda_graphs_bytes=0,
        kv_bytes_per_token_given=1024,
    )
    left = value(cube, "usable_memory_bytes_per_gpu") - value(cube, "weights_bytes_per_gpu")
    return log.id, (left - value(cube, "workspace_bytes_per_gpu")) / GIB, pool or 0.0, ""


def test_the_budget_adds_up() -> None:
    def lacks(log: Log) -> str | None:
        known = {name: log.number(name) for name in TERMS}
        if log.number("consumed_gib_weights_plus_nontorch") is not None:
            known |= {"weights_gib": 0.0, "non_torch_gib": 0.0}
        missing = [name for name, number in known.items() if number is None]
        return f"not printed: {', '.join(missing)}" if missing else None

    left_out = {log.id: reason for log in ROWS if (reason := lacks(log))}
    found = [budget(log) for log in ROWS if log.id not in left_out]
    share = show("Pool from printed terms [GiB]", found, left_out, lambda item: abs(item[1] - item[2]) <= 0.03)
    assert share >= 0.95
    assert len(found) >= 20


# ---------------------------------------------------------------------------------------------- nothing printed is used


def not_predictable(log: Log) -> str | None:
    """What the row does not say that a prediction needs."""
    pool = log.number("kv_pool_gib")
    if pool is None:
        return "no pool printed"
    if log.model is None:
        return "the model is not named" if not log.is_named else f"no entry for {log.row['model']}"
    if log.gpu is None:
        return f"the GPU is not named: {log.row['gpu']}"
    if log.number("util_or_mem_fraction") is None:
        return "the memory fraction is not printed"
    if log.number("tp") is None:
        return "the split over GPUs is not printed"
    if "approximate" in log.flag:
        return "the pool is given as about"
    if load_catalog().model(log.model).params_total is None:
        return f"the catalog has no parameter count of {log.model}"
    if "VLM" in log.notes:
        return "the log says that a vision tower was profiled: multimodal_bytes is the user's to state"
    return RANKS if ranks_differ(log) else None


def is_dense_text(log: Log) -> bool:
    entry = load_catalog().model(log.model or "")
    return not entry.num_experts and not log.is_hybrid


WORSE = {
    "v1-qwen3-235b-fp8-4xh100": "Pool and tokens of the row do not multiply either; its version is only 0.9.x.",
    "v1-gptoss120b-h100-util.95": "The weights leave 10 of 75 GiB; max_num_seqs, which decides the peak, is not said.",
    "v0-deepseek-r1-8xh200": "Buffers of 8 GPUs and MLA's absorbed weights on V0: one such log, so there is no rule.",
    "v0-llama31-8b-24g-131k": "The peak is the forward pass alone: max_num_seqs was small, and is not said.",
}
"""Why the plan is worse there."""


def predicted(log: Log) -> Verdict:
    cube = log.cube()
    left = value(cube, "usable_memory_bytes_per_gpu") - value(cube, "weights_bytes_per_gpu")
    pool = (left - value(cube, "workspace_bytes_per_gpu")) / GIB
    terms = {
        "weights": ("weights_bytes_per_gpu", "weights_gib"),
        "non-torch": ("non_torch_bytes_per_gpu", "non_torch_gib"),
        "activation": ("activation_bytes_per_gpu", "activation_peak_gib"),
    }
    apart = {
        name: value(cube, measure) / GIB - printed
        for name, (measure, column) in terms.items()
        if (printed := log.number(column)) is not None
    }
    worst = max(apart, key=lambda name: abs(apart[name]), default="")
    remark = "dense text" if is_dense_text(log) else f"{log.model}"
    remark += f", {worst} {apart[worst]:+.2f} GiB" if worst else ""
    return log.id, pool, log.number("kv_pool_gib") or 0.0, f"{remark}. {WORSE[log.id]}" if log.id in WORSE else remark


def test_the_pool_from_nothing_printed() -> None:
    left_out = {log.id: reason for log in ROWS if (reason := not_predictable(log))}
    rows = [log for log in ROWS if log.id not in left_out]
    found = [predicted(log) for log in rows]

    def holds(item: Verdict) -> bool:
        return abs(item[1] - item[2]) <= max(0.10 * abs(item[2]), 1.0)

    show("KV pool with no printed term [GiB]", found, left_out, holds)
    # A refused start has no pool to take a share of: there the plan must say that nothing is left.
    refused = [item for item in found if item[2] < 0]
    assert all(item[1] < 0 for item in refused)
    errors = [abs(error(item[1], item[2])) for item in found if item not in refused]
    dense = [holds(item) for item, log in zip(found, rows, strict=True) if is_dense_text(log)]
    print(f"median error {np.median(errors):.2%} of {len(errors)}; {sum(dense)} of {len(dense)} dense text models hold")
    assert np.median(errors) <= 0.03
    assert np.mean(dense) >= 0.9
    assert len(dense) >= 10
