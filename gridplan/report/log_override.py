"""The block that `measure log -o` writes: `deployment:` with what a log states and measured, to be merged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from gridplan.catalog import Catalog, Model, load_catalog
from gridplan.contract.models import section_inputs
from gridplan.measured.engine_log import EngineLog, Reading
from gridplan.report.log_cache import charges_windows_whole, eight_bit_note
from gridplan.report.log_labels import LAST_V0, Options, known_labels
from gridplan.report.log_settings import plain, settings_of
from gridplan.report.log_values import override_values

__all__ = ["override_text"]

HOW_TO = (
    "Put these keys under `deployment:` of your contract; where a key is there already, keep one.",
    "An instance of your contract has its own GPU: leave gpu out beside it.",
)

LABELS = ("model", "gpu", "engine", "weight_dtype", "kv_dtype")

BITS_16, FULL = 16.0, "full"


def override_text(log: EngineLog, as_of: str, options: Options | None = None, catalog: Catalog | None = None) -> str:
    """The block as YAML: labels, parallelism, limits, then what was measured.

    `as_of` (YYYY-MM-DD) stands where the log prints no date. Labels that are not known are said in a comment.
    They are looked up in `catalog`, the shipped one unless given.

    Raises
    ------
    LogError
        If the terms of the log do not add up, or it has no pool.
    """
    catalog = catalog or load_catalog()
    labels = _labels(log, known_labels(log, catalog, options))
    model = catalog.model(labels["model"]) if "model" in labels else None
    measured, remarks = override_values(log, model)
    settings: dict[str, str | float] = {**labels, **plain(settings_of(log, model))}
    if _keeps_windows_whole(log, catalog, model, labels):
        settings["sliding_policy"] = FULL
        remarks += ("the printed bytes of a token are those of full layers, so sliding_policy is full",)
    rows = [*_head(log), *remarks, *_notes(log, model, labels)]
    inputs, dated = {*section_inputs()}, log.logged_on.value if log.logged_on else as_of
    return "\n".join(
        [
            *(f"# {_printable(row)}" for row in rows),
            "deployment:",
            *(f"  {name}: {value}" for name, value in settings.items() if name in inputs),
            *(f"  {name}: {_measured(log, item, dated)}" for name, item in measured.items() if name in inputs),
            "",
        ]
    )


def _labels(log: EngineLog, known: dict[str, str]) -> dict[str, str]:
    """Labels in the order of the block; an engine whose version is not printed is named without one."""
    found = {"engine": log.engine, **known}
    return {name: found[name] for name in LABELS if name in found}


def _keeps_windows_whole(log: EngineLog, catalog: Catalog, model: Model | None, labels: Mapping[str, str]) -> bool:
    if catalog.engine(labels["engine"]).sliding_policy == FULL:
        return False
    bits = catalog.dtype("kv", labels["kv_dtype"]).bits_per_element if "kv_dtype" in labels else BITS_16
    return charges_windows_whole(log, model, bits)


def _measured(log: EngineLog, item: Reading[float], dated: str) -> str:
    source = json.dumps(_printable(f"{log.file} line {item.line}"), ensure_ascii=False)
    return f"{{value: {item.value:.0f}, class: measurement, source: {source}, as_of: {dated}}}"


def _head(log: EngineLog) -> Iterator[str]:
    version = f" {log.engine_version.value}" if log.engine_version else ""
    yield f"Measured by {log.engine}{version}, lines {log.first_line} to {log.last_line} of the log."
    if log.refusal is not None:
        yield f"The engine did not start: {log.refusal.value}"
    yield from HOW_TO


def _notes(log: EngineLog, model: Model | None, labels: Mapping[str, str]) -> Iterator[str]:
    """What a reader must know of the labels."""
    if "model" not in labels:
        said = f"model {log.model.value} is not one of the catalog" if log.model else "the log prints no model"
        yield f"{said}: state yours"
    if labels.get("engine") == LAST_V0 and log.engine_version is not None:
        yield f"a V0 engine of {log.engine_version.value} keeps the rules of {LAST_V0}"
    if "@" not in labels["engine"]:
        yield f"the log does not print the version of {log.engine}: the rules of the newest hold, or give --engine"
    missing = [name for name in ("gpu", "weight_dtype") if name not in labels]
    if missing:
        yield f"the log does not say {', '.join(missing)}: state yours, or give it as an option"
    if said_of_cache := eight_bit_note(log, model, labels.get("kv_dtype")):
        yield said_of_cache
    if log.num_speculative_tokens is not None:
        yield "what drafts the speculative tokens is not printed: state draft_layers or draft_model"


def _printable(text: str) -> str:
    """The text in one line; what YAML cannot hold, such as a name of a file that is not UTF-8, becomes `?`."""
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(text.split()))
