"""Choosing entries for an axis, and the default price of a GPU."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridplan.catalog import cheapest_list_instance, load_catalog, select_gpus, select_instances, select_models
from gridplan.catalog.pricing import holds_replica
from gridplan.errors import CatalogError

SHIPPED = load_catalog()


def test_nvidia_gpus_of_40_gb_and_more() -> None:
    # 39.49 GiB of an A100-40 is 42.40e9 bytes: above 40 GB. The A10, L4 and 24 GB cards are below.
    chosen = select_gpus(SHIPPED, {"vendor": "NVIDIA", "memory_at_least": "40 GB"})
    assert chosen[:2] == ["a40", "a100-pcie-40gb"]
    assert "l4" not in chosen
    assert "mi300x" not in chosen
    assert "gh200-144gb" not in chosen  # its memory is not known, so no limit on it is met
    assert chosen == [gpu for gpu in SHIPPED.gpus if gpu in chosen]


def test_a_list_of_values_and_limits_on_both_sides() -> None:
    where = {"vendor": ["AMD", "intel"], "memory_at_least": "90 GiB", "memory_at_most": "192 GiB"}
    assert select_gpus(SHIPPED, where) == ["mi300x", "gaudi2", "gaudi3"]
    assert select_gpus(SHIPPED, {"flops_fp4_at_least": "14 PFLOP/s"}) == ["gb300"]
    assert select_gpus(SHIPPED, {"memory_bandwidth_at_least": "7.9 TB/s", "max_scale_up_domain": 72}) == [
        "gb200",
        "gb300",
    ]
    assert select_gpus(SHIPPED, {"memory_source": "engine_visible", "vendor": "AMD"}) == ["mi300x"]


def test_models_by_size_and_whether_they_can_be_planned() -> None:
    where = {"params_total_at_least": "600B params"}
    assert "deepseek-v3.2" in select_models(SHIPPED, where)
    assert select_models(SHIPPED, where | {"supported": True}) == select_models(SHIPPED, where)
    assert len(select_models(SHIPPED, {"supported": True})) == 99
    assert select_models(SHIPPED, {"attention": "mla", "num_layers_at_most": 27}) == ["deepseek-v2-lite"]


def test_instances_by_price_of_a_gpu() -> None:
    where = {"gpu": "h100-sxm", "price_kind": "list", "usd_per_gpu_hour_at_most": "4 USD/h", "gpus_per_node": 8}
    assert select_instances(SHIPPED, where) == ["lambda-gpu-8x-h100-sxm"]
    assert select_instances(SHIPPED, {"class": "assumption", "price_kind": "marketplace"}) == [
        "runpod-community-rtx-5090-per-gpu",
        "runpod-community-rtx-6000-ada-per-gpu",
        "runpod-community-rtx-3090-per-gpu",
    ]


def test_no_condition_chooses_everything_in_order() -> None:
    assert select_gpus(SHIPPED, {}) == list(SHIPPED.gpus)


@pytest.mark.parametrize(
    ("where", "part"),
    [
        ({"memory_atleast": "40 GB"}, "where.memory_atleast: unknown condition (did you mean memory_at_least"),
        ({"vendorr": "NVIDIA"}, "did you mean vendor"),
        ({"vendor_at_least": "NVIDIA"}, "a number is due, not 'NVIDIA'"),
        ({"memory_at_least": "40"}, "where.memory_at_least: "),
        ({"memory_at_least": "40 parsecs"}, "where.memory_at_least: "),
        ({"tdp_w_at_least": [300]}, "a number is due, not [300]"),
        ({"vendor": "Nvdia"}, "none of the 46 gpus of the catalog meets where: {vendor: Nvdia}"),
    ],
)
def test_a_bad_condition_is_refused(where: dict[str, object], part: str) -> None:
    with pytest.raises(CatalogError) as caught:
        select_gpus(SHIPPED, where)
    assert part in str(caught.value)


def test_all_bad_conditions_come_at_once_and_models_name_the_way_out() -> None:
    with pytest.raises(CatalogError) as caught:
        select_models(SHIPPED, {"planable": True, "size": 3})
    assert len(caught.value.problems) == 2
    assert "supported: true keeps models whose layer groups are known" in str(caught.value)


def test_the_cheapest_h100_depends_on_what_must_fit() -> None:
    # hyperstack 3.20 for one GPU; for a TP8 group only whole nodes count: lambda 31.92/8 = 3.99 a GPU.
    alone = cheapest_list_instance(SHIPPED, "h100-sxm", 1, 1)
    node = cheapest_list_instance(SHIPPED, "h100-sxm", 8, 1)
    assert alone is not None
    assert node is not None
    assert (alone.id, alone.usd_per_node_hour) == ("hyperstack-h100-sxm-per-gpu", 3.20)
    assert (node.id, node.usd_per_node_hour, node.gpus_per_node) == ("lambda-gpu-8x-h100-sxm", 31.92, 8)


def test_pipeline_stages_may_cross_hosts() -> None:
    staged = cheapest_list_instance(SHIPPED, "h100-sxm", 1, 8)
    assert staged is not None
    assert staged.gpus_per_node == 1


def test_trays_of_one_fabric_hold_a_wide_group() -> None:
    # GB200 NVL72: four GPUs a tray, 72 on one fabric; TP8 spans two trays, TP16 four.
    for width in (4, 8, 16):
        tray = cheapest_list_instance(SHIPPED, "gb200", width, 1)
        assert tray is not None
        assert tray.id == "coreweave-gb200-nvl72-4-gpu-instance"  # 42.00/4 = 10.50, below 16.00 and 27.04


@pytest.mark.parametrize("gpu", sorted(SHIPPED.gpus))
def test_no_default_price_is_historic_a_marketplace_or_a_range(gpu: str) -> None:
    for width in (1, 2, 4, 8):
        instance = cheapest_list_instance(SHIPPED, gpu, width, 1)
        if instance is not None:
            assert instance.price_kind == "list"
            assert instance.scale_up_gpus >= width


def test_no_list_price_is_no_price() -> None:
    assert cheapest_list_instance(SHIPPED, "rtx-3090", 1, 1) is None  # a marketplace price alone
    assert cheapest_list_instance(SHIPPED, "rtx-4090", 2, 1) is None  # single rentals alone
    assert cheapest_list_instance(SHIPPED, "mi325x", 1, 1) is None


def test_equal_prices_are_decided_by_id() -> None:
    # 22.32/8 and 2.79 are one price, though the floats differ in the last place at other sizes.
    fields = {"gpu": "a30", "gpus_per_node": 1, "usd_per_node_hour": 0.1}
    ours = SHIPPED.with_entries(
        {"instances": {"b": fields, "a": fields | {"gpus_per_node": 3, "usd_per_node_hour": 0.3}}}
    )
    cheapest = cheapest_list_instance(ours, "a30", 1, 1)
    assert cheapest is not None
    assert cheapest.id == "a"


@given(st.sampled_from(sorted(SHIPPED.instances)), st.integers(1, 16), st.integers(1, 8))
def test_what_holds_a_replica_packs_it_without_splitting_a_group(name: str, tp: int, pp: int) -> None:
    instance = SHIPPED.instance(name)
    if holds_replica(instance, tp, pp):
        assert tp <= instance.scale_up_gpus
        larger, smaller = max(instance.gpus_per_node, tp * pp), min(instance.gpus_per_node, tp * pp)
        assert larger % smaller == 0


@pytest.mark.parametrize("value", [{"a": 1}, [["NVIDIA"]]])
def test_a_condition_that_is_no_value_is_named(value: object) -> None:
    with pytest.raises(CatalogError, match="a value or a list of values is due"):
        select_gpus(load_catalog(), {"vendor": value})
