"""A plain CSV table, one load point a row; `columns` says which names there are.

An empty cell is not known. Without a column `loop`, a rate is an open loop, a `concurrency_limit` without a rate or
with `inf` a closed one, and `inf` alone a drain.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any, get_args

from gridplan.errors import ContractError, Problem, suggestion
from gridplan.measured.sweep.columns import Column, column
from gridplan.measured.sweep.fields import Fields
from gridplan.measured.sweep.figures import Statistic, check_order, latency, loop_of, token_rates
from gridplan.measured.sweep.point import Loop, SweepPoint, TpotDefinition
from gridplan.measured.sweep.tables import Row, cell

__all__ = ["has_known_column", "plain_csv_points"]

_MOST_PROBLEMS = 20
_NUMBER = re.compile(r"\+?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,2})?")
_MOST = 1e15
_CHOICES = {"loop": get_args(Loop), "tpot_definition": get_args(TpotDefinition)}


def has_known_column(header: list[str]) -> bool:
    """Whether a header has at least one column that is known."""
    for name in header:
        try:
            column(name, hint=False)
        except ValueError:
            continue
        return True
    return False


def plain_csv_points(rows: list[Row], start: int, file: str) -> list[SweepPoint]:
    """The points of a table whose header is a row; every problem of the table is in one error."""
    columns = _columns(rows[start], file)
    problems: list[Problem] = []
    points: list[SweepPoint] = []
    for row in rows[start + 1 :]:
        if not any(row[1]):
            continue
        try:
            points.append(_point(columns, row, file))
        except ContractError as error:
            problems += error.problems
    if problems:
        left = len(problems) - _MOST_PROBLEMS
        more = [Problem(f"{left} more problems of this kind", file)] if left > 0 else []
        raise ContractError([*problems[:_MOST_PROBLEMS], *more])
    return points


def _columns(header: Row, file: str) -> list[Column]:
    line, names = header
    problems: list[Problem] = []
    columns: list[Column] = []
    seen: dict[object, str] = {}
    for number, name in enumerate(names, 1):
        if len(problems) == _MOST_PROBLEMS:
            break
        try:
            found = column(name)
        except ValueError as error:
            shown = f"the column {name[:60]!r} {error}" if name else "a column has no name"
            problems.append(Problem(shown, file, line, number))
            continue
        same = (found.field, found.statistic)
        if same in seen:
            problems.append(Problem(f"the column {name!r} says the same as {seen[same]!r}", file, line, number))
        seen[same] = name
        columns.append(found)
    if problems:
        raise ContractError(problems)
    return columns


def _point(columns: list[Column], row: Row, file: str) -> SweepPoint:
    line, cells = row
    if len(cells) != len(columns):
        raise ContractError([Problem(f"the row has {len(cells)} cells, the header {len(columns)}", file, line)])
    values: dict[str, Any] = {}
    latencies: dict[str, list[tuple[Statistic, str]]] = {}
    settings: dict[str, Any] = {}
    problems: list[Problem] = []
    for found, text in zip(columns, cells, strict=True):
        if not text:
            continue
        try:
            if found.kind == "setting":
                settings[found.field] = cell(text)
            elif found.kind == "latency":
                latencies.setdefault(found.field, []).append((found.statistic, found.name))  # type: ignore[arg-type]
                values[found.name] = _number(text, found.factor)
            else:
                values[found.field] = _value(found, text)
        except ValueError as error:
            problems.append(Problem(str(error), file, line, key=found.name))
    if problems:
        raise ContractError(problems)
    fields = Fields(values, file, line=line)
    return _made(fields, {name: latency(fields, keys, 0) for name, keys in latencies.items()}, settings)


def _made(fields: Fields, times: dict[str, Any], settings: dict[str, Any]) -> SweepPoint:
    values = fields.values
    rate, limit = values.get("offered_rate_per_s"), fields.number("concurrency_limit") or None
    unlimited = rate == math.inf
    rate = None if unlimited else rate
    if rate == 0:
        raise fields.error("rate", "is 0: no requests are offered")
    loop = values.get("loop") or loop_of(rate, unlimited, limit)
    if rate is not None and loop in ("closed", "drain"):
        raise fields.error("loop", f"is {loop!r}, but the row states an offered rate of {rate:g} requests a second")
    share = fields.number("prefix_hit_share", most=1.0)
    check_order(fields, times.get("ttft"), times.get("e2e"))
    given: dict[str, Any] = {name: fields.number(name) for name in _DIRECT}
    completed, duration_s = fields.count("requests_completed"), fields.number("duration_s") or None
    reckoned: dict[str, float | None] = {}
    if completed is not None and duration_s is not None:
        reckoned["achieved_rate_per_s"] = completed / duration_s
        each_in, each_out = given["input_tokens_mean"], given["output_tokens_mean"]
        reckoned |= token_rates(
            None if each_in is None else each_in * completed,
            None if each_out is None else each_out * completed,
            duration_s,
        )
    for name, value in reckoned.items():
        fields.agree(name, given[name], value, "requests_completed / duration and tokens a request")
        given[name] = value if given[name] is None else given[name]
    if not times and not any(given[name] is not None for name in _RATES):
        raise fields.error("", "the row states neither a latency nor a throughput")
    definition: TpotDefinition = values.get("tpot_definition") or "unknown"
    return SweepPoint(
        file=fields.file,
        place=f"line {fields.line}",
        tool="csv",
        format="csv-table",
        loop=loop,
        offered_rate_per_s=rate,
        concurrency_limit=limit,
        requests_offered=fields.count("requests_offered"),
        requests_completed=completed,
        requests_failed=fields.count("requests_failed"),
        requests_cancelled=fields.count("requests_cancelled"),
        duration_s=duration_s,
        warmup_requests=fields.count("warmup_requests"),
        prefix_hit_share=share,
        **given,
        **times,
        tpot_definition=definition if times.get("tpot") else "unknown",
        model=fields.text("model"),
        backend=fields.text("backend"),
        settings=settings,
    )


_RATES = ("achieved_rate_per_s", "input_tokens_per_s", "output_tokens_per_s", "total_tokens_per_s")
_DIRECT = (
    *_RATES,
    *("sent_rate_per_s", "goodput_rate_per_s", "concurrency_mean", "warmup_s"),
    *("input_tokens_mean", "output_tokens_mean", "output_tokens_requested"),
)


def _value(found: Column, text: str) -> float | str:
    if found.kind == "text":
        choices = _CHOICES.get(found.field)
        if choices and text not in choices:
            raise ValueError(f"{text[:60]!r} is none of {', '.join(choices)}{suggestion(text[:60], choices)}")
        return text
    if found.kind == "rate" and text.lower() in ("inf", "infinity"):
        return math.inf
    return _number(text, found.factor)


def _number(text: str, factor: Fraction) -> float:
    """A cell in base units, rounded once. Raises ValueError that says what is wrong.

    >>> _number("74.3", Fraction(1, 1000)), _number("0.0743", Fraction(1))
    (0.0743, 0.0743)
    """
    if len(text) > 40 or _NUMBER.fullmatch(text) is None:
        shown = repr(text[:40])
        if re.fullmatch(r"-\d.*", text):
            raise ValueError(f"{shown} is negative")
        if "," in text:
            raise ValueError(f"{shown} has a comma: write 1450 or 0.5, without separators of thousands")
        raise ValueError(f"{shown} is not a number; the unit belongs in the name of the column")
    number = float(Fraction(text) * factor)
    if number > _MOST:
        raise ValueError(f"{text} is out of range")
    return number
