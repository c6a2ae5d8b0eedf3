"""The longest sequence of a published model, by the factor of its RoPE scaling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from published_configs import config_of, written

from gridplan.catalog.hf import import_model

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


@pytest.mark.parametrize(
    ("rope", "longest"),
    [
        (None, 40960),
        # The model card of Qwen3-8B: YaRN by 4 over 32,768 reaches 131,072 tokens
        (YARN, 131_072),
        ({**YARN, "original_max_position_embeddings": None}, 163_840),
        ({"type": "linear", "factor": 2}, 81_920),
        ({"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}, 40960),
        ({"rope_type": "default"}, 40960),
    ],
)
def test_positions_are_stretched_where_the_file_says_so(rope: Any, longest: int, tmp_path: Path) -> None:
    config = config_of("qwen3-8b", max_position_embeddings=40960, rope_scaling=rope)
    entry = import_model(written(tmp_path, config)).entry
    assert entry["max_position_embeddings"] == longest
    assert ("max_position_embeddings is" in entry.get("notes", "")) == (longest != 40960)


@pytest.mark.parametrize("factor", [0, -1, "4", 10**400, float("inf")])
def test_a_factor_that_is_none(factor: Any, tmp_path: Path) -> None:
    from gridplan.errors import CatalogError

    with pytest.raises(CatalogError, match="must be a number above 0"):
        import_model(written(tmp_path, config_of("qwen3-8b", rope_scaling={**YARN, "factor": factor})))
