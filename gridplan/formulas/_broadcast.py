"""One face for all formulas: scalars, arrays or labelled arrays in, the same kind out.

A formula is written once, as a kernel of NumPy operations on float64 values. `formula` and `count` wrap it so that

* float64 arrays and scalars reach the kernel as they are (the hot loop: no conversion, no copy);
* scalars alone give a Python scalar, a whole number as an int where the result is a count;
* other numbers (int32, float32, lists) become float64 first, because narrow integers wrap and float32 ends at 2**24;
* labelled arrays line up by name: the array itself does that through NumPy's ufunc protocol, so no label library is
  imported here; other labels along a shared dimension are an error, whatever the caller's join rule;
* nothing warns: a division by zero is an infinity or NaN that the caller can see.

The bare kernel is the wrapped function's `__wrapped__`, for callers who hold float64 arrays and their own errstate.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

__all__ = ["count", "formula", "is_labelled"]

P = ParamSpec("P")
R = TypeVar("R")


def formula(kernel: Callable[P, R]) -> Callable[P, R]:
    """Wrap a kernel of broadcasting NumPy operations; scalar results become Python scalars."""
    return _wrap(kernel, whole=False)


def count(kernel: Callable[P, R]) -> Callable[P, R]:
    """Wrap a kernel whose results are whole numbers: scalars come out as int, arrays as float64 (NaN is null)."""
    return _wrap(kernel, whole=True)


def is_labelled(value: object) -> bool:
    """Whether `value` carries dimension names."""
    return hasattr(value, "dims")


def _wrap(kernel: Callable[P, R], whole: bool) -> Callable[P, R]:
    signature = inspect.signature(kernel)
    names = tuple(signature.parameters)
    defaults = {p.name: p.default for p in signature.parameters.values() if p.default is not p.empty}
    outputs = str(signature.return_annotation).count("Value")  # one per output: `Value`, `tuple[Value, Value]`

    @functools.wraps(kernel)
    def call(*args: Any, **kwargs: Any) -> Any:
        values = _positional(args, kwargs, names, defaults, signature) if kwargs else args
        ready, scalar = [], True
        for value in values:
            if type(value) is np.ndarray and value.dtype.char == "d":
                scalar = False
            elif type(value) is float:
                value = np.float64(value)  # its division by zero is an infinity, not an exception
            elif type(value) is not np.float64:
                if is_labelled(value):
                    return _call_labelled(kernel, values, outputs)
                value = _as_float64(value)
                scalar = scalar and not isinstance(value, np.ndarray)
            ready.append(value)
        with np.errstate(all="ignore"):
            result = kernel(*ready)  # type: ignore[call-arg]
        if not scalar:
            return result
        return tuple(_scalar(part, whole) for part in result) if isinstance(result, tuple) else _scalar(result, whole)

    return call


def _positional(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: tuple[str, ...],
    defaults: dict[str, Any],
    signature: inspect.Signature,
) -> tuple[Any, ...]:
    rest = names[len(args) :]
    used = sum(name in kwargs for name in rest)
    if used != len(kwargs) or any(name not in kwargs and name not in defaults for name in rest):
        signature.bind(*args, **kwargs)  # raises the TypeError that Python would
    return args + tuple(kwargs[name] if name in kwargs else defaults[name] for name in rest)


def _as_float64(value: Any) -> Any:
    """A number or an array of numbers as float64; text passes through."""
    if isinstance(value, str):
        return value
    array = np.asarray(value)
    kind = array.dtype.kind
    if kind in "biuf" or (kind == "O" and not any(isinstance(item, str) for item in array.ravel())):
        array = array.astype(np.float64, copy=False)
    return array if isinstance(value, np.ndarray) or array.ndim else array[()]


def _scalar(result: Any, whole: bool) -> Any:
    value = result.item() if isinstance(result, (np.generic, np.ndarray)) else result
    return int(value) if whole and math.isfinite(value) else value


class _UfuncFace:
    """What a labelled array asks of a ufunc before it lines up its dimensions and calls it on the plain arrays."""

    signature = None

    def __init__(self, kernel: Callable[..., Any], inputs: int, outputs: int) -> None:
        self.kernel, self.nin, self.nout, self.__name__ = kernel, inputs, outputs, kernel.__name__

    def __call__(self, *values: Any) -> Any:
        with np.errstate(all="ignore"):
            return self.kernel(*(_as_float64(value) for value in values))


def _same_labels(values: list[Any]) -> None:
    """Raise ValueError where two labelled arrays share a dimension with other labels: nothing is dropped in silence."""
    known: dict[Any, Any] = {}
    for value in values:
        for dim in value.dims:
            coords = getattr(value, "coords", {})
            if dim not in coords:
                continue
            labels = np.asarray(coords[dim])
            if dim in known and not np.array_equal(known[dim], labels):
                raise ValueError(f"arrays differ in the labels of {dim}: align them first")
            known[dim] = labels


def _call_labelled(kernel: Callable[..., Any], values: tuple[Any, ...], outputs: int) -> Any:
    inputs = [value if is_labelled(value) else _as_float64(value) for value in values]
    _same_labels([value for value in inputs if is_labelled(value)])
    host = next(value for value in inputs if is_labelled(value))
    result = host.__array_ufunc__(_UfuncFace(kernel, len(inputs), outputs), "__call__", *inputs)
    for part in result if isinstance(result, tuple) else (result,):
        part.attrs = {}  # an input's unit, long name and name would be false on the result
        if hasattr(part, "name"):
            part.name = None
    return result
