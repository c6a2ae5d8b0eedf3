"""A record as a file."""

from __future__ import annotations

from pathlib import Path

from gridplan.report.record.document import Record
from gridplan.report.record.markdown import markdown_page
from gridplan.report.record.page import html_page
from gridplan.store.files import write_text

__all__ = ["write_record"]


def write_record(record: Record, path: str | Path) -> Path:
    """Write a record as one .html page with its charts, or as .md without them; whole or not at all.

    Raises
    ------
    StoreError
        If the file cannot be written.
    ValueError
        For another suffix.
    """
    target = Path(path)
    if target.suffix not in (".html", ".md"):
        raise ValueError(f"a file that ends in .html or .md is due, not {target.suffix!r}")
    write_text(target, html_page(record) if target.suffix == ".html" else markdown_page(record))
    return target
