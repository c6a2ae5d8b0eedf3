"""What a start-up log printed beside what gridplan predicts at the same settings, term by term."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from gridplan.catalog import Model, load_catalog
from gridplan.contract import loads_grid
from gridplan.contract.catalog_folder import CatalogFolder
from gridplan.measured.engine_log import EngineLog
from gridplan.report.log_cache import charges_windows_whole, eight_bit_note
from gridplan.report.log_labels import LAST_V0, Labels, Options, labels_of
from gridplan.report.log_settings import plain, settings_of
from gridplan.report.log_terms import MEASURES, Term, compare_terms, printed_terms
from gridplan.report.log_verdict import AGREE_SHARE, conclusion

__all__ = ["Comparison", "compare_log", "predicted_terms"]

_POOL, _SHORTFALL = "kv_pool_bytes_per_gpu", "memory_shortfall_bytes_per_gpu"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The terms in the order of the budget, what they were predicted for, and what to do."""

    labels: Mapping[str, object]
    terms: tuple[Term, ...]
    conclusion: str
    notes: tuple[str, ...] = ()


def compare_log(log: EngineLog, options: Options | None = None, folder: CatalogFolder | None = None) -> Comparison:
    """Predict every term that a log printed, at the settings of the log, with the entries of a catalog folder if any.

    Raises
    ------
    LogError
        If model, GPU, weight format or engine version are neither in the log nor given, or contradict it.
    ContractError, CatalogError
        If the model cannot be planned.
    """
    catalog = load_catalog() if folder is None else folder.catalog
    labels = labels_of(log, catalog, options)
    model = catalog.model(labels.model)
    deployment, notes = _deployment(log, labels, model)
    printed = printed_terms(log)
    if "CUDA graphs" in printed and catalog.engine(labels.engine).cuda_graphs_in_budget is False:
        del printed["CUDA graphs"]
        notes += (f"CUDA graphs lie outside the budget of {labels.engine}: not compared",)
    terms = compare_terms(printed, predicted_terms(_contract(deployment), folder))
    if said := eight_bit_note(log, model, labels.kv_dtype):
        notes += (said,)
    bits = catalog.dtype("kv", labels.kv_dtype).bits_per_element if labels.kv_dtype else 16.0
    token = next((term for term in terms if term.name == "KV bytes of a token"), None)
    if token is not None and abs(token.share or 0.0) > AGREE_SHARE and charges_windows_whole(log, model, bits):
        notes += ("the printed bytes of a token are those of full layers: state sliding_policy: full",)
    return Comparison(deployment, terms, conclusion(terms), notes)


def predicted_terms(contract: str, folder: CatalogFolder | None = None) -> dict[str, float]:
    """The measures of the table for a contract of one cell; those that are not known are left out."""
    from gridplan.engine.evaluate import evaluate

    wanted = {_SHORTFALL, *(part for parts in MEASURES.values() for part in parts)}
    cube = evaluate(loads_grid(contract, "<log>", folder), sorted(wanted))
    values = {name: float(cube[name].values) for name in wanted}
    known_values = {name: value for name, value in values.items() if not math.isnan(value)}
    # The engine prints a pool below zero where the cube has a pool of zero and what is missing.
    missing = known_values.pop(_SHORTFALL, 0.0)
    if missing and _POOL in known_values:
        known_values[_POOL] -= missing
    return known_values


def _deployment(log: EngineLog, labels: Labels, model: Model) -> tuple[dict[str, object], tuple[str, ...]]:
    """The deployment section that the log stands for, and what was assumed in it."""
    stated: dict[str, object] = {
        "gpu": labels.gpu,
        "model": labels.model,
        "engine": labels.engine,
        "weight_dtype": labels.weight_dtype,
    }
    if labels.kv_dtype is not None:
        stated["kv_dtype"] = labels.kv_dtype
    settings = settings_of(log, model)
    stated |= plain(settings)
    if log.enforce_eager is not None and log.enforce_eager.value:
        stated["cuda_graphs_bytes"] = 0.0
    asked = ("tensor_parallel", "gpu_memory_utilization", "max_model_len")
    notes = [f"the log does not print {name}: the default is compared" for name in asked if name not in stated]
    if "num_speculative_tokens" in settings:
        tokens = settings["num_speculative_tokens"]
        notes.append(
            f"{tokens.value:.0f} speculative tokens (line {tokens.line}): what drafts them is not compared; "
            "a contract states draft_layers or draft_model"
        )
    if log.engine_version is not None and log.generation == "V0" and labels.engine == LAST_V0:
        notes.append(f"a V0 engine keeps the rules of {LAST_V0}")
    return stated, tuple(notes)


def _contract(deployment: Mapping[str, object]) -> str:
    """A contract of one cell: one sequence of full length, which changes none of the terms compared."""
    length = deployment.get("max_model_len", 2)
    longest = max(2.0, float(length)) if isinstance(length, int | float) else 2.0
    contract = {
        "schema": 1,
        "name": "log",
        "workload": {"prompt_tokens": longest - 1, "output_tokens": 1, "arrival_rate": 1},
        "deployment": dict(deployment),
        "policy": {"rho_target": 1.0},
    }
    return json.dumps(contract)  # YAML holds JSON
