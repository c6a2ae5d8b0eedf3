"""What tests of several charts ask: how wide a drawing is, and the lesson with instances of other names."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

import gridplan
from gridplan.contract import Grid

__all__ = ["drawn_width", "lesson_of_instances"]


def drawn_width(svg: str) -> float:
    """The pixels across that the root of an SVG document states."""
    found = re.search(r'<svg[^>]*? width="([0-9.]+)"', svg)
    assert found is not None, svg[:200]
    return float(found[1])


def lesson_of_instances(grids: Path, names: Sequence[str], **changed: Any) -> Grid:
    """The lesson with an instance of each name in place of its own: that of AWS, but for what is changed."""
    text = yaml.safe_load((grids / "lesson.yaml").read_text())
    text["deployment"]["params_total"] = 8.03e9
    entries = text["catalog"]["instances"]
    entries |= {name: dict(entries["aws-p4de"], **changed) for name in names}
    text["axes"]["instance"] = list(names)
    return gridplan.loads_grid(json.dumps(text, default=str, ensure_ascii=False))
