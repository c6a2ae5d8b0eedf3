"""How checkpoints are stored: bits with scales, what stays in 16 bits, and the bytes that follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from published_configs import config_of, written

from gridplan.catalog.hf import import_model
from gridplan.catalog.hf.fields import Fields, Report
from gridplan.catalog.hf.modules import Modules
from gridplan.errors import CatalogError

# Llama 3 8B: linear layers of 32 layers, and what stays in 16 bits.
LINEAR = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336)
TABLES = 2 * 128256 * 4096
NORMS = 65 * 4096
PACKED = {"quant_method": "compressed-tensors"}
BNB4 = {"quant_method": "bitsandbytes", "load_in_4bit": True}


def stored(folder: Path, scheme: dict[str, Any], **changes: Any) -> tuple[str, int]:
    entry = import_model(written(folder, config_of("llama-3-8b", quantization_config=scheme, **changes))).entry
    return entry["native_weight_dtype"], entry["checkpoint_bytes"]


def group(**weights: Any) -> dict[str, Any]:
    return {"config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}


@pytest.mark.parametrize(
    ("scheme", "dtype", "bits"),
    [
        ({"quant_method": "fp8"}, "fp8", 8),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", 8 + 32 / 128**2),
        ({"quant_method": "fbgemm_fp8"}, "fp8", 8),
        ({"quant_method": "mxfp4"}, "mxfp4", 4.25),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4", 4 + 20 / 128),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 64, "zero_point": False}, "int4", 4.25),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "int4", 4 + 20 / 128),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, "int8", 8),
        (BNB4, "bnb4", 4.5),
        ({**BNB4, "bnb_4bit_use_double_quant": True}, "bnb4", 4.126953125),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8", 8),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8", 8),
        ({"quant_algo": "NVFP4", "ignore": ["lm_head"]}, "nvfp4", 4.5),
        ({"quant_method": "compressed-tensors", "ignore": ["lm_head"], **group(num_bits=8, type="int")}, "int8", 8),
        ({"quant_method": "compressed-tensors", "ignore": ["lm_head"], **group(num_bits=8, type="float")}, "fp8", 8),
        ({"quant_method": "compressed-tensors", "ignore": ["lm_head"],
          **group(num_bits=4, type="int", group_size=32)}, "int4", 4.5),
        ({"quant_method": "compressed-tensors", "ignore": ["lm_head"],
          **group(num_bits=4, type="float", group_size=16)}, "nvfp4", 4.5),
    ],
)  # fmt: skip
def test_bits_and_bytes(scheme: dict[str, Any], dtype: str, bits: float, tmp_path: Path) -> None:
    found, size = stored(tmp_path, scheme)
    assert found == dtype
    assert size == pytest.approx(LINEAR * bits / 8 + 2 * (TABLES + NORMS), abs=1)


@pytest.mark.parametrize("name", ["model.layers.*.mlp", "re:.*mlp.*", "mlp", "model.layers.*.mlp.*"])
def test_modules_that_are_left_out_stay_in_16_bits(name: str, tmp_path: Path) -> None:
    mlp = 32 * 3 * 4096 * 14336
    _, size = stored(tmp_path, {"quant_method": "fp8", "modules_to_not_convert": [name, "lm_head"]})
    assert size == (LINEAR - mlp) + 2 * (mlp + TABLES + NORMS)


def test_an_lm_head_that_is_not_left_out(tmp_path: Path) -> None:
    scheme = {"quant_method": "compressed-tensors", "ignore": [], **group(num_bits=8, type="float")}
    assert stored(tmp_path, scheme)[1] == LINEAR + TABLES // 2 + 2 * (TABLES // 2 + NORMS)


@pytest.mark.parametrize(
    ("model_id", "dtype", "gigabytes"),
    [
        ("gpt-oss-120b", "mxfp4", 65.25),  # 65.25e9 bytes in the published repository
        ("gpt-oss-20b", "mxfp4", 13.76),
        ("kimi-k2.5", "int4_experts", 594.2),  # about 595 GB on the model card
        ("deepseek-v3", "fp8", 673.2),  # 671.03e9 at 8 bits and 1.96e9 in 16
        ("llama-3.1-70b", "bf16", 141.1),
    ],
)
def test_published_sizes(model_id: str, dtype: str, gigabytes: float, tmp_path: Path) -> None:
    entry = import_model(written(tmp_path, config_of(model_id))).entry
    assert entry["native_weight_dtype"] == dtype
    assert entry["checkpoint_bytes"] / 1e9 == pytest.approx(gigabytes, rel=1e-3)


def test_formats_that_differ_by_module(tmp_path: Path) -> None:
    layers = {f"model.layers.{i}.mlp.{part}_proj": {"quant_algo": "NVFP4"}
              for i in range(32) for part in ("gate", "up", "down")}  # fmt: skip
    layers |= {"model.layers.0.self_attn.q_proj": {"quant_algo": "FP8"}}
    scheme = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
    mlp, query = 32 * 3 * 4096 * 14336, 4096 * 4096
    dtype, size = stored(tmp_path, scheme)
    assert dtype == "nvfp4"
    assert size == mlp * 4.5 / 8 + query + 2 * (LINEAR - mlp - query + TABLES + NORMS)
    entry = import_model(tmp_path / "config.json").entry
    assert "0.0167772e9 parameters in fp8, 5.63714e9 parameters in nvfp4" in entry["notes"]


def test_the_file_of_modelopt_beside_the_config(tmp_path: Path) -> None:
    path = written(tmp_path, config_of("llama-3-8b"))
    plain = import_model(path).entry
    side = {"quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}
    written(tmp_path, side, "hf_quant_config.json")
    own = import_model(path).entry
    assert (plain["native_weight_dtype"], own["native_weight_dtype"]) == ("bf16", "fp8")
    assert own["checkpoint_bytes"] == LINEAR + 2 * (TABLES + NORMS)
    assert "; hf_quant_config.json, sha256 " in own["source"]


def test_the_index_wins_over_the_count(tmp_path: Path) -> None:
    path = written(tmp_path, config_of("llama-3-8b"))
    written(tmp_path, {"metadata": {"total_size": 16_060_522_496}}, "model.safetensors.index.json")
    entry = import_model(path).entry
    assert entry["checkpoint_bytes"] == 16_060_522_496
    assert entry["source"].endswith("; model.safetensors.index.json, metadata.total_size")
    written(tmp_path, {"metadata": {}}, "model.safetensors.index.json")
    with pytest.raises(CatalogError, match=r"index\.json: has no metadata\.total_size in bytes"):
        import_model(path)


@pytest.mark.parametrize(
    ("scheme", "key", "message"),
    [
        ({"quant_method": "magic"}, "quant_method", "'magic' is not understood"),
        ({}, "quant_method", "is missing"),
        ({"quant_method": "awq", "bits": 3}, "bits", "is 3; 4 and 8 are understood"),
        ({"quant_method": "awq", "bits": "4"}, "bits", "must be a whole number"),
        ({"quant_method": "gptq", "bits": 4, "dynamic": {"a": 1}}, "dynamic", "is not understood"),
        ({"quant_method": "fp8", "weight_block_size": [128]}, "weight_block_size", "two whole numbers"),
        ({"quant_method": "fp8", "weight_block_size": [0, 128]}, "weight_block_size", "two whole numbers"),
        ({"quant_method": "fp8", "modules_to_not_convert": "lm_head"}, "modules_to_not_convert", "a list of texts"),
        ({"quant_method": "fp8", "modules_to_not_convert": ["re:(a+)+"]}, "modules_to_not_convert", "a repetition"),
        (
            {"quant_method": "fp8", "modules_to_not_convert": ["re:("]},
            "modules_to_not_convert",
            "no regular expression",
        ),
        ({"quant_algo": "NVFP9"}, "quant_algo", "did you mean NVFP4"),
        ({"quant_algo": "MIXED_PRECISION"}, "quantized_layers", "is missing"),
        ({"quant_method": "bitsandbytes"}, "load_in_4bit", "must be true"),
        ({"quant_method": "compressed-tensors"}, "config_groups", "is missing"),
        ({"quant_method": "compressed-tensors", **group(num_bits=2)}, "config_groups.group_0.weights.num_bits", "is 2"),
    ],
)
def test_schemes_that_are_not_understood(scheme: dict[str, Any], key: str, message: str, tmp_path: Path) -> None:
    if not scheme:
        scheme = {"bits": 4}
    with pytest.raises(CatalogError) as error:
        stored(tmp_path, scheme)
    (problem,) = error.value.problems
    assert problem.key == f"quantization_config.{key}"
    assert message in problem.message
    assert problem.file == str(tmp_path / "config.json")


def test_names_of_modules() -> None:
    def holds(pattern: str, name: str) -> bool:
        return Modules([pattern], Fields({}, Report("x")), "ignore").holds(name)

    assert holds("gate", "layers.3.mlp.gate")
    assert not holds("gate", "layers.3.mlp.gate_proj")
    assert holds("model.layers.0*", "layers.0.mlp.up_proj")
    assert not holds("model.layers.0*", "layers.10.mlp.up_proj")
    assert holds("backbone.layers.4.mixer.in_proj", "layers.4.mixer.in_proj")
    assert holds("*.attn.*", "layers.1.attn.wq_a")


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 0}, "must be -1 (a scale for each row) or at least 1"),
        ({"quant_method": "awq", "bits": 4, "group_size": 10**9}, "must be a whole number from -1 to 65,536"),
        ({**PACKED, **group(num_bits=8, type="float", strategy="nonsense")}, "'nonsense' is not understood"),
        ({**PACKED, **group(num_bits=8, type="float", strategy="group")}, "is missing, but strategy group"),
        ({**PACKED, **group(num_bits=8, type="float", strategy="block")}, "is missing, but strategy block"),
        ({**PACKED, "format": "marlin-24", **group(num_bits=8, type="int")}, "'marlin-24' is not understood"),
        ({"quant_method": "compressed-tensors", **group(num_bits=8, type="int"),
          "sparsity_config": {"format": "sparse-24-bitmask"}}, "is not understood: what sparse weights take"),
        ({"quant_method": "compressed-tensors", **group(num_bits=8, type="int"), "kv_cache_scheme": "static"},
         "'static' is not understood"),
    ],
)  # fmt: skip
def test_quantisation_that_is_not_understood_is_refused(scheme: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(CatalogError) as error:
        stored(tmp_path, scheme)
    assert said in error.value.problems[0].message
    assert (error.value.problems[0].key or "").startswith("quantization_config.")


def test_a_quantisation_that_names_nothing_is_said(tmp_path: Path) -> None:
    scheme = {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"nonsense": {"quant_algo": "FP8"}}}
    entry = import_model(written(tmp_path, config_of("llama-3-8b", quantization_config=scheme))).entry
    assert "names no weight of this model" in entry["notes"]


def test_groups_of_8_bit_floats_have_scales(tmp_path: Path) -> None:
    own = group(num_bits=8, type="float", strategy="group", group_size=32)
    _, size = stored(tmp_path, {"quant_method": "compressed-tensors", "ignore": ["lm_head"], **own})
    assert size == pytest.approx(LINEAR * 8.5 / 8 + 2 * (TABLES + NORMS), abs=1)


KV8 = {"num_bits": 8, "type": "float", "strategy": "tensor", "dynamic": False}


@pytest.mark.parametrize(
    ("scheme", "kv"),
    [
        ({"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"quant_algo": "NVFP4", "ignore": ["lm_head"], "kv_cache_scheme": KV8}, "fp8"),
        ({"quant_algo": "NVFP4", "ignore": ["lm_head"], "kv_cache_quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_algo": "FP8", "kv_cache_quant_algo": "INT8"}, "int8"),
        ({"quant_method": "compressed-tensors", "kv_cache_scheme": KV8, **group(num_bits=8, type="float")}, "fp8"),
        ({"quant_method": "compressed-tensors", "kv_cache_scheme": KV8, "config_groups": {}}, "fp8"),
        ({"kv_cache_quant_algo": "FP8", "quant_algo": None}, "fp8"),
        ({"quant_algo": "FP8", "kv_cache_quant_algo": None}, None),
    ],
)
def test_a_cache_that_the_checkpoint_brings(scheme: dict[str, Any], kv: str | None, tmp_path: Path) -> None:
    entry = import_model(written(tmp_path, config_of("llama-3-8b", quantization_config=scheme))).entry
    assert entry.get("native_kv_dtype") == kv
    path = written(tmp_path, config_of("llama-3-8b"))
    if scheme.get("quant_method") is None:
        written(tmp_path, {"quantization": scheme}, "hf_quant_config.json")
        assert import_model(path).entry.get("native_kv_dtype") == kv


def test_the_file_beside_speaks_of_the_cache_where_the_config_does_not(tmp_path: Path) -> None:
    path = written(
        tmp_path, config_of("llama-3-8b", quantization_config={"quant_algo": "NVFP4", "ignore": ["lm_head"]})
    )
    written(tmp_path, {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}, "hf_quant_config.json")
    entry = import_model(path).entry
    assert (entry["native_weight_dtype"], entry["native_kv_dtype"]) == ("nvfp4", "fp8")
    assert "; hf_quant_config.json, sha256 " in entry["source"]


@pytest.mark.parametrize(
    ("scheme", "key", "message"),
    [
        ({"kv_cache_quant_algo": "FP6"}, "kv_cache_quant_algo", "'FP6' is not understood"),
        ({"kv_cache_scheme": "static"}, "kv_cache_scheme", "'static' is not understood"),
        ({"kv_cache_scheme": {"num_bits": 2, "type": "int"}}, "kv_cache_scheme.num_bits", "is 2 (int)"),
        ({"kv_cache_quant_algo": "INT8", "kv_cache_scheme": KV8}, "kv_cache_scheme", "is fp8, and"),
    ],
)
def test_caches_that_are_not_understood(scheme: dict[str, Any], key: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(CatalogError) as error:
        stored(tmp_path, {"quant_algo": "FP8", **scheme})
    (problem,) = error.value.problems
    assert problem.key == f"quantization_config.{key}"
    assert message in problem.message


def test_32_bits_are_loaded_in_16(tmp_path: Path) -> None:
    path = written(tmp_path, config_of("llama-3-8b", torch_dtype="float32"))
    entry = import_model(path).entry
    assert (entry["native_weight_dtype"], entry["checkpoint_bytes"]) == ("bf16", 16_060_522_496)
    assert "stored in 32 bits; engines load it in 16" in entry["notes"]
    written(tmp_path, {"metadata": {"total_size": 32_121_044_992}}, "model.safetensors.index.json")
    entry = import_model(path).entry
    assert entry["checkpoint_bytes"] == 16_060_522_496
    assert "model.safetensors.index.json counts 32 bits" in entry["notes"]


@pytest.mark.parametrize(
    ("size", "ok"), [(8_030_261_248, True), (8_030_261_247, False), (32_121_044_992, True), (32_121_044_993, False)]
)
def test_the_index_of_another_checkpoint(size: int, ok: bool, tmp_path: Path) -> None:
    path = written(tmp_path, config_of("llama-3-8b"))
    index = written(tmp_path, {"metadata": {"total_size": size}}, "model.safetensors.index.json")
    if ok:
        assert import_model(path).entry["checkpoint_bytes"] == size
        return
    with pytest.raises(CatalogError) as error:
        import_model(path)
    (problem,) = error.value.problems
    assert (problem.file, problem.key) == (str(index), "metadata.total_size")
    assert f"is {size:,} bytes, and the parts that the config describes take 16,060,522,496" in problem.message


def test_the_index_is_measured_against_parts_apart_too(tmp_path: Path) -> None:
    path = written(tmp_path, config_of("deepseek-v3"))
    parts = import_model(path, extras=("mtp",)).entry["checkpoint_bytes"]
    index = written(tmp_path, {"metadata": {"total_size": 2 * parts}}, "i.json")
    assert import_model(path, index).entry["checkpoint_bytes"] == 2 * parts


@pytest.mark.parametrize(
    ("name", "said"), [("Llama-3-8B-FP8", "FP8"), ("llama_w4a16.v2", "w4a16"), ("Llama-3-8B", ""), ("Xfp8y", "")]
)
def test_a_name_that_says_a_format_and_a_file_that_does_not(name: str, said: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    for path in (written(folder, config_of("llama-3-8b")), written(tmp_path, config_of("llama-3-8b"), f"{name}.json")):
        notes = import_model(path).entry.get("notes", "")
        none = "no quantization_config in the file and no hf_quant_config.json beside it: 16 bits are taken"
        assert (f"the name says {said}, with {none}" in notes) == bool(said)
    path = written(folder, config_of("llama-3-8b", quantization_config={"quant_method": "fp8"}))
    assert "the name says" not in import_model(path).entry.get("notes", "")
