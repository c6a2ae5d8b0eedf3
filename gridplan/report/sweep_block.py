"""The block that `measure sweep -o` writes: `capacity:` with the measured rate and the settings it belongs to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from gridplan.catalog import Catalog, load_catalog
from gridplan.catalog.names import find_model
from gridplan.errors import CatalogError, ContractError, Problem
from gridplan.measured.sustained import SweepResult
from gridplan.measured.sweep import Setting, SweepPoint
from gridplan.report.sweep_words import interval_text, rate_text, source_of, spread

__all__ = ["capacity_block", "dated", "settings_of_points"]

_NUMBERS = {
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "tensor_parallel": "tensor_parallel",
    "tp_size": "tensor_parallel",
    "pp_size": "pipeline_parallel",
}
"""Settings of load tests that are inputs of a contract."""

_LEAST_PERCENTILE, _LARGEST_PERCENTILE = 50.0, 99.9


def capacity_block(result: SweepResult, as_of: str | None = None, catalog: Catalog | None = None) -> str:
    """The block as YAML; `as_of` (YYYY-MM-DD) replaces the date that the files state.

    Raises
    ------
    ContractError
        If there is no rate, or neither the files nor `as_of` give a date.
    """
    rate = result.lambda_instance_per_s
    if rate is None:
        raise ContractError([Problem("not written: no measured rate is known to hold every limit")])
    points = [verdict.point for verdict in result.points if not verdict.unused]
    date = as_of or dated(points)
    if date is None:
        raise ContractError([Problem("the files do not state the day of the test: give YYYY-MM-DD", "--as-of")])
    source = json.dumps(_printable(source_of(result)), ensure_ascii=False)
    at = {**settings_of_points(points, catalog or load_catalog()), **_limits(result)}
    return "\n".join(
        [
            *(f"# {_printable(row)}" for row in _comments(result)),
            "capacity:",
            "  capacity_model: measured",
            f"  lambda_instance_given: {{value: {rate!r}, class: measurement, source: {source}, as_of: {date}}}",
            "  measured_at:",
            *(f"    {name}: {_yaml(value)}" for name, value in at.items()),
            "  applies_to: {}",
            "",
        ]
    )


def _comments(result: SweepResult) -> Iterator[str]:
    limits = ", ".join(str(slo) for slo in result.slos)
    yield f"The last measured rate at which every limit holds: {limits}."
    yield f"Between neighbours {interval_text(result.bracket_per_s)}; interval {interval_text(result.interval_per_s)}."
    if result.repeats_per_s:
        yield f"Repeats: {spread(result)}."
    if result.interpolated_per_s is not None:
        yield f"Interpolated, not measured: {rate_text(result.interpolated_per_s)}."
    for severity in ("error", "warning"):
        names = list(dict.fromkeys(check.id for check in result.checks if check.severity == severity))
        if names:
            yield f"{severity.capitalize()}s of its checks: {', '.join(names)}."
    yield "Put these keys under `capacity:` of your contract; the rate is that of the replica that was tested."
    yield "It holds for the contract's own gpu, model, engine, dtypes, classes and parallelism, at the settings below;"
    yield "`applies_to: {kv_dtype: any}` widens it, and a setting that is an axis is named in `measured_at`."


def _limits(result: SweepResult) -> dict[str, Setting]:
    """Limits as inputs: one of each latency, the first where a sweep was judged by several."""
    found: dict[str, Setting] = {}
    for slo in result.slos:
        if slo.figure == "goodput" or f"{slo.figure}_slo_s" in found:
            continue
        statistic = slo.statistic
        if isinstance(statistic, float) and not _LEAST_PERCENTILE <= statistic <= _LARGEST_PERCENTILE:
            continue
        found[f"{slo.figure}_slo_s"] = slo.limit
        found[f"{slo.figure}_slo_percentile"] = "mean" if not isinstance(statistic, float) else f"{statistic:g}"
    return found


def settings_of_points(points: list[SweepPoint], catalog: Catalog) -> dict[str, Setting]:
    """Inputs of a contract that every point states alike: model, gpu, engine, limits of the scheduler, parallelism."""
    found: dict[str, Setting] = {}
    model = _alike([point.model for point in points])
    if isinstance(model, str) and (known := find_model(catalog, model)) is not None:
        found["model"] = known
    gpu = _setting(points, "gpu")
    if isinstance(gpu, str) and gpu in catalog.gpus:
        found["gpu"] = gpu
    engine, version = _setting(points, "engine"), _setting(points, "engine_version")
    if isinstance(engine, str):
        spec = engine if version is None else f"{engine}@{version}"
        try:
            catalog.engine(spec)
        except CatalogError:
            pass
        else:
            found["engine"] = spec
    for name, known in _NUMBERS.items():
        value = _setting(points, name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            found[known] = value
    return found


def _setting(points: list[SweepPoint], name: str) -> Setting | None:
    return _alike([point.settings.get(name) for point in points])


def _alike(values: list[Setting | None]) -> Setting | None:
    return values[0] if values and all(value == values[0] for value in values) else None


def dated(points: list[SweepPoint]) -> str | None:
    """The newest day that the files state, YYYY-MM-DD; None where one of them states none."""
    days = [_day(point.settings) for point in points]
    known = [day for day in days if day is not None]
    return max(known) if known and len(known) == len(days) else None


def _day(settings: Mapping[str, Setting]) -> str | None:
    """`20260115-101500` of vLLM, seconds since 1970 of llmperf.

    >>> _day({"date": "20260115-101500"}), _day({"timestamp": 1768471261}), _day({})
    ('2026-01-15', '2026-01-15', None)
    """
    stated, seconds = settings.get("date"), settings.get("timestamp")
    match = re.match(r"(\d{4})-?(\d{2})-?(\d{2})", str(stated)) if stated is not None else None
    if match is not None:
        return _valid("-".join(match.groups()))
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 1e9 < seconds < 4e9:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    return None


def _valid(day: str) -> str | None:
    try:
        return datetime.strptime(day, "%Y-%m-%d").date().isoformat()
    except ValueError:
        return None


def _yaml(value: Setting) -> str:
    return (
        json.dumps(value)
        if isinstance(value, str) and not re.fullmatch(r"[A-Za-z][\w.@-]*|[\d.]+", value)
        else str(value)
    )


def _printable(said: str) -> str:
    """The text in one line; what YAML cannot hold becomes `?`."""
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(said.split()))
