"""Steps of the planned point that see a queue: latencies at a rate, read from curves where a cube shares them.

Each figure has two forms: computed in every cell, or read from a curve of its replica. Both give the same measures; the
engine chooses by the shape of the cube alone, so that no number depends on how a cube is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gridplan.chain import planned, simulated
from gridplan.chain.curves import LOADS, curve, curve_top_rate, place, read
from gridplan.chain.figures import fixed_quantile, goodput, means, quantile, slo_held, slot_share
from gridplan.chain.graph import Step, step
from gridplan.chain.pieces import in_pieces
from gridplan.chain.replica import GROUPS, LIMITS, PERCENTILES, REPLICA
from gridplan.chain.simulated import FIGURES, LATENCIES, PERCENTS

__all__ = ["latency_steps"]

RATES = {
    "": "planned_rate_per_replica",
    "_after_loss": "rate_per_replica_after_loss",
    "_domain_lost": "rate_per_replica_domain_lost",
    "_one_fewer": "rate_per_replica_one_fewer",
}
"""Rates at which latencies are asked, by the ending of the measure."""


@dataclass(frozen=True, slots=True)
class _Figure:
    """What follows from a rate: names of its results (`{}` is the case), and `function(rate, *inputs)` for them."""

    results: tuple[str, ...]
    function: Callable[..., Any]
    inputs: tuple[str, ...] = REPLICA
    cases: tuple[str, ...] = ("",)

    def named(self, case: str) -> tuple[str, ...]:
        return tuple(name.format(case) for name in self.results)

    @property
    def curves(self) -> tuple[str, ...]:
        names = self.named("")
        return (*(f"curve_{name}" for name in names), f"curve_{names[0]}_apart")


def _figures() -> Iterator[_Figure]:
    every = tuple(RATES)
    yield _Figure(("tpot_queueing{}_s", "ttft{}_s", "decode{}_s", "latency_flag{}_code"), means, cases=every)
    yield _Figure(("slot_share",), slot_share)
    for name in LATENCIES:
        function, inputs = partial(quantile, name), (f"{name}_slo_share", *REPLICA)
        yield _Figure((f"{name}_at_slo_percentile{{}}_s",), function, inputs, every if name != "itl" else ("",))
        for percent in PERCENTS:
            yield _Figure((f"{name}_p{percent}_s",), partial(fixed_quantile, name, percent / 100))
    yield _Figure(("goodput_bound{}", "goodput{}"), goodput, (*LIMITS, *REPLICA), every)
    # After a stated loss the fleet has a measure of that name: limits on means, by the rate of one replica.
    others = tuple(case for case in every if case != "_after_loss")
    yield _Figure(("slo_held{}",), slo_held, (*LIMITS, *PERCENTILES, *GROUPS, *REPLICA), others)


def latency_steps(curves: bool, simulate: bool = False) -> tuple[Step, ...]:
    """Every latency by the queueing law, computed in each cell or read from curves.

    `simulate` fills what the law does not predict at the planned point by a simulation.
    """
    steps = _by_formula(curves)
    if not simulate:
        unknown = step("simulation_error", planned.nothing_simulated)
        return (*steps, unknown, step("latency_source_code", planned.formula_source_code))
    run = Step(("simulated",), simulated.simulated, simulated.INPUTS, len(FIGURES))
    fills = tuple(
        Step((name,), partial(simulated.filled, position), (f"{name}_by_formula", "simulated"))
        for position, name in enumerate(FIGURES)
        if name != "simulation_error"
    )
    error = step("simulation_error", simulated.error)
    source = step("latency_source_code", planned.source_code, by_formula="ttft_s_by_formula")
    return (*(_renamed(item) for item in steps), run, *fills, error, source)


def _renamed(item: Step) -> Step:
    """The same step with results that a simulation may replace set aside."""
    names = tuple(f"{name}_by_formula" if name in FIGURES else name for name in item.outputs)
    return replace(item, outputs=names)


def _by_formula(curves: bool) -> tuple[Step, ...]:
    figures = tuple(_figures())
    if not curves:
        return tuple(
            Step(figure.named(case), partial(in_pieces, figure.function, figure.inputs), (RATES[case], *figure.inputs))
            for figure in figures
            for case in figure.cases
        )
    end = Step(("curve_top_rate",), curve_top_rate, REPLICA)
    places = tuple(step(f"place{case} part{case}", place, rate=rate) for case, rate in RATES.items())
    return (end, *places, *(_curve(figure) for figure in figures), *_reads(figures))


def _curve(figure: _Figure) -> Step:
    return Step(
        figure.curves, partial(curve, figure.function, figure.inputs), ("curve_top_rate", *figure.inputs), LOADS
    )


def _reads(figures: tuple[_Figure, ...]) -> Iterator[Step]:
    for figure in figures:
        function = partial(read, figure.function, len(figure.results), figure.inputs)
        for case in figure.cases:
            places = (f"place{case}", f"part{case}")
            yield Step(figure.named(case), function, (*places, *figure.curves, RATES[case], *figure.inputs))
