"""The section of start-up logs: how near each planner is, where gridplan is wrong and why, and every log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memory_causes import CAUSES, Cause, cause
from memory_rows import PLANNERS, QUANTITIES, LogRow, answers, said, shares
from memory_verdicts import APART, GIB, SMALL_POOL_BYTES, closest, full_gap, large, median_error, span, table


def log_section(logs: Sequence[LogRow]) -> list[str]:
    """Where a log decides: the medians, gridplan's errors, the three quantities beside what each log printed."""
    lines = [
        "## Where start-up logs decide",
        "",
        "Each log's own settings were given, and no printed figure of memory. A difference is relative to the printed "
        "figure;",
        f"where the printed pool is below {SMALL_POOL_BYTES // GIB} GiB, it is in GiB.",
        "*New* logs are of one laboratory (`tests/bench/memory_new_logs.csv`; H200, B200, MI300X; vLLM 0.11 to 0.18) "
        "and were",
        "found after gridplan's constants were set. *Known* logs are rows of `tests/reference/memory_logs.csv`, which "
        "set some",
        "of them. Vision towers have been counted since; their sizes are from published configs, not from logs.",
        "",
        f"How many answers are within {APART:.0%}, and the median of their absolute errors:",
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
    """Every log from which gridplan is more than 2% away, a paragraph for each cause."""
    found: dict[Cause, dict[str, list[LogRow]]] = {}
    for title, name, _ in QUANTITIES:
        for log in sorted(logs, key=lambda log: not log.is_new):
            if large([("", shares(log, name)["gridplan"])]):
                why = cause(log.name, name.removesuffix("_bytes"))
                found.setdefault(why, {}).setdefault(title.partition(" [")[0], []).append(log)
    count = sum(len(rows) for by_title in found.values() for rows in by_title.values())
    lines = []
    for number, why in enumerate((why for why in CAUSES if why in found), start=1):
        lines += [
            "",
            f"{number}. **{why.title}.** {why.text}{_terms(why, logs)}{_imported(why, logs)} {_sizes(found[why])}",
        ]
    return [
        "",
        "### Where gridplan is wrong",
        "",
        f"{count} figures are more than {APART:.0%} away from what a log prints; here they are by cause.",
        *lines,
    ]


def _sizes(by_title: dict[str, list[LogRow]]) -> str:
    """The logs of one cause with the sizes of their errors."""
    names = {title.partition(" [")[0]: name for title, name, _ in QUANTITIES}
    texts = []
    for title, rows in by_title.items():
        name = names[title]
        sizes = [
            f"{full_gap(getattr(log.printed, name), getattr(log.ours, name), name)} at `{log.name}`"
            f"{'' if log.is_new else ' (known)'}"
            for log in rows
        ]
        texts.append(f"*{title}*: {', '.join(sizes)}.")
    return " ".join(texts)


def _terms(why: Cause, logs: Sequence[LogRow]) -> str:
    """What the budget leaves beside printed weights and pool, and what gridplan plans for it [GiB]."""
    taken, planned = [], []
    for log in logs:
        weights, pool, ours = log.printed.weights_bytes, log.printed.pool_bytes, log.ours
        if not log.name.startswith(why.terms_of or ("-",)) or weights is None or pool is None:
            continue
        if ours.weights_bytes is None or ours.pool_bytes is None or ours.other_bytes is None:
            continue
        budget = ours.weights_bytes + ours.pool_bytes + ours.other_bytes
        taken.append((budget - weights - pool) / GIB)
        planned.append(ours.other_bytes / GIB)
    if not taken:
        return ""
    return (
        f" Of the budget {span(taken, '{:.1f}'.format)} GiB are left beside printed weights and pool on "
        f"{' and '.join(f'`{start}*`' for start in why.terms_of)}; planned are {span(planned, '{:.1f}'.format)}."
    )


def _imported(why: Cause, logs: Sequence[LogRow]) -> str:
    """How near the weights of an entry imported from the published files come [GiB]."""
    texts = [
        f"Imported from its files, `{log.name}` is {why.imported[1]:.2f} GiB a rank (planned apart from this page), "
        f"{full_gap(log.printed.weights_bytes, why.imported[1] * GIB, 'weights_bytes')} from the log."
        for log in logs
        if why.imported and log.name == why.imported[0] and log.printed.weights_bytes
    ]
    return "".join(f" {text}" for text in texts)


def _answers(log: LogRow, name: str, show: Callable[[float], str]) -> list[str]:
    base = getattr(log.printed, name)
    return [
        *(said(base, found, name, show) for found in log.all.values()),
        closest(base, answers(log, name)),
    ]
