"""Whatever is done to a published config: an entry that the catalog takes, or a CatalogError that names the field."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from published_configs import CONFIGS, config_of, written

from gridplan.catalog import load_catalog
from gridplan.catalog.hf import import_model
from gridplan.catalog.hf.block import model_block
from gridplan.contract import loads_grid
from gridplan.errors import CatalogError

SHIPPED = load_catalog()
SMALL = sorted(model_id for model_id, item in CONFIGS.items() if len(json.dumps(item)) < 4000)
ODD: list[Any] = [
    None,
    0,
    -1,
    1,
    2,
    7,
    10**9,
    10**30,
    0.5,
    64.0,
    float("nan"),
    float("inf"),
    True,
    False,
    "",
    "64",
    "x",
]
ODD += [[], [0], [1, -1], ["x"], [None], [[1]], {}, {"a": 1}, {"quant_method": "fp8"}, "M*-E", ["full_attention"] * 32]
values = st.one_of(st.sampled_from(ODD), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers(0, 3)))
NEW = (
    "sliding_window",
    "quantization_config",
    "layer_types",
    "num_experts",
    "attention_bias",
    "text_config",
    "head_dim",
)


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all entries, lists of layers aside."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in list(items)[:40]:
        yield (*path, key)
        yield from places(value, (*path, key))


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A published config with one to four fields changed, taken out or added."""
    config = copy.deepcopy(config_of(draw(st.sampled_from(SMALL))))
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from([*places(config), *((name,) for name in NEW)]))
        parent: Any = config
        try:
            for key in path[:-1]:
                parent = parent[key]
            if draw(st.booleans()) or path[-1] not in parent:
                parent[path[-1]] = copy.deepcopy(draw(values))
            else:
                del parent[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue
    return config


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(config=mutated())
def test_an_entry_or_a_clean_error(config: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), config)
        try:
            model = import_model(path)
        except CatalogError as error:
            problems = error.problems
        else:
            problems = ()
    assert all(problem.file == str(path) and problem.message for problem in problems)
    if problems:
        return
    entry = SHIPPED.with_entries({"models": {"own": model.entry}}).model("own")
    assert entry.params_total == sum(model.parts.values())
    assert 0 < (entry.params_active or 0) <= entry.params_total
    assert (entry.checkpoint_bytes or 0) > entry.params_total / 2


@pytest.mark.parametrize("model_id", SMALL[::4])
def test_the_block_means_the_entry(model_id: str, tmp_path: Path) -> None:
    model = import_model(written(tmp_path, config_of(model_id)))
    grid = loads_grid(
        f"schema: 1\nworkload: {{arrival_rate: 1}}\npolicy: {{rho_target: 0.7}}\n{model_block('a: b', model)}"
    )
    own = SHIPPED.with_entries(grid.catalog).model("a: b")
    assert own == SHIPPED.with_entries({"models": {"a: b": model.entry}}).model("a: b")
