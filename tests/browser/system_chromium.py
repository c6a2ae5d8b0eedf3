"""The Chromium of the system, found and started; the one that Playwright would download is never used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright
from system_program import SystemProgram

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
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # a second lock: what no route sees finds no host
)


_PROGRAM = SystemProgram("Chromium", EXECUTABLES, "chromium", "GRIDPLAN_TEST_CHROMIUM", "GRIDPLAN_TEST_REQUIRE_BROWSER")
find_chromium, require_chromium = _PROGRAM.find, _PROGRAM.require


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
