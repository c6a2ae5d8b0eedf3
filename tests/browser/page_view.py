"""A page in a browser, cut off from all but its own file or server, with what it says and asks for written down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, Route, WebError, WebSocketRoute

# What a page asks for is told some milliseconds after the script that asked has run on.
SETTLE_MS = 100

# `console.assert` that does not hold has a type of its own.
COMPLAINTS = ("error", "warning", "assert")

Scheme = Literal["light", "dark"]
Media = Literal["screen", "print"]


@dataclass(frozen=True)
class View:
    """An open page; the lists grow whenever Playwright is called."""

    page: Page
    console_errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def settle(self) -> None:
        """Waits until the lists hold what the page has said and asked for so far."""
        self.page.wait_for_timeout(SETTLE_MS)


@contextmanager
def viewed(
    browser: Browser, file: Path | str, *, width: int, height: int, scheme: Scheme, media: Media | None
) -> Iterator[View]:
    """The file or address, loaded in a context of its own: no page sees what another one stored."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, service_workers="block"
    )
    try:
        view = View(context.new_page())
        url = file if isinstance(file, str) else file.resolve().as_uri()
        _confine(context, view, url)
        if media is not None:
            view.page.emulate_media(media=media)
        view.page.goto(url)
        yield view
    finally:
        context.unroute_all(behavior="ignoreErrors")  # a request may be under way
        context.close()


def _confine(context: BrowserContext, view: View, url: str) -> None:
    """Refuses and writes down what goes beyond the file, also from windows, frames and workers that the page opens.

    A page that is served may ask its own server.
    """
    scheme, _, rest = url.partition("://")
    server = f"{scheme}://{rest.partition('/')[0]}/" if scheme == "http" else None

    def is_own(address: str) -> bool:
        if server is not None:
            return address.startswith(("data:", server))
        return address.startswith("data:") or address.partition("#")[0] == url

    def on_request(request: Request) -> None:
        if not is_own(request.url):
            view.requests.append(request.url)

    def on_route(route: Route) -> None:
        if is_own(route.request.url):
            route.continue_()
        else:
            route.abort("blockedbyclient")

    def on_socket(socket: WebSocketRoute) -> None:
        # It is no `request`, and reaches no server as long as nobody connects it here.
        view.requests.append(socket.url)

    def on_console(message: ConsoleMessage) -> None:
        if message.type in COMPLAINTS:
            view.console_errors.append(f"{message.type}: {message.text}")

    def on_error(error: WebError) -> None:
        view.console_errors.append(f"uncaught: {error.error}")

    context.on("request", on_request)
    context.on("console", on_console)
    context.on("weberror", on_error)
    context.route("**/*", on_route)
    context.route_web_socket("**/*", on_socket)
