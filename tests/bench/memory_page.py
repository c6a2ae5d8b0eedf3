"""The text of `reports/memory.md`, from what the planners said and the logs printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memory_reasons import POOL, TOKEN, WEIGHTS, Reason, cause, reason
from memory_text import HEAD, LIMITS
from memory_verdicts import APART, Figures, apart, closest, gib, large, median_error, parts, percent, spans, table

PLANNERS = ("kvfit", "aiconfigurator")


@dataclass(frozen=True)
class PlanRow:
    """One model, degree and GPU: gridplan's figures and the others'."""

    model: str
    degree: str
    gpu: str
    ours: Figures
    theirs: Mapping[str, Figures]


@dataclass(frozen=True)
class LogRow:
    """One start-up log: what it prints, what gridplan plans from nothing printed, what the others say."""

    name: str
    printed: Figures
    ours: Figures
    theirs: Mapping[str, Figures]
    is_new: bool

    @property
    def all(self) -> dict[str, Figures]:
        return {"gridplan": self.ours, **self.theirs}


def page(plans: Sequence[PlanRow], logs: Sequence[LogRow], day: str, versions: Mapping[str, str]) -> str:
    """The whole page; the same input gives the same text."""
    head = HEAD.format(
        day=day, gridplan=versions["gridplan"], kvfit=versions["kvfit"], aic=versions["aiconfigurator-core"]
    )
    models = [*token_section(plans), *weights_section(plans), *pool_section(plans)]
    return "\n".join([head, *log_section(logs), *models, LIMITS])


# ------------------------------------------------------------------------------------------------------ start-up logs


QUANTITIES = (
    ("Bytes of a token", "token_bytes", lambda size: f"{size:,.0f}"),
    ("Weights [GiB]", "weights_bytes", gib),
    ("KV pool [GiB]", "pool_bytes", gib),
)


def log_section(logs: Sequence[LogRow]) -> list[str]:
    """Where a log decides: the medians, then the three quantities beside what each log printed."""
    lines = [
        "## Where start-up logs decide",
        "",
        "Each log's own settings were given, and no printed figure of memory. A difference is relative to the printed "
        "figure.",
        "*New* logs are of one laboratory (`tests/bench/memory_new_logs.csv`; H200, B200, MI300X; vLLM 0.11 to 0.18) "
        "and were",
        "found after gridplan's constants were set. *Known* logs are rows of `tests/reference/memory_logs.csv`, which "
        "set some",
        "of them. How many answers are within 2%, and the median of their absolute errors:",
        "",
    ]
    rows = []
    for title, name, _ in QUANTITIES:
        for kind, is_new in (("new", True), ("known", False)):
            found = [
                shares(log, name) for log in logs if log.is_new == is_new and getattr(log.printed, name) is not None
            ]
            sums = [summary([share[who] for share in found]) for who in ("gridplan", *PLANNERS)]
            rows.append([title, f"{kind}, {len(found)} logs", *sums])
    lines += [*table(["quantity", "logs", "gridplan", *PLANNERS], rows), *own_errors(logs)]
    for title, name, show in QUANTITIES:
        rows = [
            [f"`{log.name}`", show(getattr(log.printed, name)), *_answers(log, name, show)]
            for log in sorted(logs, key=lambda log: not log.is_new)
            if getattr(log.printed, name) is not None
        ]
        lines += ["", f"### {title}", "", *table(["log", "printed", "gridplan", *PLANNERS, "closest"], rows)]
    return [*lines, ""]


def summary(found: Sequence[float | None]) -> str:
    """How many answers are within 2% of the log, and the median error of those that were given."""
    middle, count = median_error(found)
    return f"{count - len(large([('', share) for share in found]))} of {count} ({middle:.1%})"


def own_errors(logs: Sequence[LogRow]) -> list[str]:
    """Every log from which gridplan is more than 2% away, and what is known of it."""
    found: dict[tuple[str, str, str], list[tuple[str, float]]] = {}
    for log in sorted(logs, key=lambda log: not log.is_new):
        for title, name, _ in QUANTITIES:
            for _, share in large([("", shares(log, name)["gridplan"])]):
                why = cause(log.name, name.removesuffix("_bytes"))
                found.setdefault((title.partition(" [")[0], why, "new" if log.is_new else "known"), []).append(
                    (f"`{log.name}`", share)
                )
    lines = [f"* {title}, {spans(logs)} ({kind}): {why}." for (title, why, kind), logs in found.items()]
    return [
        "",
        "### Where gridplan is wrong",
        "",
        f"Every log from which it is more than {APART:.0%} away:",
        "",
        *lines,
    ]


def shares(log: LogRow, name: str) -> dict[str, float | None]:
    """Errors of all planners against one printed figure."""
    return {who: apart(getattr(log.printed, name), getattr(found, name)) for who, found in log.all.items()}


def _answers(log: LogRow, name: str, show: Callable[[float], str]) -> list[str]:
    errors, said = shares(log, name), {who: getattr(found, name) for who, found in log.all.items()}
    return [
        *(_said(value, errors[who], log.all[who], show) for who, value in said.items()),
        closest(getattr(log.printed, name), said),
    ]


def _said(value: float | None, share: float | None, found: Figures, show: Callable[[float], str]) -> str:
    if value is None:
        return "refused" if found.refused else "-"
    mark = " *naive*" if found.naive else ""
    return f"{show(value)} ({percent(share)}){mark}" if share is not None else f"{show(value)}{mark}"


# ------------------------------------------------------------------------------------------------------ twelve models


def token_section(plans: Sequence[PlanRow]) -> list[str]:
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
        *verdicts(plans, "token_bytes", TOKEN),
    ]


def weights_section(plans: Sequence[PlanRow]) -> list[str]:
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
        *verdicts(plans, "weights_bytes", WEIGHTS),
    ]


def _cell(row: PlanRow, who: str, name: str) -> str:
    found = row.theirs[who]
    value = getattr(found, name)
    show = gib if name != "token_bytes" else lambda size: f"{size:,.0f}"
    return _said(value, apart(getattr(row.ours, name), value), found, show)


def verdicts(plans: Sequence[PlanRow], name: str, book: Mapping[tuple[str, str], Reason]) -> list[str]:
    """A line for each model and planner that is more than 2% apart, or that refuses; those that agree in one line."""
    lines, agree = [f"Verdicts on differences above {APART:.0%}:", ""], []
    for model in dict.fromkeys(row.model for row in plans):
        rows = [row for row in plans if row.model == model]
        apart_here = False
        for who in PLANNERS:
            if why := next((row.theirs[who].refused for row in rows if row.theirs[who].refused), ""):
                lines.append(f"* **{model}, {who}**: refused ({why})")
                continue
            found = large((row.degree, apart(getattr(row.ours, name), getattr(row.theirs[who], name))) for row in rows)
            if found:
                apart_here = True
                lines.append(f"* **{model}, {who}** {spans(found)}. {_verdict(reason(book, who, model))}")
        if not apart_here:
            agree.append(model)
    return [*lines, "", f"Within {APART:.0%} wherever they answer: {', '.join(agree)}.", ""]


def _verdict(found: Reason | None) -> str:
    if found is None:
        return "Not explained: open."
    return f"Right: {found.who}. Why: {found.why}. Evidence: {found.evidence}."


def pool_section(plans: Sequence[PlanRow]) -> list[str]:
    """KV pools, what each difference is made of, and a verdict for each planner."""
    rows = []
    for row in plans:
        cells = []
        for who in PLANNERS:
            found = row.theirs[who]
            cells += [_pool(row.ours, found), parts(row.ours, found)]
        rows.append([row.model, row.degree, row.gpu, gib(row.ours.pool_bytes), *cells])
    head = ["model", "TP", "GPU", "gridplan", "kvfit", "made of", "aiconfigurator", "made of"]
    lines = [
        "## KV pool [GiB]",
        "",
        "A negative pool is what is missing: the model does not fit. A difference is the sum of its parts: *budget* "
        "(total",
        "times fraction), *weights*, *terms* (all else); a part with a plus makes the other planner's pool larger.",
        "",
        *table(head, rows),
        "",
        "Verdicts:",
        "",
    ]
    for who, found in POOL.items():
        shares = [apart(row.ours.pool_bytes, row.theirs[who].pool_bytes) for row in plans]
        over = [share for share in shares if share is not None and abs(share) > APART]
        known = [share for share in shares if share is not None]
        middle, _ = median_error(known)
        lines.append(
            f"* **{who}**: {len(over)} of {len(known)} pools more than {APART:.0%} apart, median {middle:.1%}, "
            f"{percent(min(known))} to {percent(max(known))}. {_verdict(found)}"
        )
    return [*lines, ""]


def _pool(ours: Figures, found: Figures) -> str:
    return _said(found.pool_bytes, apart(ours.pool_bytes, found.pool_bytes), found, gib)
