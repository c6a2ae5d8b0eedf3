"""A folder of catalog entries: found by argument and by pyproject.toml, merged in order, refused when wrong."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import gridplan
from gridplan.catalog import load_catalog
from gridplan.contract.catalog_folder import read_catalog_folder
from gridplan.engine.inputs import build_inputs, catalog_of
from gridplan.engine.tables import catalog_hash
from gridplan.errors import ContractError, StoreError
from gridplan.store.manifest import read_manifest

GRID = """\
schema: 1
name: one
workload: {prompt_tokens: 500, output_tokens: 500, arrival_rate: 100}
deployment: {instance: aws-p5-48xlarge, model: llama-3.1-8b}
slo: {tpot: {limit: 50 ms}}
policy: {rho_target: 0.7}
"""
PRICE = "aws-p5-48xlarge: {usd_per_node_hour: 40, source: our contract, class: fact, as_of: 2026-10-01}\n"
GPU = "ours-gpu: {memory_bytes: 64 GiB, memory_bandwidth_bytes_per_s: 2 TB/s, peak_flops: {bf16: 312 TFLOP/s}}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a contract, grids/one.yaml, and a catalog folder, ours/instances.yaml."""
    (tmp_path / "grids").mkdir()
    (tmp_path / "grids" / "one.yaml").write_text(GRID)
    write(tmp_path / "ours", instances=PRICE)
    return tmp_path


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def price(grid: gridplan.contract.grid.Grid) -> float | None:  # type: ignore[name-defined]
    return catalog_of(grid).instance("aws-p5-48xlarge").usd_per_node_hour


def problems(folder: Path) -> list[str]:
    return [str(problem).removeprefix(f"{folder}{os.sep}") for problem in read_catalog_folder(folder)[1]]


def test_without_a_folder_the_shipped_price_holds(project: Path) -> None:
    grid = gridplan.load_grid(project / "grids" / "one.yaml")
    assert (grid.folder, price(grid)) == (None, 55.04)


def test_an_overridden_price_changes_the_bill_in_proportion(project: Path) -> None:
    path = project / "grids" / "one.yaml"
    shipped = gridplan.evaluate(gridplan.load_grid(path))
    ours = gridplan.evaluate(gridplan.load_grid(path, catalog=project / "ours"))
    assert ours["replicas"].item() == shipped["replicas"].item()
    assert ours["usd_per_month"].item() / shipped["usd_per_month"].item() == pytest.approx(40 / 55.04, rel=1e-12)


def test_the_source_names_the_file_and_what_it_overrides(project: Path) -> None:
    entry = catalog_of(gridplan.load_grid(project / "grids" / "one.yaml", project / "ours")).instance("aws-p5-48xlarge")
    before = load_catalog().instance("aws-p5-48xlarge").source
    assert entry.source == f"our contract (ours/instances.yaml); fields it does not give: {before}"
    assert (entry.cls, entry.as_of) == ("fact", "2026-10-01")


def test_an_entry_without_a_source_has_that_of_its_file(tmp_path: Path) -> None:
    folder, found = read_catalog_folder(write(tmp_path / "ours", gpus=GPU))
    gpu = folder.catalog.gpu("ours-gpu")
    assert (found, gpu.source, gpu.cls, gpu.memory_source) == ((), "ours/gpus.yaml", "assumption", "catalog_folder")


@pytest.mark.parametrize("start", [".", "grids"])
def test_the_nearest_pyproject_names_the_folder_from_any_working_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    (project / "pyproject.toml").write_text('[tool.gridplan]\ncatalog = "ours"\n')
    (project / "grids" / "pyproject.toml").write_text('[project]\nname = "gridplan-grids"\n')  # says nothing of us
    monkeypatch.chdir(project / start)
    grid = gridplan.load_grid(project / "grids" / "one.yaml")
    assert price(grid) == 40
    assert grid.folder.said_by == os.path.relpath(project / "pyproject.toml")


def test_the_argument_wins_over_pyproject(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.gridplan]\ncatalog = "ours"\n')
    write(project / "other", instances=PRICE.replace("40", "41"))
    assert price(gridplan.load_grid(project / "grids" / "one.yaml", project / "other")) == 41


def test_a_nearer_table_without_a_catalog_ends_the_search(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.gridplan]\ncatalog = "ours"\n')
    (project / "grids" / "pyproject.toml").write_text("[tool.gridplan]\n")
    assert price(gridplan.load_grid(project / "grids" / "one.yaml")) == 55.04


def test_the_contract_wins_over_the_folder_field_by_field(project: Path) -> None:
    path = project / "grids" / "one.yaml"
    path.write_text(GRID + "catalog: {instances: {aws-p5-48xlarge: {region: home}}}\n")
    entry = catalog_of(gridplan.load_grid(path, project / "ours")).instance("aws-p5-48xlarge")
    assert (entry.usd_per_node_hour, entry.region) == (40, "home")
    assert entry.source.startswith("contract; fields it does not give: our contract (ours/instances.yaml); fields")
    path.write_text(GRID + "catalog: {instances: {aws-p5-48xlarge: {usd_per_node_hour: 30}}}\n")
    assert price(gridplan.load_grid(path, project / "ours")) == 30


def test_new_entries_serve_as_labels_axes_and_parts_of_the_contracts_own(project: Path) -> None:
    write(project / "ours", gpus=GPU)
    path = project / "grids" / "one.yaml"
    path.write_text(
        GRID.replace("aws-p5-48xlarge", "box").replace("arrival_rate: 100", "arrival_rate: 1")
        + "catalog: {instances: {box: {gpu: ours-gpu, gpus_per_node: 4, usd_per_node_hour: 10}}}\n"
    )
    assert gridplan.evaluate(gridplan.load_grid(path, project / "ours"))["status"].item() == "ok"
    path.write_text(
        GRID.replace("instance: aws-p5-48xlarge, ", "") + "axes: {gpu: {catalog: gpus, where: {vendor: ''}}}"
    )
    assert gridplan.load_grid(path, project / "ours").axis("gpu").labels == ("ours-gpu",)


def test_a_text_takes_a_folder_and_looks_for_none(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "pyproject.toml").write_text('[tool.gridplan]\ncatalog = "ours"\n')
    monkeypatch.chdir(project)
    assert price(gridplan.loads_grid(GRID)) == 55.04
    assert price(gridplan.loads_grid(GRID, catalog="ours")) == 40
    read = gridplan.load_grid("grids/one.yaml").folder
    assert gridplan.loads_grid(GRID, catalog=read).folder is read


def test_every_problem_of_every_file_comes_at_once(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "ours",
        gpus="ours: {memory_bytes: 64 GiB, memory_bandwidth: 2e12}\n'a.b':\n  flops: {bf61: 3}\nl4: *x\n",
        instances="box:\n  gpu: ours\n  gpus_per_node: 1.5\nbox2: {gpu: h100, gpus_per_node: 8}\nl4x: {}\nl4x: {}\n",
        models="",
        engines="- vllm\n",
        gpu="x: {}\n",
    )
    assert problems(folder) == [
        "engines.yaml:1:1: is a list; a file of the catalog is a mapping that holds entries by id",
        "gpu.yaml: unknown file (did you mean gpus.yaml, engines.yaml, models.yaml?); a catalog folder holds "
        "gpus.yaml, models.yaml, instances.yaml, engines.yaml",
        "gpus.yaml:1:1: ours: a new entry needs memory_bandwidth_bytes_per_s, flops",
        "gpus.yaml:1:30: ours.memory_bandwidth: unknown field (did you mean memory_bandwidth_bytes_per_s, "
        "memory_bytes?)",
        "gpus.yaml:2:1: a.b: a new entry needs memory_bytes, memory_bandwidth_bytes_per_s",
        "gpus.yaml:3:3: a.b.flops: unknown format bf61 (did you mean bf16, fp16?); known: fp16, bf16, fp8, int8, fp4",
        "gpus.yaml:4:5: l4: *x: aliases are not allowed; write the value out",
        "instances.yaml:3:3: box.gpus_per_node: a whole number from 1 is due, not 1.5",
        "instances.yaml:4:8: box2.gpu: unknown GPU h100 (did you mean h100-pcie, h100-sxm, h100-nvl?)",
        "instances.yaml:5:1: l4x: fields and values are due, not {}",
        "instances.yaml:6:1: l4x: is given twice; first on line 5",
        "models.yaml: is empty; a file of the catalog holds entries by id",
    ]


def test_faults_of_the_folder_and_of_the_contract_come_together_and_are_not_repeated(project: Path) -> None:
    write(project / "ours", gpus="ours-gpu: {memory_bytes: 64 GiB}\n")
    path = project / "grids" / "one.yaml"
    path.write_text(GRID.replace("instance: aws-p5-48xlarge", "gpu: ours-gpu, tensor_paralel: 2"))
    with pytest.raises(ContractError) as caught:
        gridplan.load_grid(path, project / "ours")
    assert [Path(problem.file or "").name for problem in caught.value.problems] == ["gpus.yaml", "one.yaml"]
    assert "unknown gpu" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("our", "our: no such catalog folder (did you mean ours?)"),
        ("grids", "one.yaml: unknown file"),
        ("grids/one.yaml", "is no folder"),
        ("empty", "holds none of gpus.yaml, models.yaml, instances.yaml, engines.yaml"),
        ("", "a catalog folder is due, not an empty name"),
    ],
)
def test_a_folder_that_is_none_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch, name: str, part: str) -> None:
    (project / "empty").mkdir()
    monkeypatch.chdir(project)
    with pytest.raises(ContractError) as caught:
        gridplan.load_grid("grids/one.yaml", name)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            '[tool.gridplan]\ncatlog = "ours"\n',
            "pyproject.toml:2:1: tool.gridplan.catlog: unknown key (did you mean cat",
        ),
        ("[tool.gridplan]\ncatalog = 3\n", "pyproject.toml:2:1: tool.gridplan.catalog: a folder is due"),
        ('[tool.gridplan]\ncatalog = "out"\n', "out: no such catalog folder (did you mean ours?) (named by "),
        ('[tool.gridplan]\ncatalog = "ours\n', "pyproject.toml: is not valid TOML"),
        ("[tool]\ngridplan = 3\n", "pyproject.toml: tool.gridplan: a table is due"),
    ],
)
def test_a_wrong_pyproject_is_named(project: Path, monkeypatch: pytest.MonkeyPatch, text: str, part: str) -> None:
    (project / "pyproject.toml").write_text(text)
    monkeypatch.chdir(project)
    with pytest.raises(ContractError) as caught:
        gridplan.load_grid("grids/one.yaml")
    assert part in str(caught.value)


def test_a_broken_pyproject_that_does_not_speak_of_gridplan_is_not_ours(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.other\n")
    assert gridplan.load_grid(project / "grids" / "one.yaml").folder is None


def test_an_index_lies_beside_the_file_of_its_model(tmp_path: Path) -> None:
    folder = write(tmp_path / "ours", models="llama-3.1-8b: {safetensors_index: index.json}\n")
    (folder / "index.json").write_text('{"metadata": {"total_size": 16060522496}}')
    read, found = read_catalog_folder(folder)
    assert (found, read.catalog.model("llama-3.1-8b").checkpoint_bytes) == ((), 16060522496)
    assert read.catalog.model("llama-3.1-8b").source.startswith("index.json, metadata.total_size (ours/models.yaml);")
    (folder / "index.json").unlink()
    assert "models.yaml:1:" in problems(folder)[0]


def test_the_hash_changes_with_the_values_and_not_with_the_place(project: Path, tmp_path: Path) -> None:
    path = project / "grids" / "one.yaml"

    def hashed(folder: Path | None) -> str:
        return catalog_hash(build_inputs(gridplan.load_grid(path, folder)).catalog)

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = write(elsewhere / "ours", instances="# the same\n" + PRICE)
    dearer = write(elsewhere / "dearer", instances=PRICE.replace("40", "41"))
    assert hashed(project / "ours") == hashed(moved)
    assert len({hashed(None), hashed(moved), hashed(dearer)}) == 3


def test_a_cube_says_its_folder_and_is_not_resumed_with_another(project: Path) -> None:
    path, cube = project / "grids" / "one.yaml", project / "cube"
    grid = gridplan.load_grid(path, project / "ours")
    gridplan.run(grid, cube)
    said = read_manifest(cube).attrs["catalog_folder"]
    assert said == f"ours: instances.yaml sha256 {grid.folder.sha256['instances.yaml']}"
    assert gridplan.open_cube(cube).attrs["catalog_folder"] == said
    assert gridplan.run(grid, cube, resume=True).resumed == 1
    (project / "ours" / "instances.yaml").write_text(PRICE.replace("40", "41"))
    for other in (project / "ours", None):
        with pytest.raises(StoreError, match="differs in the catalog: it cannot be resumed"):
            gridplan.run(gridplan.load_grid(path, other), cube, resume=True)


def test_engines_of_the_folder_are_found_by_version_and_overridden_again(project: Path) -> None:
    write(
        project / "ours", engines="vllm@0.21: {mbu: 0.7}\nmine: {fraction_meaning: of_total, default_fraction: 0.8}\n"
    )
    own = "catalog: {engines: {vllm@0.21: {mfu: 0.5}, mine: {default_fraction: 0.85}}}\n"
    catalog = catalog_of(gridplan.loads_grid(GRID + own, catalog=project / "ours"))
    assert (catalog.engine("vllm@0.21.1").mbu, catalog.engine("vllm@0.21").mfu) == (0.7, 0.5)
    assert catalog.engine("mine").default_fraction == 0.85
    assert len(catalog.engines) == len(load_catalog().engines) + 1


def test_numbers_of_a_folder_are_those_of_the_contracts_section(project: Path) -> None:
    """The same entry in either place plans the same cube, but for its provenance."""
    section = GRID + "catalog: {instances: {" + PRICE.strip() + "}}\n"
    there, here = gridplan.loads_grid(GRID, catalog=project / "ours"), gridplan.loads_grid(section)
    one, other = gridplan.evaluate(there), gridplan.evaluate(here)
    for name in one.data_vars:
        left, right = one[name].values, other[name].values
        same = left == right if left.dtype == object else np.isclose(left, right, rtol=0, atol=0, equal_nan=True)
        assert np.all(same), name
