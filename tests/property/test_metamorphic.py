"""What must not change, or must change in a known way, when the inputs of a plan are scaled.

Nothing here knows a right answer: each law compares two plans. Laws of the cube's shape (order of axes and labels,
units, scenarios) are in `test_metamorphic_cube.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.dictionary import dictionary

FEW = settings(max_examples=12, deadline=None)
CLOSE = 1e-9


def evaluated(text: str) -> xr.Dataset:
    return gridplan.evaluate(gridplan.loads_grid(f"schema: 1\n{text}"))


def assert_same(first: xr.Dataset, second: xr.Dataset, rel: float, but: frozenset[str] = frozenset()) -> None:
    """Every measure alike: labels and whole numbers equal, floats within `rel`, nulls in the same cells."""
    assert set(first.data_vars) == set(second.data_vars)
    for name in sorted(set(map(str, first.data_vars)) - but):
        mine, theirs = first[name].values, second[name].values
        if mine.dtype == object or dictionary()[name].dtype in ("int64", "bool"):
            np.testing.assert_array_equal(mine, theirs, err_msg=name)
        else:
            # margin_to_next is a ratio less one: its error is that of the ratio
            np.testing.assert_allclose(mine, theirs, rtol=rel, atol=rel * (name == "margin_to_next"), err_msg=name)


# ------------------------------------------------------------------------------------------------------- time and rate

POWER_OF_TIME = {"s": 1, "req/s": -1, "tok/s": -1, "USD/Mtok": 1, "USD": 1}
"""How measures scale with the unit of time, by their own unit; hours and months of the bill are not touched."""
PER_MONTH = {"requests_per_month": -1, "output_tokens_per_month": -1}


def timed(second: float) -> str:
    """One plan by each capacity model, with every time `second` times as long and every rate as much lower."""
    return f"""
workload: {{prompt_tokens: 700, output_tokens: 220, arrival_rate: {37 / second!r}, peak_to_average: 2.5}}
slo:
  ttft: {{limit: {1.5 * second!r}}}
  tpot: {{limit: {0.045 * second!r}}}
  e2e: {{limit: {12 * second!r}}}
deployment:
  gpu: h100-sxm
  model: llama-3.1-8b
  gpu_memory_utilization: 0.9
  workspace_bytes: 6 GiB
  max_num_seqs: 200
  step_weights_s: {0.0072 * second!r}
  step_per_context_token_s: {5.3e-8 * second!r}
  step_per_sequence_s: {1.1e-5 * second!r}
  prefill_per_token_s: {3.4e-5 * second!r}
  usd_per_node_hour: 20
  gpus_per_node: 8
capacity: {{lambda_instance_given: {4.1 / second!r}, e2e_latency_s: {6.5 * second!r}, applies_to: any}}
policy: {{rho_target: 0.7, redundancy: 1, lost_units: 1}}
axes: {{capacity_model: [littles_law, replica_seconds, measured]}}
"""


@given(st.floats(1e-3, 1e3))
@FEW
def test_longer_seconds_change_no_count(second: float) -> None:
    plain, scaled = evaluated(timed(1.0)), evaluated(timed(second))
    assert (plain.status == "ok").all()
    for name in map(str, plain.data_vars):
        row = dictionary()[name]
        power = PER_MONTH.get(name, POWER_OF_TIME.get(row.unit, 0))
        if plain[name].dtype == object or (power == 0 and row.dtype in ("int64", "bool")):
            np.testing.assert_array_equal(plain[name], scaled[name], err_msg=name)
        else:
            np.testing.assert_allclose(scaled[name], plain[name] * second**power, rtol=CLOSE, err_msg=name)


def test_time_scaling_reaches_every_kind_of_measure() -> None:
    known = {"", "1", "bytes", "tokens", "count", "sequences", "GPUs", "replicas", "requests", "replica-s/s", "FLOP"}
    known |= {"USD/h", "USD/day", "USD/month", "label", "bool", *POWER_OF_TIME}
    assert {dictionary()[name].unit for name in map(str, evaluated(timed(1.0)).data_vars)} <= known


# -------------------------------------------------------------------------------------------------------- cache bytes


@given(
    pool=st.integers(1, 200 * 2**30),
    per_token=st.integers(1_000, 600_000),
    prompt=st.integers(1, 8_000),
    output=st.integers(1, 8_000),
    efficiency=st.floats(0.5, 1.0),
    ranks=st.sampled_from([1, 2, 8]),
)
@FEW
def test_twice_the_cache_bytes_halve_every_ceiling(
    pool: int, per_token: int, prompt: int, output: int, efficiency: float, ranks: int
) -> None:
    ds = evaluated(f"""
workload: {{prompt_tokens: {prompt}, output_tokens: {output}, arrival_rate: 1}}
deployment: {{kv_pool_bytes_given: {pool}, kv_bytes_per_token_given: {per_token}, kv_efficiency: {efficiency!r},
  tensor_parallel: {ranks}, kv_block_tokens: 1}}
capacity: {{capacity_model: littles_law, e2e_latency_s: 1}}
policy: {{rho_target: 0.7}}
scenarios: {{doubled: {{kv_bytes_per_token_given: {{multiply: 2}}}}}}
""")
    for name in ("kv_pool_tokens", "concurrency_memory", "concurrency_memory_worst"):
        once, twice = ds[name].sel(scenario="nominal").item(), ds[name].sel(scenario="doubled").item()
        assert twice == once // 2, name
    per_sequence = ds.kv_bytes_per_sequence
    assert per_sequence.sel(scenario="doubled") == 2 * per_sequence.sel(scenario="nominal")


# ------------------------------------------------------------------------------------------------------------ classes


def mixed(classes: list[tuple[float, int, int]]) -> str:
    rows = "\n".join(
        f"    - {{name: c{index}, weight: {weight!r}, prompt_tokens: {prompt}, output_tokens: {output}}}"
        for index, (weight, prompt, output) in enumerate(classes)
    )
    return f"""
workload:
  arrival_rate: 60
  peak_to_average: 3
  classes:
{rows}
slo: {{tpot: {{limit: 50 ms}}, e2e: {{limit: 60 s}}}}
deployment: {{gpu: h100-sxm, model: llama-3.1-8b, workspace_bytes: 6 GiB, gpu_memory_utilization: 0.9}}
policy: {{rho_target: 0.7}}
axes: {{resident_context: [final, mean, residence_weighted, max], step_context: [mean, final]}}
"""


lengths = st.tuples(st.integers(1, 4_000), st.integers(1, 1_000))


@given(st.lists(lengths, min_size=1, max_size=4), st.integers(0, 3), st.floats(0.05, 0.95))
@FEW
def test_a_class_split_in_two_changes_nothing(rows: list[tuple[int, int]], which: int, share: float) -> None:
    which %= len(rows)
    weight = 1 / len(rows)
    whole = [(weight, *row) for row in rows]
    split = [*whole[:which], (weight * share, *rows[which]), (weight * (1 - share), *rows[which]), *whole[which + 1 :]]
    assert_same(evaluated(mixed(whole)), evaluated(mixed(split)), rel=1e-12)


# -------------------------------------------------------------------------------------------------------------- price


@pytest.mark.parametrize(
    "priced", ["{usd_per_node_hour: 12.3, gpus_per_node: 8", "{usd_per_gpu_hour: 1.7, gpus_per_node: 8"]
)
def test_three_times_the_price_triples_the_bill(priced: str) -> None:
    name = priced.split(":")[0].strip("{")
    ds = evaluated(f"""
workload: {{prompt_tokens: 700, output_tokens: 220, arrival_rate: 37, peak_to_average: 2.5}}
slo: {{tpot: {{limit: 50 ms}}}}
deployment: {priced}, gpu: h100-sxm, model: llama-3.1-8b}}
policy: {{rho_target: 0.7}}
axes: {{tensor_parallel: [1, 2, 8]}}
scenarios: {{dear: {{{name}: {{multiply: 3}}}}}}
""")
    plain, dear = (ds.sel(scenario=label) for label in ("nominal", "dear"))
    bills = frozenset(map(str, (variable for variable in ds.data_vars if str(variable).startswith("usd_"))))
    assert len(bills) == 10
    assert_same(plain, dear, rel=0.0, but=bills)
    for bill in bills:
        assert plain[bill].notnull().all()
        np.testing.assert_allclose(dear[bill], 3 * plain[bill], rtol=1e-12, err_msg=bill)


# ---------------------------------------------------------------------------------------------------------- more, less


def with_axis(axis: str, prompt: int, output: int, tp: int, model: str, capacity: str, max_num_seqs: int) -> xr.Dataset:
    load = "" if axis.startswith("arrival_rate") else ", arrival_rate: 900"
    rho = "" if axis.startswith("rho_target") else ", rho_target: 0.7"
    return evaluated(f"""
workload: {{prompt_tokens: {prompt}, output_tokens: {output}{load}}}
slo: {{tpot: {{limit: 60 ms}}, ttft: {{limit: 10 s}}, e2e: {{limit: 200 s}}}}
deployment: {{gpu: h100-sxm, model: {model}, tensor_parallel: {tp}, workspace_bytes: 4 GiB, gpu_memory_utilization: 0.9,
  max_num_seqs: {max_num_seqs}}}
capacity: {{capacity_model: {capacity}}}
policy: {{redundancy: 0{rho}}}
axes: {{{axis}}}
""")


def rises(ds: xr.Dataset) -> np.ndarray:
    """Steps of `replicas` along the axis; no plan counts as infinitely many."""
    counts = np.where(ds.replicas.isnull(), np.inf, ds.replicas)
    return np.array([0.0 if after == before else after - before for before, after in pairwise(counts)])


shapes = {
    "prompt": st.integers(10, 4_000),
    "output": st.integers(10, 1_000),
    "tp": st.sampled_from([1, 2, 4]),
    "model": st.sampled_from(["llama-3.1-8b", "qwen3-14b", "qwen3-32b"]),
    "capacity": st.sampled_from(["replica_seconds", "littles_law"]),
}


@given(**shapes)
@FEW
def test_more_load_never_needs_fewer_replicas(prompt: int, output: int, tp: int, model: str, capacity: str) -> None:
    steps = rises(with_axis("arrival_rate: {geomspace: [0.01, 10000, 60]}", prompt, output, tp, model, capacity, 256))
    assert (steps >= 0).all()


@pytest.mark.parametrize(
    "axis",
    [
        "rho_target: {linspace: [0.02, 1, 60]}",
        "gpu_memory_bytes: {linspace: [20e9, 400e9, 60]}",
        "memory_bandwidth_bytes_per_s: {geomspace: [5e11, 8e12, 60]}",
        "peak_flops: {geomspace: [5e13, 4e15, 60]}",
    ],
)
@given(**shapes)
@FEW
def test_more_of_a_resource_never_needs_more_replicas(
    axis: str, prompt: int, output: int, tp: int, model: str, capacity: str
) -> None:
    # 64 sequences stay below the batch at which FLOPs bind; that case has its own law below.
    assert (rises(with_axis(axis, prompt, output, tp, model, capacity, 64)) <= 0).all()


@pytest.mark.parametrize("model", ["llama-3.1-8b", "qwen3-14b"])
def test_more_bandwidth_never_needs_more_replicas_where_flops_bind(model: str) -> None:
    # Beyond the knee a replica's rate is that of its FLOPs, whatever the bandwidth.
    ds = evaluated(f"""
workload: {{prompt_tokens: 20, output_tokens: 500, arrival_rate: 20000}}
slo: {{tpot: {{limit: 50 ms}}}}
deployment: {{gpu: h100-sxm, model: {model}, workspace_bytes: 4 GiB, gpu_memory_utilization: 0.9, max_num_seqs: 4096,
  mbu: 0.7, mfu: 0.45}}
policy: {{rho_target: 0.7, redundancy: 0}}
axes: {{memory_bandwidth_bytes_per_s: {{geomspace: [4e12, 8e12, 200]}}}}
""")
    # The knee counts whole sequences, so a step of it may cost what one sequence carries, and no more.
    assert (ds.binding_constraint == "compute").sum() > 100
    one_sequence = np.ceil(ds.replicas.values / ds.concurrency.values)[1:]
    assert (rises(ds) <= one_sequence).all()


# ------------------------------------------------------------------------------------------------- a scaled measurement


def test_fp8_cache_scales_the_lessons_rate_without_a_jump(cube: Callable[[str], xr.Dataset]) -> None:
    # The lesson says that the rate rises by 8 to 12%: a measured rate is scaled, never replaced by an analytical one.
    fp8, nominal = (cube("lesson").sel(scenario=name) for name in ("fp8_kv", "nominal"))
    assert (fp8.capacity_source == "scaled").all()
    assert (nominal.capacity_source == "measured").all()
    ratio = fp8.lambda_instance / nominal.lambda_instance
    np.testing.assert_allclose(ratio, fp8.lambda_analytical / nominal.lambda_analytical, rtol=1e-12)
    assert ((ratio > 1.0) & (ratio < 1.12)).all()
    assert (abs(fp8.replicas - nominal.replicas) <= 1).all()
    assert (abs(fp8.replicas_active - nominal.replicas_active) <= 1).all()
