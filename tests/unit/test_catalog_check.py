"""What is found about an entry: each kind of finding once, with the day given."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from gridplan.catalog import load_catalog
from gridplan.catalog.check import Finding, Limits, check_entry, contradictions
from gridplan.catalog.diff import KINDS, entries_of
from gridplan.catalog.missing import missing_for_plan
from gridplan.catalog.shipped_lines import shipped_lines
from gridplan.contract.catalog_check import check_shipped

SHIPPED = load_catalog()
PRICED = date(2026, 9, 20)  # the date of lambda-gpu-8x-h100-sxm in instances.csv


def said(kind: str, name: str, day: date, **ages: int) -> list[tuple[str, str]]:
    return list(check_entry(entries_of(SHIPPED, kind)[name], Limits(day, **ages)))


@pytest.mark.parametrize(("days", "count"), [(0, 0), (90, 0), (91, 1), (400, 1)])
def test_a_price_is_old_from_the_day_after_its_limit(days: int, count: int) -> None:
    found = said("instances", "lambda-gpu-8x-h100-sxm", PRICED + timedelta(days))
    assert len(found) == count
    assert all(item == ("warning", f"has a price of 2026-09-20: {days} days old, more than 90") for item in found)


@pytest.mark.parametrize(("days", "ages", "count"), [(365, {}, 0), (366, {}, 1), (366, {"entry_days": 366}, 0)])
def test_an_entry_is_old_from_the_day_after_its_limit(days: int, ages: dict[str, int], count: int) -> None:
    dated = date.fromisoformat(SHIPPED.gpu("h100-sxm").as_of or "")
    assert len(said("gpus", "h100-sxm", dated + timedelta(days), **ages)) == count


def test_a_date_after_the_day_is_named() -> None:
    assert said("gpus", "h100-sxm", date(2026, 4, 2)) == [("warning", "is of 2026-04-03, a day after 2026-04-02")]


def test_what_a_person_left_out_is_named() -> None:
    ours = SHIPPED.with_entries({"gpus": {"h100-sxm": {"memory_bytes": "79 GiB"}}}).gpu("h100-sxm")
    assert list(check_entry(ours, Limits(PRICED), {"memory_bytes": "79 GiB"})) == [
        ("warning", "has no source"),
        ("warning", "has no date (as_of), so its age is not known"),
        ("info", "states no class, so it is an assumption, and no notes say what it rests on"),
    ]


def test_a_full_entry_has_no_findings() -> None:
    written = {"memory_bytes": "79 GiB", "source": "log", "class": "measurement", "as_of": "2026-09-01"}
    ours = SHIPPED.with_entries({"gpus": {"h100-sxm": written}}).gpu("h100-sxm")
    assert list(check_entry(ours, Limits(PRICED), written)) == []


@pytest.mark.parametrize(
    ("kind", "name", "missing"),
    [
        ("gpus", "mi325x", ("memory_bytes",)),
        ("gpus", "mi210", ("flops",)),
        ("models", "gemma-4-e2b", ("params_total", "params_active")),
        ("models", "llama-3.1-8b", ()),
        ("instances", "aws-trn2-48xlarge", ("usd_per_node_hour",)),
        ("engines", "vllm@0.28", ()),
        ("dtypes", "kv/fp8", ()),
    ],
)
def test_what_a_plan_lacks(kind: str, name: str, missing: tuple[str, ...]) -> None:
    assert missing_for_plan(entries_of(SHIPPED, kind)[name]) == missing


def test_an_engine_that_profiles_needs_its_scheduler() -> None:
    fields = {"fraction_meaning": "of_total", "default_fraction": 0.9, "cuda_graphs_in_budget": False}
    rest = {"activation_rule": "sampler_forward", "non_torch_gib_tp1": 0.3, "non_torch_gib_tp2plus": 1}
    engine = SHIPPED.with_entries({"engines": {"mine": fields | rest}}).engine("mine")
    assert set(missing_for_plan(engine)) == {
        f"{name}_{size}" for name in ("max_num_seqs", "max_num_batched_tokens") for size in ("large_gpu", "else")
    }
    quiet = SHIPPED.with_entries({"engines": {"mine": fields | rest | {"activation_rule": "none"}}}).engine("mine")
    assert missing_for_plan(quiet) == ()


def test_no_shipped_entry_contradicts_itself_or_lacks_a_source_or_a_date() -> None:
    for kind in KINDS:
        for entry in entries_of(SHIPPED, kind).values():
            assert list(contradictions(entry, SHIPPED)) == []
            assert entry.source
            assert date.fromisoformat(entry.as_of or "")


@pytest.mark.parametrize("kind", KINDS)
def test_every_shipped_entry_has_a_line(kind: str) -> None:
    lines = shipped_lines(kind)
    assert lines.keys() == entries_of(SHIPPED, kind).keys()
    assert sorted(line for _, line in lines.values()) == list(range(2, len(lines) + 2))


def test_shipped_findings_name_file_and_line() -> None:
    count, found = check_shipped(Limits(date(2026, 11, 30)))
    assert count == 46 + 99 + 139 + 14 + 16
    assert not [item for item in found if item.severity == "error"]
    memory = next(item for item in found if item.key == "mi325x")
    assert (memory.file, memory.severity) == ("gridplan/catalog/data/gpus.csv", "warning")
    assert str(memory).startswith(f"gridplan/catalog/data/gpus.csv:{memory.line}: warning: mi325x: lacks memory_bytes:")


def test_a_finding_without_a_place_is_still_a_sentence() -> None:
    assert str(Finding("info", "is small", key="x")) == "info: x: is small"
