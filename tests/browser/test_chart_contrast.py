"""The contrast of text in a chart is judged against what is drawn below it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from chart_contrast import pale_texts
from page_view import View
from small_page import small_page

OpenPage = Callable[..., View]

DARK = "<style>@media (prefers-color-scheme: dark) { body { background: #000 } }</style>"


def _svg(inner: str) -> str:
    return f"<figure id='drawn'><svg role='img' aria-label='a' width='300' height='90'>{inner}</svg></figure>"


@pytest.mark.parametrize(
    ("inner", "ratio"),
    [
        # Greys against white by the formula of WCAG 2.2: #767676 is the palest that has 4.5:1, and #949494 3:1.
        ("<text x='9' y='40' fill='#767676'>word</text>", None),
        ("<text x='9' y='40' fill='#777777'>word</text>", 4.48),
        ("<text x='9' y='40' fill='#949494' font-size='24'>word</text>", None),
        ("<text x='9' y='40' fill='#959595' font-size='24'>word</text>", 2.99),
        ("<text x='9' y='40' fill='#000' opacity='0.5'>word</text>", 3.95),
        # On a tile: black at half strength over white is #808080, on which black has 5.32 and white 3.95.
        ("<rect width='300' height='90' fill='#000' fill-opacity='0.5'/><text x='9' y='40'>word</text>", None),
        (
            "<g opacity='0.5'><rect width='300' height='90' /></g><text x='9' y='40' fill='#fff'>word</text>",
            3.95,
        ),
        # The end of the text stands on the tile, its middle does not.
        ("<path d='M40 0H300V90H40Z' fill='#333'/><text x='9' y='40'>word word</text>", 1.66),
        # A tile that is drawn later, beside the text or clipped away is not below it.
        ("<text x='9' y='40'>word</text><rect x='150' width='99' height='90' fill='#000'/>", None),
        ("<g fill='none'><rect width='300' height='90' fill='none'/></g><text x='9' y='40'>word</text>", None),
    ],
)
def test_a_text_is_judged_against_what_is_below_it(open_page: OpenPage, inner: str, ratio: float | None) -> None:
    judged, pale = pale_texts(open_page(small_page(_svg(inner))))
    assert judged == 1
    assert [item.ratio for item in pale] == ([] if ratio is None else [pytest.approx(ratio, abs=0.05)])
    assert all(item.chart == "drawn" for item in pale)


def test_the_page_behind_a_chart_counts(open_page: OpenPage) -> None:
    page = small_page(_svg("<text x='9' y='40'>word</text>"), DARK)
    assert pale_texts(open_page(page))[1] == []
    assert [round(item.ratio, 2) for item in pale_texts(open_page(page, scheme="dark"))[1]] == [1.0]


def test_what_is_not_shown_is_not_judged(open_page: OpenPage) -> None:
    hidden = f"<div style='display:none'>{_svg('<text>word</text>')}</div>"
    assert pale_texts(open_page(small_page(hidden))) == (0, [])
