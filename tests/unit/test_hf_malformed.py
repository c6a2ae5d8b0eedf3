"""Files that are no config, or a broken one: one clear problem for each fault, with the file and the key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from published_configs import config_of, written

from gridplan.catalog.hf import import_model
from gridplan.catalog.hf.reader import MAX_BYTES, read_json
from gridplan.errors import CatalogError, Problem


def faults(folder: Path, config: object) -> tuple[Problem, ...]:
    with pytest.raises(CatalogError) as error:
        import_model(written(folder, config))
    assert all(item.file == str(folder / "config.json") for item in error.value.problems)
    return error.value.problems


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("hidden_size", ..., "is missing"),
        ("hidden_size", None, "is missing"),
        ("hidden_size", -4096, "must be a whole number from 1 to 2,147,483,647; -4096 is not"),
        ("hidden_size", 0, "must be a whole number from 1 to 2,147,483,647; 0 is not"),
        ("hidden_size", "4096", "must be a whole number from 1 to 2,147,483,647; '4096' is not"),
        ("hidden_size", 4096.5, "must be a whole number from 1 to 2,147,483,647; 4096.5 is not"),
        ("hidden_size", True, "must be a whole number from 1 to 2,147,483,647; True is not"),
        ("hidden_size", [4096], "must be a whole number from 1 to 2,147,483,647; [4096] is not"),
        ("hidden_size", float("nan"), "must be a whole number from 1 to 2,147,483,647; nan is not"),
        ("hidden_size", float("inf"), "must be a whole number from 1 to 2,147,483,647; inf is not"),
        ("hidden_size", 10**12, "must be a whole number from 1 to 2,147,483,647; 1000000000000 is not"),
        ("num_hidden_layers", 10**6, "must be a whole number from 1 to 2,000; 1000000 is not"),
        ("tie_word_embeddings", "no", "must be true or false; 'no' is not"),
        ("torch_dtype", "float8", "'float8' is not understood"),
        ("torch_dtype", 16, "must be a text; 16 is not"),
        ("model_type", 7, "must be a text; 7 is not"),
        ("num_key_value_heads", 7, "must divide num_attention_heads 32; 7 does not"),
        ("quantization_config", [], "must be an object, not []"),
        ("quantization_config", "fp8", "must be an object, not 'fp8'"),
        ("hidden_size", 10**4000, "must be a whole number from 1 to 2,147,483,647; 1000"),
        ("is_encoder_decoder", True, "is true: what an encoder and cross attention keep is not understood"),
        ("architectures", ["LlamaForSequenceClassification"], "'LlamaForSequenceClassification' is not a model that"),
        ("position_embedding_type", "absolute", "is not understood for model_type llama"),
        ("num_loops", 4, "is not understood for model_type llama"),
        ("memory_tokens", 16, "is not understood for model_type llama"),
        ("sparsity_config", {"format": "sparse-24-bitmask"}, "is not understood for model_type llama"),
        ("architectures", "LlamaForCausalLM", "must be a list of texts; 'LlamaForCausalLM' is not"),
    ],
)
def test_one_fault_is_one_problem(field: str, value: Any, message: str, tmp_path: Path) -> None:
    (problem,) = faults(tmp_path, config_of("llama-3-8b", **{field: value}))
    assert problem.key == field
    assert problem.message.startswith(message)


def test_every_fault_is_reported_at_once(tmp_path: Path) -> None:
    config = config_of("llama-3-8b", hidden_size=..., vocab_size=-1, num_attention_heads="32", intermediate_size=1.5)
    keys = [problem.key for problem in faults(tmp_path, config)]
    assert sorted(filter(None, keys)) == ["hidden_size", "intermediate_size", "num_attention_heads", "vocab_size"]


def test_keys_inside_the_language_model_are_dotted(tmp_path: Path) -> None:
    config = config_of("kimi-k2.5")
    config["text_config"]["kv_lora_rank"] = -1
    config["text_config"]["quantization_config"]["config_groups"]["group_0"]["weights"]["num_bits"] = "4"
    assert [problem.key for problem in faults(tmp_path, config)] == ["text_config.kv_lora_rank"]
    config["text_config"]["kv_lora_rank"] = 512
    keys = [problem.key for problem in faults(tmp_path, config)]
    assert keys == ["text_config.quantization_config.config_groups.group_0.weights.num_bits"]


@pytest.mark.parametrize(
    ("model_id", "field", "value", "message"),
    [
        ("qwen3.5-27b", "layer_types", ["linear_attention"], "has 1 items; the model has 64 layers"),
        ("qwen3.5-27b", "layer_types", ["linear_attention", "x"], "'x' is not understood"),
        ("qwen3-30b-a3b", "num_experts_per_tok", 129, "is 129, above the 128 experts"),
        ("qwen3-30b-a3b", "mlp_only_layers", [48], "names layer 48; the model has 48, counted from 0"),
        ("nemotron-nano-9b-v2", "hybrid_override_pattern", "M-X", "'X' is not understood; known: M, *, -, E"),
        ("nemotron-nano-9b-v2", "hybrid_override_pattern", ..., "is missing; it says what each block is"),
        ("nemotron-nano-9b-v2", "hybrid_override_pattern", "M*", "has 2 blocks; num_hidden_layers says 56"),
        ("llama-3.3-nemotron-super-49b", "block_configs", [{}], "has 1 items; the model has 80 layers"),
        ("llama-3.3-nemotron-super-49b", "block_configs", 3, "must be a list of one object a layer"),
        ("minimax-m2.5", "shared_intermediate_size", 8, "is above 0: shared experts of MiniMax are not understood"),
        ("glm-5", "index_topk_freq", 4, "is missing, but index_topk_freq says"),
        ("glm-5", "index_topk_pattern", "FFFSSS", "is missing, but index_topk_pattern says"),
        ("qwen2.5-7b", "use_sliding_window", True, "is missing, but use_sliding_window is true"),
        ("nemotron-3-nano-30b-a3b", "mlp_bias", True, "is true: whether the experts have biases is not understood"),
        ("gemma-3-27b", "sliding_window_size", 512, "512 and sliding_window are two windows"),
    ],
)
def test_faults_of_one_architecture(model_id: str, field: str, value: Any, message: str, tmp_path: Path) -> None:
    config = config_of(model_id)
    inner = config.get("text_config", config)
    if value is ...:
        inner.pop(field)
    else:
        inner[field] = value
    found = faults(tmp_path, config)
    assert any(message in problem.message for problem in found)
    assert all(problem.key for problem in found)


def test_two_fields_that_contradict_each_other(tmp_path: Path) -> None:
    (problem,) = faults(tmp_path, config_of("nemotron-nano-9b-v2", use_bias=True, mamba_proj_bias=False))
    assert problem.key == "use_bias"


def test_infinity_where_nothing_reads_it(tmp_path: Path) -> None:
    config = config_of("nemotron-nano-9b-v2", time_step_limit=[0.0, float("inf")])
    assert import_model(written(tmp_path, config)).entry["num_layers"] == 56


@pytest.mark.parametrize(
    ("text", "message", "line", "key"),
    [
        ("", "is not JSON: Expecting value", 1, None),
        ("{\n 'a': 1}", "is not JSON: Expecting property name", 2, None),
        ("[1, 2]", "holds no JSON object", None, None),
        ("3", "holds no JSON object", None, None),
        ('{"hidden_size": 1,\n"a": {},\n"hidden_size": 2}', "is given twice", 3, "hidden_size"),
        ('{"a": {"b": 1, "b": 2}}', "is given twice", 1, "b"),
        ("[" * 40 + "]" * 40, "is nested more than 32 deep", 1, None),
        ('{"a":\n' * 5_000, "is nested more than 32 deep", 33, None),
        ('{"a": "' + "[" * 40 + '"}', "is missing: is it the config.json of a model?", None, "model_type"),
        ('{"hidden_size": ' + "9" * 5_000 + "}", "holds a number with too many digits", None, None),
        ('{"quantization": {"quant_algo": "FP8"}}', "this is a hf_quant_config.json", None, "model_type"),
        ("\udcff", "is not UTF-8 text", None, None),
    ],
)  # fmt: skip
def test_files_that_are_no_config(text: str, message: str, line: int | None, key: str | None, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(CatalogError) as error:
        import_model(path)
    (problem,) = error.value.problems
    assert message in problem.message
    assert (problem.file, problem.line, problem.key) == (str(path), line, key)


def test_ten_megabytes_of_nesting(tmp_path: Path) -> None:
    (problem,) = faults(tmp_path, "[" * 10_000_000)
    assert problem.message == f"has more than {MAX_BYTES:,} bytes, the most that a config.json may have"


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"nope\.json: no such file"):
        import_model(tmp_path / "nope.json")
    with pytest.raises(CatalogError, match=r"is a folder; give the path of a config\.json"):
        import_model(tmp_path)
    with pytest.raises(CatalogError, match=r"no such file|cannot be read"):
        import_model("a\0b.json")


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"a": 1}).encode())
    assert read_json(path).data == {"a": 1}


@pytest.mark.parametrize("text", ['"', '{"a": "\\', '"\\"' * 200_000, "\\" * 400_000])
def test_depth_is_found_in_one_pass(text: str, tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="is not JSON"):
        read_json(written(tmp_path, text))
