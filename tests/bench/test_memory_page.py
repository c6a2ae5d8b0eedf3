"""The pure parts of the comparison with other planners: errors, verdicts and tables; nobody else is run."""

from __future__ import annotations

import math

import pytest
from memory_page import LogRow, PlanRow, own_errors, pool_section, verdicts
from memory_reasons import TOKEN, Reason
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
    assert "1 of 1 pools more than 2% apart, median 12.0%" in text


def test_errors_of_gridplan_are_listed_with_what_is_known() -> None:
    def log(name: str, ours: float) -> LogRow:
        return LogRow(name, Figures(100.0), Figures(ours), {"kvfit": Figures(), "aiconfigurator": Figures()}, True)

    lines = own_errors([log("v1-gemma", 100.5), log("nobody-knows", 103.0)])
    assert [line for line in lines if line.startswith("*")] == [
        "* Bytes of a token, +3.0% at `nobody-knows` (new): open."
    ]


def test_every_reason_is_complete_and_tables_are_square() -> None:
    assert all(all(entry) for entry in TOKEN.values())
    lines = table(["a", "b"], [["1", "2"], ["3", "4"]])
    assert {line.count("|") for line in lines} == {3}
