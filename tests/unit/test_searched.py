"""A search is repeated only where it reads something else than before, and its results are the same bits either way."""

from __future__ import annotations

import numpy as np
import pytest

import gridplan
from gridplan.chain.graph import Array, Step
from gridplan.engine import searched as room
from gridplan.engine.searched import searched

TEXT = """
schema: 1
workload: {arrival_rate: 20, prompt_tokens: 1000, output_tokens: 200, peak_to_average: 2}
slo: {ttft: {limit: 2 s, percentile: 95}}
deployment: {model: qwen3-32b, gpu: h200-sxm}
capacity: {capacity_model: queueing}
policy: {rho_target: 0.8}
"""


class Doubled:
    """A search that counts how often it is made."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, first: Array, second: Array) -> tuple[Array, Array]:
        self.calls += 1
        return first * 2.0, second * 3.0

    def ask(self, first: Array, second: Array) -> tuple[Array, Array]:
        step = Step(("twice", "thrice"), self, ("first", "second"), search=True)
        made = searched(step, {"first": first, "second": second, "unread": np.array(self.calls)})
        return made["twice"], made["thrice"]


def test_the_same_inputs_are_searched_once() -> None:
    search, one, other = Doubled(), np.array([1.0, 2.0]), np.array([3.0])
    for _ in range(3):
        twice, thrice = search.ask(one.copy(), other.copy())
        assert (twice.tolist(), thrice.tolist()) == ([2.0, 4.0], [9.0])
    assert search.calls == 1
    with pytest.raises(ValueError, match="read-only"):
        twice[0] = 0.0


@pytest.mark.parametrize(
    "changed",
    [
        np.array([1.0, np.nextafter(2.0, 3.0)]),
        np.array([[1.0, 2.0]]),
        np.array([1, 2]),
        np.array([1.0, 0.0, 2.0])[::2],
        np.array([1.0]),
    ],
    ids=["last bit", "shape", "type", "strides", "size"],
)
def test_anything_else_is_searched_anew(changed: Array) -> None:
    search, other = Doubled(), np.array([3.0])
    search.ask(np.array([1.0, 2.0]), other)
    twice, _ = search.ask(changed, other)
    assert search.calls == 2
    assert twice.tolist() == (changed * 2.0).tolist()
    search.ask(other, np.array([1.0, 2.0]))
    assert search.calls == 3  # the same arrays in other places


def test_an_input_changed_in_place_is_another_one() -> None:
    search, one, other = Doubled(), np.array([1.0]), np.array([3.0])
    search.ask(one, other)
    one[0] = 5.0
    assert search.ask(one, other)[0].tolist() == [10.0]


def test_few_and_small_ones_are_kept() -> None:
    search, other = Doubled(), np.array([3.0])
    for number in range(room.MOST_KEPT + 1):
        search.ask(np.array([float(number)]), other)
    assert len(room._KEPT) == room.MOST_KEPT
    search.ask(np.array([1.0]), other)
    assert search.calls == room.MOST_KEPT + 1
    search.ask(np.array([0.0]), other)  # the oldest has left
    assert search.calls == room.MOST_KEPT + 2
    large, before = np.zeros(room.KEPT_BYTES // 8), search.calls
    for _ in range(2):
        search.ask(large, other)
    assert search.calls == before + 2


def test_what_finds_much_is_not_kept() -> None:
    """Two short axes make a large plane."""

    class Crossed(Doubled):
        def __call__(self, first: Array, second: Array) -> tuple[Array, Array]:
            return super().__call__(first[:, None] * second, second)

    search, axis, before = Crossed(), np.arange(1.0, 201.0), list(room._KEPT)
    assert axis.nbytes * 2 < room.KEPT_BYTES < axis.size**2 * 8
    for _ in range(2):
        assert search.ask(axis, axis)[0].shape == (200, 200)
    assert search.calls == 2
    assert list(room._KEPT) == before


def test_a_cube_has_the_same_bits_from_a_search_that_was_kept() -> None:
    room._KEPT.clear()
    first = gridplan.evaluate(gridplan.loads_grid(TEXT))
    held = list(room._KEPT.values())
    assert len(held) == 1
    again = gridplan.evaluate(gridplan.loads_grid(TEXT.replace("arrival_rate: 20", "arrival_rate: 40")))
    assert [*map(id, room._KEPT.values())] == [*map(id, held)]  # the rate of a replica does not depend on the traffic
    room._KEPT.clear()
    anew = gridplan.evaluate(gridplan.loads_grid(TEXT.replace("arrival_rate: 20", "arrival_rate: 40")))
    assert again.identical(anew)
    assert again.nodes.item() != first.nodes.item()
    assert again.lambda_instance.item() == first.lambda_instance.item() > 0.0
