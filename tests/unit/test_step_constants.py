"""Constants of the step time: the table, which row holds where, and what a contract makes of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import gridplan
from gridplan import chain
from gridplan.catalog import ENDS, STEP_CONSTANTS, load_catalog
from gridplan.engine.inputs import build_inputs

SHIPPED = load_catalog()
OVERHEADS = ("step_overhead_s", "layer_overhead_s", "all_reduce_s", "sequence_overhead_s")


@pytest.mark.parametrize("row", SHIPPED.step_constants, ids=lambda row: f"{row.gpu_families}-{row.kind}-{row.name}")
def test_a_row_says_what_it_is_and_how_well_it_is_known(row: Any) -> None:
    assert row.name in STEP_CONSTANTS
    assert row.kind in ("dense", "moe")
    assert 0 < row.low <= row.best <= row.high
    assert row.rows >= 10
    assert row.groups >= 1
    assert row.cls == ("assumption" if row.gpu_families == "any" else "measurement")
    assert row.source
    assert row.as_of
    assert row.valid_where
    families = {gpu.family for gpu in SHIPPED.gpus.values()}
    assert row.gpu_families == "any" or set(row.gpu_families.split(";")) <= families
    assert row.engine == "any" or row.engine in {entry.name for entry in SHIPPED.engines}
    if not row.name.endswith("_s"):
        assert row.high <= 1.0


@pytest.mark.parametrize("is_moe", [False, True])
def test_every_gpu_and_engine_has_every_constant(is_moe: bool) -> None:
    names = [name for name in STEP_CONSTANTS if is_moe or name != "mbu_experts"]
    for gpu in SHIPPED.gpus.values():
        assert gpu.family
        for engine in SHIPPED.engines:
            for name in names:
                assert SHIPPED.step_constant(name, engine, gpu, is_moe).best > 0
    assert SHIPPED.step_constant("mbu", None, None, is_moe).gpu_families == "any"
    with pytest.raises(KeyError):
        SHIPPED.step_constant("speed", None, None, is_moe)


def test_what_was_measured_of_an_engine_stands_before_what_is_common() -> None:
    vllm, gpu = SHIPPED.engine("vllm"), SHIPPED.gpu("h100-sxm")
    assert SHIPPED.step_constant("mbu_experts", vllm, gpu, True).engine == "vllm"
    assert SHIPPED.step_constant("mbu", vllm, gpu, True).engine == "any"
    assert SHIPPED.step_constant("mbu", vllm, SHIPPED.gpu("mi300x"), True).gpu_families == "any"


def test_the_low_end_is_that_of_the_time() -> None:
    share = SHIPPED.step_constant("mbu", None, None, False)
    time = SHIPPED.step_constant("layer_overhead_s", None, None, False)
    assert [share.at(end) for end in ENDS] == [share.high, share.best, share.low]
    assert [time.at(end) for end in ENDS] == [time.low, time.best, time.high]


def test_links_count_one_direction() -> None:
    """NVLink 4 moves 900 GB/s in both directions together; sixteen lanes of PCIe 4 move 31.5 GB/s in one."""
    assert SHIPPED.gpu("h100-sxm").link_bytes_per_s == 450e9
    assert SHIPPED.gpu("l40s").link_bytes_per_s == pytest.approx(31.5e9, rel=1e-3)


def values(deployment: dict[str, Any], **more: Any) -> dict[str, np.ndarray]:
    """Every array of a grid of one model and two classes."""
    classes = [
        {"name": "short", "weight": 0.75, "prompt_tokens": 1000, "output_tokens": 200},
        {"name": "long", "weight": 0.25, "prompt_tokens": 12000, "output_tokens": 400},
    ]
    text = {
        **{"schema": 1, "workload": {"classes": classes, "arrival_rate": 1}},
        **{"deployment": {"gpu": "h100-sxm", "engine": "vllm", "workspace_bytes": "4 GiB", **deployment}},
        **{"policy": {"rho_target": 0.7, "redundancy": 0}, **more},
    }
    inputs = build_inputs(gridplan.loads_grid(json.dumps(text)))
    return dict(chain.evaluate(inputs.steps, {name: item.data for name, item in inputs.values.items()}))


DENSE: dict[str, Any] = {"model": "llama-3.3-70b", "weight_dtype": "fp8", "tensor_parallel": 4}


def test_a_stated_share_is_that_of_the_whole_step() -> None:
    plain = values({**DENSE, "mbu": 0.7, "mfu": 0.4})
    for name in (*OVERHEADS, "chunk_layer_overhead_s", "all_reduce_token_s", "step_per_sequence_s"):
        assert plain[name].item() == 0.0, name
    read = plain["weights_read_bytes"].item() / (4 * 3.35e12 * 0.7)
    assert plain["step_fixed_s"].item() == pytest.approx(read, rel=1e-12)
    params = SHIPPED.model("llama-3.3-70b")
    multiplied = params.params_total - 2 * params.params_embedding
    assert plain["prefill_compute_per_token_s"].item() == pytest.approx(2 * multiplied / (4 * 1979e12 * 0.4), rel=1e-12)


def test_each_half_of_a_step_is_stated_apart() -> None:
    """Whoever states only mfu has said nothing of launches in decode, and the other way round."""
    decode, prefill = values({**DENSE, "mbu": 0.7}), values({**DENSE, "mfu": 0.4})
    assert decode["layer_overhead_s"].item() == 0.0 < decode["chunk_layer_overhead_s"].item()
    assert prefill["chunk_layer_overhead_s"].item() == 0.0 < prefill["layer_overhead_s"].item()
    assert values({**DENSE, "step_weights_s": 0.01})["layer_overhead_s"].item() == 0.0
    stated = values({**DENSE, "mbu": 0.7, "layer_overhead_s": 1e-5})
    assert stated["step_fixed_s"].item() == pytest.approx(decode["step_fixed_s"].item() + 80e-5, rel=1e-12)


def test_the_default_step_is_read_plus_overheads_of_80_layers() -> None:
    made = values(DENSE)
    row = {
        name: SHIPPED.step_constant(name, SHIPPED.engine("vllm"), SHIPPED.gpu("h100-sxm"), False).best
        for name in ("mbu", *OVERHEADS)
    }
    read = made["weights_read_bytes"].item() / (4 * 3.35e12 * row["mbu"])
    overhead = row["step_overhead_s"] + 80 * (row["layer_overhead_s"] + 2 * row["all_reduce_s"])
    assert made["step_fixed_s"].item() == pytest.approx(read + overhead, rel=1e-12)
    p = made["prefill_compute_per_token_s"].item()
    assert made["step_per_sequence_s"].item() == pytest.approx(row["sequence_overhead_s"] + p, rel=1e-12)


@pytest.mark.parametrize(
    "deployment", [DENSE, {"model": "qwen3-235b-a22b", "weight_dtype": "fp8", "tensor_parallel": 4}]
)
def test_ends_of_the_constants_bound_every_time(deployment: dict[str, Any]) -> None:
    low, best, high = (values({**deployment, "step_constants": end}) for end in ENDS)
    times = ("step_fixed_s", "step_experts_s", "kv_read_per_context_token_s", "step_per_sequence_s")
    for name in (*times, "prefill_compute_per_token_s", "prefill_work_s", "prefill_longest_raw_s"):
        assert low[name].item() <= best[name].item() <= high[name].item(), name
    assert low["step_fixed_s"].item() < high["step_fixed_s"].item()


def test_ends_may_be_an_axis() -> None:
    text = {
        **{"schema": 1, "workload": {"prompt_tokens": 1000, "output_tokens": 200, "arrival_rate": 1}},
        **{"deployment": {"gpu": "h100-sxm", "model": "llama-3.1-8b", "workspace_bytes": "4 GiB"}},
        **{"policy": {"rho_target": 0.7, "redundancy": 0}, "slo": {"tpot": {"limit": "20 ms", "percentile": "mean"}}},
        **{"axes": {"step_constants": list(ENDS)}},
    }
    cube = gridplan.evaluate(gridplan.loads_grid(json.dumps(text)))
    rates = cube["lambda_instance"].values
    assert rates[0] > rates[1] > rates[2]


def test_an_entry_of_ones_own_states_the_share_of_the_whole_step() -> None:
    made = values({**DENSE, "engine": "vllm@0.21"}, catalog={"engines": {"vllm@0.21": {"mbu": 0.6}}})
    assert made["mbu"].item() == 0.6
    assert made["layer_overhead_s"].item() == 0.0 < made["chunk_layer_overhead_s"].item()


def test_prefill_by_class_counts_attention_and_chunks() -> None:
    made = values({**DENSE, "max_num_batched_tokens": 8192})
    tokens, by_class = np.array([1000.0, 12000.0]), made["class_prefill_s"].reshape(2)
    p, rate = made["prefill_compute_per_token_s"].item(), 4 * 989e12 * made["mfu"].item()
    attention = 2 * 80 * 64 * 256 * tokens**2 / 2 / rate
    chunk = 80 * made["chunk_layer_overhead_s"].item() * np.array([1.0, 2.0])
    np.testing.assert_allclose(by_class, p * tokens + attention + chunk, rtol=1e-12)
    assert made["prefill_work_s"].item() == pytest.approx(0.75 * by_class[0] + 0.25 * by_class[1], rel=1e-12)
    assert made["prefill_longest_raw_s"].item() == pytest.approx(by_class[1], rel=1e-12)
    texts = values({**DENSE, "flop_params": "total", "mbu": 0.7, "mfu": 0.4})
    np.testing.assert_allclose(
        texts["class_prefill_s"].reshape(2), 2 * 70553706496 / (4 * 1979e12 * 0.4) * tokens, rtol=1e-12
    )
    given = values({**DENSE, "prefill_per_token_s": 1e-5})
    np.testing.assert_allclose(given["class_prefill_s"].reshape(2), 1e-5 * tokens, rtol=1e-12)


def test_a_machine_without_a_named_model_multiplies_what_it_states() -> None:
    """No table is known that would not multiply, and no layer that would cost time or attend."""
    text = {
        **{"schema": 1, "workload": {"prompt_tokens": 1000, "output_tokens": 100, "arrival_rate": 1}},
        "deployment": {
            **{
                "gpu_memory_bytes": 80e9,
                "memory_bandwidth_bytes_per_s": 2e12,
                "peak_flops": 3e14,
                "mbu": 0.5,
                "mfu": 0.5,
            },
            **{
                "weights_bytes": 16e9,
                "weights_read_bytes": 16e9,
                "params_active": 8e9,
                "kv_bytes_per_token_given": 131072,
                "max_num_seqs": 64,
            },
            "workspace_bytes": "4 GiB",
        },
        "policy": {"rho_target": 0.7, "redundancy": 0},
    }
    inputs = build_inputs(gridplan.loads_grid(json.dumps(text)))
    made = chain.evaluate(inputs.steps, {name: item.data for name, item in inputs.values.items()})
    assert np.asarray(made["prefill_compute_per_token_s"]).item() == pytest.approx(2 * 8e9 / 1.5e14, rel=1e-12)
    assert np.asarray(made["prefill_work_s"]).item() == pytest.approx(1000 * 2 * 8e9 / 1.5e14, rel=1e-12)
    assert np.asarray(made["step_fixed_s"]).item() == pytest.approx(16e9 / 1e12, rel=1e-12)
