"""The pure parts of the comparison with other planners: errors, verdicts and tables; nobody else is run."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from memory_causes import CAUSES, OPEN
from memory_log_page import own_errors
from memory_page import pool_section, verdicts
from memory_reasons import POOL, TOKEN, WEIGHTS, Reason
from memory_rows import LogRow, PlanRow
from memory_summary import nearest, verdict
from memory_verdicts import GIB, Figures, apart, closest, figures, large, median_error, parts, percent, spans, table


def row(degree: str, ours: Figures, kvfit: Figures, model: str = "m") -> PlanRow:
    return PlanRow(model, degree, "h100-sxm", ours, {"kvfit": kvfit, "aiconfigurator": ours})


def test_an_answer_is_spread_over_its_tokens_and_a_refusal_keeps_its_reason() -> None:
    found = figures({"sequence_bytes": 4096, "weights_bytes": 7, "pool_bytes": -1, "other_bytes": 0, "remark": ""}, 2)
    assert found == Figures(2048, 7, -1, 0)
    assert figures({"sequence_bytes": 2, "remark": "naive"}, 1).naive
    assert figures({"refused": "unknown"}, 1) == Figures(refused="unknown")


@pytest.mark.parametrize(("ours", "theirs"), [(None, 1.0), (1.0, None), (0.0, 1.0), (-2.0, 1.0)])
def test_a_difference_needs_two_figures_and_a_positive_one_of_ours(ours: float | None, theirs: float | None) -> None:
    assert apart(ours, theirs) is None
    assert percent(apart(ours, theirs)) == "-"


def test_only_differences_above_two_percent_are_discussed() -> None:
    assert large([("TP1", 0.0201), ("TP2", -0.02), ("TP4", None), ("TP8", -0.5)]) == [("TP1", 0.0201), ("TP8", -0.5)]
    assert spans([("TP1", 0.0201), ("TP8", -0.5)]) == "+2.0% at TP1, -50.0% at TP8"


def test_the_parts_of_a_pool_add_up() -> None:
    ours, theirs = Figures(1, 15 * GIB, 56 * GIB, 2 * GIB), Figures(1, 16 * GIB, 54 * GIB, 4.7 * GIB)
    assert parts(ours, theirs) == "budget +1.7, weights -1.0, terms -2.7"  # 73.0 and 74.7 GiB of budget
    assert parts(ours, Figures(1)) == "-"


def test_the_closest_shares_its_place_only_within_half_a_percent() -> None:
    assert closest(10.0, {"a": 10.04, "b": 9.96, "c": None}) == "a, b"
    assert closest(10.0, {"a": 10.2, "b": 9.9}) == "b"
    assert closest(10.0, {"a": None}) == "-"


def test_the_median_leaves_out_what_is_missing() -> None:
    assert median_error([None, -0.2, 0.4, 0.1]) == (0.2, 3)
    assert math.isnan(median_error([None])[0])


def test_verdicts_name_differences_refusals_and_those_that_agree() -> None:
    same = Figures(100.0)
    plans = [
        row("TP1", same, Figures(110.0), "apart"),
        row("TP2", same, Figures(101.0), "apart"),
        row("TP1", same, Figures(refused="no such layers"), "refused"),
        row("TP1", same, same, "alike"),
    ]
    book = {("kvfit", "apart"): Reason("gridplan", "it is so", "a log")}
    text = "\n".join(verdicts(plans, "token_bytes", book))
    assert "* **apart, kvfit** +10.0% at TP1. Right: gridplan. Why: it is so. Evidence: a log." in text
    assert "* **refused, kvfit**: refused (no such layers)" in text
    assert "wherever they answer: refused, alike." in text
    assert "Not explained: open." in "\n".join(verdicts(plans, "token_bytes", {}))


def test_pools_of_models_that_do_not_fit_have_no_percentage() -> None:
    ours, theirs = Figures(1, 90 * GIB, -20 * GIB, 2 * GIB), Figures(1, 90 * GIB, -18 * GIB, 0)
    fits = row("TP2", Figures(1, 45 * GIB, 25 * GIB, 2 * GIB), Figures(1, 45 * GIB, 28 * GIB, 0))
    text = "\n".join(pool_section([row("TP1", ours, theirs), fits]))
    assert "| -20.00 | -18.00 | budget +0.0, weights +0.0, terms +2.0 |" in text
    assert "1 of 1 pools of 8 GiB and more are more than 2% apart, median 12.0%" in text


def log(name: str, printed: Figures, ours: Figures, kvfit: Figures | None = None) -> LogRow:
    return LogRow(name, printed, ours, {"kvfit": kvfit or Figures(), "aiconfigurator": Figures()}, True)


def test_errors_of_gridplan_are_listed_by_cause_with_their_size() -> None:
    text = "\n".join(
        own_errors(
            [
                log("v1-gemma4-x", Figures(100.0, 50 * GIB), Figures(100.5, 48 * GIB)),
                log("nobody-knows", Figures(100.0, None, 4 * GIB), Figures(103.0, None, 3 * GIB)),
            ]
        )
    )
    assert "3 figures are more than 2% away" in text
    assert "1. **Vision towers that are not counted.**" in text
    assert "*Weights*: -4.0% (-2.00 GiB) at `v1-gemma4-x`." in text
    assert "2. **Open.**" in text
    assert "*Bytes of a token*: +3.0% (+3 B) at `nobody-knows`. *KV pool*: -1.00 GiB at `nobody-knows`." in text


def test_the_terms_of_a_cause_are_what_the_budget_leaves() -> None:
    printed, ours = Figures(1.0, 80 * GIB, 40 * GIB), Figures(1.0, 79 * GIB, 43 * GIB, 5 * GIB)
    text = "\n".join(own_errors([log("deepseek-r1-h200-a", printed, ours)]))
    assert "Of the budget 7.0 GiB are left beside printed weights and pool" in text
    assert "planned are 5.0." in text


def test_every_cause_explains_something_in_the_report() -> None:
    report = (Path(__file__).parents[2] / "reports" / "memory.md").read_text(encoding="utf-8")
    assert [one.title for one in CAUSES if one is not OPEN and f"**{one.title}.**" not in report] == []


def test_the_verdict_counts_on_the_logs_that_both_answer() -> None:
    logs = [  # kvfit answers the first alone, aiconfigurator none
        log("a", Figures(100.0, 100.0, 90 * GIB), Figures(100.0, 97.0, 91 * GIB), Figures(100.0, 100.0, 60 * GIB)),
        log("b", Figures(100.0, 100.0, 4 * GIB), Figures(101.0, 97.0, 5 * GIB)),
    ]
    assert [nearest(logs, name) for name in ("token_bytes", "weights_bytes", "pool_bytes")] == [
        "gridplan and kvfit",
        "kvfit",
        "gridplan",
    ]
    text = "\n".join(verdict(logs))
    assert "weights 1 of 1 (gridplan 0)" in text
    assert 'weights of 1 of 2 logs, it being over 2% away on 1 ("Open")' in text
    assert 'nobody is within 10% of the KV pools of 1 log ("Open")' in text
    assert "Of 1 pools below 8 GiB even the nearest answer is 1.00 GiB off." in text


def test_small_pools_are_apart_in_gib() -> None:
    ours, theirs = Figures(1, 45 * GIB, 2 * GIB, 2 * GIB), Figures(1, 45 * GIB, -8 * GIB, 0)
    big = row("TP2", Figures(1, 45 * GIB, 25 * GIB, 2 * GIB), Figures(1, 45 * GIB, 28 * GIB, 0))
    text = "\n".join(pool_section([row("TP1", ours, theirs), big]))
    assert "| 2.00 | -8.00 (-10.00 GiB) |" in text
    assert "1 smaller ones -10.00 GiB" in text


def test_every_reason_is_complete_and_tables_are_square() -> None:
    assert all(all(entry[:3]) for book in (TOKEN, WEIGHTS, POOL) for entry in book.values())
    lines = table(["a", "b"], [["1", "2"], ["3", "4"]])
    assert {line.count("|") for line in lines} == {3}
