"""Class mixes: the lesson's three classes ("Capacity Planning: From Traffic Profile to GPU Count", section 1.2)."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from gridplan.formulas import (
    RESIDENT_CONTEXTS,
    STEP_CONTEXTS,
    context_tokens_max,
    context_tokens_mean,
    output_tokens_mean,
    prompt_tokens_max,
    prompt_tokens_mean,
    resident_tokens,
    resident_tokens_mean,
    step_context_tokens,
)

WEIGHT, PROMPT, OUTPUT = [0.7, 0.2, 0.1], [32, 128, 512], [64, 256, 256]


def test_lesson_mix_means_and_envelope() -> None:
    # Public case C07 as well.
    assert prompt_tokens_mean(WEIGHT, PROMPT) == pytest.approx(99.2, abs=1e-9)
    assert output_tokens_mean(WEIGHT, OUTPUT) == pytest.approx(121.6, abs=1e-9)
    assert context_tokens_mean(WEIGHT, PROMPT, OUTPUT) == pytest.approx(220.8, abs=1e-9)
    assert context_tokens_max(WEIGHT, PROMPT, OUTPUT) == 768
    assert prompt_tokens_max(WEIGHT, PROMPT) == 512


@pytest.mark.parametrize(
    ("convention", "tokens"),
    # by hand: sum w O (P + O) = 4300.8 + 19660.8 + 19660.8 = 43622.4, over sum w O = 121.6
    [("final", 220.8), ("mean", 160.0), ("residence_weighted", 43622.4 / 121.6), ("max", 768.0)],
)
def test_resident_conventions(convention: str, tokens: float) -> None:
    assert resident_tokens(WEIGHT, PROMPT, OUTPUT, convention) == pytest.approx(tokens, rel=1e-12)


@pytest.mark.parametrize(
    ("convention", "tokens"),
    # by hand: sum w O (P + O/2) = 2867.2 + 13107.2 + 16384 = 32358.4, over sum w O = 121.6
    [("mean", 32358.4 / 121.6), ("final", 220.8)],
)
def test_step_conventions(convention: str, tokens: float) -> None:
    assert step_context_tokens(WEIGHT, PROMPT, OUTPUT, convention) == pytest.approx(tokens, rel=1e-12)


@pytest.mark.parametrize("convention", [*RESIDENT_CONTEXTS])
def test_one_class_has_no_mix(convention: str) -> None:
    expected = 3500.0 if convention == "mean" else 6000.0
    assert resident_tokens(1.0, 1000, 5000, convention) == expected


def test_classes_of_weight_zero_do_not_stretch_the_envelope() -> None:
    weight = np.array([[0.7, 0.3, 0.0], [0.5, 0.2, 0.3]])
    prompt, output = np.array([32, 128, 9000]), np.array([64, 256, 1])
    assert context_tokens_max(weight, prompt, output).tolist() == [384.0, 9001.0]
    assert prompt_tokens_max(weight, prompt).tolist() == [128.0, 9000.0]
    assert resident_tokens(weight, prompt, output, "max").tolist() == [384.0, 9001.0]


def test_leading_axes_broadcast_against_the_class_axis() -> None:
    prompt = np.array([[[32, 128, 512]], [[32, 128, 2048]]])  # (scenario, 1, class)
    weight = np.array([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0]])  # (mix, class)
    result = context_tokens_mean(weight, prompt, OUTPUT)
    # The lesson's context row: P3 = 2048 gives 374.4.
    np.testing.assert_allclose(result, [[220.8, 96.0], [374.4, 96.0]], rtol=1e-12)


def test_labelled_classes_reduce_the_last_dimension_of_the_weights_wherever_it_stands() -> None:
    weight = xr.DataArray(WEIGHT, dims="class", coords={"class": ["chat", "code", "sum"]}, attrs={"units": "1"})
    prompt = xr.DataArray([[32, 32], [128, 128], [512, 2048]], dims=("class", "scenario"))
    result = resident_tokens_mean(weight, prompt, xr.DataArray(OUTPUT, dims="class"))
    assert result.dims == ("scenario",)
    assert "class" not in result.coords
    assert result.attrs == {}
    np.testing.assert_allclose(result, [160.0, 313.6], rtol=1e-12)
    assert context_tokens_max(weight, 10, 5).item() == 15.0


def test_conventions_may_be_an_array_of_names() -> None:
    names = np.array(["final", "max", "mean"])
    np.testing.assert_allclose(resident_tokens(WEIGHT, PROMPT, OUTPUT, names), [220.8, 768.0, 160.0], rtol=1e-12)
    axis = xr.DataArray(names, dims="resident_context", coords={"resident_context": names})
    prompt = xr.DataArray([PROMPT, [32, 128, 2048]], dims=("scenario", "class"))
    result = resident_tokens(xr.DataArray(WEIGHT, dims="class"), prompt, xr.DataArray(OUTPUT, dims="class"), axis)
    np.testing.assert_allclose(result.sel(resident_context="mean"), [160.0, 313.6], rtol=1e-12)
    np.testing.assert_allclose(result.sel(resident_context="max"), [768.0, 2304.0], rtol=1e-12)


def test_unknown_conventions_are_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown convention 'worst': one of final, mean, residence_weighted, max"):
        resident_tokens(WEIGHT, PROMPT, OUTPUT, "worst")
    with pytest.raises(ValueError, match="'max'"):
        step_context_tokens(WEIGHT, PROMPT, OUTPUT, ["mean", "max"])
    assert set(STEP_CONTEXTS) == {"mean", "final"}


def test_nan_lengths_stay_nan() -> None:
    prompt = np.array([[32.0, np.nan, 512.0], PROMPT])
    for convention in RESIDENT_CONTEXTS:
        result = resident_tokens(WEIGHT, prompt, OUTPUT, convention)
        assert np.isnan(result).tolist() == [True, False]
