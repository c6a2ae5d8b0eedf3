"""What a test asks of an open page."""

from __future__ import annotations

from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from page_view import View


def assert_quiet(view: View) -> None:
    """No error and no warning was logged and nothing was asked for; comes before `violations`, which may log."""
    view.settle()
    assert not view.console_errors, "\n".join(view.console_errors)
    assert not view.requests, "\n".join(view.requests)


def violations(view: View) -> list[str]:
    """What axe finds wrong, a line for each element: rule, impact, place and HTML.

    Of text in SVG, axe leaves the contrast undecided, which is no violation.
    """
    return [
        f"{rule['id']} ({rule['impact']}) at {' '.join(map(str, node['target']))}: {node['html']}"
        for rule in Axe().run(view.page).response["violations"]
        for node in rule["nodes"]
    ]


def overflow_px(view: View) -> int:
    """By how many pixels the page is wider than its window; 0 where nobody has to scroll sideways."""
    over = view.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return max(0, int(over))


def pdf(view: View) -> bytes:
    """The page printed on A4, with its backgrounds."""
    return view.page.pdf(format="A4", print_background=True)


def screenshot(view: View, path: Path) -> Path:
    """A PNG of the whole page, with what is below the window."""
    view.page.screenshot(path=path, full_page=True)
    return path
