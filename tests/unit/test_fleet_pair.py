"""`gridplan.pair`: fleets of two kinds worked by hand, one kind as the cube plans it, and what is left out."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan.dictionary import dictionary
from gridplan.errors import ContractError, GridTooLargeError

TWO = """
schema: 1
name: two
workload: {}
capacity: {capacity_model: measured, lambda_instance_given: {by: instance, big: 10, small: 8, bare: 8}}
policy: {rho_target: 0.7, redundancy: 1, failure_domain: replica}
catalog:
  instances:
    big: {gpu: h100-sxm, gpus_per_node: 8, usd_per_node_hour: 40, as_of: 2026-01-01, source: made up}
    small: {gpu: a100-sxm-80gb, gpus_per_node: 1, usd_per_node_hour: 6, as_of: 2026-01-01, source: made up}
    bare: {gpu: a100-sxm-80gb, gpus_per_node: 1, as_of: 2026-01-01, source: made up}
axes: {instance: [big, small], arrival_rate: [30, 60, 120]}
"""
# A replica carries 7 req/s on a big node, which holds eight, and 5.6 req/s on a small one.


def paired(text: str, **question: object) -> xr.Dataset:
    return gridplan.pair(gridplan.loads_grid(text), **question)  # type: ignore[arg-type]


def problems(text: str, **question: object) -> list[str]:
    with pytest.raises(ContractError) as error:
        paired(text, **question)
    return [str(problem) for problem in error.value.problems]


def values(found: xr.Dataset, *names: str) -> list[object]:
    return [found[f"pair_{name}"].values.tolist() for name in names]


def test_two_kinds_by_hand() -> None:
    found = paired(TWO)
    # 60 req/s: a big node that lost a replica carries 49 and two small ones 11.2. Alone it takes two big nodes (80
    # USD/h) or twelve small ones (72). 120 req/s: 15 of 16 big replicas carry 105, three small ones 16.8.
    assert values(found, "instance_1", "nodes_1", "replicas_1") == [["big"] * 3, [1, 1, 2], [8, 8, 16]]
    assert values(found, "instance_2", "nodes_2", "replicas_2") == [[None, "small", "small"], [0, 2, 3], [0, 2, 3]]
    assert values(found, "usd_per_hour", "saving_usd_per_hour") == [[40, 52, 98], [0, 20, 22]]
    assert values(found, "single_instance", "single_nodes") == [["big", "small", "big"], [1, 12, 3]]
    assert values(found, "single_usd_per_hour") == [[40, 72, 120]]
    np.testing.assert_allclose(found["pair_request_share_1"], [1, 56 / 67.2, 112 / 128.8], rtol=1e-15)


def test_a_lost_node_is_the_one_that_carries_most() -> None:
    found = paired(TWO.replace("failure_domain: replica", "failure_domain: node"), at={"arrival_rate": 30})
    # Whatever has a big node loses it: 30 req/s are then left to others, of which one big or six small ones.
    assert values(found, "single_usd_per_hour", "single_nodes", "single_instance") == [7 * 6, 7, "small"]
    assert values(found, "usd_per_hour", "instance_2") == [42, None]
    assert found.attrs["at"] == "arrival_rate=30"


def test_one_kind_alone_costs_what_the_cube_says() -> None:
    for domain in ("gpu", "replica", "node"):
        for redundancy in (0, 1, 3):
            text = TWO.replace(
                "redundancy: 1, failure_domain: replica", f"redundancy: {redundancy}, failure_domain: {domain}"
            )
            cube = gridplan.evaluate(gridplan.loads_grid(text), ["usd_per_hour"])
            found = paired(text)
            np.testing.assert_array_equal(found["pair_single_usd_per_hour"], cube["usd_per_hour"].min("instance"))
            assert (found["pair_usd_per_hour"] <= found["pair_single_usd_per_hour"]).all()


def test_spares_for_the_limits_alone() -> None:
    text = TWO.replace("redundancy: 1,", "redundancy: 1, redundancy_basis: slo,")
    found = paired(text, at={"arrival_rate": 60})
    # One big node carries 56 with headroom and, after a loss, 70 at its limits: a small one brings the missing 4.
    assert values(found, "nodes_1", "nodes_2", "usd_per_hour") == [1, 1, 46]


def test_kinds_without_a_price_or_a_plan_are_left_out_by_name() -> None:
    found = paired(TWO.replace("[big, small]", "[big, small, bare]"))
    assert values(found, "left_out") == [["bare (no_price)"] * 3]
    assert found["pair_left_out_reason"].sel(instance="bare").values.tolist() == ["no_price"] * 3
    assert found["pair_left_out_reason"].sel(instance="big").values.tolist() == [None] * 3
    assert "bare is left out: no_price" in found.attrs["warnings"]
    np.testing.assert_array_equal(found["pair_usd_per_hour"], paired(TWO)["pair_usd_per_hour"])


def test_no_kind_at_all_is_null_with_reasons() -> None:
    found = paired(TWO.replace("[big, small]", "[bare]"), at={"arrival_rate": 30})
    assert values(found, "instance_1", "instance_2", "single_instance") == [None, None, None]
    for name in (
        "pair_nodes_1",
        "pair_nodes_2",
        "pair_usd_per_hour",
        "pair_saving_usd_per_hour",
        "pair_request_share_1",
    ):
        assert np.isnan(found[name])
    assert found["pair_left_out"].item() == "bare (no_price)"


def test_wide_replicas_buy_all_nodes_they_span() -> None:
    text = TWO.replace("workload: {}", "workload: {}\ndeployment: {pipeline_parallel: 16}")
    found = paired(text, at={"arrival_rate": 30})
    # A replica of 16 GPUs takes two big nodes or sixteen small ones, and 30 req/s take six or seven: 480 or 672 USD/h.
    assert values(found, "single_nodes", "single_usd_per_hour") == [2 * 6, 480]


def test_every_figure_has_its_unit_and_meaning() -> None:
    for name, item in paired(TWO).data_vars.items():
        row = dictionary()[str(name)]
        assert row.role == "answer"
        assert (item.attrs["unit"], item.attrs["long_name"]) == (row.unit, row.long_name)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("failure_domain: replica", "failure_domain: zone, zones: 3", "failure_domain zone cannot be planned"),
        ("redundancy: 1,", "redundancy: 1, maintenance_units: 1,", "maintenance_units cannot be planned"),
        ("workload: {}", "workload: {}\ndeployment: {usd_per_gpu_hour: 2}", "usd_per_gpu_hour is the price of single"),
        ("redundancy: 1,", "redundancy: 1, nodes_given: 4,", "nodes_given fixes the fleet"),
        (
            "redundancy: 1,",
            "redundancy: {by: instance, big: 1, small: 2},",
            "redundancy differs along instance (big: 1, small: 2)",
        ),
    ],
)
def test_what_a_pair_cannot_plan_is_said(old: str, new: str, said: str) -> None:
    assert any(said in text for text in problems(TWO.replace(old, new)))


def test_the_axis_of_kinds_must_be_there() -> None:
    assert (
        "needs the axis instance"
        in problems(
            TWO.replace("instance: [big, small], ", "").replace("{by: instance, big: 10, small: 8, bare: 8}", "8")
        )[0]
    )
    assert "instance is what is paired" in problems(TWO, at={"instance": "big"})[0]


def test_too_many_fleets_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridplan.engine.fleets.pair_figures.MOST_TRIALS", 2)
    with pytest.raises(GridTooLargeError, match="fleets of two kinds would be tried"):
        paired(TWO)
