"""`gridplan catalog import-model`: the block, JSON, files, and what it says when it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from published_configs import config_of, written

import gridplan
from gridplan.cli import main


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


@pytest.mark.parametrize("name", ["", " ", " x", "a\nb"])
def test_ids_that_cannot_be_labels(name: str, config: Path, cli: Any) -> None:
    result = cli("catalog", "import-model", config, "--id", name)
    assert result.code == 2
    assert "an id is printable text" in result.err


def test_help_of_both(cli: Any) -> None:
    assert "import-model" in cli("catalog", "--help").out
    assert "Usage: gridplan catalog import-model" in cli("catalog", "import-model", "--help").out
    assert cli("catalog", "models", "qwen3-8b").code == 0
    with pytest.raises(SystemExit):
        main(["catalog", "import-model"])
