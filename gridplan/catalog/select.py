"""Chooses catalog entries for an axis: `{catalog: gpus, where: {vendor: NVIDIA, memory_at_least: 40 GB}}`.

A condition is a field that equals a value (or one of a list), or `<field>_at_least` / `<field>_at_most` for a number.
An entry whose value is not known meets no condition on it. Text is compared without regard to case; the order is the
catalog's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from gridplan.catalog.book import Catalog
from gridplan.catalog.entries import Gpu, Instance, Model
from gridplan.catalog.fields import FIELDS, FLOP_FORMATS, quantity
from gridplan.errors import CatalogError, Problem, suggestion

__all__ = ["select_gpus", "select_instances", "select_models"]

Entry = Gpu | Model | Instance
Getter = Callable[[Any], object]
LIMITS = ("_at_least", "_at_most")


def _field(name: str) -> Getter:
    return lambda entry: getattr(entry, name)


def _getters(kind: type[Entry]) -> dict[str, Getter]:
    getters = {item.name: _field(item.name) for item in fields(kind) if item.name not in ("flops", "layer_groups")}
    getters["class"] = getters.pop("cls")
    return getters


def _rate(name: str) -> Getter:
    return lambda gpu: gpu.flops.get(name)


def _usd_per_gpu_hour(instance: Instance) -> float | None:
    price = instance.usd_per_node_hour
    return None if price is None else price / instance.gpus_per_node


_GPU_KEYS = _getters(Gpu) | {
    "memory": _field("memory_bytes"),
    "memory_bandwidth": _field("memory_bandwidth_bytes_per_s"),
    **{f"flops_{name}": _rate(name) for name in FLOP_FORMATS},
}
_MODEL_KEYS = _getters(Model) | {"supported": lambda model: bool(model.layer_groups)}
_INSTANCE_KEYS = _getters(Instance) | {"usd_per_gpu_hour": _usd_per_gpu_hour}
_FULL_NAMES = {"memory": "memory_bytes", "memory_bandwidth": "memory_bandwidth_bytes_per_s"}
_UNITS = {**{f"flops_{name}": "FLOP/s" for name in FLOP_FORMATS}, "usd_per_gpu_hour": "USD/h"}


def select_gpus(catalog: Catalog, where: Mapping[str, object]) -> list[str]:
    """Ids of the GPUs that meet all conditions; `memory` is the planning total, `flops_fp8` and so on the dense peaks.

    Raises CatalogError for unknown conditions, unreadable values, and when nothing is left.

    >>> from gridplan.catalog import load_catalog
    >>> select_gpus(load_catalog(), {"vendor": "NVIDIA", "memory_bytes_at_least": 170 * 2**30})
    ['b200', 'b300', 'gb200', 'gb300']
    """
    return _select("gpus", catalog.gpus, _GPU_KEYS, where)


def select_models(catalog: Catalog, where: Mapping[str, object]) -> list[str]:
    """Ids of the models that meet all conditions; `supported` is whether its layer groups are known.

    All shipped models have them; the condition stays for contracts that were written when some had not.

    Raises CatalogError as `select_gpus` does.

    >>> from gridplan.catalog import load_catalog
    >>> select_models(load_catalog(), {"family": "llama", "params_total_at_most": 4e9})
    ['llama-3.2-1b', 'llama-3.2-3b']
    """
    return _select("models", catalog.models, _MODEL_KEYS, where)


def select_instances(catalog: Catalog, where: Mapping[str, object]) -> list[str]:
    """Ids of the rentable shapes that meet all conditions; `usd_per_gpu_hour` is the node's price over its GPUs.

    Raises CatalogError as `select_gpus` does.

    >>> from gridplan.catalog import load_catalog
    >>> select_instances(load_catalog(), {"gpu": "mi355x"})
    ['oci-bm-gpu-mi355x-8']
    """
    return _select("instances", catalog.instances, _INSTANCE_KEYS, where)


def _select(
    section: str, table: Mapping[str, Any], getters: Mapping[str, Getter], where: Mapping[str, object]
) -> list[str]:
    problems: list[Problem] = []
    tests: list[Callable[[Any], bool]] = []
    for key, value in where.items():
        try:
            tests.append(_test(section, str(key), value, getters))
        except ValueError as error:
            problems.append(Problem(str(error), key=f"where.{key}"))
    if problems:
        raise CatalogError(problems)
    chosen = [entry_id for entry_id, entry in table.items() if all(test(entry) for test in tests)]
    if not chosen:
        written = ", ".join(f"{key}: {value}" for key, value in where.items())
        raise CatalogError(f"none of the {len(table)} {section} of the catalog meets where: {{{written}}}")
    return chosen


def _test(section: str, key: str, value: object, getters: Mapping[str, Getter]) -> Callable[[Any], bool]:
    for limit in LIMITS:
        name = key.removesuffix(limit)
        if name != key and name in getters:
            return _limit_test(section, name, limit, value, getters[name])
    if key not in getters:
        hints = [*getters, *(f"{name}{limit}" for name in getters for limit in LIMITS)]
        known = f"{', '.join(getters)}, and each number with _at_least or _at_most"
        also = "; supported: true keeps models whose layer groups are known" if section == "models" else ""
        raise ValueError(f"unknown condition{suggestion(key, hints)}; known: {known}{also}")
    items = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(item, dict | list | tuple) for item in items):
        raise CatalogError([Problem("a value or a list of values is due", key=f"where.{key}")])
    wanted = {_comparable(section, key, item) for item in items}
    get = getters[key]
    return lambda entry: (found := get(entry)) is not None and _folded(found) in wanted


def _limit_test(section: str, name: str, limit: str, value: object, get: Getter) -> Callable[[Any], bool]:
    bound = _comparable(section, name, value)
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise ValueError(f"a number is due, not {value!r}")
    sign = 1.0 if limit == "_at_least" else -1.0

    def test(entry: Any) -> bool:
        found = get(entry)
        return isinstance(found, int | float) and not isinstance(found, bool) and sign * found >= sign * bound

    return test


def _comparable(section: str, name: str, value: object) -> object:
    """The value as the field holds it: text with a unit becomes a number in base units, text is folded."""
    unit = _UNITS.get(name)
    spec = FIELDS[section].get(_FULL_NAMES.get(name, name))
    if unit is not None:
        return quantity(unit, zero=True)(value)
    if spec is not None and isinstance(value, str):
        return _folded(spec.parse(value))
    return _folded(value)


def _folded(value: object) -> object:
    return value.casefold() if isinstance(value, str) else value
