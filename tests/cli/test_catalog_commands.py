"""`--catalog`, `gridplan catalog diff` and `gridplan catalog validate` as a person or a script calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gridplan

Cli = Callable[..., Any]


GRID = """\
schema: 1
name: one
workload: {prompt_tokens: 500, output_tokens: 500, arrival_rate: 100}
deployment: {instance: lambda-gpu-8x-h100-sxm, model: llama-3.1-8b}
slo: {tpot: {limit: 50 ms}}
policy: {rho_target: 0.7}
"""
PRICE = "lambda-gpu-8x-h100-sxm: {usd_per_node_hour: 16, source: our contract, class: fact, as_of: 2026-11-01}\n"

LOG = Path(__file__).parents[2] / "docs" / "vllm-startup.log"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a contract and a catalog folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.yaml").write_text(GRID)
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "instances.yaml").write_text(PRICE)
    return tmp_path


def configure(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.gridplan]\ncatalog = "ours"\n')


@pytest.mark.parametrize(
    "command",
    [
        ("run", "one.yaml", "-o", "cube"),
        ("estimate", "one.yaml"),
        ("explain", "one.yaml"),
        ("solve", "one.yaml", "--for", "max_context"),
        ("validate", "one.yaml"),
        ("measure", "log", LOG),
        ("schema",),
        ("catalog", "instances"),
        ("catalog", "diff"),
    ],
    ids=lambda command: "-".join(map(str, command[:2])),
)
def test_every_command_takes_the_folder_and_says_so(project: Path, cli: Cli, command: tuple[str, ...]) -> None:
    asked = cli(*command, "--catalog", "ours")
    assert (asked.code, asked.err.splitlines()[0]) == (0, "catalog ours: 1 instance")
    if command[0] == "run":
        command = (*command, "--force")
    configure(project)
    found = cli(*command)
    assert found.code == 0
    assert found.out == asked.out or command[0] == "estimate"  # which measures seconds
    assert found.err.splitlines()[0] == "catalog ours (pyproject.toml): 1 instance"
    wrong = cli(*command, "--catalog", "our")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err == "error: our: no such catalog folder (did you mean ours?)\n"


def test_the_price_of_the_folder_is_billed_and_explained(project: Path, cli: Cli) -> None:
    page = cli("explain", "one.yaml", "--catalog", "ours").out
    assert "our contract (ours/instances.yaml); ..., 2026-11-01" in page
    shipped, ours = (
        gridplan.evaluate(gridplan.load_grid("one.yaml", folder))["usd_per_month"].item() for folder in (None, "ours")
    )
    assert ours / shipped == pytest.approx(16 / 31.92)


def test_resume_with_another_folder_is_refused(project: Path, cli: Cli) -> None:
    assert cli("run", "one.yaml", "-o", "cube", "--catalog", "ours").code == 0
    refused = cli("run", "one.yaml", "-o", "cube", "--resume")
    assert refused.code == 3
    assert "differs in the catalog" in refused.err


def test_faults_of_the_folder_stop_every_command(project: Path, cli: Cli) -> None:
    (project / "ours" / "instances.yaml").write_text("box: {gpu: h100, gpus: 8}\nbox2: [\n")
    found = cli("catalog", "gpus", "--catalog", "ours")
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("error: ours/instances.yaml:3:1: ")
    (project / "ours" / "instances.yaml").write_text("box: {gpu: h100, gpus: 8}\n")
    for command in (("catalog", "gpus"), ("run", "one.yaml", "-o", "cube"), ("schema",)):
        found = cli(*command, "--catalog", "ours")
        assert (found.code, found.out, len(found.err.splitlines())) == (2, "", 2)
    assert not (project / "cube").exists()


def test_options_may_stand_before_the_kind(project: Path, cli: Cli) -> None:
    name = "lambda-gpu-8x-h100-sxm"
    entry = json.loads(cli("catalog", "--json", "--catalog", "ours", "instances", name).out)
    assert (entry["usd_per_node_hour"], entry["source"].split(";")[0]) == (16, "our contract (ours/instances.yaml)")
    (project / "models").mkdir()
    (project / "models" / "instances.yaml").write_text(PRICE)
    assert json.loads(cli("catalog", "--catalog", "models", "instances", name, "--json").out) != []


def test_a_diff_shows_old_and_new_with_both_sources(project: Path, cli: Cli) -> None:
    (project / "ours" / "gpus.yaml").write_text(
        "mine: {memory_bytes: 1 GiB, memory_bandwidth_bytes_per_s: 1e12, flops: {bf16: 1e14}}\n"
    )
    found = cli("catalog", "diff", "--catalog", "ours")
    lines = found.out.splitlines()
    assert lines[0] == "+ gpus mine (added)"
    start = lines.index("~ instances lambda-gpu-8x-h100-sxm (changed)")
    assert lines[start + 1] == "    usd_per_node_hour  31.92 -> 16"
    assert lines[start + 2].startswith("    was: fact, 2026-09-20, https://")
    assert lines[start + 3] == "    now: fact, 2026-11-01, our contract (ours/instances.yaml)"
    assert cli("catalog", "diff", "--catalog", "ours", "gpus").out.splitlines() == lines[:start]


def test_a_diff_of_a_contract_holds_its_own_section_and_the_folder(project: Path, cli: Cli) -> None:
    own = "catalog: {instances: {lambda-gpu-8x-h100-sxm: {region: home}, box: {gpu: l4, gpus_per_node: 1}}}\n"
    (project / "one.yaml").write_text(GRID + own)
    configure(project)
    changes = json.loads(cli("catalog", "diff", "one.yaml", "--json").out)
    assert [(item["id"], item["what"]) for item in changes] == [("lambda-gpu-8x-h100-sxm", "changed"), ("box", "added")]
    fields = {item["name"]: (item["old"], item["new"]) for item in changes[0]["fields"]}
    assert fields["usd_per_node_hour"] == (31.92, 16)
    assert fields["region"][1] == "home"


def test_a_diff_of_nothing_says_so(project: Path, cli: Cli) -> None:
    same = cli("catalog", "diff", "one.yaml")
    assert (same.code, same.out, same.err) == (0, "", "nothing differs from the shipped catalog\n")
    assert json.loads(cli("catalog", "diff", "one.yaml", "--json").out) == []
    none = cli("catalog", "diff")
    assert none.code == 2
    assert "no catalog folder is in use" in none.err


def test_validate_of_a_folder_judges_its_entries_alone(project: Path, cli: Cli) -> None:
    fresh = cli("catalog", "validate", "ours")
    assert (fresh.code, fresh.out) == (0, "")
    assert fresh.err == "ours: 1 entry; 0 errors, 0 warnings, 0 infos\n"
    old = cli("catalog", "validate", "ours", "--on", "2027-02-01")
    said = (
        "ours/instances.yaml:1: warning: lambda-gpu-8x-h100-sxm: has a price of 2026-11-01: 92 days old, more than 90"
    )
    assert (old.code, old.out) == (0, said + "\n")
    assert cli("catalog", "validate", "ours", "--on", "2027-02-01", "--prices-older-than", "92").out == ""


def test_validate_exits_with_1_on_faults_and_still_judges_the_rest(project: Path, cli: Cli) -> None:
    (project / "ours" / "instances.yaml").write_text(PRICE + "box: {gpu: h100, gpus_per_node: 8}\nsmall: {gpu: l4}\n")
    (project / "ours" / "gpus.yaml").write_text("mi325x: {name: ours, source: card, as_of: 2026-11-01, class: fact}\n")
    found = cli("catalog", "validate", "ours", "--json")
    data = json.loads(found.out)
    assert (found.code, data["ok"], data["on"]) == (1, False, "2026-11-30")
    assert data["checked"] == [{"what": "ours", "entries": 4}]
    errors = [(item["line"], item["key"]) for item in data["findings"] if item["severity"] == "error"]
    assert errors == [(2, "box.gpu"), (3, "small")]
    lacks = next(item for item in data["findings"] if item["file"] == "ours/gpus.yaml")
    assert (lacks["severity"], lacks["line"], lacks["message"][:18]) == ("warning", 1, "lacks memory_bytes")
    assert data["counts"]["error"] == 2


def test_validate_of_a_contract_judges_its_section_and_the_folder(project: Path, cli: Cli) -> None:
    own = "catalog:\n  instances:\n    box: {gpu: l4, gpus_per_node: 1}\n"
    (project / "one.yaml").write_text(GRID + own)
    configure(project)
    found = cli("catalog", "validate", "one.yaml")
    assert found.code == 0
    line = len(GRID.splitlines()) + 3
    assert f"one.yaml:{line}: warning: catalog.instances.box: has no source" in found.out
    assert found.err == "one.yaml: 1 entry, ours: 1 entry; 0 errors, 2 warnings, 2 infos\n"
    (project / "one.yaml").write_text(GRID + own.replace("l4", "l5"))
    assert cli("catalog", "validate", "one.yaml").code == 2


def test_validate_without_a_target_judges_the_shipped_catalog(project: Path, cli: Cli) -> None:
    found = cli("catalog", "validate")
    assert found.code == 0
    assert found.err.startswith("shipped: 314 entries; 0 errors, ")
    assert all(line.startswith("gridplan/catalog/data/") for line in found.out.splitlines())
    configure(project)
    assert cli("catalog", "validate").err.startswith("shipped: 314 entries, ours: 1 entry; ")


@pytest.mark.parametrize("target", ["none.yaml", "none"])
def test_validate_of_what_is_not_there(project: Path, cli: Cli, target: str) -> None:
    found = cli("catalog", "validate", target)
    assert (found.code, found.out) == (2, "")
    assert "no such file" in found.err


def test_two_folders_are_refused(project: Path, cli: Cli) -> None:
    assert cli("catalog", "validate", "ours", "--catalog", "ours").code == 2


def test_validate_of_a_grid_says_old_prices_of_today_and_a_cube_does_not(
    project: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "ours" / "instances.yaml").write_text(PRICE.replace("2026-11-01", "2026-06-01"))
    found = cli("validate", "one.yaml", "--catalog", "ours")
    said = "prices older than 180 days on 2026-11-30 (today): lambda-gpu-8x-h100-sxm (2026-06-01)"
    assert found.err.splitlines()[1] == f"one.yaml: warning: {said}"
    assert said in json.loads(cli("validate", "one.yaml", "--catalog", "ours", "--json").out)["warnings"]
    assert "prices" not in cli("run", "one.yaml", "-o", "cube", "--catalog", "ours").err
    (project / "one.yaml").write_text(GRID + "priced_on: 2026-11-30\n")
    assert "(priced_on)" in cli("run", "one.yaml", "-o", "dated", "--catalog", "ours").err
    assert "today" not in cli("validate", "one.yaml", "--catalog", "ours").err
    assert "(priced_on)" in cli("explain", "one.yaml", "--catalog", "ours").out


def test_a_model_shows_groups_parts_and_what_it_lacks(cli: Cli) -> None:
    page = cli("catalog", "models", "deepseek-v3").out
    assert "  61 mla 512+64  (fact, 2026-11-29, " in page
    assert "  routed_experts  653,908,770,816\n" in page  # 58 layers x 256 experts x 3 x 7168 x 2048
    assert page.endswith("can be planned\n")
    lacking = json.loads(cli("catalog", "models", "gemma-4-e2b", "--json").out)
    assert lacking["missing_for_plan"] == ["params_total", "params_active"]
    last = cli("catalog", "models", "gemma-4-e2b").out.splitlines()[-1]
    assert last == "can be planned where params_total, params_active are stated: not known here"


@pytest.mark.parametrize("name", ["llama-3.1-8b", "deepseek-v3", "qwen3-30b-a3b"])
def test_the_parts_of_a_model_add_up(cli: Cli, name: str) -> None:
    model = json.loads(cli("catalog", "models", name, "--json").out)
    assert sum(model["params_by_part"].values()) == model["params_total"]


def test_help_names_kinds_and_commands(cli: Cli) -> None:
    page = cli("catalog", "--help").out
    assert all(f"\n  {name} " in page for name in ("gpus", "dtypes", "diff", "validate"))
    assert cli("catalog", "validat").code == 2
    assert "did you mean validate?" in cli("catalog", "validat").err
