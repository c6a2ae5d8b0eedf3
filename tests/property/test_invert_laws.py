"""Every answer of a grid asked backwards is checked forwards, through a contract that states it, on both sides."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.sensitivity.conditions import conditions_of, judged, read_for

FEW = settings(max_examples=3, deadline=None, phases=[Phase.explicit, Phase.generate])

DIMS = ("scenario", "gpu")
SHOWN = ("usd_per_month", "api_usd_per_month", "nodes", "replicas_active", "fleet_sufficient", "usd_per_month_released")


@dataclass(frozen=True)
class Case:
    """A contract in numbers; `written` is the text of it, with an input stated as it is found."""

    arrival_rate: float = 20.0
    prompt_tokens: int = 1500
    output_tokens: int = 300
    tpot_slo_s: float = 0.05
    rho_target: float = 0.7
    redundancy: int = 1
    peak_to_average: float = 2.0
    usd_per_node_hour: float = 30.0
    tensor_parallel: int = 4
    surge: float = 1.5
    api_usd_per_mtok_output: float = 2.4
    more: dict[str, Any] = field(default_factory=dict)

    def written(self) -> str:
        lengths = f"prompt_tokens: {self.prompt_tokens}, output_tokens: {self.output_tokens}"
        if "context_tokens" in self.more:
            lengths = f"context_tokens: {self.more['context_tokens']!r}, output_tokens: {self.output_tokens}"
        policy = {"rho_target": self.rho_target, "redundancy": self.redundancy}
        policy |= {name: value for name, value in self.more.items() if name in ("nodes_given", "budget_usd_per_month")}
        factor = self.more.get("output_factor", 1.0)
        return f"""schema: 1
workload: {{{lengths}, arrival_rate: {self.arrival_rate!r}, peak_to_average: {self.peak_to_average!r}}}
slo: {{tpot: {{limit: {self.tpot_slo_s!r}, percentile: mean}}}}
deployment:
  {{model: llama-3.3-70b, weight_dtype: fp8, tensor_parallel: {self.tensor_parallel}, gpus_per_node: 8,
   usd_per_node_hour: {self.usd_per_node_hour!r}, api_usd_per_mtok_input: 0.6,
   api_usd_per_mtok_output: {self.api_usd_per_mtok_output!r}}}
policy: {{{", ".join(f"{name}: {value!r}" for name, value in policy.items())}}}
axes: {{gpu: [h100-sxm, b200, l40s]}}
scenarios:
  nominal: {{output_tokens: {{multiply: {factor!r}}}}}
  surge: {{arrival_rate: {{multiply: {self.surge!r}}}, output_tokens: {{multiply: {factor!r}}}}}
"""

    def grid(self) -> gridplan.Grid:
        return gridplan.loads_grid(self.written())

    def stating(self, name: str, value: float) -> Case:
        """The same case with an input stated at a value."""
        if name in ("context_tokens", "nodes_given", "budget_usd_per_month", "output_factor"):
            return replace(self, more={**self.more, name: int(value) if name == "nodes_given" else float(value)})
        whole = name in ("redundancy", "output_tokens", "prompt_tokens", "tensor_parallel")
        return replace(self, **{name: int(value) if whole else float(value)})


CASES = st.builds(
    Case,
    arrival_rate=st.floats(1.0, 200.0).map(lambda x: round(x, 2)),
    prompt_tokens=st.integers(200, 6000),
    output_tokens=st.integers(50, 800),
    tpot_slo_s=st.sampled_from([0.02, 0.05, 0.1]),
    rho_target=st.sampled_from([0.5, 0.65, 0.9, 1.0]),
    redundancy=st.integers(0, 3),
    peak_to_average=st.sampled_from([1.0, 1.7, 3.0]),
    usd_per_node_hour=st.sampled_from([12.5, 30.0, 49.24]),
    tensor_parallel=st.sampled_from([2, 4]),
    surge=st.sampled_from([1.25, 1.5, 3.0]),
    api_usd_per_mtok_output=st.sampled_from([0.6, 2.4, 10.0]),
)


def cell(cube: xr.Dataset, at: dict[str, Any]) -> dict[str, Any]:
    return {
        str(name): np.asarray(values.sel({dim: label for dim, label in at.items() if dim in values.dims}).item())
        for name, values in cube.data_vars.items()
    }


def cells(found: xr.Dataset) -> list[tuple[dict[str, Any], xr.Dataset]]:
    """Each cell of an answer with the labels of all dimensions: the first one where nothing changes along it."""
    stacked = found.expand_dims([]).stack(cell=[name for name in DIMS if name in found.dims], create_index=False)
    if "cell" not in stacked.dims:
        return [({}, found)]
    parts = [stacked.isel(cell=place) for place in range(stacked.sizes["cell"])]
    return [({name: part[name].item() for name in DIMS if name in part.coords}, part) for part in parts]


def check(case: Case, found: xr.Dataset, sense: str, name: str, where: list[str], stated: str = "") -> list[str]:
    """Forward evaluation on both sides of every threshold, and at both ends where there is none."""
    conditions = conditions_of(where)
    names = [*read_for(conditions), "infeasible_reason"]
    answers = []

    @cache
    def cube_at(value: float) -> xr.Dataset:
        """All cells where the input is stated so: many of them ask for the same value."""
        return gridplan.evaluate(case.stating(stated or name, value).grid(), names)

    for at, part in cells(found):
        at = {"scenario": "nominal", "gpu": "h100-sxm"} | at

        def holds(value: float, at: dict[str, Any] = at) -> bool:
            return bool(judged(conditions, cell(cube_at(value), at)) == 1.0)

        value, beyond = part[f"{sense}_{name}"].item(), part[f"fails_at_{name}"].item()
        answer = part.answer.item()
        answers.append(answer)
        low, high = found.attrs["low"], found.attrs["high"]
        if answer == "between":
            assert holds(value)
            assert not holds(beyond)
            assert (beyond > value) is (sense == "max")
            whole = name in ("redundancy", "context_tokens")
            assert abs(beyond - value) == 1 if whole else abs(beyond - value) <= 1.1e-11 * value
            assert holds(low if sense == "max" else high)
        elif answer == "always":
            assert value == (high if sense == "max" else low)
            assert holds(low)
            assert holds(high)
        elif answer == "never":
            assert beyond == (low if sense == "max" else high)
            assert not holds(low)
            assert not holds(high)
    return answers


QUESTIONS = {
    "bill": ("max", "arrival_rate", ["usd_per_month <= 150000"], {}),
    "nodes": ("max", "arrival_rate", ["nodes <= 6"], {}),
    "tightest limit": ("min", "tpot_slo_s", [], {}),
    "target": ("max", "rho_target", ["survives_node_loss_slo"], {}),
    "least target": ("min", "rho_target", ["nodes <= 6"], {}),
    "spares": ("max", "redundancy", ["nodes <= 6"], {"low": 0, "high": 40}),
    "price": ("max", "usd_per_node_hour", ["usd_per_month <= 150000"], {}),
    "peaks": ("max", "peak_to_average", ["usd_per_mtok_output <= 9.5"], {}),
    "context": ("max", "context_tokens", ["nodes <= 6"], {"low": 1000, "high": 100_000}),
}


@pytest.mark.parametrize("question", QUESTIONS)
@FEW
@given(case=CASES)
def test_both_sides_of_every_threshold(question: str, case: Case) -> None:
    sense, name, where, span = QUESTIONS[question]
    found = gridplan.invert(case.grid(), f"{sense}:{name}", where=where, **span)  # type: ignore[arg-type]
    check(case, found, sense, name, where)


@FEW
@given(case=CASES)
def test_both_sides_of_a_factor(case: Case) -> None:
    grid = case.grid()
    found = gridplan.invert(grid, "max:output_tokens", where="nodes <= 9", factor=True, low=0.1, high=30)
    check(case, found, "max", "output_tokens_factor", ["nodes <= 9"], stated="output_factor")


@FEW
@given(case=CASES, nodes=st.integers(1, 12), budget=st.integers(5, 400))
def test_caps_are_exact_and_agree_with_the_search(case: Case, nodes: int, budget: int) -> None:
    grid = case.grid()
    fleet = gridplan.invert(grid, "max:arrival_rate", nodes=nodes)
    check(case.stating("nodes_given", nodes), fleet, "max", "arrival_rate", ["fleet_sufficient"])
    capped = gridplan.invert(grid, "max:arrival_rate", budget=1e3 * budget)
    check(case.stating("budget_usd_per_month", 1e3 * budget), capped, "max", "arrival_rate", [])
    searched = gridplan.invert(grid, "max:arrival_rate", where=f"usd_per_month <= {1e3 * budget}")
    np.testing.assert_array_equal(capped.answer.values, searched.answer.values)
    np.testing.assert_allclose(capped.max_arrival_rate.values, searched.max_arrival_rate.values, rtol=1.1e-11)
    assert (fleet.method.values[fleet.answer.values == "between"] == "exact").all()


@pytest.mark.parametrize(("question", "count"), [("next_replica", "replicas_active"), ("next_node", "nodes")])
@FEW
@given(case=CASES)
def test_the_next_step_takes_one_more(question: str, count: str, case: Case) -> None:
    case = replace(case, surge=1.0)
    now = gridplan.evaluate(case.grid(), [count, "status", "infeasible_reason"])
    found = gridplan.invert(case.grid(), question)
    for at, part in cells(found):
        at = {"scenario": "nominal", "gpu": "h100-sxm"} | at
        before = cell(now, at)
        if before["status"] != "ok":
            assert (part.answer.item(), part.fails_reason.item()) == ("never", before["infeasible_reason"].item())
            continue
        value, beyond = part[f"arrival_rate_{question}"].item(), part.fails_at_arrival_rate.item()
        sides = [cell(gridplan.evaluate(case.stating("arrival_rate", x).grid(), [count]), at) for x in (value, beyond)]
        assert sides[0][count] == before[count]
        assert sides[1][count] > before[count]
        assert part.method.item() == "exact"


@pytest.mark.parametrize("measure", ["usd_per_month", "usd_per_month_released"])
@FEW
@given(case=CASES)
def test_the_cheaper_one_changes_at_every_crossing(measure: str, case: Case) -> None:
    found = gridplan.break_even(case.grid(), "arrival_rate", measure=measure, low=1, high=400, points=33)

    @cache
    def cube_at(rate: float) -> xr.Dataset:
        return gridplan.evaluate(case.stating("arrival_rate", rate).grid(), SHOWN)

    def cheaper(rate: float, at: dict[str, Any]) -> str | None:
        both = cell(cube_at(rate), at)
        if np.isnan(both[measure]):
            return None
        return "self_host" if both[measure] <= both["api_usd_per_month"] else "api"

    for at, part in cells(found):
        at = {"scenario": "nominal", "gpu": "h100-sxm"} | at
        ends = [cheaper(end, at) for end in (1.0, 400.0)]
        expected = {"always": "self_host", "never": "api", "unknown": None}
        if part.answer.item() in expected:
            assert ends == [expected[part.answer.item()]] * 2
            continue
        assert ends[0] == part.cheaper_below.values[0]
        assert ends[1] == part.cheaper_above.values[int(part.crossings) - 1]
        for place in {0, int(part.crossings) - 1}:
            for side in ("below", "above"):
                rate = part[f"arrival_rate_{side}"].values[place]
                assert cheaper(rate, at) == part[f"cheaper_{side}"].values[place]
            assert part.cheaper_below.values[place] != part.cheaper_above.values[place]


@FEW
@given(case=CASES)
def test_two_gpus_change_places_at_every_crossing(case: Case) -> None:
    found = gridplan.break_even(case.grid(), "tpot_slo_s", against="gpu=h100-sxm,b200", low=0.01, high=0.2, points=33)

    def cheaper(limit: float, at: dict[str, Any]) -> str | None:
        cube = gridplan.evaluate(case.stating("tpot_slo_s", limit).grid(), ["usd_per_month"])
        first, second = (cell(cube, {**at, "gpu": gpu})["usd_per_month"] for gpu in ("h100-sxm", "b200"))
        if np.isnan(first) or np.isnan(second):
            return None
        return "b200" if second <= first else "h100-sxm"

    for at, part in cells(found):
        at = {"scenario": "nominal"} | at
        if part.answer.item() != "between":
            assert cheaper(0.2, at) in {"always": ["b200"], "never": ["h100-sxm"]}.get(part.answer.item(), [None])
        for place in range(min(int(part.crossings), 3)):
            for side in ("below", "above"):
                limit = part[f"tpot_slo_s_{side}"].values[place]
                assert cheaper(limit, at) == part[f"cheaper_{side}"].values[place]


@FEW
@given(case=CASES)
def test_at_its_break_even_rate_a_fleet_costs_what_the_api_does(case: Case) -> None:
    case = replace(case, surge=1.0)
    found = gridplan.break_even(case.grid())
    now = gridplan.evaluate(case.grid(), ["nodes"])
    for at, part in cells(found):
        at = {"scenario": "nominal", "gpu": "h100-sxm"} | at
        if part.answer.item() == "unknown":
            assert part.fails_reason.item() is not None
            continue
        peak = part.break_even_arrival_rate.item()
        for factor, expected in ((1.0, 0.0), (0.999, -1.0), (1.001, 1.0)):
            fleet = case.stating("nodes_given", cell(now, at)["nodes"]).stating("arrival_rate", peak * factor)
            bills = cell(gridplan.evaluate(fleet.grid(), SHOWN), at)
            difference = bills["api_usd_per_month"] - bills["usd_per_month"]
            assert np.sign(np.round(difference / bills["usd_per_month"], 9)) == expected
