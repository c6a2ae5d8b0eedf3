"""A part of a stored cube: its cells as a block of the cube, and the layout it has as a cube of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gridplan.labels import label_positions
from gridplan.store.blocks import Block
from gridplan.store.columns import AxisSpec, Column
from gridplan.store.layout import Layout

__all__ = ["own_box", "slice_box", "slice_layout"]


def slice_box(layout: Layout, at: Mapping[str, str | float] | None) -> Block:
    """The cells of the cube at one label of each axis that `at` names, found as `gridplan.labels` finds it.

    Raises ContractError if an axis is unknown or a label is not on its axis, with the nearest labels.
    """
    index = label_positions({axis.name: axis.labels for axis in layout.axes}, at or {})
    start = tuple(index.get(dim, 0) for dim in layout.dims)
    stop = tuple(index[dim] + 1 if dim in index else size for dim, size in zip(layout.dims, layout.shape, strict=True))
    return Block(start, stop)


def slice_layout(layout: Layout, box: Block) -> Layout:
    """The layout of the cells of `box`: every axis with the labels that are left of it, and the same columns.

    An axis keeps its place at size 1, and a column its dims.
    """
    axes = tuple(replace(axis, labels=axis.labels[place]) for axis, place in zip(layout.axes, box.slices, strict=True))
    left = {axis.name: axis for axis in axes}
    columns = tuple(_labelled(column, left.get(column.name)) for column in layout.columns)
    return Layout(axes, columns, layout.row_group_rows)


def _labelled(column: Column, axis: AxisSpec | None) -> Column:
    if axis is None or not axis.is_text:
        return column
    return replace(column, categories=tuple(map(str, axis.labels)))


def own_box(layout: Layout, column: Column, box: Block) -> Block:
    """The cells of `box` where `column` is read: the first label left of each axis that it does not depend on.

    Taking that label, and not the first of the axis, needs no files beside those of `box`.
    """
    kept = [dim in column.dims for dim in layout.dims]
    bounds = zip(box.start, box.stop, kept, strict=True)
    return Block(box.start, tuple(stop if own else start + 1 for start, stop, own in bounds))
