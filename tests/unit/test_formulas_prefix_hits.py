"""Uncached prompt tokens of classes: by hand, exactly the common ratio where there is one, and over labelled arrays."""

from __future__ import annotations

import math

import numpy as np
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from gridplan import formulas as f

WEIGHT, PROMPT, HIT = [0.5, 0.25, 0.25], [1000.0, 2000.0, 8000.0], [0.0, 0.5, 0.9]


def test_a_mix_by_hand() -> None:
    # 0.5 * 1000 + 0.25 * 1000 + 0.25 * 800 = 950 of 3000 tokens
    assert math.isclose(f.uncached_tokens_mean(WEIGHT, PROMPT, HIT), 950, rel_tol=1e-14)
    assert math.isclose(f.prefix_hit_ratio_mean(WEIGHT, PROMPT, HIT), 1 - 950 / 3000, rel_tol=1e-14)
    assert f.uncached_tokens_max(WEIGHT, PROMPT, HIT) == 1000
    assert f.uncached_tokens(8000, 0.9) == 8000 * (1 - 0.9)


def test_classes_that_do_not_occur_count_for_nothing() -> None:
    weight, prompt, hit = [1.0, 0.0], [1000.0, 9000.0], [0.75, 0.0]
    assert f.prefix_hit_ratio_mean(weight, prompt, hit) == 0.75
    assert f.uncached_tokens_max(weight, prompt, hit) == 250
    assert f.uncached_tokens_mean(weight, prompt, hit) == 250


@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(1, 1e5)), min_size=1, max_size=6), st.floats(0, 0.99))
def test_one_ratio_for_all_is_that_ratio_to_the_last_bit(rows: list[tuple[float, float]], hit: float) -> None:
    weight, prompt = np.array(rows).T
    weight = weight / weight.sum()
    hits = np.full(len(rows), hit)
    assert f.prefix_hit_ratio_mean(weight, prompt, hits) == hit
    assert f.uncached_tokens_mean(weight, prompt, hits) == f.prompt_tokens_mean(weight, prompt) * (1 - hit)
    assert f.uncached_tokens_max(weight, prompt, hits) == f.prompt_tokens_max(weight, prompt) * (1 - hit)


def test_labelled_arrays_line_up_by_name() -> None:
    hits = xr.DataArray([[0.0, 0.0, 0.0], HIT], dims=("case", "class"))
    weight, prompt = (xr.DataArray(values, dims="class") for values in (WEIGHT, PROMPT))
    found = f.uncached_tokens_mean(weight, prompt, hits)
    assert found.dims == ("case",)
    np.testing.assert_allclose(found, [3000, 950])


def test_unknown_lengths_are_unknown() -> None:
    assert math.isnan(f.uncached_tokens_mean([1.0], [math.nan], [0.5]))
    assert math.isnan(f.uncached_tokens_max([1.0], [math.nan], [0.5]))
