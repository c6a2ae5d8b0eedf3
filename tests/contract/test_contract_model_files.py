"""The path of a config.json in place of a model's id."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from published_configs import config_of, written

import gridplan
from gridplan.errors import ContractError, Problem

CONTRACT = """schema: 1
workload: {prompt_tokens: 1000, output_tokens: 100, arrival_rate: 1}
deployment: {gpu: h100-sxm, engine: vllm@0.21}
policy: {rho_target: 0.7}
axes: {model: [models/llama.json, qwen.json, llama-3-8b]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two configs: one beside the contract, one in a folder below."""
    (tmp_path / "models").mkdir()
    written(tmp_path / "models", config_of("llama-3-8b"), "llama.json")
    written(tmp_path, config_of("qwen3-8b"), "qwen.json")
    return tmp_path


def grid_of(folder: Path, text: str = CONTRACT) -> gridplan.Grid:
    path = folder / "grid.yaml"
    path.write_text(text)
    return gridplan.load_grid(path)


def problems(folder: Path, text: str) -> tuple[Problem, ...]:
    with pytest.raises(ContractError) as error:
        grid_of(folder, text)
    return error.value.problems


def test_two_paths_and_an_id_on_one_axis(folder: Path) -> None:
    cube = gridplan.evaluate(grid_of(folder))
    assert list(cube.model.values) == ["models/llama.json", "qwen.json", "llama-3-8b"]
    for name in ("kv_bytes_per_token", "weights_bytes_per_gpu", "lambda_instance"):
        assert float(cube[name][0]) == float(cube[name][2])
    assert float(cube.kv_bytes_per_token[1]) == 2 * 36 * 8 * 128 * 2


def test_provenance_names_the_file_and_its_hash(folder: Path) -> None:
    sha256 = hashlib.sha256((folder / "models/llama.json").read_bytes()).hexdigest()
    page = str(gridplan.explain(grid_of(folder), model="models/llama.json"))
    assert f"models/llama.json, sha256 {sha256}" in page


def test_a_changed_file_is_another_catalog(folder: Path) -> None:
    from gridplan.engine.inputs import catalog_of
    from gridplan.engine.tables import catalog_hash

    before = catalog_hash(catalog_of(grid_of(folder)))
    written(folder, config_of("qwen3-8b", num_hidden_layers=35), "qwen.json")
    assert catalog_hash(catalog_of(grid_of(folder))) != before


def test_a_path_as_the_one_model_and_as_draft(folder: Path) -> None:
    text = CONTRACT.replace("axes: {model: [models/llama.json, qwen.json, llama-3-8b]}\n", "")
    text = text.replace("{gpu: h100-sxm,", "{gpu: h100-sxm, model: ./qwen.json, draft_model: models/llama.json,")
    grid = grid_of(folder, text)
    assert set(grid.catalog["models"]) == {"./qwen.json", "models/llama.json"}
    assert gridplan.evaluate(grid)


def test_a_path_in_a_scenario_and_as_a_label(folder: Path) -> None:
    text = CONTRACT.replace("model: [models/llama.json, qwen.json, llama-3-8b]", "tensor_parallel: [1, 2]")
    text = text.replace("h100-sxm,", "h100-sxm, model: llama-3-8b,") + "scenarios: {ours: {model: qwen.json}}\n"
    assert gridplan.evaluate(grid_of(folder, text)).sizes["scenario"] == 2
    by = CONTRACT.replace("vllm@0.21}", "vllm@0.21, mfu: {by: model, qwen.json: 0.3, default: 0.4}}")
    assert gridplan.evaluate(grid_of(folder, by))


def test_own_entries_stay_beside_files(folder: Path) -> None:
    text = CONTRACT + "catalog: {models: {qwen3-8b: {params_total: 9e9}}}\n"
    assert set(grid_of(folder, text).catalog["models"]) == {"qwen3-8b", "models/llama.json", "qwen.json"}


def test_a_missing_file(folder: Path) -> None:
    found = problems(folder, CONTRACT.replace("qwen.json", "nope.json"))
    assert [(item.line, item.key, item.message) for item in found] == [(5, "axes.model[1]", "nope.json: no such file")]


def test_a_published_name_is_no_path(folder: Path) -> None:
    (found,) = problems(folder, CONTRACT.replace("qwen.json", "meta-llama/Llama-3.1-8B"))
    assert found.key == "axes.model[1]"
    said = "meta-llama/Llama-3.1-8B: no such file, and no model of that id (did you mean llama-3.1-8b?)"
    assert found.message == said


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (config_of("qwen3-8b", hidden_size=-1, vocab_size=...),
         "qwen.json: hidden_size: must be a whole number from 1 to 2,147,483,647; -1 is not; "
         "qwen.json: vocab_size: is missing"),
        (config_of("qwen3-8b", model_type="qwen9"), "qwen.json: model_type: 'qwen9' is not understood"),
        ('{\n"a": 1,\n"a": 2}', "qwen.json:3: a: is given twice"),
        ("{\n", "qwen.json:2: is not JSON"),
    ],
)  # fmt: skip
def test_a_broken_file(config: object, message: str, folder: Path) -> None:
    written(folder, config, "qwen.json")
    (found,) = problems(folder, CONTRACT)
    assert (found.line, found.column, found.key) == (5, 35, "axes.model[1]")
    assert found.message.startswith(message)
