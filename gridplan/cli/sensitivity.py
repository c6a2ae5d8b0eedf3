"""`gridplan sensitivity`: which axis or which uncertain input drives a measure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gridplan.cli.explain import parse_labels
from gridplan.cli.named_options import named_as_options
from gridplan.cli.output import write_block
from gridplan.cli.scheduler_option import on_scheduler
from gridplan.cli.study_options import (
    at_option,
    check_output,
    json_text,
    loaded_grid,
    output_options,
    refuse_catalog_of_folder,
    say_warnings,
)
from gridplan.errors import ContractError, Problem
from gridplan.store.place import is_cube_place

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["command"]

_SUFFIXES = (".csv", ".parquet", ".json")

_OPTIONS = {"measure": "--measure", "measures": "--measure", "weights": "--weights", "n": "-n", "at": "--at"}
"""What arguments of `gridplan.axis_indices` and `gridplan.sample` are called here."""

SAMPLES = 65_536
"""Samples where nobody says how many (policy)."""

INDEX_SAMPLES = 8_192
"""Most rows of the matrices behind shares of inputs (policy); each is planned once for every input and twice more."""


@click.command()
@click.argument("source", metavar="GRID|DIR", type=click.Path())
@click.option("--measure", required=True, metavar="NAME", help="The measure whose variance is explained.")
@click.option("--by-axes", is_flag=True, help="Shares of the axes, exactly (default without --sample).")
@click.option("--weights", multiple=True, metavar="AXIS=W,...", help="Weights of the labels of an axis, in order.")
@click.option("--has-value", is_flag=True, help="Explain which cells have a value instead of the values.")
@click.option(
    "--sample",
    "samples",
    multiple=True,
    metavar="INPUT=DISTRIBUTION",
    help="An uncertain input: 'arrival_rate=normal(60, 6)', 'mbu=x uniform(0.9, 1.1)'.",
)
@click.option("-n", "count", type=int, default=None, help=f"Samples, a power of 2 (default {SAMPLES:,}).")
@click.option("--seed", type=click.IntRange(min=0), default=None, help="Of the samples (default 0).")
@at_option
@output_options(_SUFFIXES)
@on_scheduler
def command(
    source: str,
    measure: str,
    by_axes: bool,
    weights: tuple[str, ...],
    has_value: bool,
    samples: tuple[str, ...],
    count: int | None,
    seed: int | None,
    at: tuple[str, ...],
    output: str | None,
    force: bool,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Say what drives a measure: which axis of GRID (or of the cube in DIR), or which of the inputs sampled."""
    _check(source, by_axes, weights, has_value, samples)
    if not samples and (count is not None or seed is not None):
        raise click.UsageError("-n and --seed are of --sample: shares of axes are exact")
    refuse_catalog_of_folder(source, catalog)
    check_output(output, force, _SUFFIXES)
    labels = parse_labels(at)
    with named_as_options(_OPTIONS):
        if samples:
            answer = _by_inputs(source, measure, _distributions(samples), count or SAMPLES, seed or 0, labels, catalog)
        else:
            answer = _by_axes(source, measure, _weights(weights), has_value, labels, catalog)
    table, data, page, sentence = answer
    say_warnings({"warnings": "\n".join(data["warnings"])})
    text = json_text({**data, "sentence": sentence})
    from gridplan.report.solution import write_table

    if output is not None and Path(output).suffix == ".json":
        write_block(Path(output), text + "\n")
    elif output is not None:
        click.echo(f"{output}: {write_table(table, output):,} rows", err=True)
    click.echo(text if as_json else f"{page}\n{sentence}" if output is None else sentence)


Answer = tuple["xr.Dataset", dict[str, Any], str, str]


def _by_axes(
    source: str,
    measure: str,
    weights: dict[str, list[float]],
    has_value: bool,
    labels: dict[str, str],
    catalog: str | None,
) -> Answer:
    """Exact shares of the axes: the table, its data, its page and the sentence."""
    from gridplan.report import variance_page as page
    from gridplan.report.solution import rows_of
    from gridplan.sensitivity.axis_indices import BINDING, axis_indices

    if is_cube_place(source):
        from gridplan.store.manifest import read_manifest
        from gridplan.store.open import open_cube

        held = {column.name for column in read_manifest(source).layout.given}
        opened: Any = open_cube(source, dict.fromkeys([measure, *([BINDING] if BINDING in held else [])]))
    else:
        opened = loaded_grid(source, catalog)
    found = axis_indices(opened, measure, weights=weights, at=labels, of="has_value" if has_value else "value")
    data = {**page.plain(found.attrs), "rows": rows_of(found)}
    return found, data, page.axes_page(found), page.axes_sentence(found)


def _by_inputs(
    source: str,
    measure: str,
    distributions: dict[str, str],
    count: int,
    seed: int,
    labels: dict[str, str],
    catalog: str | None,
) -> Answer:
    """Statistics over samples, and in a single cell the shares of the inputs."""
    from gridplan.dictionary import dictionary
    from gridplan.report import variance_page as page
    from gridplan.report.solution import rows_of
    from gridplan.sensitivity.axis_indices import BINDING
    from gridplan.sensitivity.input_indices import input_indices
    from gridplan.sensitivity.sampling import sample

    grid = loaded_grid(source, catalog)
    found = sample(grid, distributions, list(dict.fromkeys([measure, BINDING])), n=count, seed=seed, at=labels)
    table = page.flat(found)
    drivers = None
    if all(size == 1 for size in table.sizes.values()) and not dictionary()[measure].is_label:
        rest = {str(name): table[name].values.tolist()[0] for name in table.sizes}
        drivers = input_indices(grid, distributions, measure, min(count, INDEX_SAMPLES), seed, at={**labels, **rest})
    pages = [page.samples_page(found), *([page.inputs_page(drivers)] if drivers is not None else [])]
    data = {**page.plain(found.attrs), "measure": measure, "rows": rows_of(table)}
    if drivers is not None:
        data["inputs_explain"] = {**page.plain(drivers.attrs), "rows": rows_of(drivers)}
        data["warnings"] = list(dict.fromkeys([*data["warnings"], *data["inputs_explain"].pop("warnings")]))
    return table, data, "\n\n".join(pages) + "\n", page.samples_sentence(found, drivers, measure)


def _weights(texts: tuple[str, ...]) -> dict[str, list[float]]:
    """`rho_target=1,2,1` as weights by axis."""
    found: dict[str, list[float]] = {}
    for text in texts:
        name, _, numbers = text.partition("=")
        try:
            found[name.strip()] = [float(number) for number in numbers.split(",")]
        except ValueError:
            raise ContractError([Problem(f"takes AXIS=W,W,... of numbers, not {text!r}", key="--weights")]) from None
    return found


def _distributions(texts: tuple[str, ...]) -> dict[str, str]:
    """`arrival_rate=normal(60, 6)` as texts by input."""
    found: dict[str, str] = {}
    for text in texts:
        name, sign, distribution = text.partition("=")
        if not sign or not name.strip():
            raise ContractError([Problem(f"takes INPUT=DISTRIBUTION, not {text!r}", key="--sample")])
        if name.strip() in found:
            raise ContractError([Problem(f"gives {name.strip()} twice", key="--sample")])
        found[name.strip()] = distribution.strip()
    return found


def _check(source: str, by_axes: bool, weights: tuple[str, ...], has_value: bool, samples: tuple[str, ...]) -> None:
    """Refuse options that belong to different questions."""
    if not samples:
        return
    others = {"--by-axes": by_axes, "--weights": bool(weights), "--has-value": has_value}
    given = [name for name, is_given in others.items() if is_given]
    if given:
        raise click.UsageError(f"{', '.join(given)} asks about axes and --sample about inputs: ask one at a time")
    if is_cube_place(source):
        raise click.UsageError(f"{source} is a cube that is planned already: --sample needs the contract")
