"""Build a dashboard over cube.duckdb through Superset's REST API; run it again to rebuild it.

Environment: SUPERSET_URL, SUPERSET_USER, SUPERSET_PASSWORD, and CUBE, the database file as the server finds it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPCookieProcessor, Request, build_opener

URL = os.environ.get("SUPERSET_URL", "http://127.0.0.1:8088")
NAME = "gridplan"  # of the database connection, and the end of the dashboard's address
TITLE = "gridplan: what the capacity costs"

# Saved metrics of each dataset: name: (label, SQL, number format).
METRICS: dict[str, dict[str, tuple[str, str, str]]] = {
    "cube": {"combinations": ("combinations", "count(*)", ",d")},
    "feasible": {
        "usd_per_mtok_output_min": ("USD per 1M output tokens", "min(usd_per_mtok_output)", ",.2f"),
        "gpus_of_cheapest": (
            "GPUs of the cheapest plan",
            "arg_min(gpus_deployed, (usd_per_mtok_output, gpus_deployed))",
            ",d",
        ),
    },
    "best": {},
}
# Calculated columns of each dataset: name: (SQL, type).
COLUMNS: dict[str, dict[str, tuple[str, str]]] = {
    "cube": {"outcome": ("coalesce(binding_constraint, infeasible_reason)", "VARCHAR")},
    "feasible": {"requests_per_s": ("round(arrival_rate, 2)", "DOUBLE")},
    "best": {},
}
# Filters, one value each, of the dataset cube: (column, label, value at first).
FILTERS: list[tuple[str, str, Any]] = [
    ("arrival_rate", "requests/s", 10),
    ("context_tokens", "context", 8192),
    ("kv_dtype", "KV dtype", "fp8"),
    ("rho_target", "rho*", 0.7),
]
PRICE = "usd_per_mtok_output_min"
BAR = {"viz_type": "echarts_timeseries_bar", "orientation": "horizontal", "row_limit": 1000}
LEGEND = {"show_legend": True, "legendOrientation": "right", "legendType": "plain"}
BEST = "model gpu kv_dtype context_tokens rho_target binding_constraint gpus_deployed usd_per_month usd_per_mtok_output"
FORMATS = {"usd_per_mtok_output": ",.3f", "usd_per_month": ",.0f", "context_tokens": ",d", "rho_target": ".2f"}
# Charts: title, dataset, width of 12, height, filters that leave the chart alone, form data.
CHARTS: dict[str, tuple[str, str, int, int, list[str], dict[str, Any]]] = {
    "price": (
        *("Cheapest plan, USD per 1M output tokens", "feasible", 5, 52, []),
        BAR
        | {"x_axis": "model", "metrics": [PRICE], "x_axis_sort": PRICE, "x_axis_sort_asc": False}
        | {"show_value": True, "show_legend": False, "y_axis_format": ",.2f"},
    ),
    "heat": (
        *("USD per 1M output tokens (the redder, the dearer for that model)", "feasible", 7, 52, []),
        {"viz_type": "heatmap_v2", "x_axis": "model", "groupby": "gpu", "metric": PRICE, "row_limit": 1000}
        | {"sort_x_axis": "alpha_asc", "sort_y_axis": "alpha_asc", "normalize_across": "x", "normalized": True}
        | {
            "linear_color_scheme": "schemeYlOrRd",
            "show_values": True,
            "show_legend": False,
            "legend_type": "continuous",
        }
        | {"y_axis_format": ",.2f", "x_axis_label_rotation": 45, "left_margin": 25, "bottom_margin": 25}
        | {"xscale_interval": 1, "yscale_interval": 1, "value_bounds": [None, None]},
    ),
    "binds": (
        *("What binds or rules out, combinations of GPU and model", "cube", 6, 52, []),
        BAR
        | LEGEND
        | {"x_axis": "outcome", "metrics": ["combinations"], "groupby": ["model"], "stack": "Stack"}
        | {"y_axis_format": ",d", "x_axis_sort_series": "sum", "x_axis_sort_series_ascending": True},
    ),
    "gpus": (
        *("GPUs of the cheapest plan over arrival rate in requests/s", "feasible", 6, 52, ["arrival_rate"]),
        LEGEND
        | {"viz_type": "echarts_timeseries_line", "x_axis": "requests_per_s", "xAxisForceCategorical": True}
        | {"xAxisLabelInterval": "0", "x_axis_sort": "requests_per_s", "x_axis_sort_asc": True, "row_limit": 1000}
        | {"metrics": ["gpus_of_cheapest"], "groupby": ["model"], "logAxis": True, "y_axis_format": ",d"}
        | {"markerEnabled": True, "markerSize": 5, "truncateYAxis": False},
    ),
    "best": (
        *("Cheapest of all at this arrival rate: any KV dtype, context and rho* (table best)", "best", 12, 50),
        ["context_tokens", "kv_dtype", "rho_target"],
        {"viz_type": "table", "query_mode": "raw", "show_cell_bars": False, "row_limit": 100}
        | {"order_by_cols": ['["usd_per_mtok_output", true]'], "all_columns": BEST.split()}
        | {"column_config": {name: {"d3NumberFormat": form} for name, form in FORMATS.items()}},
    ),
}
ROWS = [["price", "heat"], ["binds", "gpus"], ["best"]]


class Superset:
    """A session with the REST API of a server."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self.url, self.headers = url, {"Content-Type": "application/json", "Referer": url}
        self.opener = build_opener(HTTPCookieProcessor(CookieJar()))
        login = {"username": user, "password": password, "provider": "db"}
        self.headers["Authorization"] = f"Bearer {self.call('POST', 'security/login', login)['access_token']}"
        self.headers["X-CSRFToken"] = self.call("GET", "security/csrf_token/")["result"]

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The answer to a request; stops with what the server says is wrong."""
        data = None if body is None else json.dumps(body).encode()
        try:
            with self.opener.open(Request(f"{self.url}/api/v1/{path}", data, self.headers, method=method)) as answer:
                return json.load(answer)
        except HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.code} {error.read().decode()}") from None

    def ids(self, kind: str, column: str, value: Any, opr: str = "eq") -> list[int]:
        """The numbers of the objects of a kind whose column has this value."""
        query = json.dumps({"filters": [{"col": column, "opr": opr, "value": value}]})
        return list(self.call("GET", f"{kind}/?q={quote(query)}")["ids"])


def remove(server: Superset) -> None:
    """Remove what an earlier run made."""
    for dashboard in server.ids("dashboard", "slug", NAME):
        for chart in server.call("GET", f"dashboard/{dashboard}/charts")["result"]:
            server.call("DELETE", f"chart/{chart['id']}")
        server.call("DELETE", f"dashboard/{dashboard}")
    for database in server.ids("database", "database_name", NAME):
        for dataset in server.ids("dataset", "database", database, "rel_o_m"):
            server.call("DELETE", f"dataset/{dataset}")
        server.call("DELETE", f"database/{database}")


def add_dataset(server: Superset, database: int, name: str) -> int:
    """A table or view of the file with its calculated columns and saved metrics."""
    made: int = server.call("POST", "dataset/", {"database": database, "schema": "main", "table_name": name})["id"]
    keep = ("id", "column_name", "type", "groupby", "filterable", "is_dttm", "is_active")
    found = server.call("GET", f"dataset/{made}")["result"]["columns"]
    columns = [{key: column[key] for key in keep} for column in found]
    for column, (sql, kind) in COLUMNS[name].items():
        columns.append({"column_name": column, "expression": sql, "type": kind, "groupby": True, "filterable": True})
    metrics = [
        {"metric_name": metric, "verbose_name": label, "expression": sql, "d3format": form}
        for metric, (label, sql, form) in METRICS[name].items()
    ]
    server.call("PUT", f"dataset/{made}", {"columns": columns, "metrics": metrics})
    return made


def layout(charts: Mapping[str, int]) -> dict[str, Any]:
    """Where the charts stand."""
    grid: dict[str, Any] = {"id": "GRID_ID", "type": "GRID", "parents": ["ROOT_ID"], "children": []}
    root = {"id": "ROOT_ID", "type": "ROOT", "children": ["GRID_ID"]}
    placed: dict[str, Any] = {"DASHBOARD_VERSION_KEY": "v2", "ROOT_ID": root, "GRID_ID": grid}
    for number, keys in enumerate(ROWS):
        row, parents = f"ROW-{number}", ["ROOT_ID", "GRID_ID"]
        grid["children"].append(row)
        placed[row] = {"id": row, "type": "ROW", "parents": parents, "children": [f"CHART-{key}" for key in keys]}
        placed[row]["meta"] = {"background": "BACKGROUND_TRANSPARENT"}
        for key in keys:
            title, _, width, height, _, _ = CHARTS[key]
            meta = {"chartId": charts[key], "sliceName": title, "width": width, "height": height}
            chart = {"id": f"CHART-{key}", "type": "CHART", "parents": [*parents, row], "children": [], "meta": meta}
            placed[f"CHART-{key}"] = chart
    return placed


def native_filter(column: str, label: str, value: Any, dataset: int, charts: Mapping[str, int]) -> dict[str, Any]:
    """A filter of one value that acts on every chart whose dataset has the column, but for those left alone."""
    state = {"filterState": {"value": [value], "label": str(value)}}
    control = {"multiSelect": False, "enableEmptyFilter": False, "defaultToFirstItem": False, "sortAscending": True}
    return {
        "id": f"NATIVE_FILTER-{column}",
        **{"type": "NATIVE_FILTER", "filterType": "filter_select", "name": label, "cascadeParentIds": []},
        "targets": [{"datasetId": dataset, "column": {"name": column}}],
        "defaultDataMask": {"extraFormData": {"filters": [{"col": column, "op": "IN", "val": [value]}]}} | state,
        "controlValues": control | {"inverseSelection": False, "searchAllOptions": False},
        "scope": {"rootPath": ["ROOT_ID"], "excluded": [charts[key] for key in CHARTS if column in CHARTS[key][4]]},
    }


def build(server: Superset, cube: Path) -> str:
    """Connect the database, make datasets, charts and dashboard, and return its address."""
    remove(server)
    # Read only, so that every worker can open the file; no other file of the server through SQL Lab.
    uri = f"duckdb:///{cube}?access_mode=read_only&enable_external_access=false"
    connection = {"database_name": NAME, "sqlalchemy_uri": uri, "expose_in_sqllab": True}
    database = server.call("POST", "database/", connection)["id"]
    datasets = {name: add_dataset(server, database, name) for name in METRICS}
    board = server.call("POST", "dashboard/", {"dashboard_title": TITLE, "slug": NAME, "published": True})["id"]
    charts = {}
    for key, (title, dataset, _, _, _, form) in CHARTS.items():
        form = form | {"datasource": f"{datasets[dataset]}__table"}
        chart = {"slice_name": title, "viz_type": form["viz_type"], "params": json.dumps(form), "dashboards": [board]}
        source = {"datasource_id": datasets[dataset], "datasource_type": "table"}
        charts[key] = server.call("POST", "chart/", chart | source)["id"]
    metadata = {
        "native_filter_configuration": [native_filter(*known, datasets["cube"], charts) for known in FILTERS],
        **{"filter_bar_orientation": "HORIZONTAL", "cross_filters_enabled": False, "color_scheme": "supersetColors"},
    }
    placed = {"position_json": json.dumps(layout(charts)), "json_metadata": json.dumps(metadata)}
    server.call("PUT", f"dashboard/{board}", placed)
    return f"{server.url}/superset/dashboard/{NAME}/"


if __name__ == "__main__":
    user, password = os.environ.get("SUPERSET_USER", "admin"), os.environ.get("SUPERSET_PASSWORD", "admin")
    print(build(Superset(URL, user, password), Path(os.environ.get("CUBE", "cube.duckdb")).absolute()))
