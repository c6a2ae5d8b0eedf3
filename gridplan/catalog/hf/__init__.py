"""Models as they are published: a Hugging Face config.json read into an entry of the catalog, or refused by field."""

from __future__ import annotations

from gridplan.catalog.hf.entry import EXTRAS, Imported, import_model

__all__ = ["EXTRAS", "Imported", "import_model"]
