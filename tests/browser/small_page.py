"""A page with nothing wrong, to which a test adds the one thing that it is about."""

from __future__ import annotations

PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Fleet</title>{head}</head>
<body><main><h1>Fleet</h1><p>Four replicas</p>{body}</main></body>
</html>
"""


def small_page(body: str = "", head: str = "") -> str:
    """The HTML of the page."""
    return PAGE.format(head=head, body=body)
