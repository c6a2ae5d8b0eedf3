"""The text of `reports/memory.md`, from what the planners said and the logs printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory_log_page import log_section
from memory_reasons import POOL, TOKEN, WEIGHTS, Reason, reason
from memory_rows import PLANNERS, QUANTITIES, LogRow, PlanRow, said, shares
from memory_summary import verdict
from memory_text import HEAD, LIMITS
from memory_verdicts import (
    APART,
    GIB,
    SMALL_POOL_BYTES,
    apart,
    gib,
    is_small,
    large,
    median_error,
    parts,
    percent,
    span,
    spans,
    table,
)


def page(plans: Sequence[PlanRow], logs: Sequence[LogRow], day: str, versions: Mapping[str, str]) -> str:
    """The whole page; the same input gives the same text."""
    head = HEAD.format(
        verdict="\n".join(verdict(logs)),
        day=day,
        gridplan=versions["gridplan"],
        kvfit=versions["kvfit"],
        aic=versions["aiconfigurator-core"],
    )
    models = [*token_section(plans, logs), *weights_section(plans, logs), *pool_section(plans, logs)]
    return "\n".join([head, *log_section(logs), *models, LIMITS])


# ------------------------------------------------------------------------------------------------------ twelve models


def token_section(plans: Sequence[PlanRow], logs: Sequence[LogRow] = ()) -> list[str]:
    """Bytes of a token, and a verdict for each model and planner that is apart."""
    rows = [
        [row.model, row.degree, f"{row.ours.token_bytes:,.0f}", *(_cell(row, who, "token_bytes") for who in PLANNERS)]
        for row in plans
    ]
    return [
        "## Bytes of a token",
        "",
        "One sequence of 32,768 tokens on one rank over its length: the mean token where layers differ.",
        "",
        *table(["model", "TP", "gridplan", *PLANNERS], rows),
        "",
        *verdicts(plans, "token_bytes", TOKEN, logs),
    ]


def weights_section(plans: Sequence[PlanRow], logs: Sequence[LogRow] = ()) -> list[str]:
    """Weights, and a verdict for each model and planner that is apart."""
    rows = [
        [row.model, row.degree, gib(row.ours.weights_bytes), *(_cell(row, who, "weights_bytes") for who in PLANNERS)]
        for row in plans
    ]
    return [
        "## Weights [GiB]",
        "",
        *table(["model", "TP", "gridplan", *PLANNERS], rows),
        "",
        *verdicts(plans, "weights_bytes", WEIGHTS, logs),
    ]


def _cell(row: PlanRow, who: str, name: str) -> str:
    show = next(show for _, known, show in QUANTITIES if known == name)
    return said(getattr(row.ours, name), row.theirs[who], name, show)


def verdicts(
    plans: Sequence[PlanRow], name: str, book: Mapping[tuple[str, str], Reason], logs: Sequence[LogRow] = ()
) -> list[str]:
    """A line for each model and planner that is more than 2% apart, or that refuses; those that agree in one line."""
    lines, agree = [f"Verdicts on differences above {APART:.0%}:", ""], []
    for model in dict.fromkeys(row.model for row in plans):
        rows = [row for row in plans if row.model == model]
        apart_here = False
        for who in PLANNERS:
            if refusal := next((row.theirs[who].refused for row in rows if row.theirs[who].refused), ""):
                lines.append(f"* **{model}, {who}**: refused ({refusal})")
                continue
            found = large((row.degree, apart(getattr(row.ours, name), getattr(row.theirs[who], name))) for row in rows)
            if found:
                apart_here = True
                lines.append(
                    f"* **{model}, {who}** {spans(found)}. {_verdict(reason(book, who, model), who, name, logs)}"
                )
        if not apart_here:
            agree.append(model)
    return [*lines, "", f"Within {APART:.0%} wherever they answer: {', '.join(agree)}.", ""]


def _verdict(found: Reason | None, who: str, name: str, logs: Sequence[LogRow]) -> str:
    if found is None:
        return "Not explained: open."
    return f"Right: {found.who}. Why: {found.why}. Evidence: {found.evidence}{_seen(found, who, name, logs)}."


def _seen(found: Reason, who: str, name: str, logs: Sequence[LogRow]) -> str:
    """The errors of gridplan and of another on the logs of a reason, those that both answer."""
    texts = []
    for start in found.logs:
        errors = [shares(log, name) for log in logs if log.name.startswith(start)]
        both = [(error["gridplan"], error[who]) for error in errors]
        known = [(ours, theirs) for ours, theirs in both if ours is not None and theirs is not None]
        if known:
            ours, theirs = zip(*known, strict=True)
            texts.append(f"`{start}*` gridplan {span(ours, percent)}, {who} {span(theirs, percent)}")
    return f" ({'; '.join(texts)})" if texts else ""


def pool_section(plans: Sequence[PlanRow], logs: Sequence[LogRow] = ()) -> list[str]:
    """KV pools, what each difference is made of, and a verdict for each planner."""
    rows = []
    for row in plans:
        cells = []
        for who in PLANNERS:
            found = row.theirs[who]
            cells += [_cell(row, who, "pool_bytes"), parts(row.ours, found)]
        rows.append([row.model, row.degree, row.gpu, gib(row.ours.pool_bytes), *cells])
    head = ["model", "TP", "GPU", "gridplan", "kvfit", "made of", "aiconfigurator", "made of"]
    lines = [
        "## KV pool [GiB]",
        "",
        "A negative pool is what is missing: the model does not fit. A difference is the sum of its parts: *budget* "
        "(total",
        "times fraction), *weights*, *terms* (all else); a part with a plus makes the other planner's pool larger. "
        "Where gridplan's",
        f"pool is below {SMALL_POOL_BYTES // GIB} GiB, the difference is in GiB.",
        "",
        *table(head, rows),
        "",
        "Verdicts:",
        "",
    ]
    for who, found in POOL.items():
        lines.append(f"* **{who}**: {_pool_spread(plans, who)}. {_verdict(found, who, 'pool_bytes', logs)}")
    return [*lines, ""]


def _pool_spread(plans: Sequence[PlanRow], who: str) -> str:
    """How far the pools of another planner are apart: shares, and GiB where gridplan's pool is small."""
    pools = [(row.ours.pool_bytes, row.theirs[who].pool_bytes) for row in plans]
    known = [(ours, theirs) for ours, theirs in pools if ours is not None and theirs is not None and ours > 0]
    shares_ = [theirs / ours - 1 for ours, theirs in known if not is_small(ours, "pool_bytes")]
    sizes = [(theirs - ours) / GIB for ours, theirs in known if is_small(ours, "pool_bytes")]
    over = large([("", share) for share in shares_])
    text = (
        f"{len(over)} of {len(shares_)} pools of {SMALL_POOL_BYTES // GIB} GiB and more are more than {APART:.0%} "
        f"apart, median {median_error(shares_)[0]:.1%}, {span(shares_, percent)}"
    )
    return text + (f"; {len(sizes)} smaller ones {span(sizes, '{:+.2f}'.format)} GiB" if sizes else "")
