"""Fields of published config.json files by catalog id, each with its source, from `tests/unit/hf_configs`.

Only what an import reads is kept. Where the file itself could not be opened, the sizes are those of the source that the
catalog's row cites, and the flags those that the architecture's class fixes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["CONFIGS", "config_of", "written"]

FOLDER = Path(__file__).parents[1] / "unit" / "hf_configs"
CONFIGS: dict[str, dict[str, Any]] = {}
for _file in sorted(FOLDER.glob("*.json")):
    CONFIGS |= json.loads(_file.read_text(encoding="utf-8"))


def config_of(model_id: str, **changes: Any) -> dict[str, Any]:
    """A copy of the config of a catalog model with top-level fields changed; a field that is given as ... goes."""
    config: dict[str, Any] = json.loads(json.dumps(CONFIGS[model_id]["config"]))
    for name, value in changes.items():
        if value is ...:
            config.pop(name)
        else:
            config[name] = value
    return config


def written(folder: Path, config: object, name: str = "config.json") -> Path:
    """The config as a file."""
    path = folder / name
    path.write_text(config if isinstance(config, str) else json.dumps(config), encoding="utf-8")
    return path
