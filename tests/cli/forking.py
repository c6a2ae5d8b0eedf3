"""The process of `quick_process.py`: loads the libraries once, then forks itself for every program it is sent.

A line of JSON asks for one: the program, or the arguments of `gridplan`; its folder; the files of its output. A line
answers: its exit code. Nothing of gridplan is loaded before a fork, so what a program leaves out to import is missing.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback
import types
from typing import Any

import click
import jinja2
import numpy
import pandas
import pyarrow.parquet
import pydantic
import rich.table
import scipy.optimize
import scipy.special
import scipy.stats
import xarray
import yaml

LOADED = (click, jinja2, numpy, pandas, pyarrow, pydantic, rich, scipy, xarray, yaml)


def run(ask: dict[str, Any]) -> int:
    """What the interpreter does with `-c` or `-m`; the exit code."""
    for number, file, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, ask["out"], os.O_WRONLY | os.O_CREAT),
        (2, ask["err"], os.O_WRONLY | os.O_CREAT),
    ):
        os.dup2(os.open(file, flags, 0o600), number)
    os.chdir(ask["folder"])
    try:
        if ask["program"] is None:
            sys.argv = ["gridplan", *ask["arguments"]]
            runpy.run_module("gridplan", run_name="__main__", alter_sys=True)
        else:
            sys.argv = ["-c"]
            main = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(ask["program"], "<string>", "exec"), vars(main))
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        print(stop.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def serve() -> None:
    """Answer until nobody asks."""
    answers = os.fdopen(os.dup(1), "w")
    for line in iter(sys.stdin.readline, ""):
        process = os.fork()
        if process == 0:
            code = run(json.loads(line))
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


if __name__ == "__main__":
    assert not any(name.partition(".")[0] == "gridplan" for name in sys.modules)
    serve()
