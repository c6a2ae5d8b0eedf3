"""Which model of the catalog a published or logged name means.

A name matches when it differs only by what does not change the geometry: the owner before the slash, case and
punctuation, a date, a remark in brackets, or a suffix that names a training stage or a number format. The name of a
fine-tune is not matched by its beginning; it matches where `model_aliases.csv` lists it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from gridplan.catalog.model_rows import read_model_aliases

if TYPE_CHECKING:
    from gridplan.catalog.book import Catalog

__all__ = ["find_model"]

_STAGE = "instruct|it|chat|base|thinking|reasoning|hf"
_FORMAT = (
    r"fp8|fp16|bf16|int4|int8|nvfp4|mxfp4|w4a16|w8a8|w8a16|[48]bit|awq|gptq|bnb|autoround|dynamic|a?sym|gguf"
    r"|quantized\.w\da\d+|block"
)
_DATE = r"\d{4}"
_ENDING = re.compile(rf"-(?:{_STAGE}|{_FORMAT}|{_DATE})$")
_REMARK = re.compile(r"\s*(?:\([^()]*\)|\+.*)\s*$")


def find_model(catalog: Catalog, text: str) -> str | None:
    """The id of the model that a name means; None when no model, or more than one, has that name.

    In this order: the id itself; the published name (`hf_id`); the part after its slash; then the same without what
    does not change the geometry, endings dropped one at a time. `nearest` of `gridplan.errors` finds suggestions.

    >>> from gridplan.catalog import load_catalog
    >>> shipped = load_catalog()
    >>> find_model(shipped, "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"), find_model(shipped, "my-llama-3.3-70b")
    ('llama-3.3-70b', None)
    """
    if text in catalog.models:
        return text
    names = _names(catalog)
    owner = _without_remarks(text).rpartition("/")[0]
    if any(form in names for form in _forms(owner)):
        return None  # two models side by side, as in `qwen3-8b/qwen3-14b`
    for form in _forms(text):
        found = names.get(form, set())
        if found:
            return next(iter(found)) if len(found) == 1 else None
    return None


def _forms(text: str) -> Iterator[str]:
    """The name as written, then ever less of it: no remarks, no owner, and one ending after another dropped."""
    yield text.strip()
    bare = _without_remarks(text)
    yield bare
    bare = bare.rpartition("/")[2]
    yield bare
    plain = _plain(bare)
    yield plain
    while (shorter := _ENDING.sub("", plain)) != plain:
        plain = shorter
        yield plain


def _without_remarks(text: str) -> str:
    bare = text.strip()
    while (shorter := _REMARK.sub("", bare)) != bare:
        bare = shorter
    return bare


def _plain(name: str) -> str:
    """Lower case, `.` between the digits of a version, `-` for any other punctuation.

    >>> _plain("Llama-3_3-Nemotron Super"), _plain("AWQ-4-bit")
    ('llama-3.3-nemotron-super', 'awq-4bit')
    """
    folded = re.sub(r"(?<=\d)_(?=\d)", ".", name.casefold())
    folded = re.sub(r"[^a-z0-9.]+", "-", folded).strip("-.")
    return re.sub(r"\b([48])-bit\b", r"\1bit", folded)


def _shortest(name: str) -> str:
    return list(_forms(name))[-1]


def _names(catalog: Catalog) -> dict[str, set[str]]:
    """Every form under which a model is known, and the models known under it.

    A published name without its endings counts where no model has that name in full: Kimi-K2 is not Kimi-K2-Thinking.
    """
    full: dict[str, set[str]] = {}
    short: dict[str, set[str]] = {}
    for model in catalog.models.values():
        after_slash = model.hf_id.rpartition("/")[2]
        for name in {model.id, model.hf_id, after_slash, _plain(model.id), _plain(after_slash)} - {""}:
            full.setdefault(name, set()).add(model.id)
        short.setdefault(_shortest(after_slash), set()).add(model.id)
    for alias, model_id in _aliases().items():
        if model_id in catalog.models:
            for name in (alias, _plain(alias)):
                full.setdefault(name, set()).add(model_id)
    short.pop("", None)
    return short | full


@lru_cache(maxsize=1)
def _aliases() -> dict[str, str]:
    return read_model_aliases()
