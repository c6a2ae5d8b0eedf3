"""A result file as text: its size, its encoding and what it is where it is no text at all."""

from __future__ import annotations

from pathlib import Path

from gridplan.errors import ContractError, Problem

__all__ = ["KNOWN", "MAX_BYTES", "SINGLE_REQUESTS", "ForeignError", "read_text", "unlike"]

MAX_BYTES = 256 * 2**20
"""Largest file read (policy): a summary has kilobytes; one with every token's time should be written without them."""

KNOWN = (
    "vLLM bench serve or bench sweep, SGLang bench_serving, GuideLLM, AIPerf, genai-perf, inference-perf, llmperf, "
    "trtllm-bench, or a CSV table with columns such as rate_per_s and ttft_p95_ms"
)
"""What can be read, for messages."""

SINGLE_REQUESTS = '"benchmark_phase"'
"""A key of every single request in AIPerf's export of them, which may be large."""

_MAGIC = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or a spreadsheet; unpack it, or save the sheet as CSV"),
    (b"\x1f\x8b", "compressed with gzip; unpack it"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it"),
    (b"PAR1", "a Parquet file"),
)


class ForeignError(ContractError):
    """A file holds no load point that can be read; in a folder it is passed over."""


def read_text(file: str) -> str:
    """The text of a file. Raises ContractError where it cannot be read, is too large, empty or not text."""
    path = Path(file)
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise _too_large(path, file, size)
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ContractError([Problem("no such file", file)]) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ContractError([Problem(f"cannot be read: {reason}", file)]) from None
    if len(content) > MAX_BYTES:  # a pipe or a device has no size
        raise ContractError([Problem(f"has more than {MAX_BYTES:,} bytes", file)])
    return _decoded(content, file)


def _too_large(path: Path, file: str, size: int) -> ContractError:
    with path.open("rb") as stream:
        kind = ForeignError if SINGLE_REQUESTS.encode() in stream.read(4096) else ContractError
    shown = f"has {size:,} bytes; {MAX_BYTES:,} are read at most: leave out the figures of single requests"
    return kind([Problem(shown, file)])


def _decoded(content: bytes, file: str) -> str:
    if not content.strip():
        raise ContractError([Problem("is empty", file)])
    for magic, kind in _MAGIC:
        if content.startswith(magic):
            raise ContractError([Problem(f"is {kind}, not a result of a load test", file)])
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"  # PowerShell's `>` writes UTF-16
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        found = content[error.start : error.start + 1].hex()
        shown = f"is not text in UTF-8: byte 0x{found} at position {error.start}; save it as UTF-8"
        raise ContractError([Problem(shown, file)]) from None
    if "\0" in text:
        raise ContractError([Problem("is not text: it holds zero bytes", file)])
    if text.lstrip()[:200].lower().startswith(("<!doctype", "<html", "<?xml")):
        raise ContractError([Problem(f"is a web page, not a result of a load test; known are {KNOWN}", file)])
    return text


def unlike(file: str, detail: str = "", line: int | None = None) -> ForeignError:
    """The error of a file that no reader knows."""
    said = f" ({detail})" if detail else ""
    return ForeignError([Problem(f"is not a result of a load test that is known{said}; known are {KNOWN}", file, line)])
