"""Laws of a catalog folder: any text is entries or a list of problems, and any price bills in proportion."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gridplan.catalog import load_catalog
from gridplan.catalog.diff import catalog_diff
from gridplan.contract.catalog_folder import FILES, read_catalog_folder
from gridplan.errors import ContractError

SHIPPED = load_catalog()
ONE_FOLDER = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

WORDS = st.sampled_from(
    [
        *("h100-sxm", "l4", "ours", "llama-3.1-8b", "vllm@0.21", "aws-p5-48xlarge", "memory_bytes", "flops", "gpu"),
        *("num_layers", "usd_per_node_hour", "mbu", "class", "source", "as_of", "layer_groups", "bf16", "kind"),
    ]
)
VALUES = st.one_of(
    WORDS, st.integers(-2, 10**12), st.floats(allow_nan=False).map(str), st.sampled_from(["null", "80 GiB", "{}", "*a"])
)
NESTED = st.recursive(
    VALUES.map(str),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(st.tuples(WORDS, inner), max_size=4).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=12,
)


@ONE_FOLDER
@given(name=st.sampled_from(list(FILES)), text=NESTED)
def test_any_text_is_entries_or_problems_with_their_file(tmp_path: Path, name: str, text: str) -> None:
    folder = tmp_path / "ours"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    (folder / name).write_text(text, encoding="utf-8")
    read, problems = read_catalog_folder(folder)
    assert all(problem.file == str(folder / name) and problem.message for problem in problems)
    if not problems:
        changed = {change.kind for change in catalog_diff(SHIPPED, read.catalog)}
        assert changed <= {FILES[name]}


@ONE_FOLDER
@given(price=st.floats(0.01, 1e6))
def test_a_price_is_the_one_written_and_nothing_else_changes(tmp_path: Path, price: float) -> None:
    (tmp_path / "instances.yaml").write_text(f"aws-p5-48xlarge: {{usd_per_node_hour: {price!r}}}\n")
    read, problems = read_catalog_folder(tmp_path)
    assert problems == ()
    assert read.catalog.instance("aws-p5-48xlarge").usd_per_node_hour == price
    changes = catalog_diff(SHIPPED, read.catalog)
    assert [change.id for change in changes] == ["aws-p5-48xlarge"]
    assert {item.name for item in changes[0].fields} <= {"usd_per_node_hour"}


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContractError):
        read_catalog_folder(tmp_path)
