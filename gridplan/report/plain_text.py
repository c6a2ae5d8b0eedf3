"""Texts of other people made safe to show: no sign that turns or hides text, no markup."""

from __future__ import annotations

import re

from gridplan.markup import printable

__all__ = ["escaped", "printable"]


def escaped(text: str) -> str:
    """A text that Markdown shows as it is, in one line: no markup, no HTML, no new cell of a table.

    >>> escaped("<b>a|b</b> *c*")
    '&lt;b&gt;a\\\\|b&lt;/b&gt; \\\\*c\\\\*'
    """
    plain = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*\[\]|~])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", lambda found: f"\\{found[0]}", plain)
