"""Documents show only what was run: a program followed by its output prints that output."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAIR = re.compile(r"```python\n((?:(?!```).)*?)```\n\n```text\n(.*?)```", re.S)

EXAMPLES = [
    pytest.param(program, output, id=f"{page.name}-{number}")
    for page in sorted((ROOT / "docs").glob("*.md"))
    for number, (program, output) in enumerate(PAIR.findall(page.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize(("program", "output"), EXAMPLES)
def test_a_program_prints_what_the_page_shows(program: str, output: str) -> None:
    said = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert [line.rstrip() for line in said.stdout.strip().splitlines()] == [
        line.rstrip() for line in output.strip().splitlines()
    ]
