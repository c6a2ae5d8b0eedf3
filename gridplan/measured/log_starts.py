"""Where one start-up of a file ends and the next begins.

A process prints a banner once a start-up. So a banner begins a new one when its process printed it before, when it
names another model or version, or when the pool or a refusal was already printed. Ranks and replicas of one start-up
print it once each, under names of their own (the process id apart) and before any of them has a pool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gridplan.measured.log_text import LogText

__all__ = ["cut_starts"]

_MODEL = re.compile(r"(?<![\w.-])['\"]?model(?:_path)?['\"]?\s*[=:]\s*['\"]([^'\"\n]{1,300})['\"]")
_VERSION = re.compile(r"(?:version |\(v)(\d[^)\s]{0,80})")
_REPLICA = re.compile(r"EngineCore_(?:DP)?\d+")
_SERVER = re.compile(r"ApiServer_\d+")
_LINE_CHARS = 4_000
"""How much of a banner's line is asked for the model: vLLM names it first, SGLang after 30 characters."""

Event = tuple[int, int]
"""An offset and what stands there: the number of a banner, or -1 for a pool or a refusal."""


def cut_starts(text: LogText, banners: Sequence[re.Pattern[str]], ends: Sequence[re.Pattern[str]]) -> list[LogText]:
    """The text cut at every start-up; `banners` in the order in which one prints them, `ends` of pools and refusals."""
    events = sorted(_events(text, banners, ends))
    last = {kind: offset for offset, kind in events}
    first, engine = min((kind for kind in last if kind >= 0), default=0), len(banners) - 1
    cuts: list[int] = []
    current: _Start | None = None
    ended = False
    for offset, kind in events:
        if kind < 0:
            ended = True
            continue
        banner = _Banner(text, offset, kind)
        # Reports give pool, arguments and engine in any order: what nothing follows is no start-up of its own.
        leads = kind == engine or any(last[other] > offset for other in last if other < 0 or other > kind)
        if current is None:
            # What stands before the first banner belongs to the first start-up, unless both have a pool.
            begins = ended and last[-1] > offset
        else:
            begins = current.ends_before(banner, kind == first, leads, ended)
        if begins:
            cuts.append(offset)
        if begins or current is None:
            current, ended = _Start(), False
        current.add(banner)
    edges = [0, *cuts, None]
    parts = [text.part(begin or 0, end) for begin, end in pairwise(edges)]
    return [part for part in parts if part.text] or [text]


def _events(text: LogText, banners: Sequence[re.Pattern[str]], ends: Sequence[re.Pattern[str]]) -> Iterator[Event]:
    for kind, banner in enumerate(banners):
        yield from ((found.start(), kind) for found in banner.finditer(text.text))
    for end in ends:
        yield from ((found.start(), -1) for found in end.finditer(text.text))


class _Banner:
    """One banner: who printed it, and the model and version on its line."""

    def __init__(self, text: LogText, offset: int, kind: int) -> None:
        stop = text.text.find("\n", offset)
        line = text.text[offset : min(len(text.text) if stop < 0 else stop, offset + _LINE_CHARS)]
        model, version = _MODEL.search(line), _VERSION.search(line)
        self.kind = kind
        self.who = text.rank_at(offset).split(" pid=")[0]
        # The engine may put a path or another model in place of the one that was asked for, so like is held to like.
        facts = {f"model {kind}": model, "version": version}
        self.facts = {name: found[1] for name, found in facts.items() if found is not None}


class _Start:
    """What the banners of one start-up have said so far."""

    def __init__(self) -> None:
        self.seen: set[tuple[int, str]] = set()
        self.facts: dict[str, str] = {}

    def ends_before(self, banner: _Banner, is_first_kind: bool, leads: bool, ended: bool) -> bool:
        """Whether a banner is that of the next start-up.

        `leads` says that an engine or a pool comes after it, `ended` that this start-up printed its pool or refusal.
        """
        if any(self.facts.get(name, value) != value for name, value in banner.facts.items()):
            return True
        again = (banner.kind, banner.who) in self.seen
        if is_first_kind and again:
            return True
        if not leads:
            return False
        # The server's banners come before the engine's, but for one of several servers that comes late.
        if any(kind > banner.kind for kind, _ in self.seen) and not _SERVER.fullmatch(banner.who):
            return True
        return ended and (again or not self._is_replica(banner))

    def _is_replica(self, banner: _Banner) -> bool:
        """Whether a further data-parallel engine core is late: another one may have its pool by then."""
        others = [who for kind, who in self.seen if kind == banner.kind]
        return bool(others) and all(_REPLICA.fullmatch(who) for who in (banner.who, *others))

    def add(self, banner: _Banner) -> None:
        self.seen.add((banner.kind, banner.who))
        self.facts = {**banner.facts, **self.facts}
