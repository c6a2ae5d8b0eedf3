"""A checkpoint's own byte count wins over parameters times bits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gridplan
from gridplan.catalog.safetensors import index_bytes
from gridplan.errors import ContractError

CONTRACT = """schema: 1
name: ix
workload: {prompt_tokens: 1000, output_tokens: 100, arrival_rate: 1}
deployment: {gpu: h100-sxm, model: llama-3.3-70b, tensor_parallel: 4}
policy: {rho_target: 0.7}
axes: {weight_dtype: [bf16, fp8]}
catalog: {models: {llama-3.3-70b: {safetensors_index: index.json}}}
"""


def write(folder: Path, size: object, contract: str = CONTRACT) -> Path:
    (folder / "index.json").write_text(json.dumps({"metadata": {"total_size": size}, "weight_map": {}}))
    place = folder / "grid.yaml"
    place.write_text(contract)
    return place


def test_the_index_counts_for_the_native_format_alone(tmp_path: Path) -> None:
    cube = gridplan.evaluate(gridplan.load_grid(write(tmp_path, 150_000_000_000)))
    native, fp8 = (float(cube.weights_bytes_per_gpu.sel(weight_dtype=name)) for name in ("bf16", "fp8"))
    assert native == 150e9 / 4
    # 70.55e9 parameters, of which 2 x 128,256 x 8,192 stay in 16 bits.
    assert fp8 == pytest.approx((70_553_706_496 + 2 * 128_256 * 8192) / 4, rel=1e-3)


def test_explain_names_the_index(tmp_path: Path) -> None:
    page = str(gridplan.explain(gridplan.load_grid(write(tmp_path, 150e9)), weight_dtype="bf16"))
    assert "index.json, metadata.total_size" in page


def test_weights_bytes_of_the_contract_win_over_the_index(tmp_path: Path) -> None:
    one = CONTRACT.replace("axes: {weight_dtype: [bf16, fp8]}\n", "")
    text = one.replace("tensor_parallel: 4}", "tensor_parallel: 4, weights_bytes: 141 GB}")
    assert float(gridplan.evaluate(gridplan.load_grid(write(tmp_path, 150e9, text))).weights_bytes_per_gpu) == 141e9 / 4


@pytest.mark.parametrize("size", [0, -5, 1.5, True, None, "big", [1]])
def test_a_size_that_is_none_is_refused(tmp_path: Path, size: object) -> None:
    place = write(tmp_path, size)
    with pytest.raises(ContractError, match=r"grid\.yaml:7:\d+: .*safetensors_index: .*metadata\.total_size"):
        gridplan.load_grid(place)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "\x00", '{"metadata": 3}', "[" * 100_000])
def test_what_is_no_index_is_refused(tmp_path: Path, text: str) -> None:
    place = tmp_path / "index.json"
    place.write_text(text)
    with pytest.raises(ValueError, match=r"index\.json"):
        index_bytes(place)


def test_a_missing_index_and_two_counts_are_one_problem_each(tmp_path: Path) -> None:
    place = write(tmp_path, 150e9)
    (tmp_path / "index.json").unlink()
    with pytest.raises(ContractError) as caught:
        gridplan.load_grid(place)
    assert len(caught.value.problems) == 1
    assert "cannot be read" in str(caught.value)
    both = CONTRACT.replace("index.json}", "index.json, checkpoint_bytes: 3 GB}")
    with pytest.raises(ContractError, match="two counts of the same bytes"):
        gridplan.load_grid(write(tmp_path, 150e9, both))
