"""Which labels a text input may carry: ids of the catalog, number formats, engines, the choices of the dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gridplan.contract.model_files import ModelFiles, is_path
from gridplan.dictionary import dictionary
from gridplan.errors import CatalogError, suggestion

if TYPE_CHECKING:
    from gridplan.catalog import Catalog

__all__ = ["LabelBook", "unprintable"]

_FEW = 12
_KINDS = {"gpu": "gpus", "model": "models", "draft_model": "models", "instance": "instances"}
_DTYPE_ROLES = {"weight_dtype": "weight", "kv_dtype": "kv"}


def unprintable(label: str) -> str | None:
    """Why a text cannot be a label or a name, or None when it can."""
    if not label.strip():
        return "a label may not be empty"
    if label != label.strip() or not label.isprintable():
        return f"{label!r}: a label is printable text on one line without spaces around it"
    return None


class LabelBook:
    """The labels of the catalog that a contract sees: the shipped one, its own entries, and config files of models."""

    def __init__(
        self, catalog: Catalog, own: Mapping[str, Mapping[str, Mapping[str, object]]], files: ModelFiles | None = None
    ) -> None:
        self.catalog, self._files = catalog, files
        # An entry of the contract that has a fault is known all the same: the fault is reported once, at the entry.
        self._own = own

    def problem(self, name: str, label: str) -> str | None:
        """Why `label` is not one of input `name`, with the nearest that are; None when it is."""
        if (reason := unprintable(label)) is not None:
            return reason
        if name in _KINDS:
            known = self._ids(_KINDS[name])
            if self._files is not None and _KINDS[name] == "models" and label not in known and is_path(label):
                return self._files.problem(label)
            return None if label in known else f"unknown {name} {label}{suggestion(label, known)}{self._listed(name)}"
        if name in _DTYPE_ROLES:
            formats = [known for role, known in self.catalog.dtypes if role == _DTYPE_ROLES[name]]
            return _choice(name, label, formats)
        if name == "engine":
            return self._engine_problem(label)
        return _choice(name, label, dictionary()[name].labels)

    def gpu_of(self, instance: str) -> str | None:
        """The GPU of an instance, where it is known."""
        if instance in self.catalog.instances:
            return self.catalog.instances[instance].gpu
        gpu = self._own.get("instances", {}).get(instance, {}).get("gpu")
        return gpu if isinstance(gpu, str) else None

    def _ids(self, section: str) -> list[str]:
        shipped = {"gpus": self.catalog.gpus, "models": self.catalog.models, "instances": self.catalog.instances}
        return list(dict.fromkeys([*shipped[section], *self._own.get(section, {})]))

    def _engine_problem(self, label: str) -> str | None:
        if label in self._own.get("engines", {}):
            return None
        try:
            self.catalog.engine(label)
        except CatalogError as error:
            return error.problems[0].message
        return None

    @staticmethod
    def _listed(name: str) -> str:
        return f"; `gridplan catalog {_KINDS[name]}` lists all"


def _choice(name: str, label: str, choices: Iterable[str]) -> str | None:
    known = list(choices)
    if not known or label in known:
        return None
    return f"{name} must be one of {', '.join(known)}; {label} is not{suggestion(label, known)}"
