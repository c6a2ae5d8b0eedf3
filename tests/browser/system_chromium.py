"""The Chromium of the system, found and started; the one that Playwright would download is never used."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

EXECUTABLES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",  # it starts for nobody who is root, as in most containers
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # a second lock: what no route sees finds no host
)


def find_chromium() -> str | None:
    """The executable that GRIDPLAN_TEST_CHROMIUM names or, where that is not set, the first of the usual ones."""
    named = os.environ.get("GRIDPLAN_TEST_CHROMIUM")
    return next(filter(None, map(shutil.which, [named] if named else EXECUTABLES)), None)


def require_chromium() -> str:
    """The executable; without one the test is skipped, and fails where GRIDPLAN_TEST_REQUIRE_BROWSER is 1."""
    found = find_chromium()
    if found is not None:
        return found
    named = os.environ.get("GRIDPLAN_TEST_CHROMIUM")
    missing = f"GRIDPLAN_TEST_CHROMIUM={named} is no executable" if named else "no Chromium on PATH"
    reason = f"{missing}: install the package chromium, or name an executable in GRIDPLAN_TEST_CHROMIUM"
    if os.environ.get("GRIDPLAN_TEST_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def launched(executable: str) -> Iterator[Browser]:
    """The browser, running until the block ends.

    Playwright's event loop counts as running for as long: `asyncio.run` in the same thread is refused meanwhile.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, headless=True, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()
