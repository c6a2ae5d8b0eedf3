"""A model's config.json as the adapters read it: carried in the job, or the copy that aiconfigurator-core ships."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any


def config_of(job: dict[str, Any]) -> dict[str, Any]:
    """The config of a job; KeyError where neither the job nor the package has it."""
    if job["config"]:
        return dict(job["config"])
    path = shipped(job["hf_id"], "config")
    if not path.exists():
        raise KeyError(f"no config of {job['hf_id']}")
    return dict(json.loads(path.read_text(encoding="utf-8")))


def shipped(hf_id: str, name: str) -> Path:
    """Where aiconfigurator-core keeps its copy of a JSON file of the hub, if it has one."""
    found = importlib.util.find_spec("aiconfigurator_core")
    if found is None or found.origin is None:
        raise KeyError("aiconfigurator_core is not installed")
    return Path(found.origin).parent / "model_configs" / f"{hf_id.replace('/', '--')}_{name}.json"
