"""A contract in a notebook: what it states is on the page, with units, roles and provenance."""

from __future__ import annotations

from pathlib import Path

import pytest
from notebook_pages import Page, read_page

import gridplan
from gridplan.engine.size import cells_of
from gridplan.labels import listed
from gridplan.markup import element, number
from gridplan.sensitivity.roles import axis_role

GRIDS = Path(__file__).parents[2] / "grids"

CONTRACT = """\
schema: 1
name: hours
description: Two workloads, with everything that a contract can state
workloads:
  day:
    arrival_rate: {value: 90 req/min, class: measurement, source: gateway of June, as_of: 2026-06-30}
    classes:
      - name: chat
        weight: 0.75
        prompt_tokens: 1000
        output_tokens: {mean: 300, scv: 0.5, kind: lognormal, max: 4000}
      - {name: code, weight: 0.25, prompt_tokens: 4000, output_tokens: 500, ttft: {limit: 2 s, percentile: 95}}
  night: {arrival_rate: 2 req/s, prompt_tokens: 2000, output_tokens: 200}
slo: {tpot: {limit: 50 ms, percentile: mean}}
deployment:
  gpu: h100-sxm
  model: llama-3.1-8b
  tensor_parallel: {by: kv_dtype, fp8: 1, default: 2}
policy: {rho_target: 0.7}
outputs: [default, goodput]
axes:
  kv_dtype: [bf16, fp8]
  peak_to_average: {linspace: [1, 3, 41]}
scenarios:
  surge: {arrival_rate: {multiply: 1.5}, rho_target: 0.8}
  long: {prompt_tokens: {add: 500}}
"""


@pytest.fixture(scope="module")
def grid() -> gridplan.Grid:
    return gridplan.loads_grid(CONTRACT)


@pytest.fixture(scope="module")
def page(grid: gridplan.Grid) -> Page:
    return read_page(grid._repr_html_())


@pytest.mark.parametrize("path", sorted(GRIDS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_has_a_page_with_its_cells_axes_and_inputs(path: Path) -> None:
    grid = gridplan.load_grid(path)
    page = read_page(grid._repr_html_())
    assert f"{cells_of(grid):,} cell" in page.text
    assert page.values("count") == {name: len(labels) for name, labels in grid.dimensions.items()}
    stated = page.values("value")
    for name, given in (*grid.given.items(), *(item for own in grid.workloads for item in own.given.items())):
        assert stated[name] == (given.value if isinstance(given.value, float) else None)
    assert path.name not in page.text
    assert str(path.parent) not in repr(grid)


def test_an_axis_has_its_role_its_unit_and_its_labels(grid: gridplan.Grid, page: Page) -> None:
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in page.tables[0][1:]}
    assert rows["kv_dtype"] == ["lever", "", "2", "bf16, fp8"]
    assert rows["peak_to_average"] == ["uncertainty", "", "41", "1, 1.05, 1.1, ..., 3 (41 labels)"]
    assert rows["scenario"] == ["uncertainty", "", "3", "nominal, surge, long"]
    assert rows["workload"] == ["uncertainty", "", "2", "day, night"]
    for name, labels in grid.dimensions.items():
        assert rows[name][0] == axis_role(name)
        assert rows[name][-1] == listed(labels)


def test_an_input_has_its_unit_class_source_and_date(page: Page) -> None:
    rows = {row[0].text: [cell.text for cell in row[1:]] for table in page.tables for row in table}
    assert rows["tpot_slo_s"] == ["50.00 ms", "policy", "contract", ""]
    assert rows["tensor_parallel"][0] == "by kv_dtype: fp8 1 GPUs, else 2 GPUs"
    assert ["arrival_rate", "1.50 req/s", "measurement", "gateway of June", "2026-06-30"] in [
        [cell.text for cell in row] for table in page.tables for row in table
    ]


def test_classes_have_their_lengths_and_their_own_limits(page: Page) -> None:
    rows = {row[0].text: [cell.text for cell in row[1:]] for table in page.tables for row in table}
    assert rows["chat"] == ["0.75", "1,000", "lognormal, mean 300, scv 0.5, at most 4,000", ""]
    assert rows["code"] == ["0.25", "4,000", "500", "ttft_slo_s 2.00 s; ttft_slo_percentile 95"]


def test_a_scenario_says_what_it_changes(page: Page) -> None:
    rows = page.pairs()
    assert rows["nominal"].text == "as the contract states"
    assert rows["surge"].text == "arrival_rate x 1.50; rho_target = 0.8"
    assert rows["long"].text == "prompt_tokens + 500 tokens"
    assert "Measures: those of every cube, goodput" in page.text


def test_a_grid_beside_its_page_is_one_short_line(grid: gridplan.Grid) -> None:
    assert repr(grid) == "<Grid 'hours': 492 cells (scenario 3 x workload 2 x kv_dtype 2 x peak_to_average 41)>"


def test_what_is_not_markup_is_escaped() -> None:
    assert element("b", "<i>\u202e&\n</i>", cls='"') == '<b class="&#34;">&lt;i&gt;?&amp; &lt;/i&gt;</b>'
    assert element("b", element("i", "<")) == "<b><i>&lt;</i></b>"
    assert number("<", 0.1 + 0.2) == '<data value="0.30000000000000004">&lt;</data>'
    assert number("-", float("nan")) == "-"
