"""The simulator against a plain walk through every single step, and against another simulator where it is at hand."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridplan.simulation import simulate_requests

ORACLE = Path(__file__).parents[3] / "shared" / "oracle" / "sim.py"


@dataclass
class Sequence:
    """A request in progress."""

    number: int
    to_prefill: int
    emitted: int = 0


@dataclass(frozen=True)
class Setting:
    """One replica and its classes: (prompt, uncached, output) tokens."""

    classes: tuple[tuple[int, int, int], ...]
    rate: float
    t_w: float = 0.008
    k: float = 5e-8
    p: float = 2e-5
    t_seq: float = 0.0
    budget: int = 2048
    max_num_seqs: int | None = None
    pool: int | None = None
    prefill_s: tuple[float, ...] | None = None

    def simulated(self, arrival: Any, kind: Any, outputs: Any = None) -> Any:
        prompt, uncached, output = np.array(self.classes).T
        return simulate_requests(
            [arrival],
            [kind],
            prompt,
            uncached,
            output,
            self.t_w,
            self.k,
            self.p,
            self.t_seq,
            request_output_tokens=None if outputs is None else [outputs],
            prefill_s=self.prefill_s,
            token_budget=self.budget,
            max_num_seqs=self.max_num_seqs,
            pool_tokens=self.pool,
        )


def walked(setting: Setting, arrival: Any, kind: Any, outputs: Any) -> tuple[Any, Any, list[tuple[float, int]]]:
    """First-token and end times of every request, one step after the other; and (step time, decoding) of each step."""
    prompt, uncached, _ = np.array(setting.classes)[kind].T
    rates = [setting.p] * len(setting.classes)
    if setting.prefill_s is not None:
        rates = [seconds / u for seconds, (_, u, _) in zip(setting.prefill_s, setting.classes, strict=True)]
    first, end = np.zeros(len(arrival)), np.zeros(len(arrival))
    active: list[Sequence] = []
    clock, queued, steps = 0.0, 0, []
    while queued < len(arrival) or active:
        if not active:
            clock = max(clock, arrival[queued])
        decoding = [s for s in active if s.to_prefill == 0]
        room = setting.budget - len(decoding)
        seconds = setting.t_w + setting.t_seq * len(decoding)
        seconds += setting.k * sum(int(prompt[s.number]) + s.emitted for s in decoding)
        prefilled = []
        for s in [s for s in active if s.to_prefill > 0]:
            chunk = min(s.to_prefill, max(room, 0))
            prefilled.append((s, chunk))
            room -= chunk
        while queued < len(arrival) and arrival[queued] <= clock and room > 0:
            reserved = sum(int(prompt[s.number] + outputs[s.number]) for s in active)
            if setting.max_num_seqs is not None and len(active) >= setting.max_num_seqs:
                break
            if setting.pool is not None and reserved + prompt[queued] + outputs[queued] > setting.pool:
                break
            s = Sequence(queued, int(uncached[queued]))
            active.append(s)
            chunk = min(s.to_prefill, room)
            prefilled.append((s, chunk))
            room -= chunk
            queued += 1
        for s, chunk in prefilled:
            s.to_prefill -= chunk
            seconds += rates[kind[s.number]] * chunk
        clock += seconds
        steps.append((seconds, len(decoding)))
        for s in decoding:
            s.emitted += 1
        for s, chunk in prefilled:
            if s.to_prefill == 0 and chunk > 0:
                s.emitted = 1
                first[s.number] = clock
        for s in [s for s in active if s.emitted >= outputs[s.number]]:
            end[s.number] = clock
            active.remove(s)
    return first, end, steps


SETTINGS = {
    "one class": Setting(((500, 500, 60),), 4.0),
    "several classes": Setting(((500, 500, 60), (30, 30, 7), (1200, 1200, 200)), 6.0, t_seq=1e-5),
    "many prompts a step": Setting(((20, 20, 30), (40, 40, 12)), 120.0, p=1e-6),
    "cached prefixes": Setting(((3000, 100, 50), (800, 1, 20)), 6.0),
    "small budget": Setting(((500, 500, 60), (64, 64, 10)), 4.0, budget=64),
    "budget of decodes": Setting(((40, 40, 60), (64, 10, 33)), 60.0, p=1e-6, budget=12),
    "slot bound": Setting(((500, 500, 60), (30, 30, 5)), 8.0, max_num_seqs=3),
    "pool bound": Setting(((500, 500, 60), (30, 30, 5)), 8.0, pool=1500),
    "both caps": Setting(((500, 200, 60), (30, 30, 90)), 9.0, max_num_seqs=6, pool=1300, budget=128),
    "outputs of one token": Setting(((500, 500, 1), (30, 30, 2)), 20.0),
    "prefill by class": Setting(((3000, 500, 40), (100, 100, 40)), 5.0, prefill_s=(0.05, 0.001), budget=256),
    "long outputs": Setting(((10, 10, 5000), (10, 10, 1)), 0.5, k=1e-7),
    "steps that grow fast": Setting(((10, 10, 300),), 1.0, k=1e-5),
    "overload": Setting(((500, 500, 60),), 60.0, budget=512),
}


def requests_of(setting: Setting, count: int, seed: int) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    arrival = np.cumsum(generator.exponential(1 / setting.rate, count))
    return arrival, generator.integers(0, len(setting.classes), count)


def same(found: Any, arrival: Any, first: Any, end: Any) -> None:
    np.testing.assert_allclose(found.ttft_s[0], first - arrival, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.e2e_s[0], end - arrival, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_request_as_in_a_walk_through_every_step(name: str) -> None:
    setting = SETTINGS[name]
    arrival, kind = requests_of(setting, 60 if name == "long outputs" else 200, 1)
    outputs = np.array(setting.classes)[kind, 2]
    first, end, _ = walked(setting, arrival, kind, outputs)
    same(setting.simulated(arrival, kind), arrival, first, end)


@pytest.mark.parametrize("name", ["several classes", "slot bound", "pool bound", "budget of decodes"])
def test_random_outputs_as_in_a_walk(name: str) -> None:
    setting = SETTINGS[name]
    arrival, kind = requests_of(setting, 200, 2)
    outputs = np.minimum(np.random.default_rng(3).geometric(1 / 50, 200), 900)
    first, end, _ = walked(setting, arrival, kind, outputs)
    same(setting.simulated(arrival, kind, outputs), arrival, first, end)


@settings(max_examples=60, deadline=None)
@given(
    classes=st.lists(
        st.tuples(st.integers(1, 90), st.integers(1, 90), st.integers(1, 150)).map(
            lambda c: (max(c[0], c[1]), c[1], c[2])
        ),
        min_size=1,
        max_size=4,
    ),
    rate=st.floats(0.5, 200),
    k=st.sampled_from([0.0, 1e-7, 1e-4]),
    budget=st.integers(1, 120),
    max_num_seqs=st.none() | st.integers(1, 9),
    pool=st.none() | st.integers(240, 900),
    seed=st.integers(0, 2**31),
)
def test_any_setting_as_in_a_walk(
    classes: list[tuple[int, int, int]],
    rate: float,
    k: float,
    budget: int,
    max_num_seqs: int | None,
    pool: int | None,
    seed: int,
) -> None:
    setting = Setting(tuple(classes), rate, t_w=0.002, k=k, p=1e-5, budget=budget, max_num_seqs=max_num_seqs, pool=pool)
    arrival, kind = requests_of(setting, 40, seed)
    outputs = np.array(setting.classes)[kind, 2]
    first, end, _ = walked(setting, arrival, kind, outputs)
    same(setting.simulated(arrival, kind), arrival, first, end)


@pytest.mark.parametrize("name", ["one class", "several classes", "small budget", "steps that grow fast"])
def test_gaps_as_in_a_walk(name: str) -> None:
    setting = SETTINGS[name]
    arrival, kind = requests_of(setting, 3000, 4)
    *_, steps = walked(setting, arrival, kind, np.array(setting.classes)[kind, 2])
    times, weights = np.array(steps).T
    order = np.argsort(times)
    summed = np.cumsum(weights[order])
    found = setting.simulated(arrival, kind)
    # A bin is 0.4% wide; a jump over many steps is counted at one of them, which many requests even out.
    for q in (0.05, 0.5, 0.9, 0.99):
        exact = times[order][np.searchsorted(summed, q * summed[-1])]
        assert found.quantile("itl", q)[0] == pytest.approx(exact, rel=0.008)
    assert found.mean("itl")[0] == pytest.approx((times * weights).sum() / weights.sum(), rel=0.002)


@pytest.mark.skipif(not ORACLE.exists(), reason="no other simulator beside the project")
def test_another_simulator_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    # Its 4,000 requests are walked through step by step in a few seconds; to compile it would take ten.
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    spec = importlib.util.spec_from_file_location("sim", ORACLE)
    assert spec is not None
    assert spec.loader is not None
    other = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "sim", other)
    spec.loader.exec_module(other)
    for name in ("several classes", "cached prefixes", "both caps", "budget of decodes"):
        setting = SETTINGS[name]
        arrival, kind = requests_of(setting, 1000, 5)
        prompt, uncached, output = np.array(setting.classes)[kind].T
        sequences, pool = setting.max_num_seqs or 10**6, float(setting.pool or 1e12)
        replica = (setting.t_w, setting.k, setting.p, setting.t_seq, 0, setting.budget, sequences, pool, 1, 0)
        _, first, end, _ = other.simulate(
            arrival, prompt, uncached, output, np.zeros(1, np.int64), 1, 0, *replica, 1, 0.0, 1e9
        )
        same(setting.simulated(arrival, kind), arrival, first, end)
