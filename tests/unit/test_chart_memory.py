"""Bars of memory: the lesson's figures, the lines of `explain`, what does not fit, measured pools, cubes, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from drawn_charts import drawn_width, lesson_of_instances

import gridplan
from gridplan import charts
from gridplan.errors import ContractError

GIB = 2.0**30
HOSTILE = ("<script>alert('x')</script>", 'a "quoted" & ' + "very " * 40 + "long name", "größer 数")
AT = {"model": "llama-3.3-70b", "tensor_parallel": 1, "max_model_len": 32768}


def sizes(chart: Any) -> dict[str, float]:
    return {row["part"]: row["bytes_per_gpu"] / GIB for row in chart.data.to_dict("records")}


def measured(grids: Path, pool: str) -> Any:
    """The bar of one cell with a measured pool."""
    text = (grids / "memory.yaml").read_text()
    grid = gridplan.loads_grid(
        text.replace("{engine: vllm@0.25}", f"{{engine: vllm@0.25, kv_pool_bytes_given: {pool}}}")
    )
    return charts.memory(grid, at={**AT, "tensor_parallel": 4, "gpu": "h100-sxm"})


def test_the_lesson(grids: Path) -> None:
    # Capacity Planning: From Traffic Profile to GPU Count 2.1: 79.65 x 0.9 = 71.685; - 14.90 - 1.75 = 55.035 GiB.
    chart = charts.memory(gridplan.load_grid(grids / "lesson.yaml"), at={"instance": "aws-p4de"})
    found = sizes(chart)
    assert found == pytest.approx({"weights": 14.90, "workspace": 1.75, "KV pool": 55.035, "not for the engine": 7.965})
    assert chart.data.usable_memory_bytes_per_gpu.tolist() == pytest.approx([71.685 * GIB] * 4)
    # 128 KiB a token: 55.035 x 8192 = 450,846 tokens; the longest request has 768: 587 of them.
    assert chart.finding == (
        "The KV pool takes 55.04 of 79.65 GiB (69%): 450,846 tokens, 587 sequences of the longest length"
    )


@pytest.mark.parametrize("model", ["llama-3.3-70b", "deepseek-v3.2", "gemma-3-27b", "qwen3-next-80b-a3b"])
def test_the_pieces_are_the_lines_of_explain(grids: Path, model: str) -> None:
    grid = gridplan.load_grid(grids / "memory.yaml")
    at: dict[str, Any] = {"tensor_parallel": 8, "max_model_len": 8192, "gpu": "h200-sxm"}
    data = charts.memory(grid, "model", at).data
    own = data[data.model == model]
    lines = {line.name: line.bytes for line in gridplan.explain(grid, model=model, **at).budget}
    usable = lines.pop("usable memory")
    shown = dict(zip(own.part, own.bytes_per_gpu, strict=True))
    rest = shown.pop("not for the engine")
    assert shown == pytest.approx(lines)
    assert rest + usable == pytest.approx(141 * GIB, rel=0.02)
    assert own.begins_at_bytes.tolist() == pytest.approx([0.0, *own.bytes_per_gpu.cumsum().tolist()[:-1]])


def test_what_does_not_fit(grids: Path) -> None:
    grid = gridplan.load_grid(grids / "memory.yaml")
    chart = charts.memory(grid, at={**AT, "gpu": "h100-sxm"})
    known = gridplan.evaluate(grid, ["memory_shortfall_bytes_per_gpu"]).memory_shortfall_bytes_per_gpu
    short = known.sel({**AT, "gpu": "h100-sxm"}).item()
    assert chart.data.missing_bytes_per_gpu.tolist() == pytest.approx([short] * len(chart.data))
    assert "KV pool" not in chart.data.part.tolist()
    assert f"{short / GIB:.2f} GiB are missing" in chart.finding
    assert f">{short / GIB:.2f} missing</text>" in chart.svg()
    assert "hatched beyond it: what is missing" in chart.notes
    several = charts.memory(grid, "gpu", AT)
    assert f"2 of 3 do not fit: h100-sxm lacks most, {short / GIB:.2f} GiB" in several.finding


def test_a_measured_pool_and_what_the_terms_do_not_explain(grids: Path) -> None:
    grid = gridplan.load_grid(grids / "memory.yaml")
    left = sizes(charts.memory(grid, at={**AT, "tensor_parallel": 4, "gpu": "h100-sxm"}))
    less = measured(grids, "30 GiB")
    assert sizes(less)["KV pool as measured"] == pytest.approx(30.0)
    assert sizes(less)["not explained"] == pytest.approx(left["KV pool"] - 30.0)
    assert sizes(less)["not for the engine"] == pytest.approx(left["not for the engine"])
    assert less.finding.startswith("The KV pool as measured takes 30.00 of 79.19 GiB (38%)")
    more = measured(grids, "40 GiB")
    assert sizes(more)["more than is left"] == pytest.approx(40.0 - left["KV pool"])
    assert sizes(more)["not for the engine"] == pytest.approx(left["not for the engine"] - 40.0 + left["KV pool"])
    assert "takes 40.00 of 79.19 GiB" in more.finding


def test_an_engine_that_takes_a_share_of_what_is_free(grids: Path) -> None:
    text = yaml.safe_load((grids / "memory.yaml").read_text())
    text["deployment"] |= {"engine": "tensorrt-llm", "workspace_bytes": "2 GiB", "max_num_seqs": 64}
    grid = gridplan.loads_grid(yaml.safe_dump(text))
    chart = charts.memory(grid, at={**AT, "gpu": "b200"})
    lines = {line.name: line.bytes for line in gridplan.explain(grid, **{**AT, "gpu": "b200"}).budget}
    assert "free after loading" in lines
    assert sizes(chart)["KV pool"] == pytest.approx(lines["KV pool"] / GIB)
    assert sizes(chart)["not for the engine"] == pytest.approx(lines["left free by the engine"] / GIB)
    assert sum(sizes(chart).values()) == pytest.approx(lines["memory of the GPU"] / GIB)


def test_of_a_cube_what_it_holds(grids: Path, cube: Any, folder: Any) -> None:
    at = {"gpu": "h100-sxm", "tensor_parallel": 4, "max_model_len": 32768}
    data = charts.memory(gridplan.load_grid(grids / "memory.yaml"), "model", at).data
    known = charts.memory(cube("memory"), "model", at)
    same = data[data.part != "not for the engine"].reset_index(drop=True)
    assert known.data.part.tolist() == same.part.tolist()
    assert known.data.bytes_per_gpu.tolist() == pytest.approx(same.bytes_per_gpu.tolist())
    assert "a cube does not say what a GPU has beyond it" in known.notes
    assert charts.memory(folder("memory"), "model", at).data.equals(known.data)
    with pytest.raises(ContractError) as error:
        charts.memory(cube("memory").drop_vars(["lora_bytes_per_gpu", "weights_bytes_per_gpu"]), "model", at)
    assert len(error.value.problems) == 2
    assert all("a contract has it planned" in problem.message for problem in error.value.problems)


def test_what_is_refused(grids: Path) -> None:
    grid = gridplan.load_grid(grids / "memory.yaml")
    with pytest.raises(ContractError, match="did you mean gpu"):
        charts.memory(grid, "gpus", AT)
    with pytest.raises(ContractError, match="fix gpu at one of its 3 labels"):
        charts.memory(grid, at=AT)
    many = gridplan.loads_grid(
        "schema: 1\nworkload: {prompt_tokens: 10, output_tokens: 10}\n"
        "deployment: {model: llama-3.1-8b, gpu: b200}\npolicy: {rho_target: 0.7}\n"
        "axes: {arrival_rate: {linspace: [1, 31, 31]}}\n"
    )
    with pytest.raises(ContractError, match="31 labels, 30 bars are the most"):
        charts.memory(many, "arrival_rate")


@pytest.mark.parametrize("width", [760, 340])
@pytest.mark.parametrize("along", ["model", None])
def test_widths_and_bytes(grids: Path, width: int, along: str | None) -> None:
    at: dict[str, Any] = {"gpu": "h100-sxm", "tensor_parallel": 4, "max_model_len": 32768}
    if along is None:
        at["model"] = "deepseek-v3.2"
    grid = gridplan.load_grid(grids / "memory.yaml")
    first, again = (charts.memory(grid, along, at).svg(width) for _ in range(2))
    assert abs(drawn_width(first) - width) <= 8
    assert first == again


def test_labels_are_text_and_nothing_else(grids: Path) -> None:
    chart = charts.memory(lesson_of_instances(grids, HOSTILE), "instance")
    svg = chart.svg(340)
    assert "<script" not in svg
    assert "&lt;script" in svg
    assert set(chart.data.instance) == set(HOSTILE)
    assert chart.finding == "The KV pool is 55.04 GiB in 3 of 3 bars"


def test_the_command(cli: Any, grids: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    done = cli("chart", "memory", grids / "lesson.yaml", "--at", "instance=aws-p4de", "-o", out)
    assert done.code == 0
    assert done.out.startswith("The KV pool takes 55.04 of 79.65 GiB (69%)")
    assert out.read_text().startswith("<svg")
    failed = cli("chart", "memory", grids / "lesson.yaml", "--along", "gpus", "-o", tmp_path / "b.svg")
    assert failed.code == 2
    assert "--along: gpus is not an axis here" in failed.err
    assert not (tmp_path / "b.svg").exists()
