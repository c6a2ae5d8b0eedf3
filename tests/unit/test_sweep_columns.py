"""Columns of a plain CSV table: names, units and what is refused."""

from __future__ import annotations

import pytest

from gridplan.errors import ContractError
from gridplan.measured.sweep import sweep_of_text
from gridplan.measured.sweep.columns import accepted, column


def faults(text: str) -> list[str]:
    with pytest.raises(ContractError) as caught:
        sweep_of_text(text, "sweep.csv")
    return [str(problem).removeprefix("sweep.csv:") for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("name", "field", "statistic", "one"),
    [
        ("ttft_p95_ms", "ttft", 95.0, 0.001),
        ("p99_ttft_ms", "ttft", 99.0, 0.001),
        ("median_tpot_us", "tpot", 50.0, 1e-6),
        ("E2E P99.9 (s)", "e2e", 99.9, 1.0),
        ("mean_e2el_ms", "e2e", "mean", 0.001),
        ("e2e_per_token_max_ms", "e2e_per_token", 100.0, 0.001),
        ("itl_avg_ms", "itl", "mean", 0.001),
        ("rate_rps", "offered_rate_per_s", None, 1.0),
        ("rate_rpm", "offered_rate_per_s", None, 1 / 60),
        ("achieved-rate-per-s", "achieved_rate_per_s", None, 1.0),
        ("output_tokens_per_min", "output_tokens_per_s", None, 1 / 60),
        ("duration_min", "duration_s", None, 60.0),
        ("warmup_s", "warmup_s", None, 1.0),
        ("max_concurrency", "concurrency_limit", None, 1.0),
        ("completed", "requests_completed", None, 1.0),
        ("setting_tp", "tp", None, 1.0),
    ],
)
def test_names(name, field, statistic, one):
    found = column(name)
    assert (found.field, found.statistic, float(found.factor)) == (field, statistic, one)


def test_every_name_that_is_suggested_is_known():
    for name in accepted():
        column(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ttft_p95", "has no unit: write ttft_p95_s or ttft_p95_ms or ttft_p95_us"),
        ("ttft_p95_min", "has no unit of time: write ttft_p95_s"),
        ("rate", "has no unit: write rate_per_s or rate_rps"),
        ("duration", "has no unit: write duration_s"),
        ("concurrency", "does not say which concurrency: write concurrency_limit"),
        ("ttfs_p95_ms", "is no column that is known (did you mean ttft_p95_ms"),
        ("ouput_tokens_mean", "is no column that is known (did you mean output_tokens_mean"),
        ("", "a column has no name"),
    ],
)
def test_names_that_are_refused(name, said):
    (found,) = faults(f"rate_rps,e2e_p99_s,{name}\n1,2,3\n")
    assert found.startswith("1:3: ")
    assert said in found


def test_all_columns_at_once_and_one_thing_twice():
    found = faults("rate_rps,rate_per_s,ttft_p50_ms,ttft_median_s,foo\n1,1,1,1,1\n")
    assert len(found) == 3
    assert "the column 'rate_per_s' says the same as 'rate_rps'" in found[0]
    assert "the column 'ttft_median_s' says the same as 'ttft_p50_ms'" in found[1]
    assert "the column 'foo'" in found[2]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("fast", "'fast' is not a number; the unit belongs in the name"),
        ("85 ms", "'85 ms' is not a number; the unit belongs in the name"),
        ("-85", "'-85' is negative"),
        ('"1,450"', "'1,450' has a comma: write 1450"),
        ("nan", "'nan' is not a number"),
        ("inf", "'inf' is not a number"),
        ("9e99", "9e99 is out of range"),
        ("1e400", "'1e400' is not a number"),
        ("9" * 50, "is not a number"),
        ("8e9", "longer than any latency"),
    ],
)
def test_cells_that_are_refused(cell, said):
    (found,) = faults(f"rate_rps,ttft_p95_ms\n1,80\n2,{cell}\n")
    assert found.startswith("3: ttft_p95_ms: ")
    assert said in found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rate_rps,ttft_p95_ms\n", "has a header but no rows"),
        ("rate_rps,ttft_p95_ms\n1\n", "the row has 1 cells, the header 2"),
        ("rate_rps,ttft_p95_ms\n1,\n", "neither a latency nor a throughput"),
        ("rate_rps,ttft_p95_ms\n0,5\n", "is 0: no requests are offered"),
        ("rate_rps,loop,ttft_p95_ms\n1,closed,5\n", "'closed', but the row states an offered rate of 1"),
        (
            "rate_rps,loop,ttft_p95_ms\n1,opened,5\n",
            "none of open, closed, drain, unknown (did you mean open, closed?)",
        ),
        ("rate_rps,tpot_definition,tpot_p95_ms\n1,itl,5\n", "'itl' is none of excludes_first_token"),
        ("rate_rps,ttft_p95_ms,ttft_p99_ms\n1,9,8\n", "percentiles cannot fall"),
        ("rate_rps,ttft_mean_s,e2e_mean_ms\n1,0.5,900\n1,500,900\n", "mean TTFT is 500 s"),
        ("rate_rps,completed,ttft_p95_ms\n1,4.5,9\n", "4.5 is not a whole number"),
        ("rate_rps,prefix_hit_share,ttft_p95_ms\n1,50,9\n", "50 is out of range: 1 at most"),
        ("achieved_rps,completed,duration_s\n9,480,60\n", "achieved_rate_per_s: is 9, but requests_completed"),
        ("output_tokens_per_s,output_tokens_mean,completed,duration_s\n900,128,480,60\n", "is 900, but"),
    ],
)
def test_rows_that_are_refused(text, said):
    (found,) = faults(text)
    assert said in found


def test_what_sets_the_pace():
    text = "rate_rps,concurrency_limit,loop,e2e_p99_s\n8,,,2\n8,64,,2\ninf,16,,2\n,16,,2\nInf,,,2\n,,,2\n,,drain,2\n"
    loops = [(point.loop, point.offered_rate_per_s) for point in sweep_of_text(text)]
    closed = ("closed", None)
    assert loops == [("open", 8), ("open", 8), closed, closed, ("drain", None), ("unknown", None), ("drain", None)]


def test_what_follows_from_counts():
    (point,) = sweep_of_text("completed,duration_min,output_tokens_mean,input_tokens_mean\n480,1,128,512\n")
    assert (point.achieved_rate_per_s, point.output_tokens_per_s, point.total_tokens_per_s) == (8, 1024, 5120)


def test_semicolons_texts_and_settings():
    text = "rate_rps;model;tpot_p95_ms;tpot_definition;seed;note\n\n8;llama;20;excludes_first_token;7;warm\n"
    (point,) = sweep_of_text(text)
    assert (point.model, point.tpot.percentiles_s, point.tpot_definition) == (
        "llama",
        {95.0: 0.02},
        "excludes_first_token",
    )
    assert (point.settings, point.place) == ({"seed": 7, "note": "warm"}, "line 3")


def test_every_bad_cell_is_named():
    found = faults("rate_rps,ttft_p95_ms\n" + "x,y\n" * 15)
    assert len(found) == 21
    assert found[0].startswith("2: rate_rps: 'x'")
    assert found[1].startswith("2: ttft_p95_ms: 'y'")
    assert "10 more problems" in found[-1]
