"""Documents show only what was run: a program followed by its output prints that output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from quick_process import Run

ROOT = Path(__file__).parents[2]
PAIR = re.compile(r"```python\n((?:(?!```).)*?)```\n\n```text\n(.*?)```", re.S)

EXAMPLES = [
    pytest.param(program, output, id=f"{page.name}-{number}")
    for page in sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "notebooks").glob("*.md")])
    for number, (program, output) in enumerate(PAIR.findall(page.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize(("program", "output"), EXAMPLES)
def test_a_program_prints_what_the_page_shows(process: Run, program: str, output: str) -> None:
    said = process(program, folder=ROOT)
    assert said.returncode == 0, said.stderr
    assert [line.rstrip() for line in said.stdout.strip().splitlines()] == [
        line.rstrip() for line in output.strip().splitlines()
    ]
