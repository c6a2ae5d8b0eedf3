"""What a record was made from, so that it can be made again: versions and hashes."""

from __future__ import annotations

from pathlib import Path

from gridplan import __version__
from gridplan.quantities import format_labels
from gridplan.report.record.case import Case
from gridplan.report.record.decision import counted
from gridplan.report.record.sweep import Sweep

__all__ = ["identity", "place_of"]


def place_of(case: Case) -> str:
    """The cell, or the labels that were asked for, as `--at` takes them."""
    shown = case.place() if case.plan is not None else dict(case.asked.at)
    return format_labels(shown.items())


def identity(case: Case, test: Sweep | None) -> dict[str, str]:
    """What the record was made from, so that it can be made again."""
    from gridplan.store.files import sha256_of

    found = {"gridplan": __version__}
    if case.manifest is not None:
        origin = case.manifest.origin
        found |= {
            "planned by gridplan": origin.package_version,
            "contract": f"{origin.grid_name}, sha256 {origin.grid_sha256}",
            "catalog": f"sha256 {origin.catalog_sha256}",
            "cube": f"{counted(case.manifest.layout.cells, 'cell')} in {counted(len(case.manifest.parts), 'part')}",
            "manifest": f"sha256 {sha256_of(Path(case.source) / 'manifest.json')}",  # type: ignore[arg-type]
        }
    elif case.grid is not None:
        from gridplan.engine.inputs import build_inputs
        from gridplan.engine.tables import catalog_hash

        found |= {
            "contract": f"{case.grid.name}, sha256 {case.grid.sha256}",
            "catalog": f"sha256 {catalog_hash(build_inputs(case.grid).catalog)}",
        }
    if case.plan is not None:
        found["cell"] = place_of(case) or "the only one"
    for file in test.files if test is not None else ():
        if Path(file).is_file():
            found[f"load test {Path(file).name}"] = f"sha256 {sha256_of(Path(file))}"
    return found
