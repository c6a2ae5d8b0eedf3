"""What must not change when a grid says the same thing in another way: units, order, axes of one label, scenarios, by.

The grid under test has cells of every kind: plans, memory too small, limits out of reach, illegal splits.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.catalog import load_catalog
from gridplan.dictionary import dictionary

FEW = settings(max_examples=10, deadline=None)

VALUES: Mapping[str, str] = {
    "prompt_tokens": "3000",
    "output_tokens": "500",
    "peak_to_average": "2.5",
    "gpu_memory_utilization": "0.9",
    "workspace_bytes": "4 GiB",
    "max_num_seqs": "256",
    "tpot_slo_s": "0.05",
    "e2e_slo_s": "40",
    "kv_efficiency": "0.95",
    "redundancy": "1",
    "hours_per_month": "732",
    "kv_dtype": "fp8",
    "resident_context": "mean",
    "lost_units": "1",
    "lost_domain": "node",
}
AXES: Mapping[str, tuple[str, ...]] = {
    "gpu": ("l4", "a100-sxm-80gb", "h100-sxm", "mi300x"),
    "model": ("llama-3.1-8b", "llama-3.3-70b", "mixtral-8x7b"),
    "tensor_parallel": ("1", "2", "3", "8"),
    "arrival_rate": ("0.5", "7", "300"),
    "rho_target": ("0.55", "0.9"),
}


def evaluated(axes: Mapping[str, tuple[str, ...]], values: Mapping[str, str], more: str = "") -> xr.Dataset:
    stated = ", ".join(f"{name}: {value}" for name, value in values.items())
    rows = "\n".join(f"  {name}: [{', '.join(labels)}]" for name, labels in axes.items())
    heading = "axes:\n" if rows else ""
    return gridplan.evaluate(gridplan.loads_grid(f"schema: 1\ndeployment: {{{stated}}}\n{heading}{rows}\n{more}"))


@pytest.fixture(scope="module")
def base() -> xr.Dataset:
    ds = evaluated(AXES, VALUES)
    kinds = set(np.unique(ds.infeasible_reason.values.astype(str)))
    assert kinds >= {"None", "weights_exceed_memory", "tensor_parallel_illegal", "tpot_unreachable"}
    return ds


def assert_equal(first: xr.Dataset, second: xr.Dataset) -> None:
    """Bit for bit the same measures on the same labels; dimensions may stand in another order."""
    assert set(first.data_vars) == set(second.data_vars)
    for name in first.data_vars:
        assert set(first[name].dims) == set(second[name].dims), name
        np.testing.assert_array_equal(first[name], second[name].transpose(*first[name].dims), err_msg=str(name))


# -------------------------------------------------------------------------------------------------------------- order


@given(st.fixed_dictionaries({name: st.permutations(labels) for name, labels in AXES.items()}))
@FEW
def test_permuted_labels_permute_the_result(base: xr.Dataset, axes: dict[str, list[str]]) -> None:
    ds = evaluated({name: tuple(labels) for name, labels in axes.items()}, VALUES)
    assert [str(label) for label in ds.gpu.values] == axes["gpu"]
    assert_equal(base, ds.sel({name: base[name].values for name in AXES}))


@given(st.permutations(list(AXES)))
@FEW
def test_axes_in_another_order_give_the_same_values(base: xr.Dataset, order: list[str]) -> None:
    ds = evaluated({name: AXES[name] for name in order}, VALUES)
    assert all(list(array.dims) == [name for name in order if name in array.dims] for array in ds.values())
    assert_equal(base, ds)


def test_sections_only_group_inputs(base: xr.Dataset) -> None:
    names = list(VALUES)
    parts = {"workload": names[:3], "deployment": names[3:6], "capacity": names[6:8], "policy": names[8:]}
    text = "\n".join(
        f"{section}: {{{', '.join(f'{name}: {VALUES[name]}' for name in group)}}}" for section, group in parts.items()
    )
    rows = "\n".join(f"  {name}: [{', '.join(labels)}]" for name, labels in AXES.items())
    assert_equal(base, gridplan.evaluate(gridplan.loads_grid(f"schema: 1\n{text}\naxes:\n{rows}\n")))


@pytest.mark.parametrize("name", VALUES)
def test_an_axis_of_one_label_changes_nothing_else(base: xr.Dataset, name: str) -> None:
    rest = {other: value for other, value in VALUES.items() if other != name}
    ds = evaluated({name: (VALUES[name],), **AXES}, rest)
    assert ds.sizes[name] == 1
    assert_equal(base, ds.squeeze(name))


@pytest.mark.parametrize("name", AXES)
def test_one_label_of_an_axis_is_the_value_stated(base: xr.Dataset, name: str) -> None:
    for label in AXES[name]:
        fewer = {other: labels for other, labels in AXES.items() if other != name}
        ds = evaluated(fewer, {**VALUES, name: label})
        position = AXES[name].index(label)
        assert_equal(base.isel({name: position}), ds)


# -------------------------------------------------------------------------------------------------------------- units

WRITTEN: Mapping[str, tuple[str, ...]] = {
    "gpu_memory_bytes": ("85899345920", "80 GiB", "81920 MiB", "85899345920 B", "0.078125 TiB"),
    "workspace_bytes": ("2500000000", "2.5 GB", "2500 MB", "2500000000 bytes"),
    "memory_bandwidth_bytes_per_s": ("3.35e12", "3.35 TB/s", "3350 GB/s"),
    "peak_flops": ("989e12", "989 TFLOP/s", "0.989 PFLOP/s"),
    "params_total": ("8.03e9", "8.03 B", "8030 M params"),
    "prompt_tokens": ("3000", "3k tokens", "3000 tokens"),
    "max_model_len": ("131072", "128Ki tokens", "131.072k tokens"),
    "tpot_slo_s": ("0.025", "25 ms", "25000 us"),
    "e2e_slo_s": ("6", "6 s", "0.1 min"),
    "arrival_rate": ("60", "60 req/s", "3600 req/min", "60 rps"),
    "rho_target": ("0.7", "70%", "70 %"),
    "gpu_memory_utilization": ("0.9", "90%"),
    "usd_per_node_hour": ("40.96", "40.96 USD/h", "40.96 $/h"),
    "hours_per_month": ("732", "732 h", "30.5 d"),
    "kv_bytes_per_token_given": ("131072", "128 KiB", "131072 B"),
    "step_weights_s": ("0.008", "8 ms", "8000 us", "0.008 s"),
}
SETTING = {
    **{name: forms[0] for name, forms in WRITTEN.items()},
    **{
        "gpu": "h100-sxm",
        "model": "llama-3.1-8b",
        "output_tokens": "500",
        "peak_to_average": "2",
        "gpus_per_node": "8",
    },
}


@pytest.fixture(scope="module")
def in_base_units() -> xr.Dataset:
    ds = evaluated({}, SETTING)
    assert ds.status.item() == "ok"
    return ds


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, forms in WRITTEN.items() for text in forms[1:]])
def test_every_way_of_writing_a_quantity_is_the_same_number(in_base_units: xr.Dataset, name: str, text: str) -> None:
    assert_equal(in_base_units, evaluated({}, {**SETTING, name: text}))


def test_every_quantity_above_reaches_a_measure(in_base_units: xr.Dataset) -> None:
    halved = {"rho_target", "gpu_memory_utilization", "hours_per_month"}
    for name in WRITTEN:
        value = float(SETTING[name]) * (0.5 if name in halved else 2.0)
        changed = evaluated({}, {**SETTING, name: repr(value)})
        assert not in_base_units.drop_vars(list(in_base_units.coords)).equals(
            changed.drop_vars(list(changed.coords))
        ), name


# ---------------------------------------------------------------------------------------------------------- scenarios


SCALED = [
    ("arrival_rate", (2.0, 7.0, 30.0), 1.5),
    ("prompt_tokens", (512.0, 3000.0, 20000.0), 2.0),
    ("tpot_slo_s", (0.02, 0.05, 0.08), 0.5),
    ("gpu_memory_bytes", (24e9, 48e9, 80e9), 1.75),
    ("rho_target", (0.4, 0.5), 1.6),
    ("mbu", (0.3, 0.45), 1.9),
]


def scaled_and_direct(name: str, labels: tuple[float, ...], factor: float) -> tuple[xr.Dataset, xr.Dataset]:
    """An axis under a scenario that scales it, and the axis of scaled labels."""
    others = {"gpu": "h100-sxm", "model": "llama-3.1-8b", "arrival_rate": "12", "rho_target": "0.7"}
    values = {other: value for other, value in {**VALUES, **others}.items() if other != name}
    more = f"scenarios: {{scaled: {{{name}: {{multiply: {factor}}}}}}}\n"
    ds = evaluated({name: tuple(map(repr, labels))}, values, more).sel(scenario="scaled")
    return ds, evaluated({name: tuple(repr(float(f"{label * factor:.12g}")) for label in labels)}, values)


@pytest.mark.parametrize(("name", "labels", "factor"), SCALED)
def test_a_scenario_that_scales_an_axis_is_the_axis_of_scaled_labels(
    name: str, labels: tuple[float, ...], factor: float
) -> None:
    ds, direct = scaled_and_direct(name, labels, factor)
    assert ds[name].values.tolist() == list(labels)
    for measure in map(str, direct.data_vars):
        if direct[measure].dtype == object or dictionary()[measure].dtype in ("int64", "bool"):
            np.testing.assert_array_equal(ds[measure], direct[measure], err_msg=measure)
        else:
            np.testing.assert_allclose(ds[measure], direct[measure], rtol=1e-11, err_msg=measure)


@pytest.mark.parametrize(("name", "labels", "factor"), SCALED)
def test_a_scaled_axis_shows_what_it_becomes(name: str, labels: tuple[float, ...], factor: float) -> None:
    ds, direct = scaled_and_direct(name, labels, factor)
    assert f"{name}_effective" in ds.coords
    np.testing.assert_allclose(ds[f"{name}_effective"], direct[name], rtol=1e-12)


def test_nominal_is_the_grid_without_scenarios(base: xr.Dataset) -> None:
    more = "scenarios: {surge: {arrival_rate: {multiply: 1.5}}, short: {prompt_tokens: 100}, bf16: {kv_dtype: bf16}}\n"
    ds = evaluated(AXES, VALUES, more)
    assert ds.scenario.values.tolist() == ["nominal", "surge", "short", "bf16"]
    nominal = ds.sel(scenario="nominal")
    for name in base.data_vars:
        wider = [dim for dim in nominal[name].dims if dim not in base[name].dims]
        assert not wider, name
    assert_equal(base, nominal)


CHANGE = {"kv_dtype": "bf16", "prompt_tokens": "900", "workspace_bytes": "2 GiB", "lost_units": "2"}
TOLD: Mapping[str, float] = {"3000": 3000, "900": 900, "4 GiB": 4 * 2**30, "2 GiB": 2 * 2**30, "1": 1, "2": 2}


def test_a_scenario_is_the_grid_with_its_values_stated() -> None:
    axes = {name: AXES[name] for name in ("gpu", "tensor_parallel", "arrival_rate", "rho_target")}
    values = {**VALUES, "model": "llama-3.3-70b"}
    inner = ", ".join(f"{name}: {value}" for name, value in CHANGE.items())
    ds = evaluated(axes, values, f"scenarios: {{other: {{{inner}}}}}\n").sel(scenario="other")
    assert_equal(evaluated(axes, {**values, **CHANGE}), ds)


@pytest.mark.parametrize("name", CHANGE)
def test_what_a_scenario_overrides_stands_beside_it(name: str) -> None:
    values = {**VALUES, "gpu": "h100-sxm", "model": "llama-3.1-8b", "arrival_rate": "12", "rho_target": "0.7"}
    ds = evaluated({}, values, f"scenarios: {{other: {{{name}: {CHANGE[name]}}}}}\n")
    assert name in ds.coords
    assert ds[name].dims == ("scenario",)
    assert ds[name].values.tolist() == [TOLD.get(text, text) for text in (VALUES[name], CHANGE[name])]


# ----------------------------------------------------------------------------------------------------- value by label


def test_a_value_by_label_is_the_cell_of_the_axis_of_labels(base: xr.Dataset) -> None:
    chosen = {"llama-3.1-8b": 1, "llama-3.3-70b": 8, "mixtral-8x7b": 2}
    by = "{by: model, " + ", ".join(f"{model}: {tp}" for model, tp in chosen.items() if tp != 2) + ", default: 2}"
    axes = {name: labels for name, labels in AXES.items() if name != "tensor_parallel"}
    ds = evaluated(axes, {**VALUES, "tensor_parallel": by})
    for model, tp in chosen.items():
        assert_equal(base.sel(model=model, tensor_parallel=tp), ds.sel(model=model))


def test_several_workloads_are_the_single_ones_side_by_side() -> None:
    lengths = {"chat": (700, 220), "code": (6000, 90)}
    axes = {name: AXES[name] for name in ("gpu", "rho_target")}
    values = {name: value for name, value in VALUES.items() if name not in ("prompt_tokens", "output_tokens")}
    values |= {"model": "llama-3.1-8b", "arrival_rate": "12"}
    listed = ", ".join(f"{name}: {{prompt_tokens: {p}, output_tokens: {o}}}" for name, (p, o) in lengths.items())
    ds = evaluated(axes, values, f"workloads: {{{listed}}}\n")
    for name, (prompt, output) in lengths.items():
        single = evaluated(axes, {**values, "prompt_tokens": str(prompt), "output_tokens": str(output)})
        assert_equal(single, ds.sel(workload=name))


# ------------------------------------------------------------------------------------------------------- default price


def test_a_default_price_is_a_list_price_of_a_shape_that_holds_the_replica() -> None:
    catalog = load_catalog()
    ds = gridplan.evaluate(
        gridplan.loads_grid("""
schema: 1
workload: {prompt_tokens: 100, output_tokens: 100, arrival_rate: 1}
deployment: {max_num_seqs: 8, kv_dtype: fp8, weight_dtype: fp16}
capacity: {capacity_model: littles_law, e2e_latency_s: 1}
policy: {rho_target: 0.7}
axes: {gpu: {catalog: gpus}, tensor_parallel: [1, 2, 4, 8]}
""")
    )
    assert ds.gpu.values.tolist() == list(catalog.gpus)
    priced = 0
    for gpu in ds.gpu.values:
        for tp in (1, 2, 4, 8):
            cell = ds.sel(gpu=gpu, tensor_parallel=tp)
            holding = [
                shape
                for shape in catalog.instances.values()
                if shape.gpu == gpu
                and shape.price_kind == "list"
                and shape.usd_per_node_hour is not None
                and (shape.gpus_per_node % tp == 0 or tp % shape.gpus_per_node == 0)
                and tp <= shape.scale_up_gpus
            ]
            if not holding:
                assert cell.priced_by.item() is None
                assert cell.usd_per_hour.isnull()
                continue
            priced += 1
            found = catalog.instances[cell.priced_by.item()]
            assert found in holding
            assert (cell.price_kind.item(), cell.price_as_of.item()) == ("on_demand", found.as_of)
            cheapest = min(float(shape.usd_per_node_hour or 0) / shape.gpus_per_node for shape in holding)
            assert float(cell.usd_per_gpu_hour_used) == pytest.approx(cheapest, rel=1e-12)
    assert priced > 40
    others = {shape.price_kind for shape in catalog.instances.values()} - {"list"}
    assert {"historic", "marketplace", "range"} <= others  # there is something to leave out
