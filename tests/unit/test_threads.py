"""Work side by side: in order, bounded in flight, over at the first failure."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gridplan.store.threads import side_by_side


@pytest.mark.parametrize("items", [0, 1, 2, 15, 16, 17, 1_000, 5_000])
def test_answers_come_in_the_order_of_what_was_asked(items: int) -> None:
    assert list(side_by_side(str, range(items), threads=3)) == [str(number) for number in range(items)]


def test_a_failure_ends_the_work() -> None:
    done: list[int] = []

    def work(number: int) -> int:
        if number == 40:
            raise OSError("40")
        done.append(number)
        return number

    with pytest.raises(OSError, match="40"):
        list(side_by_side(work, range(100_000), threads=2))
    assert len(done) < 1_000


def test_nothing_runs_on_when_nobody_listens() -> None:
    done: list[int] = []

    def work(number: int) -> int:
        done.append(number)
        return number

    answers: Iterator[int] = iter(side_by_side(work, range(100_000), threads=2))
    assert next(answers) == 0
    answers.close()  # type: ignore[attr-defined]
    assert len(done) < 1_000
