"""`cube.gridplan` asks what the functions ask, and hands on what other modules answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from choice_cubes import random_cube

import gridplan
import gridplan.sensitivity.accessor


def test_choice_front_and_regret_are_those_of_the_functions() -> None:
    cube = random_cube(1)
    for name, asked in (("cheapest", "usd_per_hour"), ("pareto", "usd_per_hour,tpot_s"), ("regret", "usd_per_hour")):
        mine = getattr(cube.gridplan, name)(asked, where="nodes <= 3")
        assert mine.identical(getattr(gridplan, name)(cube, asked, where="nodes <= 3"))


@pytest.mark.parametrize(
    ("module", "function", "ask", "given"),
    [
        ("factorial", "factorial_indices", lambda a: a.factorial("nodes", {"gpu": [1]}), ("nodes", {"gpu": [1]})),
        (
            "tornado",
            "tornado",
            lambda a: a.tornado({"x": 1}, "nodes", grid="g", at={"a": 1}),
            ("g", {"x": 1}, "nodes", {"a": 1}),
        ),
        ("thresholds", "break_even", lambda a: a.break_even("x", y=2), (None, "x", ("y", 2))),
    ],
)
def test_other_questions_are_handed_on(
    monkeypatch: pytest.MonkeyPatch, module: str, function: str, ask: Any, given: tuple[Any, ...]
) -> None:
    asked: list[Any] = []
    own = SimpleNamespace(**{function: lambda *args, **kwargs: asked.extend([*args, *kwargs.items()]) or "told"})
    monkeypatch.setitem(sys.modules, f"gridplan.sensitivity.{module}", own)
    assert ask(random_cube(1).gridplan) == "told"
    named = [getattr(item, "name", item) for item in asked]
    assert all(want is None or want == got for want, got in zip(given, named, strict=True))


def test_the_accessor_costs_nothing_until_a_cube_is_asked_for(tmp_path: Path) -> None:
    code = (
        "import sys, gridplan; gridplan.load_grid; print('xarray' in sys.modules);"
        "gridplan.evaluate; import xarray; print(hasattr(xarray.Dataset, 'gridplan'))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["False", "True"]
