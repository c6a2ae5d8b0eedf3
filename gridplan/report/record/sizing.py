"""From the rate of one replica to replicas, GPUs and nodes, and what the headroom is for."""

from __future__ import annotations

from gridplan.contract.margins import MARGINS
from gridplan.report.charts.chart import Chart
from gridplan.report.record.case import Case
from gridplan.report.record.derivation import chain_table
from gridplan.report.record.document import Block, Cell, Figure, Note, Section, Table, cell, head, table

__all__ = ["COVERS", "sizing"]

_REPLICA = ("lambda_analytical", "lambda_queueing", "anchor_ratio", "lambda_instance", "lambda_safe", "rho_equivalent")
_FLEET = (
    *("replicas_fractional", "replicas_active", "replicas", "nodes", "gpus_deployed", "gpus_stranded"),
    *("replicas_deployed", "arrival_rate_safe_deployed", "arrival_rate_next_step"),
)
_SHARES = ("utilization_peak", "utilization_safe", "utilization_deployed", "utilization_deployed_safe", "busy")
_LOSS = {
    "gpu": ("arrival_rate_safe_after_gpu_loss", "survives_gpu_loss_headroom", "survives_gpu_loss_slo"),
    "node": ("arrival_rate_safe_after_node_loss", "survives_node_loss_headroom", "survives_node_loss_slo"),
    "zone": ("arrival_rate_safe_after_zone_loss", "survives_zone_loss_headroom", "survives_zone_loss_slo"),
    "all spot nodes": ("arrival_rate_safe_without_spot", "headroom_kept_without_spot", "slo_held_without_spot"),
}
"""By what is lost: the rate still carried safely, whether the headroom is kept, and whether limits hold."""

COVERS = {
    "slots": ("nothing random: slots over a latency", "how far slots may fill; no latency limit is known"),
    "mean_tpot": ("limits on means", "the step from means to percentiles, bursts, forecast, uneven load, model error"),
    "percentile_model": ("Poisson bursts and percentiles, by a model", "forecast, uneven load, error of the model"),
    "percentile_measured": (
        "bursts and percentiles of a load test, less its grid step",
        "forecast, uneven load, error of the test",
    ),
    "throughput_measured": ("what was measured", "everything about latency"),
}
"""By lambda_basis: what the rate has inside already, and what is left for rho_target to pay for (docs/headroom.md)."""


def headroom_note(case: Case) -> Note | None:
    """What the utilisation target covers in this plan."""
    rho, basis = case.number("rho_target") or case.input("rho_target"), case.labels.get("lambda_basis")
    if not isinstance(rho, float) or basis not in COVERS:
        return None
    inside, left = COVERS[basis]
    named = [f"{name} {value:g}" for name in MARGINS if isinstance(value := case.input(name), float) and value < 1]
    margins = f" The contract names {', '.join(named)}." if named else " The contract names no margin."
    return Note(
        f"rho_target is {rho:g} of lambda_instance, whose basis is {basis}: inside that rate is {inside}; rho_target "
        f"is there to pay for {left}.{margins}"
    )


def sizing(case: Case, stairs: Chart | None) -> Section:
    """The rate, the headroom, the fleet, and what it survives."""
    blocks: list[Block] = []
    for caption, names in (
        ("Rate of one replica", _REPLICA),
        ("Fleet", _FLEET),
        ("Utilisation: four shares, each with its own name", _SHARES),
    ):
        found = chain_table(case, caption, names)
        if found is not None:
            blocks.append(found)
        if names is _REPLICA and (note := headroom_note(case)) is not None:
            blocks.append(note)
    if (left := _losses(case)) is not None:
        blocks.append(left)
    if stairs is not None:
        blocks.append(Figure("stairs", stairs))
    return Section("sizing", "Sizing", tuple(blocks))


def _losses(case: Case) -> Table | None:
    """What is left when something is lost: a zone only where there are several, spot nodes where there are some."""
    zones = case.input("zones")
    rows = []
    for lost, names in _LOSS.items():
        values = [case.number(name) for name in names]
        absent = {
            "zone": not (isinstance(zones, float) and zones > 1),
            "all spot nodes": not case.number("nodes_spot"),
        }
        if absent.get(lost, False) or all(value is None for value in values):
            continue
        rows.append((Cell(lost), *(cell(name, value) for name, value in zip(names, values, strict=True))))
    heads = ("lost", head("arrival_rate_safe_after_loss"), "headroom kept", "limits hold")
    return table("What is left when something is lost", heads, rows) if rows else None
