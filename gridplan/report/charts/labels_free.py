"""Texts beside points, where they meet neither each other nor another point."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Placed", "beside"]

Box = tuple[float, float, float, float]
Placed = tuple[int, str, float]
"""Which point, how its text is aligned (left, right, center), and how far it is moved up [px]."""

_GAP = 8.0
_LINE = 12.0


def beside(points: Sequence[tuple[float, float, str]], room: tuple[float, float], sign: float) -> list[Placed]:
    """A place for the text of each point that has one: right or left of it, above or below.

    `points` are pixels from the left and the lower end with their texts, `room` the size of the picture, `sign` the
    width of a letter. A text without a free place is left out.

    >>> beside([(10.0, 50.0, "a"), (12.0, 50.0, "bb")], (100.0, 100.0), 6.0)
    [(0, 'left', 0.0), (1, 'center', 12.0)]
    """
    dots: list[Box] = [(x - 5, x + 5, y - 5, y + 5) for x, y, _ in points]
    taken: list[Box] = []
    found: list[Placed] = []
    for at, (x, y, text) in enumerate(points):
        if not text:
            continue
        wide = sign * len(text)
        for align, left, up in (
            ("left", x + _GAP, 0.0),
            ("right", x - _GAP - wide, 0.0),
            ("center", x - wide / 2, _LINE),
            ("center", x - wide / 2, -_LINE),
            ("left", x + _GAP, _LINE),
            ("left", x + _GAP, -_LINE),
            ("right", x - _GAP - wide, -_LINE),
            ("right", x - _GAP - wide, _LINE),
        ):
            box = (left, left + wide, y + up - _LINE / 2, y + up + _LINE / 2)
            inside = box[0] >= 0 and box[1] <= room[0] and box[2] >= 0 and box[3] <= room[1]
            others = (dot for place, dot in enumerate(dots) if place != at)
            if inside and not any(_meet(box, other) for other in [*taken, *others]):
                taken.append(box)
                found.append((at, align, up))
                break
    return found


def _meet(one: Box, two: Box) -> bool:
    return one[0] < two[1] and two[0] < one[1] and one[2] < two[3] and two[2] < one[3]
