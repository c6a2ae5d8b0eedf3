"""The decision record: one page that says what was planned, from what, what it costs and what breaks it."""

from __future__ import annotations

from gridplan.report.record.build import record_of
from gridplan.report.record.document import Record
from gridplan.report.record.markdown import markdown_page
from gridplan.report.record.page import html_page
from gridplan.report.record.save import write_record

record = record_of
"""`gridplan.record`."""

__all__ = ["Record", "html_page", "markdown_page", "record", "record_of", "write_record"]
