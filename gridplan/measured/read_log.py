"""A start-up log from a file or a text: which engine wrote it is known by its sentences, not by the file's name."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from gridplan.errors import LogError, Problem
from gridplan.measured.engine_log import EngineLog
from gridplan.measured.log_starts import cut_starts
from gridplan.measured.log_text import LogText, clean
from gridplan.measured.sglang_log import BANNERS as SGLANG_BANNERS
from gridplan.measured.sglang_log import ENDS as SGLANG_ENDS
from gridplan.measured.sglang_log import LOOKED_FOR as SGLANG_LOOKED_FOR
from gridplan.measured.sglang_log import sglang_log, sglang_sentences
from gridplan.measured.vllm_log import BANNERS as VLLM_BANNERS
from gridplan.measured.vllm_log import ENDS as VLLM_ENDS
from gridplan.measured.vllm_log import LOOKED_FOR as VLLM_LOOKED_FOR
from gridplan.measured.vllm_log import vllm_log, vllm_sentences

__all__ = ["MAX_BYTES", "last_complete", "read_log", "read_logs"]

MAX_BYTES = 256 * 2**20
"""Largest file read (policy): a start-up prints less than 1 MB, and a log of days of serving should be cut first."""


def read_log(path: str | PathLike[str]) -> EngineLog:
    """The last complete start-up in a log file; the last one where none is complete.

    Raises
    ------
    LogError
        If the file cannot be read, or is a log of no engine that is known.
    """
    return last_complete(read_logs(path))


def last_complete(logs: list[EngineLog]) -> EngineLog:
    """The last start-up that got as far as its KV pool; the last of all where none did."""
    return next((log for log in reversed(logs) if log.complete), logs[-1])


def read_logs(path: str | PathLike[str]) -> list[EngineLog]:
    """Every start-up in a log file, in order. Raises LogError as `read_log` does."""
    name = fspath(path)
    return logs_of(_content(name), name)


def logs_of(content: str, file: str = "<text>") -> list[EngineLog]:
    """Every start-up in the text of a log. Raises LogError where no engine's sentences are in it.

    >>> log = logs_of("INFO Available KV cache memory: 19.25 GiB")[0]
    >>> log.engine, log.kv_pool_bytes.value / 2**30, log.kv_pool_bytes.line
    ('vllm', 19.25, 1)
    """
    text = LogText.of(clean(content))
    said = {"vllm": vllm_sentences(text), "sglang": sglang_sentences(text)}
    if not any(said.values()):
        looked_for = ", ".join(f'"{sentence}"' for sentence in (*VLLM_LOOKED_FOR, *SGLANG_LOOKED_FOR))
        raise LogError([Problem(f"is not a start-up log of vLLM or SGLang; looked for {looked_for}", file)])
    # Text about both engines has sentences of both; the log is of the one that says more.
    engine = max(said, key=lambda name: said[name])
    read, banners, ends = {
        "vllm": (vllm_log, VLLM_BANNERS, VLLM_ENDS),
        "sglang": (sglang_log, SGLANG_BANNERS, SGLANG_ENDS),
    }[engine]
    parts = cut_starts(text, banners, ends)
    return [read(file, part, index, len(parts)) for index, part in enumerate(parts, 1)]


def _content(name: str) -> str:
    path = Path(name)
    try:
        if path.is_dir():
            raise LogError([Problem("is a folder, not a file", name)])
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise LogError([Problem(f"has {size:,} bytes; {MAX_BYTES:,} are read at most: cut out the start-up", name)])
        content = path.read_bytes()
    except FileNotFoundError:
        raise LogError([Problem("no such file", name)]) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise LogError([Problem(f"cannot be read: {reason}", name)]) from None
    if not content.strip():
        raise LogError([Problem("is empty", name)])
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):  # PowerShell's `>` writes UTF-16
        return content.decode("utf-16", errors="replace")
    if b"\0" in content[:65536]:
        raise LogError([Problem("is not text", name)])
    return content.decode("utf-8-sig", errors="replace")
