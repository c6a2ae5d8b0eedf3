"""One browser a session (a worker, with pytest-xdist), and the fixture that opens pages in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from playwright.sync_api import Browser

# `--import-mode=importlib` puts no test folder on sys.path; the tests of this one share modules.
sys.path.append(str(Path(__file__).parent))

from page_view import Media, Scheme, View, viewed
from system_chromium import launched, require_chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, started by the first test that needs it."""
    with launched(require_chromium()) as browser:
        yield browser


@pytest.fixture(scope="session")
def explorer_address() -> Iterator[str]:
    """Where the explorer of the quickstart is served."""
    from served_explorer import served

    import gridplan
    from gridplan.explore.explorer import explorer_of

    with served(explorer_of(gridplan.load_grid(Path(__file__).parents[2] / "grids" / "quickstart.yaml"))) as address:
        yield address


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., View]]:
    """`open_page(path)`, `open_page(html)` or `open_page("http://...")`: the loaded page, closed when the test ends."""
    numbers = count(1)
    with ExitStack() as views:

        def opened(
            path_or_html: Path | str,
            width: int = 1280,
            height: int = 900,
            scheme: Scheme = "light",
            media: Media | None = None,
        ) -> View:
            file: Path | str
            if isinstance(path_or_html, Path) or path_or_html.startswith("http://127.0.0.1:"):
                file = path_or_html
            else:
                assert "<" in path_or_html, "a text is taken for HTML: give a path as a Path"
                file = tmp_path / f"opened-{next(numbers)}.html"
                file.write_text(path_or_html, encoding="utf-8")
            return views.enter_context(viewed(browser, file, width=width, height=height, scheme=scheme, media=media))

        yield opened
