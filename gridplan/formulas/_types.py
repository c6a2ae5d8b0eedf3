"""The type of everything a formula takes and gives."""

from __future__ import annotations

from typing import Any, TypeAlias

Value: TypeAlias = Any
"""A real number: a Python or NumPy scalar, an array, or a labelled array (anything with `dims` that answers ufuncs)."""
