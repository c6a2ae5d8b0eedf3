"""What a column may hold; apart from how it is stored, so that who only names columns loads no NumPy."""

from __future__ import annotations

from typing import Literal

__all__ = ["Kind"]

Kind = Literal["string", "float64", "int64", "bool"]
