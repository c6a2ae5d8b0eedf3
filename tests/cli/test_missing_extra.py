"""Commands whose libraries are an extra say which one to install where it is not: in a process that never saw it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HIDE = """
import importlib.util
import sys

real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in ("sqlglot", "duckdb") else real(name, *more)

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("sqlglot", "duckdb"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden())
"""


@pytest.mark.parametrize(
    "program",
    [
        "from gridplan.cli import main; main(['slice', {folder!r}, '--agg', 'count'])",
        "from gridplan.cli import main; main(['slice', {folder!r}, '--agg', 'count', '--sql'])",
        "from gridplan.cli import main; main(['export', {folder!r}, '--to', 'star', '-o', 'x'])",
        "import gridplan; gridplan.slice_cube({folder!r})",
        "import gridplan; gridplan.export_cube({folder!r}, 'star', 'x')",
    ],
)
def test_the_extra_is_named(program: str, folder: Callable[[str], Path], tmp_path: Path) -> None:
    text = HIDE + program.format(folder=str(folder("lesson")))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert done.stderr.strip().splitlines()[-1].endswith("pip install 'gridplan[sql]'")
    assert "slice_cube" in program or "export_cube" in program or "Traceback" not in done.stderr
