"""The verdict at the top of the page: four sentences, every figure counted from the start-up logs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory_causes import cause
from memory_rows import PLANNERS, LogRow, answers, shares
from memory_verdicts import APART, GIB, SMALL_POOL_BYTES, closest, is_small, median_error, span

NAMES = {"token_bytes": "bytes of a token", "weights_bytes": "weights", "pool_bytes": "KV pools"}
FAR = 0.1
"""Where every planner is further than this from a log, none of them is to be trusted (policy)."""


def verdict(logs: Sequence[LogRow]) -> list[str]:
    """Who is nearest, by how much, where gridplan is not, and where nobody is: one item each."""
    new = [log for log in logs if log.is_new]
    return [
        f"* **Nearest to start-up logs**: {_leaders(logs)}. gridplan is within {APART:.0%} of "
        f"{_listed(_own(logs, name) for name in NAMES)}; of the new logs, which set none of its constants, "
        f"{_listed(_own(new, name) for name in NAMES)}.",
        f"* **The others**, within {APART:.0%} on the logs that they answer, and gridplan on the same logs, which "
        "decides who is nearest: "
        f"{'; '.join(_against(logs, who) for who in PLANNERS)}.",
        f"* **Where gridplan is not nearest**: {'; '.join(_lost(logs, name) for name in NAMES)}.",
        f"* **Where to trust none**: {_far(logs)}{_small(logs)} All logs are vLLM's; of other engines nothing is "
        "shown.",
    ]


def pairs(logs: Iterable[LogRow], name: str, who: str) -> list[tuple[float, float]]:
    """Absolute errors of gridplan and of another planner, on the logs that both answer."""
    found = [(shares(log, name)["gridplan"], shares(log, name)[who]) for log in logs]
    return [(abs(ours), abs(theirs)) for ours, theirs in found if ours is not None and theirs is not None]


def nearest(logs: Sequence[LogRow], name: str) -> str:
    """gridplan, unless another is within 2% at least as often on the logs that both answer."""
    others, is_ours_level = [], True
    for who in PLANNERS:
        found = pairs(logs, name, who)
        ours, theirs = _within(found)
        if found and theirs >= ours:
            others.append(who)
            is_ours_level &= theirs == ours
    return " and ".join([*(["gridplan"] if is_ours_level else []), *others])


def _leaders(logs: Sequence[LogRow]) -> str:
    by_name = {name: nearest(logs, name) for name in NAMES}
    if len(set(by_name.values())) == 1:
        return f"{by_name['token_bytes']} on {_listed(NAMES.values())}"
    return _listed(f"{who} on {NAMES[name]}" for name, who in by_name.items())


def _within(found: Sequence[tuple[float, float]]) -> tuple[int, int]:
    return sum(ours <= APART for ours, _ in found), sum(theirs <= APART for _, theirs in found)


def _own(logs: Sequence[LogRow], name: str) -> str:
    errors = [abs(share) for log in logs if (share := shares(log, name)["gridplan"]) is not None]
    within = sum(error <= APART for error in errors)
    return f"{within} of {len(errors)} {NAMES[name]} (median {median_error(errors)[0]:.1%})"


def _against(logs: Sequence[LogRow], who: str) -> str:
    texts = []
    for name, title in NAMES.items():
        found = pairs(logs, name, who)
        ours, theirs = _within(found)
        texts.append(f"{title} {theirs} of {len(found)} (gridplan {ours})")
    return f"{who}, {', '.join(texts)}"


def _lost(logs: Sequence[LogRow], name: str) -> str:
    """How often another planner is closest, and where gridplan is more than 2% away at that."""
    known = [log for log in logs if getattr(log.printed, name) is not None]
    lost = [log for log in known if "gridplan" not in closest(getattr(log.printed, name), answers(log, name))]
    over = [log for log in lost if abs(shares(log, name)["gridplan"] or 0) > APART]
    why = f" ({_causes(over, name)})" if over else ""
    return f"{NAMES[name]} of {len(lost)} of {len(known)} logs, it being over {APART:.0%} away on {len(over)}{why}"


def _causes(logs: Iterable[LogRow], name: str) -> str:
    """The causes under which gridplan's errors on some logs are discussed."""
    titles = (cause(log.name, name.removesuffix("_bytes")).title for log in logs)
    return "; ".join(f'"{title}"' for title in dict.fromkeys(titles))


def _far(logs: Sequence[LogRow]) -> str:
    parts = []
    for name, title in NAMES.items():
        errors = ((log, [abs(share) for share in shares(log, name).values() if share is not None]) for log in logs)
        far = [log for log, found in errors if found and min(found) > FAR]
        if far:
            parts.append(f"{title} of {_logs(len(far))} ({_causes(far, name)})")
    if not parts:
        return f"some planner is within {FAR:.0%} of every log."
    return f"nobody is within {FAR:.0%} of the {', nor of the '.join(parts)}."


def _logs(count: int) -> str:
    return f"{count} log" if count == 1 else f"{count} logs"


def _small(logs: Sequence[LogRow]) -> str:
    """By how much the nearest planner misses a pool that is a small rest of the card."""
    sizes = []
    for log in logs:
        printed = log.printed.pool_bytes
        said = [found.pool_bytes for found in log.all.values() if found.pool_bytes is not None]
        if printed is not None and said and is_small(printed, "pool_bytes"):
            sizes.append(min(abs(pool - printed) for pool in said) / GIB)
    if not sizes:
        return ""
    off = span(sizes, "{:.2f}".format)
    return f" Of {len(sizes)} pools below {SMALL_POOL_BYTES // GIB} GiB even the nearest answer is {off} GiB off."


def _listed(texts: Iterable[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last
