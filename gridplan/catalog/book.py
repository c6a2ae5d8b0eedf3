"""The catalog as one value: look-ups that name the nearest entries, and a copy with a contract's own entries.

Shipped values were compiled on 2026-11-29; an entry's `as_of` is the date its source states, else that day.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeVar

from gridplan.catalog import model_rows, rows
from gridplan.catalog.entries import ActivationFamily, Dtype, Engine, Gpu, Instance, MemoryTerm, Model
from gridplan.catalog.fields import FIELDS
from gridplan.catalog.overrides import Merger
from gridplan.catalog.step_constants import StepConstant, find_step_constant
from gridplan.catalog.versions import holds, parse_version, range_text, split_spec
from gridplan.errors import CatalogError, Problem, suggestion

__all__ = ["Catalog", "load_catalog"]

T = TypeVar("T")
Entries = Mapping[str, Mapping[str, Mapping[str, object]]]


@dataclass(frozen=True, slots=True, eq=False)
class Catalog:
    """Everything gridplan knows of hardware, models, prices and engines. Never changed in place: see `with_entries`."""

    gpus: Mapping[str, Gpu]
    models: Mapping[str, Model]
    instances: Mapping[str, Instance]
    engines: tuple[Engine, ...]
    dtypes: Mapping[tuple[str, str], Dtype]
    activation_families: Mapping[str, ActivationFamily]
    memory_terms: tuple[MemoryTerm, ...]
    step_constants: tuple[StepConstant, ...]
    _engine_of: dict[str, Engine] = field(init=False, repr=False, default_factory=dict)
    """Engine entries by the labels that were asked for: a cube asks for the same few in every cell."""

    def gpu(self, gpu_id: str) -> Gpu:
        """The GPU of that id; CatalogError with the nearest ids when there is none."""
        return _found(self.gpus, gpu_id, "GPU", "gpus")

    def model(self, model_id: str) -> Model:
        """The model of that id; CatalogError with the nearest ids when there is none."""
        return _found(self.models, model_id, "model", "models")

    def instance(self, instance_id: str) -> Instance:
        """The rentable shape of that id; CatalogError with the nearest ids when there is none."""
        return _found(self.instances, instance_id, "instance", "instances")

    def dtype(self, role: str, name: str) -> Dtype:
        """The number format of that name for `weight` or `kv`; CatalogError with the nearest names if there is none."""
        of_role = {known: row for (of, known), row in self.dtypes.items() if of == role}
        return _found(of_role, name, f"{role} dtype", "dtypes")

    def engine(self, spec: str) -> Engine:
        """The entry whose range holds the version (`vllm@0.21`), or the newest one (`vllm`).

        Raises CatalogError with the nearest names, or with the ranges known, when there is none.

        >>> load_catalog().engine("vllm@0.21.1").cuda_graphs_in_budget
        True
        """
        if spec not in self._engine_of:
            self._engine_of[spec] = self._find_engine(spec)
        return self._engine_of[spec]

    def _find_engine(self, spec: str) -> Engine:
        name, version = split_spec(spec)
        entries = self._versions_of(name)
        if not entries:
            raise CatalogError(
                f"unknown engine {name}{suggestion(name, self._engine_names())}; {_all(self._engine_names())}"
            )
        if version is None:
            return entries[-1]
        try:
            numbers = parse_version(version)
        except ValueError as error:
            raise CatalogError(f"engine {spec}: {error}") from None
        held = [entry for entry in entries if holds(numbers, entry.version_from, entry.version_to)]
        if not held:
            ranges = ", ".join(range_text(entry.version_from, entry.version_to) for entry in entries)
            raise CatalogError(f"engine {name} {version} is not in the catalog; versions known: {ranges}")
        return held[-1]

    def activation_family(self, model: Model) -> ActivationFamily:
        """The activation figure of a model's family, or of all other dense (mixture-of-experts) ones."""
        return (
            self.activation_families.get(model.family)
            or self.activation_families["other-moe" if model.num_experts else "other-dense"]
        )

    def memory_term(self, engine: Engine, term: str, tensor_parallel: float) -> MemoryTerm | None:
        """What was measured of one term (`non_torch`, `activation`, `cuda_graphs`) for an engine entry, or None.

        >>> catalog = load_catalog()
        >>> catalog.memory_term(catalog.engine("vllm@0.19"), "non_torch", 2).high
        2.17
        """
        conditions = ("any", "tp1" if tensor_parallel == 1 else "tp2plus")
        first = parse_version(engine.version_from)
        for row in self.memory_terms:
            named = row.engine == engine.name and row.term == term and row.condition in conditions
            if named and holds(first, row.version_from, row.version_to):
                return row
        return None

    def step_constant(self, name: str, engine: Engine | None, gpu: Gpu | None, is_moe: bool) -> StepConstant:
        """A constant of the step time (`mbu`, `layer_overhead_s`, ...) for an engine on a GPU.

        >>> catalog = load_catalog()
        >>> catalog.step_constant("mfu", catalog.engine("vllm"), catalog.gpu("h100-sxm"), False).kind
        'dense'
        """
        return find_step_constant(self.step_constants, name, engine, gpu, is_moe)

    def with_entries(self, entries: Entries, origins: Mapping[str, str] | None = None) -> Catalog:
        """A copy with entries added or overridden: section (`gpus`, `models`, ...) to id to fields.

        `origins` names the file of each section where the entries come from a catalog folder and not from a contract.

        Raises CatalogError with all problems: unknown sections and fields, missing or bad values, contradictions.

        >>> ours = {"instances": {"ours": {"gpu": "h100-sxm", "gpus_per_node": 8, "usd_per_node_hour": 20}}}
        >>> load_catalog().with_entries(ours).instance("ours").price_kind
        'list'
        """
        catalog, problems = self.merged(entries, origins)
        if problems:
            raise CatalogError(problems)
        return catalog

    def merged(self, entries: Entries, origins: Mapping[str, str] | None = None) -> tuple[Catalog, tuple[Problem, ...]]:
        """As `with_entries`, with the problems beside a copy that leaves out the entries that could not be read."""
        merger = Merger(origins)
        tables = {section: _table(merger, entries, section) for section in FIELDS}
        merger.problems += [
            Problem(f"unknown section{suggestion(str(name), FIELDS)}; {_all(FIELDS)}", key=f"catalog.{name}")
            for name in entries
            if name not in FIELDS
        ]
        gpus = merger.gpus(self.gpus, tables["gpus"])
        models = merger.models(self.models, tables["models"], self.dtypes)
        instances = merger.instances(self.instances, tables["instances"], gpus)
        engines = self._with_engines(merger, tables["engines"])
        catalog = replace(self, gpus=gpus, models=models, instances=instances, engines=engines)
        return catalog, tuple(merger.problems)

    def _with_engines(self, merger: Merger, written: Mapping[str, Any]) -> tuple[Engine, ...]:
        """Engine entries with the written ones in place of those whose version they name, or added."""
        stands_for: dict[str, Engine] = {}
        for label in written:
            try:
                stands_for[label] = self.engine(label)
            except CatalogError:
                continue
        merged = merger.engines(stands_for, written)
        replaced = {id(entry) for label, entry in stands_for.items() if label in merged}
        return (*(entry for entry in self.engines if id(entry) not in replaced), *merged.values())

    def _versions_of(self, name: str) -> list[Engine]:
        entries = (entry for entry in self.engines if entry.name == name)
        return sorted(entries, key=lambda entry: parse_version(entry.version_from))

    def _engine_names(self) -> list[str]:
        return list(dict.fromkeys(entry.name for entry in self.engines))


def _found(table: Mapping[str, T], name: str, kind: str, section: str) -> T:
    if name in table:
        return table[name]
    rest = _all(table) if len(table) <= 12 else f"`gridplan catalog {section}` lists all {len(table)}"
    raise CatalogError(f"unknown {kind} {name}{suggestion(name, table)}; {rest}")


def _all(names: Iterable[str]) -> str:
    return f"known: {', '.join(names)}"


def _table(merger: Merger, entries: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    table = entries.get(section)
    if table is None:
        return {}
    if isinstance(table, Mapping) and all(isinstance(key, str) and key.strip() for key in table):
        return table
    merger.problems.append(Problem("entries by id are due, and every id is a text", key=f"catalog.{section}"))
    return {}


@lru_cache(maxsize=1)
def load_catalog() -> Catalog:
    """The shipped catalog, read once.

    >>> len(load_catalog().models)
    99
    """
    return Catalog(
        gpus=rows.read_gpus(),
        models=model_rows.read_models(),
        instances=rows.read_instances(),
        engines=rows.read_engines(),
        dtypes=rows.read_dtypes(),
        activation_families=rows.read_activation_families(),
        memory_terms=rows.read_memory_terms(),
        step_constants=rows.read_step_constants(),
    )
