"""Limits as text: names, statistics, units; every mistake at once with the nearest name."""

from __future__ import annotations

import pytest

from gridplan.errors import ContractError
from gridplan.measured import Slo, parse_slos


def test_limits_in_their_order():
    found = parse_slos(" ttft_p95 = 1s, tpot_p99.9=25 ms,e2e_mean=0.5min, itl_median=900us ,goodput=0.95,")
    assert found == (
        Slo("ttft", 95.0, 1.0),
        Slo("tpot", 99.9, 0.025),
        Slo("e2e", "mean", 30.0),
        Slo("itl", 50.0, 0.0009),
        Slo("goodput", None, 0.95),
    )
    assert [slo.name for slo in found] == ["ttft_p95", "tpot_p99.9", "e2e_mean", "itl_p50", "goodput"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no limit is given"),
        (" , ", "no limit is given"),
        ("ttft_p95=1", "'1' has no unit: write 1 with one of ns, us, ms, s, min, h, d"),
        ("ttft_p95=", "has no unit"),
        ("ttft_p95", "has no limit: write ttft_p95=1s"),
        ("ttft=1s", "does not say which statistic: write ttft_mean or ttft_p95"),
        ("tfft_p95=1s", "did you mean ttft_p95"),
        ("goodputs=1", "did you mean goodput"),
        ("ttft_p95=0s", "must be above 0"),
        ("ttft_p95=-1s", "must be above 0"),
        ("ttft_p95=1parsec", "has an unknown unit"),
        ("ttft_p0=1s", "a percentile lies above 0 and below 100"),
        ("ttft_p100=1s", "is no figure"),
        ("goodput=95", "must be above 0 and at most 1"),
        ("goodput=nan", "must be above 0"),
        ("goodput=1ms", "is not a share"),
        ("ttft_p95=1s,ttft_p95=2s", "is given twice"),
        ("ttft_p50=1s,ttft_median=2s", "is given twice"),
    ],
)
def test_what_is_wrong(text, said):
    with pytest.raises(ContractError, match=said.replace("(", r"\(")):
        parse_slos(text)


def test_all_mistakes_at_once():
    with pytest.raises(ContractError) as caught:
        parse_slos("ttft_p95=1,tpott_p95=1ms,goodput=7")
    assert [problem.key for problem in caught.value.problems] == ["ttft_p95", "tpott_p95", "goodput"]
