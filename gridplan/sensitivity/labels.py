"""Labels of options as text, and columns of labels that keep their nulls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridplan.sensitivity.options import Options

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["label_texts", "variable"]


def variable(dims: str | Sequence[str], values: NDArray[Any], attrs: dict[str, Any] | None = None) -> xr.Variable:
    """A variable whose labels stay as they are: on the usual way pandas makes None a NaN."""
    import xarray as xr

    return xr.Variable((dims,) if isinstance(dims, str) else tuple(dims), values, attrs, fastpath=True)


def label_texts(
    found: Options, row: NDArray[np.intp], option: NDArray[np.intp], none: NDArray[np.bool_] | None = None
) -> NDArray[Any]:
    """The labels of options as `gpu=b200, kv_dtype=fp8`; axes with one label are left out, None where `none`."""
    names = [name for name, size in zip(found.chosen, found.choices, strict=True) if size > 1]
    columns = [[_shown(label) for label in found.pick(name, row, option).tolist()] for name in names]
    texts = np.empty(len(row), dtype=object)
    pairs = [dict(zip(names, labels, strict=True)) for labels in zip(*columns, strict=True)]
    texts[:] = [", ".join(f"{name}={label}" for name, label in pair.items()) for pair in pairs] or ""
    if none is not None:
        texts[none] = None
    return texts


def _shown(label: Any) -> str:
    return f"{label:.6g}" if isinstance(label, float) else str(label)
