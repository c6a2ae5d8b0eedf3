"""Small synthetic cubes for the tests of the store: every type, nulls everywhere, labels that trip naive writers."""

from __future__ import annotations

import numpy as np
import pytest
from stored_cubes import Cube

from gridplan.store import AxisSpec, Column, make_layout


def _sample() -> Cube:
    """Two text axes with a number axis between them; every type; columns on all, some and none of the axes."""
    axes = [
        AxisSpec("gpu", ("h100", "a100", "H100"), True, "label"),
        AxisSpec("rho_target", (0.5, 0.7, 1.0), False, "1"),
        AxisSpec("context", ("16k", "128k"), True, "label"),
    ]
    columns = [
        Column("model", "coord", "string", (), ("llama-3-8b",), {"unit": "label", "long_name": "model"}),
        Column("vendor", "coord", "string", ("gpu",), ("NVIDIA", "other"), {"unit": "label"}),
        Column("status", "measure", "string", ("gpu", "rho_target", "context"), ("ok", "infeasible"), {}),
        Column("note", "measure", "string", ("gpu", "context"), (), {}),
        Column("replicas", "measure", "int64", ("gpu", "rho_target", "context"), (), {"unit": "count"}),
        Column("usd_per_hour", "measure", "float64", ("gpu", "rho_target", "context"), (), {"unit": "USD/h"}),
        Column("holds", "measure", "bool", ("gpu", "rho_target", "context"), (), {"unit": "bool"}),
        Column("headroom", "measure", "float64", ("rho_target",), (), {"unit": "1", "long_name": "headroom"}),
        Column("params", "measure", "int64", (), (), {"unit": "count"}),
    ]
    nan = np.nan
    replicas = np.array([3.0, nan, 5.0, 2.0**53, 0.0, 7.0, nan, nan, nan, nan, nan, nan, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    arrays = {
        "model": np.zeros((1, 1, 1), dtype=np.int8),
        "vendor": np.array([0, -1, 1]).reshape(3, 1, 1),
        "status": np.where(np.isnan(replicas), 1, 0).reshape(3, 3, 2),
        "note": np.full((3, 1, 2), -1),
        "replicas": replicas.reshape(3, 3, 2),
        "usd_per_hour": (replicas * 2.49).reshape(3, 3, 2),
        "holds": np.where(np.isnan(replicas), nan, replicas % 2).reshape(3, 3, 2),
        "headroom": np.array([0.5, nan, 0.0]).reshape(1, 3, 1),
        "params": np.array(70_553_706_496.0).reshape(1, 1, 1),
    }
    return Cube(make_layout(axes, columns, ranked=["vendor"]), arrays)


@pytest.fixture
def sample() -> Cube:
    """A cube of 18 cells whose middle GPU is infeasible throughout."""
    return _sample()


@pytest.fixture(scope="session")
def cube_type() -> type[Cube]:
    """The class, for tests that build cubes of their own."""
    return Cube
