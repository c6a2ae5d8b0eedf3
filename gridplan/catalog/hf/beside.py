"""What is read with a config.json: how weights and cache are stored, from it or a file beside it, and the index."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from gridplan.catalog.hf.fields import Fields, Report
from gridplan.catalog.hf.kv_cache import read_kv
from gridplan.catalog.hf.published import Published
from gridplan.catalog.hf.quant import Scheme, read_scheme, with_experts
from gridplan.catalog.hf.reader import read_json
from gridplan.catalog.safetensors import index_bytes
from gridplan.errors import CatalogError, Problem

__all__ = ["INDEX_FILE", "SIDE_FILE", "beside", "checked_index_bytes", "format_in_name", "scheme_of"]

SIDE_FILE, INDEX_FILE = "hf_quant_config.json", "model.safetensors.index.json"
FARTHEST = 2
"""An index that is off by more than this factor belongs to another checkpoint (policy)."""
_FORMATS = re.compile(
    r"(?<![a-z0-9])(fp8|nvfp4|mxfp4|awq|gptq|int4|int8|w4a16|w8a8)(?![a-z0-9])", re.IGNORECASE | re.ASCII
)


def beside(path: Path, given: str | Path | None, name: str) -> Path | None:
    """The file that was given, else the one of that name beside the config, if there is one.

    A link that leads nowhere, or a folder of that name, is there as well: reading it says what is wrong with it.
    """
    if given is not None:
        return Path(given)
    found = path.parent / name
    return found if (found.exists() or found.is_symlink()) and found != path else None


def format_in_name(path: Path) -> str:
    """The quantised format that the name of the file or of its folder says; empty where there is none.

    >>> format_in_name(Path("Qwen3-8B-FP8/config.json")), format_in_name(Path("Qwen3-8B/config.json"))
    ('FP8', '')
    """
    found = _FORMATS.search(path.stem) or _FORMATS.search(path.absolute().parent.name)
    return found[0] if found else ""


def scheme_of(model: Published, side: Path | None) -> tuple[Scheme | None, list[str]]:
    """How the checkpoint is stored: as the file itself says, else as the file beside it does; None in 16 bits.

    A config that says nothing of the cache leaves that to the file beside it. The texts name the files beside.
    """
    report = model.top.report
    scheme: Scheme | None = None
    for own in (model.fields, model.top):
        if own.has("quantization_config"):
            stated = own.sub("quantization_config")
            report.raise_if_any()
            scheme = with_experts(read_scheme(stated), model.fields)
            break
    if side is None or (scheme is not None and scheme.kv is not None):
        return scheme, []
    source = read_json(side, f"a {SIDE_FILE}")
    other = Report(source.file)
    fields = Fields(source.data, other).sub("quantization")
    if scheme is None:
        scheme = read_scheme(fields)
    else:
        scheme = replace(scheme, kv=read_kv(fields))
        if scheme.kv is None and not other.problems:
            return scheme, []
    for problem in other.problems:
        report.problems[problem] = None
    for note in other.notes:
        report.note(note)
    return scheme, [f"{side.name}, sha256 {source.sha256}"]


def checked_index_bytes(index: Path, counted: int) -> int:
    """`metadata.total_size` of an index [bytes], which must not be far from the bytes of all counted parts."""
    try:
        size = index_bytes(index)
    except ValueError as error:
        raise CatalogError([Problem(str(error).removeprefix(f"{index} "), str(index))]) from None
    if not counted <= FARTHEST * size <= FARTHEST**2 * counted:
        said = f"is {size:,} bytes, and the parts that the config describes take {counted:,}"
        other = "is it the index of another checkpoint, or is a quantization_config missing?"
        raise CatalogError([Problem(f"{said}: {other}", str(index), key="metadata.total_size")])
    return size
