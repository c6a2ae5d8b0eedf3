"""Freed temporaries stay in the process where its allocator is glibc."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
from threading import Thread
import numpy as np
from gridplan.engine.heap import keep_temporaries

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def work():
    for _ in range(100):
        arrays = [np.ones(2**17) for _ in range(8)]
        del arrays

{call}
before = faults()
thread = Thread(target=work)
thread.start()
thread.join()
print(faults() - before)
"""


def page_faults(call: str) -> int:
    """Of a thread that makes and drops eight arrays of 1 MiB a hundred times: 204,800 pages at most."""
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(call=call)], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="speaks of glibc")
def test_a_thread_pages_its_temporaries_in_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    assert page_faults("keep_temporaries()") < 10_000 < page_faults("")
