"""The shipped catalog: hand-checked figures, counts, and provenance on every row."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import gridplan.catalog
from gridplan.catalog import Dtype, Entry, load_catalog
from gridplan.catalog.complete import engine_contradictions, instance_contradictions, model_contradictions
from gridplan.catalog.versions import holds, parse_version

GIB = 2**30
SHIPPED = load_catalog()


def every_entry() -> Iterable[Entry]:
    for table in (SHIPPED.gpus, SHIPPED.models, SHIPPED.instances, SHIPPED.dtypes, SHIPPED.activation_families):
        yield from table.values()
    yield from SHIPPED.engines
    yield from SHIPPED.memory_terms


def test_the_catalog_has_as_many_rows_as_were_collected() -> None:
    counts = [len(table) for table in (SHIPPED.gpus, SHIPPED.models, SHIPPED.instances, SHIPPED.engines)]
    assert counts == [46, 99, 139, 14]


def test_every_row_has_a_source_a_date_and_a_class() -> None:
    for entry in every_entry():
        assert entry.source, entry
        assert entry.cls in ("fact", "measurement", "assumption"), entry
        assert entry.as_of is not None
        assert datetime.date.fromisoformat(entry.as_of) <= datetime.date(2026, 11, 29), entry


def test_a_fact_names_a_source_that_can_be_opened() -> None:
    for entry in every_entry():
        if entry.cls == "fact" and not isinstance(entry, Dtype):  # formats cite specifications by name
            assert "http" in entry.source or "@" in entry.source, entry
            assert "no address recorded" not in entry.source, entry


@pytest.mark.parametrize("gpu", ["v100-sxm2-16gb", "a10", "rtx-3090", "mi210", "b300"])
def test_rows_known_from_listings_alone_are_assumptions(gpu: str) -> None:
    assert SHIPPED.gpu(gpu).cls == "assumption"


def test_the_h100_as_an_engine_sees_it() -> None:
    # 79.19 GiB: total printed by vLLM at start-up; 3.35 TB/s, 989 and 1,979 TFLOP/s dense: ml-engineering README.
    gpu = SHIPPED.gpu("h100-sxm")
    assert gpu.memory_bytes == pytest.approx(79.19 * GIB, rel=1e-15)
    assert gpu.memory_source == "engine_visible"
    assert gpu.memory_bandwidth_bytes_per_s == 3.35e12
    assert gpu.flops == {"fp16": 989e12, "bf16": 989e12, "fp8": 1979e12, "int8": 1979e12}
    assert gpu.scale_up_bytes_per_s == 900e9
    assert (gpu.max_scale_up_domain, gpu.devices_per_card, gpu.marketed_memory_bytes) == (8, 1, 80e9)
    assert gpu.is_large_for_engine


def test_decimal_rates_are_exact() -> None:
    assert SHIPPED.gpu("rtx-4090").flops["fp16"] == 165_200_000_000_000.0
    assert SHIPPED.gpu("l40s").flops["bf16"] == 362_050_000_000_000.0


def test_memory_falls_back_to_the_driver_and_then_to_nothing() -> None:
    # 143,771 MiB of an H200 NVL is a driver's figure; no reading of an MI325X was found.
    nvl = SHIPPED.gpu("h200-nvl")
    assert (nvl.memory_bytes, nvl.memory_source) == (143771 * 2**20, "driver_reported")
    missing = SHIPPED.gpu("mi325x")
    assert (missing.memory_bytes, missing.memory_source) == (None, "")
    assert not missing.is_large_for_engine


def test_an_mi250x_is_planned_per_die() -> None:
    # Card: 128 GB, 3,276.8 GB/s (3,280 in the table read), 383 TFLOP/s; the engine sees two devices of 65,520 MiB.
    die = SHIPPED.gpu("mi250x")
    assert die.devices_per_card == 2
    assert die.memory_bytes == 65520 * 2**20
    assert die.memory_bandwidth_bytes_per_s == 1.64e12
    assert die.flops["bf16"] == 191.5e12
    assert (die.marketed_memory_bytes, die.tdp_w) == (64e9, 280.0)
    assert "two devices" in die.notes


@pytest.mark.parametrize(
    ("gpu", "large"),
    [("h200-sxm", True), ("mi300x", True), ("a100-sxm-80gb", False), ("a100-pcie-80gb", False), ("l40s", False)],
)
def test_large_for_the_engine_means_70_gib_and_not_an_a100(gpu: str, large: bool) -> None:
    assert SHIPPED.gpu(gpu).is_large_for_engine is large


@pytest.mark.parametrize(
    ("model", "total", "active"),
    [
        ("llama-3.3-70b", 70_553_706_496, 70_553_706_496),
        ("llama-3-8b", 8_030_261_248, 8_030_261_248),
        ("mixtral-8x7b", 46_702_792_704, 12_879_925_248),
        ("deepseek-v3", 671_026_419_200, 37_552_297_472),
    ],
)
def test_parameter_counts_are_exact_integers(model: str, total: int, active: int) -> None:
    entry = SHIPPED.model(model)
    assert (entry.params_total, entry.params_active) == (total, active)


def test_parameter_counts_follow_from_the_geometry() -> None:
    # Llama: embeddings twice (untied), then per layer q, o, k, v, three MLP matrices and two norms, and one last norm.
    for name in ("llama-2-7b", "llama-3-8b", "llama-3.3-70b", "llama-3.1-405b", "mistral-7b-v0.3"):
        model = SHIPPED.model(name)
        assert model.head_dim is not None
        assert model.intermediate_size is not None
        hidden, wide = model.hidden_size, model.attention_heads * model.head_dim
        attention = 2 * hidden * wide + 2 * hidden * model.kv_heads * model.head_dim
        layer = attention + 3 * hidden * model.intermediate_size + 2 * hidden
        assert model.params_embedding == model.vocab_size * hidden
        assert model.params_total == 2 * model.params_embedding + model.num_layers * layer + hidden


def test_kv_layers_are_those_that_keep_keys_and_values() -> None:
    pruned = SHIPPED.model("llama-3.3-nemotron-super-49b")
    assert (pruned.kv_layers, pruned.num_layers) == (49, 80)
    assert pruned.intermediate_size is None  # it varies by block
    assert SHIPPED.model("llama-3-8b").kv_layers == 32


@pytest.mark.parametrize(
    ("model", "attention"),
    [
        ("llama-2-7b", "mha"),
        ("llama-3-8b", "gqa"),
        ("falcon-7b", "mqa"),
        ("deepseek-v3", "mla"),
        ("phi-3-mini-4k", "mha"),
    ],
)
def test_attention_is_named_from_the_counts(model: str, attention: str) -> None:
    assert SHIPPED.model(model).attention == attention


def test_latent_attention_has_its_two_widths() -> None:
    # 512 + 64 = 576 elements a token and layer: DeepSeek-V2 and V3 config.json; V4 has 512 in all.
    latent = [model for model in SHIPPED.models.values() if model.attention == "mla"]
    widths = {model.id: (model.kv_lora_rank, model.qk_rope_head_dim) for model in latent}
    assert widths.pop("deepseek-v4-flash") == (448, 64)
    assert set(widths.values()) == {(512, 64)}
    assert len(latent) == 10


def test_no_shipped_row_contradicts_itself() -> None:
    for model in SHIPPED.models.values():
        assert list(model_contradictions(model)) == []
        assert ("weight", model.native_weight_dtype) in SHIPPED.dtypes
    for instance in SHIPPED.instances.values():
        assert list(instance_contradictions(instance)) == []
        assert instance.gpu in SHIPPED.gpus
        assert instance.scale_up_gpus >= instance.gpus_per_node
        assert instance.usd_per_node_hour is None or instance.usd_per_node_hour > 0
    for engine in SHIPPED.engines:
        assert list(engine_contradictions(engine)) == []


def test_engine_ranges_neither_overlap_nor_leave_a_gap() -> None:
    vllm = [entry for entry in SHIPPED.engines if entry.name == "vllm"]
    for minor in range(4, 40):
        held = [entry for entry in vllm if holds((0, minor), entry.version_from, entry.version_to)]
        assert len(held) == 1, minor
    assert parse_version(vllm[-1].version_from) == (0, 28)
    assert vllm[-1].version_to is None


def test_prices_have_a_kind() -> None:
    kinds = [instance.price_kind for instance in SHIPPED.instances.values()]
    counts = {kind: kinds.count(kind) for kind in ("list", "historic", "marketplace", "range", "no_price")}
    assert counts == {"list": 124, "historic": 4, "marketplace": 5, "range": 1, "no_price": 5}
    historic = SHIPPED.instance("aws-p4de-24xlarge-hist-2025-04")
    assert (historic.usd_per_node_hour, historic.price_kind, historic.as_of) == (40.96575, "historic", "2025-04-28")


def test_loading_the_catalog_imports_no_array_library() -> None:
    code = (
        "import sys; from gridplan.catalog import load_catalog; load_catalog();"
        "print([name for name in ('numpy', 'pandas', 'xarray', 'pyarrow', 'pydantic') if name in sys.modules])"
    )
    home = Path(gridplan.catalog.__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], cwd=home, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
