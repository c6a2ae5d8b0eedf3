"""A contract whose names try to become markup, formulas or each other, and the same one with plain names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

__all__ = ["HOSTILE", "PLAIN", "REFUSED", "hostile_contract"]

LONG = "x" * 99
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "`a|b` **c** [d](javascript:alert(1))",
    "{{ 7*7 }} {% raw %} ${1+1}",
    "]]> --> </style></title></svg>",
    "&amp;&lt;b&gt;&#60;",
    f"{LONG}1{LONG}",
    f"{LONG}2{LONG}",
    f"{LONG}{LONG}a",
    f"{LONG}{LONG}b",
    "集群一号",
    "عنقود",
    "кластер",
    "\N{ROCKET} b200",
    "=cmd()",
    "-1+1",
    "@x",
    "123.50",
    "+1+2",
    'id="clip3" d="M1.23456 0" url(#clip3)',
    "a\\b_c_d~~e~~",
    "<https://example.org>",
    "# head 1. one",
    "javascript:alert(1)",
)
"""Labels that a contract takes; some are numbers or formulas for a spreadsheet, some Vega or Vega-Lite could read."""

PLAIN = tuple(f"plain{place}" for place in range(len(HOSTILE)))

REFUSED = ("a\u202eb", "a\nb", "a\tb", "\x00", " a", "a ", "", "a\u200bb")
"""What no label may be: turned text, several lines, signs that nobody sees."""


def hostile_contract(names: Sequence[str] = HOSTILE) -> str:
    """A contract in YAML that uses each name wherever a contract has names: ids, classes, scenarios, sources."""
    gpu = {"name": names[3], "vendor": "NVIDIA", "memory_bytes": "80 GiB", "source": names[0], "as_of": "2026-01-01"}
    gpu |= {"memory_bandwidth_bytes_per_s": "3 TB/s", "peak_flops": {"bf16": "900 TFLOP/s"}}
    instances = {
        name: {
            **{"gpu": names[1], "gpus_per_node": 8, "usd_per_node_hour": 30 + place, "as_of": "2026-01-01"},
            "source": names[-1 - place],
        }
        for place, name in enumerate(names)
    }
    model = {"params_total": 8e9, "num_layers": 32, "hidden_size": 4096, "attention_heads": 32, "kv_heads": 8}
    model |= {"head_dim": 128, "vocab_size": 128256, "native_weight_dtype": "bf16", "source": names[1]}
    model |= {"intermediate_size": 14336, "family": "llama", "as_of": "2026-01-01", "max_position_embeddings": 131072}
    classes = [
        {"name": name, "weight": 1.0 / 4, "prompt_tokens": 100 + place, "output_tokens": 50}
        for place, name in enumerate(names[:4])
    ]
    found: dict[str, Any] = {
        "schema": 1,
        "name": names[1],
        "description": f"{names[0]}\n\t{names[3]} {names[5]}",
        "workload": {"classes": classes, "peak_to_average": 2.0},
        "slo": {"ttft": {"limit": "2 s", "percentile": "mean"}, "tpot": {"limit": "50 ms", "percentile": "mean"}},
        "deployment": {
            **{"model": names[2], "weight_dtype": "bf16", "kv_dtype": "bf16", "tensor_parallel": 1, "mbu": 0.7},
            **{"mfu": 0.45, "gpu_memory_utilization": 0.9, "workspace_bytes": "2 GiB", "kv_efficiency": 0.95},
        },
        "capacity": {"capacity_model": "replica_seconds"},
        "policy": {"rho_target": 0.7, "redundancy": 1, "failure_domain": "gpu", "hours_per_month": 730},
        "catalog": {"gpus": {names[1]: gpu}, "instances": instances, "models": {names[2]: model}},
        "axes": {"instance": list(names), "arrival_rate": [10.0, 20.0]},
        "scenarios": {name: {"arrival_rate": {"multiply": 1.0 + place / 10}} for place, name in enumerate(names, 1)},
    }
    return yaml.safe_dump(found, allow_unicode=True, sort_keys=False, width=10_000)
