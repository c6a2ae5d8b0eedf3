"""Where a start-up ends and the next begins, by what its banners say."""

from __future__ import annotations

import pytest

from gridplan.measured import EngineLog, last_complete, logs_of

POOL = "INFO [gpu_worker.py:298] Available KV cache memory: {} GiB"


def banner(who: str = "", version: str = "0.11.0", model: str = "Qwen/Qwen3-8B", of: str = "V1 ") -> str:
    tag = f"({who} pid=9) " if who else ""
    said = f"Initializing a {of}LLM engine (v{version}) with config: model='{model}', seed=0"
    return f"{tag}INFO 10-23 15:10:00 [core.py:77] {said}"


def server(who: str = "", version: str = "0.11.0") -> str:
    tag = f"({who} pid=1) " if who else ""
    return f"{tag}INFO 10-23 15:09:00 [api_server.py:1839] vLLM API server version {version}"


def arguments(model: str = "Qwen/Qwen3-8B") -> str:
    return f"(APIServer pid=1) INFO [utils.py:233] non-default args: {{'model': '{model}', 'max_num_seqs': 7}}"


def lines_of(*lines: str) -> list[tuple[int, int]]:
    return [(log.first_line, log.last_line) for log in logs_of("\n".join(lines))]


TWO = {
    "a core and, after its pool, an engine alone": [banner("EngineCore_DP0"), POOL, banner("EngineCore"), POOL],
    "untagged and, after its pool, tagged": [banner(), POOL, banner("EngineCore_0"), POOL],
    "another version": [banner("EngineCore_DP0"), "INFO loading", banner("EngineCore", "0.12.0"), POOL],
    "another model": [banner(), "INFO loading", banner("EngineCore_0", model="Qwen/Qwen3-4B"), POOL],
    "another version of the server": [server(), POOL, server("APIServer", "0.12.0"), POOL],
    "the same process": [banner("EngineCore_DP0"), "INFO loading", banner("EngineCore_DP0"), POOL],
    "a server after an engine alone": [banner(), "INFO crashed", arguments(), banner("EngineCore_0")],
    "an engine alone after a server's": [server(), POOL, banner("EngineCore_0"), POOL],
    "a refusal": [
        banner(),
        "ValueError: No available memory for the cache blocks. Try increasing it",
        banner("EngineCore_0"),
        POOL,
    ],
    "V0 and V1": [banner(of="V0 "), "INFO # CUDA blocks: 100, # CPU blocks: 5", banner("EngineCore_0"), POOL],
    "a pool without a banner": [POOL, "INFO stopped", banner(), POOL],
}


@pytest.mark.parametrize("lines", TWO.values(), ids=TWO)
def test_two_start_ups(lines: list[str]) -> None:
    assert lines_of(*(line.replace("{}", "8.64") for line in lines)) == [(1, 2), (3, 4)]


ONE = {
    "data-parallel cores": [banner(f"EngineCore_DP{rank}") for rank in range(4)] + [POOL.format("8.64")] * 4,
    "a core that is late": [banner("EngineCore_DP0"), POOL.format("8.64"), banner("EngineCore_DP1")],
    "a server, its arguments and its engine": [server("APIServer"), arguments(), banner("EngineCore_0")],
    "several servers": [server("ApiServer_0"), banner("EngineCore_0"), server("ApiServer_1")],
    "a report with the pool first": [POOL.format("5.98"), arguments(), banner("EngineCore")],
    "a report with the arguments last": [banner("EngineCore"), POOL.format("5.98"), arguments()],
    "a path in place of a name": [arguments(), banner("EngineCore_0", model="/models/qwen3-8b")],
}


@pytest.mark.parametrize("lines", ONE.values(), ids=ONE)
def test_one_start_up(lines: list[str]) -> None:
    assert lines_of(*lines) == [(1, len(lines))]


def test_arguments_belong_to_the_start_that_they_precede() -> None:
    lines = [banner("EngineCore_DP0", "0.10.0"), POOL.format("8.64"), arguments(), banner("EngineCore"), POOL.format(9)]
    first, second = logs_of("\n".join(lines))
    assert first.max_num_seqs is None
    assert (second.max_num_seqs and second.max_num_seqs.value) == 7


def read(*lines: str) -> EngineLog:
    return last_complete(logs_of("\n".join(lines)))


def test_v0_by_its_name() -> None:
    """vllm-project/vllm#17939 and #14452: 0.7 to 0.10 call the old engine V0."""
    log = read(banner(of="V0 ", version="0.9.1"), "INFO # cuda blocks: 27744, # CPU blocks: 4681")
    assert log.generation == "V0"
    assert (log.engine_version and log.engine_version.value) == "0.9.1"
    assert (log.model and log.model.value) == "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    "said",
    [
        "speculative_config=SpeculativeConfig(method='mtp', model='g/it-assistant', num_spec_tokens=4), "
        "enable_prefix_caching=True",
        "speculative_config=None, enable_prefix_caching=False",
    ],
)
def test_prefix_caching_and_speculative_tokens(said: str) -> None:
    log = read(f"{banner()}, {said}, chunked_prefill_enabled=True")
    assert (log.prefix_caching and log.prefix_caching.value) is said.endswith("True")
    assert (log.num_speculative_tokens and log.num_speculative_tokens.value) == (4 if "mtp" in said else None)
    assert (log.model and log.model.value) == "Qwen/Qwen3-8B"


def test_speculative_tokens_of_the_arguments() -> None:
    log = read(
        "INFO non-default args: {'model': 'Qwen/Qwen3.6-27B', 'enable_prefix_caching': True, 'max_num_seqs': 2, "
        "'speculative_config': {'method': 'mtp', 'num_speculative_tokens': 3}}"
    )
    assert (log.prefix_caching and log.prefix_caching.value) is True
    assert (log.num_speculative_tokens and log.num_speculative_tokens.value) == 3
