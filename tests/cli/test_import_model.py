"""`gridplan catalog import-model`: the block, JSON, files, and what it says when it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from published_configs import config_of, written

import gridplan
from gridplan.cli import clock, main


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config.json in a folder that is named as its model."""
    folder = tmp_path / "Llama-3-8B"
    folder.mkdir()
    return written(folder, config_of("llama-3-8b"))


def test_the_block_is_printed(config: Path, cli: Any) -> None:
    result = cli("catalog", "import-model", config)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("# parameters by part: embedding 525,336,576, attention 1,342,177,280, ")
    entry = yaml.safe_load(result.out)["catalog"]["models"]["Llama-3-8B"]
    assert (entry["params_total"], entry["checkpoint_bytes"]) == (8_030_261_248, 16_060_522_496)
    group = {"kind": "full", "layers": 32, "kv_heads": 8, "k_head_dim": 128, "v_head_dim": 128}
    assert entry["layer_groups"] == [group]


def test_the_block_goes_into_a_contract(config: Path, tmp_path: Path, cli: Any) -> None:
    block = cli("catalog", "import-model", config, "--id", "ours").out
    grid = tmp_path / "grid.yaml"
    head = "schema: 1\nworkload: {prompt_tokens: 1000, output_tokens: 100, arrival_rate: 1}\n"
    tail = "deployment: {gpu: h100-sxm, engine: vllm@0.21}\npolicy: {rho_target: 0.7}\n"
    tail += "axes: {model: [ours, llama-3-8b, qwen3-8b]}\n"
    grid.write_text(head + tail + block)
    cube = gridplan.evaluate(gridplan.load_grid(grid))
    for name in ("kv_bytes_per_token", "weights_bytes_per_gpu", "lambda_instance"):
        assert float(cube[name][0]) == float(cube[name][1])


def test_json(config: Path, cli: Any) -> None:
    data = json.loads(cli("catalog", "import-model", config, "--json", "--id", "x").out)
    assert list(data) == ["id", "entry", "params_by_part", "params_apart"]
    assert (data["id"], data["params_by_part"]["lm_head"], data["params_apart"]) == ("x", 525_336_576, {})


def test_parts_on_request(tmp_path: Path, cli: Any) -> None:
    path = written(tmp_path, config_of("deepseek-v3"), "v3.json")
    plain = cli("catalog", "import-model", path).out
    assert "# not in params_total: mtp 11,610,068,224\n" in plain
    assert "    v3:\n" in plain
    assert "params_total: 682636487424" in cli("catalog", "import-model", path, "--with", "mtp").out
    result = cli("catalog", "import-model", path, "--with", "mpt")
    assert result.code == 2
    assert "unknown part 'mpt' (did you mean mtp?); known: mtp, vision" in result.err


def test_a_file_is_written_once(config: Path, tmp_path: Path, cli: Any) -> None:
    out = tmp_path / "block.yaml"
    assert cli("catalog", "import-model", config, "-o", out).err == f"{out}: written\n"
    assert "catalog:" in out.read_text()
    again = cli("catalog", "import-model", config, "-o", out)
    assert (again.code, again.err) == (
        3,
        f"error: {out} is already there; replace it with --force or give another file\n",
    )
    assert cli("catalog", "import-model", config, "-o", out, "--force").code == 0


def test_the_index_and_the_file_of_modelopt(config: Path, tmp_path: Path, cli: Any) -> None:
    index = written(tmp_path, {"metadata": {"total_size": 9_000_000_000}}, "i.json")
    side = written(tmp_path, {"quantization": {"quant_algo": "FP8"}}, "q.json")
    out = cli("catalog", "import-model", config, "--weights-index", index, "--quant-config", side).out
    assert "checkpoint_bytes: 9000000000" in out
    assert "native_weight_dtype: fp8" in out
    assert cli("catalog", "import-model", config, "--weights-index", tmp_path / "no.json").code == 2


def test_a_refusal_names_file_and_field(tmp_path: Path, cli: Any) -> None:
    path = written(tmp_path, config_of("llama-3-8b", hidden_size=-1, vocab_size=...))
    result = cli("catalog", "import-model", path)
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines() == [
        f"error: {path}: hidden_size: must be a whole number from 1 to 2,147,483,647; -1 is not",
        f"error: {path}: vocab_size: is missing",
    ]
    assert cli("catalog", "import-model", tmp_path / "no.json").err == f"error: {tmp_path / 'no.json'}: no such file\n"


@pytest.mark.parametrize("name", ["", " ", " x", "a b", "a\nb"])
def test_ids_that_cannot_be_labels(name: str, config: Path, cli: Any) -> None:
    result = cli("catalog", "import-model", config, "--id", name)
    assert result.code == 2
    assert "an id is printable text" in result.err


@pytest.mark.parametrize(
    ("name", "model_id"),
    [("X_config.json", "X"), ("v3.json", "v3"), ("config.json", "Llama-3-8B"), ("a b.json", "a-b")],
)
def test_the_default_id(name: str, model_id: str, config: Path, cli: Any) -> None:
    path = written(config.parent, config_of("llama-3-8b"), name)
    assert list(yaml.safe_load(cli("catalog", "import-model", path, "--entry").out)) == [model_id]


def test_the_entry_alone_is_a_file_of_a_catalog_folder(config: Path, tmp_path: Path, cli: Any) -> None:
    ours = tmp_path / "ours"
    ours.mkdir()
    assert cli("catalog", "import-model", config, "--id", "mine", "--entry", "-o", ours / "models.yaml").code == 0
    entry = yaml.safe_load((ours / "models.yaml").read_text())["mine"]
    assert entry["as_of"] == clock.today().isoformat()
    assert cli("catalog", "models", "mine", "--catalog", ours).code == 0
    assert cli("catalog", "validate", ours).out == ""
    both = cli("catalog", "import-model", config, "--entry", "--json")
    assert (both.code, "give one" in both.err) == (2, True)


def test_a_block_in_a_catalog_folder_is_told_from_an_entry(config: Path, tmp_path: Path, cli: Any) -> None:
    ours = tmp_path / "ours"
    ours.mkdir()
    cli("catalog", "import-model", config, "-o", ours / "models.yaml")
    result = cli("catalog", "models", "--catalog", ours)
    assert result.code == 2
    (line,) = result.err.strip().splitlines()
    assert line.endswith(
        "models.yaml:2:1: catalog: is a section of a contract; a file of a catalog folder holds entries by id: "
        "`gridplan catalog import-model --entry` prints one"
    )


def test_a_model_by_path_has_no_age(config: Path, tmp_path: Path, cli: Any) -> None:
    grid = tmp_path / "grid.yaml"
    head = (
        "schema: 1\nworkload: {prompt_tokens: 1000, output_tokens: 100, arrival_rate: 1}\npolicy: {rho_target: 0.7}\n"
    )
    grid.write_text(
        f"{head}deployment: {{gpu: h100-sxm, engine: vllm@0.21, model: {config.parent.name}/config.json}}\n"
    )
    result = cli("catalog", "validate", grid)
    assert (result.code, result.out) == (0, "")


def test_the_cache_of_the_checkpoint_is_planned(config: Path, tmp_path: Path, cli: Any) -> None:
    scheme = {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}
    path = written(config.parent, config_of("llama-3-8b", quantization_config=scheme), "fp8kv.json")
    text = "schema: 1\nworkload: {prompt_tokens: 1000, output_tokens: 100, arrival_rate: 1}\n"
    text += "deployment: {gpu: h100-sxm, engine: vllm@0.21}\npolicy: {rho_target: 0.7}\n"
    text += f"axes: {{model: [Llama-3-8B/{path.name}, llama-3-8b]}}\n"
    grid = tmp_path / "grid.yaml"
    grid.write_text(text)
    cube = gridplan.evaluate(gridplan.load_grid(grid))
    assert float(cube.kv_bytes_per_token[0]) * 2 == float(cube.kv_bytes_per_token[1])
    page = str(gridplan.explain(gridplan.load_grid(grid), model=f"Llama-3-8B/{path.name}"))
    line = next(line for line in page.splitlines() if line.split()[:1] == ["kv_dtype"])
    assert "fp8" in line
    assert "fp8kv.json, sha256" in line
    stated = text.replace("vllm@0.21}", "vllm@0.21, kv_dtype: bf16}")
    grid.write_text(stated)
    cube = gridplan.evaluate(gridplan.load_grid(grid))
    assert float(cube.kv_bytes_per_token.min()) == float(cube.kv_bytes_per_token.max()) == 2 * 32 * 8 * 128 * 2


def test_help_of_both(cli: Any) -> None:
    assert "import-model" in cli("catalog", "--help").out
    assert "Usage: gridplan catalog import-model" in cli("catalog", "import-model", "--help").out
    assert cli("catalog", "models", "qwen3-8b").code == 0
    with pytest.raises(SystemExit):
        main(["catalog", "import-model"])


def test_a_file_beside_that_cannot_be_read_is_no_absence(config: Path, cli: Any) -> None:
    link = config.parent / "hf_quant_config.json"
    link.symlink_to("nowhere")
    result = cli("catalog", "import-model", config)
    assert (result.code, result.out) == (2, "")
    assert "hf_quant_config.json: no such file" in result.err
    link.unlink()
    (config.parent / "model.safetensors.index.json").mkdir()
    assert "Is a directory" in cli("catalog", "import-model", config).err


def test_ids_that_mean_something_else(config: Path, cli: Any) -> None:
    refused = cli("catalog", "import-model", config, "--id", "ours/model")
    assert refused.code == 2
    assert "would be read as a path" in refused.err
    over = cli("catalog", "import-model", config, "--id", "llama-3-8b")
    assert over.code == 0
    assert over.err == "note: the shipped catalog has a model llama-3-8b: this entry is laid over it\n"
