"""Measured throughput: the law of a drained run, the bound, knees, the chart, and errors that stay where they were."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from compare_latency import errors, left_out, within
from drained_bound import bound_tokens_per_s
from drained_model import Known, steps, tokens_per_s
from latency_bins import deciles, one_constant, shipped_tpot
from latency_rows import SHARED, closed_loop, load_rows
from scatter_svg import Series, scatter
from sweep_knee import Stage, knees, measured_knee
from throughput_drained import figures
from throughput_rows import Run, Sorted
from throughput_table import Compared, compare_all, copies

RUN = Run(
    row="made up",
    kind="drained",
    model="llama-3.1-8b",
    gpu="h100-sxm",
    engine="vllm@0.11",
    weight_dtype="bf16",
    kv_dtype="bf16",
    tensor_parallel=1,
    pipeline_parallel=1,
    data_parallel=1,
    expert_parallel=1,
    prompt_tokens=1000.0,
    output_tokens=201.0,
    output_scv=0.0,
    requests=64.0,
    at_once=math.inf,
    limits=(),
    tokens_per_s=1.0,
    tpot_s=math.nan,
    assumed="",
)


def _replica(slots: float, budget: float = 8192.0) -> Known:
    values = {
        **{"concurrency_memory": slots, "concurrency_memory_mean": slots, "concurrency_scheduler": math.nan},
        **{"token_budget": budget, "data_parallel": 1.0, "step_fixed_s": 0.01, "step_experts_s": 0.0},
        **{"num_experts": math.nan, "experts_per_token": math.nan, "kv_read_per_context_token_s": 1e-8},
        **{"step_per_sequence_s": 2e-5, "class_prefill_multiplied_s": 0.02, "chunk_overhead_total_s": 0.001},
        **{"flop_params_count": 7e9, "peak_flops": 1e15, "memory_bandwidth_bytes_per_s": 3e12},
        **{"attention_full_flop": 0.0, "attention_window_flop": 0.0, "gpu_memory_bytes": 80e9},
        **{"weights_bytes_per_gpu": 16e9, "weights_read_bytes": 15e9, "experts_read_bytes": 0.0},
        "kv_read_bytes_per_token_per_gpu": 131072.0,
    }
    return Known(values)


def _steps_one_by_one(gaps: np.ndarray, prompt: float, slots: int, budget: float) -> int:
    """Steps until every answer is made: slots refill at once, prompts come by the budget that decoding leaves."""
    waiting, prefill, left = list(gaps), np.zeros(0), np.zeros(0)
    count = 0
    while waiting or prefill.size or left.size:
        while waiting and prefill.size // 2 + left.size < slots:
            prefill = np.concatenate([prefill, [prompt, waiting.pop(0)]])
        room, started = budget - left.size, []
        while prefill.size and room > 0:
            taken = min(room, prefill[0])
            room, prefill[0] = room - taken, prefill[0] - taken
            if prefill[0] <= 0:
                started.append(prefill[1])
                prefill = prefill[2:]
        left = np.concatenate([left[left > 1] - 1, started])
        count += 1
    return count


@pytest.mark.parametrize("slots", [8, 16, 24, 64])
@pytest.mark.parametrize("budget", [1024.0, 8192.0])
def test_steps_of_equal_answers_are_waves(slots: int, budget: float) -> None:
    made = steps(RUN, _replica(slots, budget)).number
    counted = _steps_one_by_one(np.full(64, 200.0), 1000.0, slots, budget)
    assert made == pytest.approx(counted, rel=0.12)


@pytest.mark.parametrize("slots", [32, 128, 512])
def test_steps_of_exponential_answers_have_a_tail(slots: int) -> None:
    rng = np.random.default_rng(5)
    run = replace(RUN, output_scv=1.0, requests=512.0)
    counted = [_steps_one_by_one(np.maximum(rng.exponential(200.0, 512), 1.0), 1000.0, slots, 8192.0) for _ in range(6)]
    assert steps(run, _replica(slots)).number == pytest.approx(np.mean(counted), rel=0.12)


def test_one_request_alone_takes_its_prefill_and_its_steps() -> None:
    made = tokens_per_s(replace(RUN, requests=1.0), _replica(64.0))
    taken = 0.02 + 0.001 * 1000 / 8192 + 200 * (0.01 + 1e-8 * 1100.5 + 2e-5) + 0.01 * 1000 / 8192
    assert made == pytest.approx(1201 / taken, rel=1e-9)


def test_the_bound_is_flop_or_bytes() -> None:
    short, by = bound_tokens_per_s(replace(RUN, output_tokens=1.0), _replica(64.0))
    assert by == "FLOP"
    assert short == pytest.approx(1001 / (2 * 7e9 * 1000 / 1e15))
    alone, by = bound_tokens_per_s(replace(RUN, requests=1.0), _replica(64.0))
    assert by == "bytes"
    assert alone == pytest.approx(1201 / (200 * (15e9 + 131072 * 1100.5) / 3e12))


def test_a_knee_lies_between_the_chord_and_the_stage_that_breaks() -> None:
    stages = [
        Stage(1, 1, 0.03, 0.010),
        Stage(50, 50, 0.03, 0.014),
        Stage(80, 79.5, 0.05, 0.026),
        Stage(99, 82, 2, 0.03),
    ]
    low, high = measured_knee(stages, 0.06, 0.020)
    assert low == pytest.approx(65.0)
    assert high == 80.0
    assert measured_knee(stages, 0.06, 0.027)[1] == 82.0


def test_tenths_keep_equal_rows_together() -> None:
    at_once = np.array([1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 9] * 3)
    masks = deciles(at_once)
    assert sum(mask.sum() for mask in masks) == len(at_once)
    assert all(not set(at_once[a]) & set(at_once[b]) for i, a in enumerate(masks) for b in masks[:i])


def test_the_chart_is_well_formed_and_keeps_equal_points_on_the_diagonal() -> None:
    series = [
        Series("dense", "#0072b2", "circle", [10.0, 100.0], [10.0, 100.0]),
        Series("MoE", "#d55e00", "triangle", [20], [30]),
    ]
    text = scatter(("Finding < all", "more"), "TPOT, ms", series, 0.3)
    root = ET.fromstring(text)
    dots = [one for one in root.iter() if one.tag.endswith("circle") and float(one.get("cy", "0")) > 120]
    low, high = ((float(dot.get("cx", "0")), float(dot.get("cy", "0"))) for dot in dots[-2:])
    assert low[0] < high[0]
    assert low[1] > high[1]
    assert text == scatter(("Finding < all", "more"), "TPOT, ms", series, 0.3)


@pytest.fixture(scope="module")
def measured() -> tuple[Sorted, tuple[Compared, ...], tuple[Compared, ...]]:
    if not SHARED.is_dir():
        pytest.skip("the measured points are not beside this checkout")
    return compare_all()


Measured = tuple[Sorted, tuple[Compared, ...], tuple[Compared, ...]]


def test_every_row_is_compared_or_left_out_with_a_reason(measured: Measured) -> None:
    rows = measured[0]
    names = [one.row for one in (*rows.drained, *rows.closed)]
    names += [row["id"] for row in rows.sweeps] + [row for row, _ in rows.left_out]
    with (SHARED / "throughput.csv").open(encoding="utf-8") as file:
        assert len(names) == sum(1 for _ in file) - 1
    assert len(set(names)) == len(names)
    assert all(reason for _, reason in rows.left_out)


def test_drained_runs_are_predicted_with_nothing_fitted_to_them(measured: Measured) -> None:
    found = figures(measured[1])
    assert found["all"] <= 30.0
    assert found["dense"] <= 20.0
    assert found["moe"] <= 33.0


def test_only_rows_that_cannot_be_loaded_are_above_the_bound(measured: Measured) -> None:
    runs = (*measured[1], *measured[2])
    assert [one.run.row for one in runs if one.breaks_bound] == [one.run.row for one in runs if not one.fits]
    assert all(one.predicted <= one.bound for one in runs)


def test_rows_copied_from_another_gpu_are_found(measured: Measured) -> None:
    pairs = copies(measured[1])
    assert len(pairs) == 4
    assert {b.gpu for _, b in pairs} == {"h100-sxm"}


def test_sweeps_have_the_knees_that_were_measured(measured: Measured) -> None:
    """The target of 25% is missed; what is held is where the knees are, how far off, and that tops are close.

    An engine whose prompts take steps of their own is predicted where each of them is charged one.
    """
    found = knees(measured[0].sweeps)
    older = next(one for one in found if one.name.startswith("V0"))
    assert older.low <= older.alone <= older.high < older.predicted
    assert [round(one.middle) for one in found if one.identifiable] == [88, 157]
    assert [bool(one.excluded) for one in found] == [False, False, True, True]
    assert all(-0.42 < one.error < 0.0 for one in found if one.identifiable)
    assert all(0.6 < one.predicted_top / one.top < 1.2 for one in found if one.identifiable)


def test_shipped_constants_hold_at_every_concurrency(measured: Measured) -> None:
    rows = load_rows(closed_loop())
    tpot, truth, moe = shipped_tpot(rows), rows.of("tpot_s"), rows.is_moe
    dense = errors(tpot[~moe], truth[~moe])
    assert (dense[0], dense[1]) <= (22.0, 15.0)
    assert dense[0] < 10.0
    assert dense[1] < 8.0
    assert errors(tpot[moe], truth[moe])[0] < 13.0
    assert within(rows)[0] >= 0.8
    for mask in deciles(rows.of("concurrency")):
        for kind in (mask & ~moe, mask & moe):
            assert kind.sum() < 10 or abs(errors(tpot[kind], truth[kind])[2]) < 12.0


@pytest.mark.slow
def test_one_constant_of_a_system_halves_what_an_unseen_moe_misses(measured: Measured) -> None:
    rows = load_rows(closed_loop())
    base, truth, moe = left_out(rows), rows.of("tpot_s"), rows.is_moe
    own = one_constant(rows, base)
    assert errors(own[~moe], truth[~moe])[0] < 9.0
    assert errors(own[moe], truth[moe])[0] < 16.0 < 25.0 < errors(base[moe], truth[moe])[0] < 40.0
