"""The page itself: one document with its styles and scripts inside, the same served and written as a file."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import lru_cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from gridplan.errors import MissingExtraError
from gridplan.report.charts.theme import HATCHES, hatches_svg

__all__ = ["needs_drawing", "page"]

SCRIPTS = (
    *("text", "block", "source", "state", "controls", "presets", "plane", "paint", "cell", "table"),
    *("charts", "options", "chain", "whatif", "main"),
)
"""The scripts of the page in the order in which they stand in it; they share one scope."""


def needs_drawing() -> None:
    """Refuse where the libraries that make the page are not installed. Raises MissingExtraError."""
    if find_spec("vl_convert") is None:
        raise MissingExtraError("charts of the explorer are drawn by Vega, out of vl-convert-python", "explore")
    if find_spec("jinja2") is None:
        raise MissingExtraError("the page of the explorer is written by Jinja2", "explore")


def page(about: dict[str, Any], cube: bytes | None = None) -> str:
    """The page of a cube: `about` is what it is told, `cube` all of its cells (gzipped) where no server answers.

    Raises MissingExtraError.
    """
    needs_drawing()
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup

    room = Environment(loader=PackageLoader("gridplan.explore"), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    style = _text("explore.css")
    scripts = [_vega(), _own()]
    connect = "'self'" if cube is None else "'none'"
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src {_hash(style)}; "
        f"img-src data:; connect-src {connect}; base-uri 'none'; form-action 'none'"
    )
    return room.get_template("explore.html.j2").render(
        about=about,
        policy=policy,
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        data=Markup(_json(about)),
        cube="" if cube is None else base64.b64encode(cube).decode(),
        hatches=Markup(hatches_svg(HATCHES)),
    )


@lru_cache(maxsize=1)
def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, out of vl-convert: nothing is fetched."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg] # its stub knows no default
    # A browser would end the script at these letters, wherever they stand.
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _own() -> str:
    """The scripts of the page in one scope that nothing else sees."""
    body = "\n".join(_text(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


def _text(name: str) -> str:
    return (files("gridplan.explore") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """How a content security policy names a script or a style that stands in the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(data: dict[str, Any]) -> str:
    """JSON in which no sign can end the element it stands in."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign, written in (
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
    ):
        text = text.replace(sign, written)
    return text
