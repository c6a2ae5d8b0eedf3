"""Imports every config.json that the wheel aiconfigurator-core ships, and prints what came of each (no test).

    python tests/bench/import_corpus.py [FOLDER]

FOLDER holds files named `OWNER--NAME_config.json`, with modelopt's `OWNER--NAME_hf_quant_config.json` beside them;
without it the wheel is installed into a virtual environment of its own, which is removed at the end.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gridplan.catalog import Catalog, Model, find_model, groups_text, load_catalog
from gridplan.catalog.hf import import_model
from gridplan.errors import CatalogError

WHEEL = "aiconfigurator-core==0.12.0"
SIDE, CONFIG = "_hf_quant_config.json", "_config.json"
COMPARED = (
    *("params_total", "params_active", "params_embedding", "params_routed_experts", "params_replicated", "num_layers"),
    *("kv_layers", "num_sliding_layers", "num_chunked_layers", "num_linear_layers", "hidden_size", "attention_heads"),
    *("kv_heads", "attention", "kv_lora_rank", "qk_rope_head_dim", "index_head_dim", "intermediate_size"),
    *("moe_intermediate_size", "num_experts", "experts_per_token", "num_moe_layers", "vocab_size"),
    *("max_position_embeddings", "native_weight_dtype", "tie_word_embeddings", "family"),
)


def main(folder: Path) -> None:
    """One line a file, and the counts at the end."""
    catalog, began = load_catalog(), time.perf_counter()
    counts = {"imported": 0, "refused": 0, "side files refused": 0}
    for path in sorted(folder.glob(f"*{CONFIG}")):
        name = path.name.removesuffix(SIDE).removesuffix(CONFIG)
        try:
            said = _line(catalog, path, name)
            counts["imported"] += 1
        except CatalogError as error:
            said = "refused: " + "; ".join(f"{item.key}: {item.message}" for item in error.problems)
            counts["side files refused" if path.name.endswith(SIDE) else "refused"] += 1
        print(f"{path.name.removesuffix('.json')}\t{said}")
    print(f"\n{counts}, {time.perf_counter() - began:.1f} s")


def _line(catalog: Catalog, path: Path, name: str) -> str:
    side = path.with_name(f"{name}{SIDE}")
    imported = import_model(path, quant_config=side if side.exists() and side != path else None)
    entry = imported.entry
    own = catalog.with_entries({"models": {"imported": entry}}).model("imported")
    counts = f"{entry['params_total']:,} parameters, {entry['params_active']:,} active"
    size = f"{entry['checkpoint_bytes'] / 1e9:.2f} GB in {entry['native_weight_dtype']}"
    known = find_model(catalog, name.replace("--", "/"))
    compared = "not in the catalog" if known is None else _compared(own, catalog.model(known))
    return "\t".join(["imported", counts, size, compared, str(entry.get("notes", ""))])


def _compared(own: Model, known: Model) -> str:
    different = list(_differences(own, known))
    return f"= {known.id}" if not different else f"!= {known.id}: {', '.join(different)}"


def _differences(own: Model, known: Model) -> Iterator[str]:
    for name in COMPARED:
        mine, theirs = getattr(own, name), getattr(known, name)
        if mine != theirs:
            yield f"{name} {mine} for {theirs}"
    mine, theirs = (sorted(groups_text([group]) for group in model.layer_groups) for model in (own, known))
    if mine != theirs:
        yield f"groups {' | '.join(mine)} for {' | '.join(theirs)}"


def _with_wheel() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", WHEEL], check=True)
        main(next(Path(folder).glob("lib/*/site-packages/aiconfigurator_core/model_configs")))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        _with_wheel()
