"""What a page may ask, and everything it may not: refused with the place and the nearest name, at once."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridplan.errors import ContractError
from gridplan.explore.question import MOST_CHANGES, MOST_VALUES, named_columns, place_of, stated_changes

SIZES = {"gpu": 8, "arrival_rate": 5}
KNOWN = ["status", "tpot_s", "ttft_s", "usd_per_hour", "left_out"]
OFFERED = ["rho_target", "redundancy", "tpot_slo_s", "usd_per_node_hour"]
EVIL = (
    *("0;DROP TABLE cells", "' OR 1=1 --", "../../etc/passwd", "/etc/passwd", "<script>alert(1)</script>"),
    *("%00", "\x00", "{{7*7}}", "${jndi:ldap://x}", "__class__", "status\n", "\N{ROCKET}"),
)


def said(call: object, *arguments: object) -> str:
    with pytest.raises(ContractError) as found:
        call(*arguments)  # type: ignore[operator]
    return str(found.value)


@given(data=st.data())
def test_positions_along_every_axis(data: st.DataObject) -> None:
    sizes = data.draw(st.dictionaries(st.text(max_size=5), st.integers(1, 10**6), max_size=6))
    place, texts = [], []
    for size in sizes.values():
        first = data.draw(st.integers(0, size - 1))
        last = data.draw(st.integers(first + 1, size))
        place.append(range(first, last))
        short = last == first + 1 and data.draw(st.booleans())
        texts.append(str(first) if short else f"{first}:{last}")
    assert place_of(",".join(texts), sizes) == tuple(place)


@given(text=st.text(max_size=40))
def test_no_text_means_anything_outside_of_the_cube(text: str) -> None:
    """Whatever is written, what comes of it lies within, and is refused else."""
    try:
        place = place_of(text, SIZES)
    except ContractError:
        return
    assert all(0 <= own.start < own.stop <= size for own, size in zip(place, SIZES.values(), strict=True))


@pytest.mark.parametrize("text", ["", "0", "0,0,0", ",,", "0,0,", "0:8"])
def test_a_position_is_due_for_each_axis(text: str) -> None:
    count = len(text.split(",")) if text else 0
    if text == "0:8":
        count = 1
    assert said(place_of, text, SIZES) == f"at: 2 positions are due, one for each axis, not {count}"


@pytest.mark.parametrize("part", ["8", "0:9", "3:3", "5:2", "8:8", "999999999", "0:999999999"])
def test_what_lies_outside_is_said_with_the_bounds(part: str) -> None:
    assert said(place_of, f"{part},0", SIZES) == "at: gpu: it has the positions 0 to 7"


@pytest.mark.parametrize(
    "part",
    [
        *("-1", "+1", "1.0", "1e0", "0x1", " 1", "1 ", "1:", ":1", ":", "0:1:1", "", "1_0", "nan", "inf", "None"),
        *("٣", "³", "\N{FULLWIDTH DIGIT THREE}", "১", "0:٣", "9" * 10, "9" * 5000, "0" * 10, "1\n", "1\x00"),
        *(text.replace(",", "") for text in EVIL),
    ],
)
def test_what_is_no_position(part: str) -> None:
    assert said(place_of, f"{part},0", SIZES) == "at: gpu: a position is a number, or two with a colon between"


def test_all_problems_are_said_at_once() -> None:
    assert said(place_of, "9,x", SIZES).splitlines() == [
        "at: gpu: it has the positions 0 to 7",
        "at: arrival_rate: a position is a number, or two with a colon between",
    ]


def test_a_cube_without_axes_has_one_cell() -> None:
    assert place_of("", {}) == ()
    assert "0 positions are due" in said(place_of, "0", {})


def test_columns_come_once_in_the_order_asked() -> None:
    assert named_columns("ttft_s,status,,ttft_s,", KNOWN, (range(1),)) == ["ttft_s", "status"]


@pytest.mark.parametrize("name", EVIL)
def test_what_is_no_column(name: str) -> None:
    answer = said(named_columns, f"status,{name}", KNOWN, (range(1),))
    assert "is no column" in answer
    assert answer.startswith("columns: ")


def test_the_nearest_column_is_named() -> None:
    assert said(named_columns, "tpot", KNOWN, (range(1),)).startswith("columns: tpot is no column (did you mean tpot_s")
    for name in ("Status", "STATUS", " status"):
        assert "did you mean status" in said(named_columns, name, KNOWN, (range(1),))
    assert said(named_columns, ",,", KNOWN, (range(1),)) == "columns: no column is named"


def test_an_answer_has_a_longest_length() -> None:
    names = ",".join(KNOWN[:4])
    assert len(named_columns(names, KNOWN, (range(MOST_VALUES // 4),))) == 4
    assert "2,000,004 values are more than the 2,000,000" in said(
        named_columns, names, KNOWN, (range(MOST_VALUES // 4 + 1),)
    )
    # The same name again and again is one column.
    assert named_columns("status," * 1000, KNOWN, (range(MOST_VALUES),)) == ["status"]
    huge = tuple(range(10**9) for _ in range(30))
    assert "are more than" in said(named_columns, "status", KNOWN, huge)


@pytest.mark.parametrize("text", ["x" * 10**6, "x," * 500_000, "0," * 500_000, "\N{ROCKET}" * 250_000])
def test_a_million_signs_are_refused_at_once_and_in_short(text: str) -> None:
    began = time.perf_counter()
    for answer in (
        said(place_of, text, SIZES),
        said(named_columns, text, KNOWN, (range(1),)),
        said(stated_changes, [text], OFFERED),
        said(stated_changes, [f"rho_target={text}"], OFFERED),
    ):
        assert len(answer) < 1000
    assert time.perf_counter() - began < 5


def test_changes_are_names_and_values() -> None:
    assert stated_changes(["rho_target=0.6", "tpot_slo_s= 25 ms "], OFFERED) == {
        "rho_target": "0.6",
        "tpot_slo_s": "25 ms",
    }
    assert stated_changes(["rho_target=a=b"], OFFERED) == {
        "rho_target": "a=b"
    }  # the contract says what it thinks of it
    assert stated_changes([], OFFERED) == {}


@pytest.mark.parametrize("name", ["rho_targt", "Rho_target", "rho_target ", ""])
def test_the_nearest_input_is_named(name: str) -> None:
    answer = said(stated_changes, [f"{name}=1"], OFFERED)
    assert f"if: {name} cannot be changed here" in answer
    assert not name or "did you mean rho_target" in answer


@pytest.mark.parametrize("name", [*EVIL, "model", "schema", "catalog.gpus", "axes"])
def test_what_cannot_be_changed(name: str) -> None:
    assert "cannot be changed here" in said(stated_changes, [f"{name}=1"], OFFERED)


@pytest.mark.parametrize(
    "text",
    [
        *("rho_target", "rho_target=", "rho_target=   ", "rho_target=\t", "rho_target=1\x00", "rho_target=1\n2"),
        *("rho_target=\u202e1", "rho_target=1\u200b", f"rho_target={'1' * 81}", "rho_target=\ud800"),
    ],
)
def test_what_is_no_value(text: str) -> None:
    assert said(stated_changes, [text], OFFERED) == "if: rho_target: a value of at most 80 signs is due"


def test_too_many_changes_and_the_same_twice() -> None:
    many = [f"x{place}=1" for place in range(MOST_CHANGES + 1)]
    assert said(stated_changes, many, OFFERED) == "if: 41 changes are more than 40"
    assert said(stated_changes, ["rho_target=1", "rho_target=1"], OFFERED) == "if: rho_target is changed twice"
    assert len(said(stated_changes, many[1:], OFFERED).splitlines()) == MOST_CHANGES
