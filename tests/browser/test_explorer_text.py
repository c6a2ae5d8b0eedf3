"""Numbers of the explorer read as everywhere else in gridplan: the same text for the same value."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from importlib.resources import files

from page_view import View

from gridplan.quantities import format_quantity

UNITS = ("1", "count", "s", "bytes", "bytes/s", "FLOP", "USD/month", "USD/Mtok", "tokens", "req/s", "bool", "sequences")


def values() -> list[float]:
    """Halves that binary holds and halves that it does not, whole numbers, every size."""
    rng = random.Random(7)
    eighths = [rng.randrange(10**6) / 8 for _ in range(800)]
    thousandths = [rng.randrange(10**6) / 1000 for _ in range(800)]
    sizes = [10 ** rng.uniform(-9, 22) for _ in range(1500)]
    whole = [float(rng.randrange(10**15)) for _ in range(300)]
    ladder = [2.0**30 * rng.randrange(10**5) / 1000 for _ in range(300)]
    known = [0.0, 1023.999 * 2**20, 160.515 * 2**30, 0.999, 0.9999999, 9999.5, 99999.5, 1e21, 0.1, 0.105, 1e-5]
    return [sign * value for value in (*eighths, *thousandths, *sizes, *whole, *ladder, *known) for sign in (1, -1)]


def test_texts_are_those_of_python(open_page: Callable[..., View]) -> None:
    rng = random.Random(8)
    cases = [(value, rng.choice(UNITS)) for value in values()]
    script = (files("gridplan.explore") / "templates" / "text.js").read_text(encoding="utf-8")
    about = '<script type="application/json" id="about">{"columns": []}</script>'
    asked = f"window.said = {json.dumps(cases)}.map(([value, unit]) => quantityText(value, unit));"
    view = open_page(f"<!doctype html><title>texts</title>{about}<script>{script}{asked}</script>")
    said = view.page.evaluate("window.said")
    wanted = [format_quantity(value, unit) for value, unit in cases]
    assert [pair for pair in zip(cases, wanted, said, strict=True) if pair[1] != pair[2]] == []
    assert len(said) > 7000
    assert not view.console_errors
