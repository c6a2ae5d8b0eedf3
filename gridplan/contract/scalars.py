"""Plain scalars by the core schema of YAML 1.2: what is a number, what is a word, and what is a text.

Source: YAML 1.2.2, section 10.3.2 (tag resolution of the core schema). Under YAML 1.1, which PyYAML follows, `8.03e9`
is a text, `no` is false and `1:30` is ninety.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

__all__ = ["resolve_scalar"]

_MAX_DIGITS = 400  # Python refuses integers of more than 4,300 digits with a poor message
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS: Mapping[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def resolve_scalar(text: str) -> object:
    """The value of an unquoted scalar; ValueError where it is a number that cannot be used.

    >>> [resolve_scalar(text) for text in ("8.03e9", "0x1F", "no", "true", "~", "2025-04-28")]
    [8030000000.0, 31, 'no', True, None, '2025-04-28']
    """
    if text in _WORDS:
        return _WORDS[text]
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not a finite number")
    based = _BASED.fullmatch(text) is not None
    if not based and not _FLOAT.fullmatch(text):
        return text
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"{text[:40]}... has too many digits")
    number: int | float = int(text, 0) if based else int(text) if _INTEGER.fullmatch(text) else float(text)
    if abs(number) > sys.float_info.max:
        raise ValueError(f"{text[:40]} is too large a number")
    return number
