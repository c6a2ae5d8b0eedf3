"""What each sample file says, worked out by hand.

482 requests of 512 + 128 tokens at 8 a second, 480 of them done in 61.4 s, two failed. Figures in ms stand here in
seconds; totals are 480 x 512 = 245,760 and 480 x 128 = 61,440 tokens.
"""

from __future__ import annotations

from typing import Any

from gridplan.measured.sweep import Latency


def latency(mean_s: float, percentiles: str, values: str) -> Latency:
    return Latency(mean_s, dict(zip(map(float, percentiles.split()), map(float, values.split()), strict=True)))


P99, FOUR, SIX = "50 99", "50 90 95 99", "0 50 90 95 99 100"
TEN = "0 1 5 10 25 50 75 90 95 99 100"
TWELVE = "0 0.1 1 5 10 25 50 75 90 95 99 99.9 100"

TTFT = {
    P99: latency(0.0743, P99, "0.062 0.21"),
    FOUR: latency(0.0743, FOUR, "0.062 0.118 0.151 0.21"),
    SIX: latency(0.0743, SIX, "0.038 0.062 0.118 0.151 0.21 0.26"),
    TEN: latency(0.0743, TEN, "0.038 0.041 0.045 0.048 0.053 0.062 0.084 0.118 0.151 0.21 0.26"),
}
TPOT = {
    P99: latency(0.0145, P99, "0.0142 0.0198"),
    FOUR: latency(0.0145, FOUR, "0.0142 0.0164 0.0176 0.0198"),
    SIX: latency(0.0145, SIX, "0.0112 0.0142 0.0164 0.0176 0.0198 0.021"),
    TEN: latency(0.0145, TEN, "0.0112 0.0116 0.0125 0.0129 0.0136 0.0142 0.0152 0.0164 0.0176 0.0198 0.021"),
}
E2E = {
    P99: latency(1.9158, P99, "1.866 2.652"),
    FOUR: latency(1.9158, FOUR, "1.866 2.171 2.29 2.652"),
    SIX: latency(1.9158, SIX, "1.41 1.866 2.171 2.29 2.652 2.9"),
    TEN: latency(1.9158, TEN, "1.41 1.52 1.66 1.71 1.79 1.866 2.02 2.171 2.29 2.652 2.9"),
}
ITL = {
    P99: latency(0.0145, P99, "0.0139 0.0487"),
    "50 95 99": latency(0.0145, "50 95 99", "0.0139 0.0241 0.0487"),
    FOUR: latency(0.0145, FOUR, "0.0139 0.0179 0.0241 0.0487"),
}


def stamped(tool: str, form: str, **values: Any) -> dict[str, Any]:
    """What every sample of the scenario says, and what this one says more or otherwise."""
    common: dict[str, Any] = {
        "place": "",
        "tool": tool,
        "format": form,
        "loop": "open",
        "offered_rate_per_s": 8.0,
        "achieved_rate_per_s": 480 / 61.4,
        "requests_completed": 480,
        "duration_s": 61.4,
        "input_tokens_mean": 512.0,
        "output_tokens_mean": 128.0,
        "input_tokens_per_s": 245760 / 61.4,
        "output_tokens_per_s": 61440 / 61.4,
        "total_tokens_per_s": 307200 / 61.4,
        "tpot_definition": "excludes_first_token",
    }
    return common | values


CLOSED = {"loop": "closed", "offered_rate_per_s": None, "concurrency_limit": 16.0}


def vllm(form: str = "vllm-bench-serve", **values: Any) -> dict[str, Any]:
    settings = {
        **{
            "date": "20260115-101500",
            "endpoint_type": "openai-chat",
            "tokenizer_id": "org/model-8b",
            "burstiness": 1.0,
        },
        **{"request_rate": 8.0, "max_output_tokens_per_s": 1310.0, "max_concurrent_requests": 24, "rtfx": 0.0},
    }
    common = {
        **{"requests_offered": 482, "requests_failed": 2, "model": "org/model-8b", "backend": "openai-chat"},
        **{"ttft": TTFT[P99], "tpot": TPOT[P99], "itl": ITL[P99]},
    }
    settings |= values.pop("settings", {})
    return stamped("vllm", form, **(common | values), settings=settings)


def half_load(form: str, **values: Any) -> dict[str, Any]:
    """The same requests at 4 a second, in 120.6 s."""
    settings = {"request_rate": 4.0, "max_output_tokens_per_s": 702.0, "max_concurrent_requests": 12}
    own = {
        **{"offered_rate_per_s": 4.0, "achieved_rate_per_s": 480 / 120.6, "duration_s": 120.6},
        **{"input_tokens_per_s": 245760 / 120.6, "output_tokens_per_s": 61440 / 120.6},
        "total_tokens_per_s": 307200 / 120.6,
        "ttft": latency(0.063898, P99, "0.05332 0.1806"),
        "tpot": latency(0.01247, P99, "0.012212 0.017028"),
        "itl": latency(0.01247, P99, "0.011954 0.041882"),
    }
    settings |= values.pop("settings", {})
    return vllm(form, **(own | values), settings=settings)


def swept(form: str, place: str) -> list[dict[str, Any]]:
    """Runs of a sweep over the rate and max_num_seqs, two each; the list holds those of 64 sequences only."""
    points = []
    for seqs in (64, 128) if form == "vllm-sweep-csv" else (64,):
        for rate in (4, 8):
            for run in (0, 1):
                own: dict[str, Any] = {"settings": {"run_number": run, "max_num_seqs": seqs}}
                own["place"] = place.format(len(points) if place.startswith("[") else len(points) + 2)
                if rate == 4:
                    e2e = latency(1.647588, P99, "1.60476 2.28072")
                    points.append(half_load(form, e2e=e2e, **own))
                else:
                    points.append(vllm(form, e2e=E2E[P99], **own))
    return points


def sglang(statistics: str, itl: str | None = None, **values: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {
        **{"dataset_name": "random", "request_rate": 8.0, "random_input_len": 1024, "random_output_len": 256},
        **{"random_range_ratio": 0.0, "total_output_tokens_retokenized": 61403},
    }
    if statistics == FOUR:
        settings |= {"total_input_text_tokens": 245760, "total_input_vision_tokens": 0}
        settings |= {"max_output_tokens_per_s": 1310.0, "max_concurrent_requests": 24}
    settings |= values.pop("settings", {})
    common: dict[str, Any] = {
        "backend": "sglang",
        "concurrency_mean": 14.977,
        "output_tokens_requested": (1 + 256) / 2,  # uniform on 1 to 256
        **{"ttft": TTFT[statistics], "tpot": TPOT[statistics], "e2e": E2E[statistics], "itl": ITL[itl or statistics]},
    }
    settings = {key: value for key, value in settings.items() if value is not None}
    return stamped("sglang", "sglang-bench-serving", **(common | values), settings=settings)


def guidellm(form: str, version: str | None, index: int, kind: str, **values: Any) -> dict[str, Any]:
    old = form == "guidellm-0.2"
    settings: dict[str, Any] = {"profile": "sweep", "strategy.type_": kind}
    settings |= {"strategy_index": 3, "max_duration": 60.0} if old else {"run_index": 3}
    settings |= values.pop("settings", {})
    common: dict[str, Any] = {
        **{"place": f"benchmarks[{index}]", "tool_version": version, "concurrency_mean": 14.98},
        **{"requests_offered": 485, "requests_failed": 2, "requests_cancelled": 3},
        "warmup_s": None if old else 0.0,
        "ttft": latency(0.0743, TWELVE, "0.038 0.038 0.041 0.045 0.048 0.053 0.062 0.084 0.118 0.151 0.21 0.252 0.26"),
        "tpot": latency(
            0.0145, TWELVE, "0.0112 0.0112 0.0116 0.0125 0.0129 0.0136 0.0142 0.0152 0.0164 0.0176 0.0198 0.0209 0.021"
        ),
        "e2e": latency(1.9158, TWELVE, "1.41 1.41 1.52 1.66 1.71 1.79 1.866 2.02 2.171 2.29 2.652 2.88 2.9"),
        # Its largest value is below its p99.9, so the largest value is left out.
        "e2e_per_token": None
        if old
        else latency(
            0.01497,
            TWELVE.removesuffix(" 100"),
            "0.0111 0.01156 0.01198 0.01291 0.01332 0.01404 0.01466 0.01569 0.01693 0.01817 0.02044 0.02158",
        ),
    }
    return stamped("guidellm", form, **(common | values), settings=settings)


def nvidia(tool: str, form: str, **values: Any) -> dict[str, Any]:
    common: dict[str, Any] = {"ttft": TTFT[TEN], "tpot": TPOT[TEN], "e2e": E2E[TEN]}
    return stamped(tool, form, **(common | values))


def by_rate(rate: float) -> dict[str, Any]:
    """What follows where the rate of completed requests is printed and the duration is not."""
    return {
        **{"achieved_rate_per_s": rate, "duration_s": 480 / rate, "input_tokens_per_s": 512 * rate},
        **{"output_tokens_per_s": 128 * rate, "total_tokens_per_s": 640 * rate},
    }


UNLOADED = {"loop": "unknown", "offered_rate_per_s": None}


def staged(**values: Any) -> dict[str, Any]:
    common: dict[str, Any] = {
        **{"place": "stage 0", "sent_rate_per_s": 8.02, "requests_offered": 482, "requests_failed": 2},
        "ttft": latency(0.0743, TWELVE, "0.038 0.039 0.041 0.045 0.048 0.053 0.062 0.084 0.118 0.151 0.21 0.252 0.26"),
        "tpot": latency(
            0.0145, TWELVE, "0.0112 0.0113 0.0116 0.0125 0.0129 0.0136 0.0142 0.0152 0.0164 0.0176 0.0198 0.0209 0.021"
        ),
        "itl": latency(
            0.0145, TWELVE, "0.0031 0.0044 0.0089 0.0101 0.0112 0.0125 0.0139 0.0152 0.0179 0.0241 0.0487 0.0702 0.0911"
        ),
        "e2e": latency(1.9158, TWELVE, "1.41 1.43 1.52 1.66 1.71 1.79 1.866 2.02 2.171 2.29 2.652 2.88 2.9"),
        "e2e_per_token": latency(
            0.01497, TWELVE, "0.011 0.0111 0.0119 0.013 0.0134 0.014 0.0146 0.0158 0.017 0.0179 0.0207 0.0225 0.0227"
        ),
        "settings": {"send_duration_s": 60.1},
    }
    return stamped("inference-perf", "inference-perf-stage", **(common | values))


SLOS = {
    **{"goodput_slos_ms.ttft": 200.0, "goodput_slos_ms.tpot": 20.0, "slo_attainment": 0.9313},
    **{"slo_attainment_by_metric.ttft": 0.966, "slo_attainment_by_metric.tpot": 0.952},
}
QUARTILES = "0 25 50 75 90 95 99 100"
ENDPOINT = {"endpoint.type": "chat", "endpoint.streaming": True}
CONSTANT = {"strategy.rate": 8.0}

EXPECTED: dict[str, list[dict[str, Any]]] = {
    "vllm_bench_serve.json": [vllm()],
    "vllm_bench_serve_inf_conc.json": [vllm(**CLOSED, settings={"request_rate": "inf", "max_concurrency": 16})],
    "vllm_bench_serve_percentiles_goodput.json": [
        vllm(ttft=TTFT[FOUR], tpot=TPOT[FOUR], itl=ITL[FOUR], e2e=E2E[FOUR], goodput_rate_per_s=7.31)
    ],
    "vllm_bench_serve_append.jsonl": [half_load("vllm-bench-serve", place="line 1"), vllm(place="line 2")],
    "vllm_sweep_summary.csv": swept("vllm-sweep-csv", "line {}"),
    "vllm_sweep_summary.json": swept("vllm-sweep-json", "[{}]"),
    "sglang_bench_serving.jsonl": [
        sglang(FOUR, place="line 1"),
        sglang(FOUR, place="line 2", **CLOSED, settings={"request_rate": None, "max_concurrency": 16}),
    ],
    "sglang_bench_serving_goodput.jsonl": [sglang(FOUR, goodput_rate_per_s=7.31, settings=SLOS)],
    "sglang_bench_serving_2025_old.jsonl": [sglang(P99, "50 95 99")],
    "guidellm_v0.2-v0.3.json": [
        guidellm("guidellm-0.2", None, 0, "constant", settings=CONSTANT | {"strategy.initial_burst": True}),
        guidellm("guidellm-0.2", None, 1, "concurrent", **CLOSED, settings={"strategy.streams": 16}),
    ],
    "guidellm_v0.4-v0.6.json": [
        guidellm("guidellm-0.4", "0.6.0", 0, "constant", settings=CONSTANT | {"strategy.rampup_duration": 0.0}),
        guidellm("guidellm-0.4", "0.6.0", 1, "throughput", loop="drain", offered_rate_per_s=None),
    ],
    "guidellm_v0.7plus.json": [
        guidellm("guidellm-0.7", "0.8.1", 0, "poisson", settings=CONSTANT | {"strategy.rampup_duration": 0.0}),
        guidellm(
            *("guidellm-0.7", "0.8.1", 1, "concurrent"),
            **CLOSED,
            settings={"strategy.streams": 16, "strategy.rampup_duration": 0.0},
        ),
    ],
    "aiperf_0.1.1-0.2.json": [
        nvidia(
            *("aiperf", "aiperf-0.1"),
            **{"requests_offered": 482, "requests_failed": 2, "model": "org/model-8b"},
            settings={
                **{"was_cancelled": False, "loadgen.request_rate": 8.0, "loadgen.request_rate_mode": "poisson"},
                **{"loadgen.request_count": 482, **ENDPOINT},
            },
        )
    ],
    "aiperf_0.13.json": [
        nvidia(
            *("aiperf", "aiperf-0.13"),
            **{"requests_offered": 482, "requests_failed": 2, "model": "org/model-8b", "tool_version": "0.13.0"},
            goodput_rate_per_s=7.31,
            settings={
                **{"was_cancelled": False, "is_complete": True, "phases[0].name": "profiling"},
                **{"phases[0].type": "poisson", "phases[0].rate": 8.0, "phases[0].requests": 482},
            },
        )
    ],
    "aiperf.csv": [nvidia("aiperf", "aiperf-csv", **UNLOADED, requests_failed=2)],
    "genai_perf.json": [
        nvidia("genai-perf", "genai-perf-json", **by_rate(7.818), model="org/model-8b", settings=ENDPOINT)
    ],
    "genai_perf.csv": [nvidia("genai-perf", "genai-perf-csv", **UNLOADED, **by_rate(7.82))],
    "inference_perf_stage_0_lifecycle_metrics.v0.2-0.3.json": [staged(**by_rate(7.818))],
    "inference_perf_stage_0_lifecycle_metrics.v0.6plus.json": [staged()],
    "llmperf_model-8b_512_128_summary.json": [
        stamped(
            *("llmperf", "llmperf-summary"),
            **CLOSED,
            **by_rate(469.1 / 60),
            **{"requests_offered": 482, "requests_failed": 2, "tool_version": "2023-08-31", "model": "org/model-8b"},
            output_tokens_requested=128.0,
            tpot_definition="includes_first_token",
            **dict.fromkeys(
                ("tpot", "e2e_per_token"),
                latency(0.01497, QUARTILES, "0.011 0.014 0.0146 0.0158 0.017 0.0179 0.0207 0.0227"),
            ),
            ttft=latency(0.0743, QUARTILES, "0.038 0.053 0.062 0.084 0.118 0.151 0.21 0.26"),
            e2e=latency(1.9158, QUARTILES, "1.41 1.79 1.866 2.02 2.171 2.29 2.652 2.9"),
            settings={
                **{"name": "model-8b_512_128_summary", "mean_input_tokens": 512, "stddev_input_tokens": 0},
                **{"stddev_output_tokens": 0, "timestamp": 1768471261},
            },
        )
    ],
    "trtllm_bench_report.json": [
        stamped(
            *("trtllm-bench", "trtllm-bench-report"),
            **{"tool_version": "1.2.0", "model": "org/model-8b", "backend": "Pytorch", "concurrency_mean": 15.0},
            **{"ttft": TTFT[SIX], "tpot": TPOT[SIX], "e2e": E2E[SIX]},
            settings={
                **{"model_path": "None", "engine_dir": "None", "dtype": "bfloat16", "kv_cache_dtype": "FP8"},
                **{"quantization": "FP8", "tp_size": 1, "pp_size": 1, "ep_size": 1, "world_size": 1},
                **{"max_batch_size": 256, "max_num_tokens": 8192, "scheduling_policy": "GUARANTEED_NO_EVICT"},
                **{"kv_cache_percentage": 0.9, "machine": "NVIDIA H100 80GB HBM3"},
            },
        )
    ],
}
