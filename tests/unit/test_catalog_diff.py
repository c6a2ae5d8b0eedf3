"""What one catalog has otherwise than another."""

from __future__ import annotations

from gridplan.catalog import load_catalog
from gridplan.catalog.diff import FieldChange, catalog_diff

SHIPPED = load_catalog()


def test_a_catalog_does_not_differ_from_itself() -> None:
    assert catalog_diff(SHIPPED, SHIPPED) == ()
    assert catalog_diff(SHIPPED, SHIPPED.with_entries({})) == ()


def test_what_follows_from_a_changed_field_is_shown_too() -> None:
    ours = SHIPPED.with_entries({"models": {"llama-3.1-8b": {"vocab_size": 100000}}})
    (change,) = catalog_diff(SHIPPED, ours)
    assert (change.kind, change.id, change.what) == ("models", "llama-3.1-8b", "changed")
    assert change.fields == (
        FieldChange("params_embedding", 128256 * 4096.0, 100000 * 4096.0),
        FieldChange("vocab_size", 128256, 100000),
    )
    assert change.old_provenance["class"] == "fact"
    assert change.new_provenance == {
        "source": f"contract; fields it does not give: {change.old_provenance['source']}",
        "class": "assumption",
        "as_of": None,
    }


def test_peaks_are_compared_one_by_one_also_where_one_goes() -> None:
    ours = SHIPPED.with_entries({"gpus": {"h100-sxm": {"flops": {"bf16": 800e12, "fp8": None}}}})
    (change,) = catalog_diff(SHIPPED, ours)
    assert change.fields == (
        FieldChange("flops.bf16", 989e12, 800e12),
        FieldChange("flops.fp8", 1979e12, None),
    )


def test_added_entries_and_kinds() -> None:
    ours = SHIPPED.with_entries(
        {
            "instances": {"box": {"gpu": "l4", "gpus_per_node": 2}},
            "engines": {"vllm@0.28": {"mbu": 0.7}, "mine": {"fraction_meaning": "of_total", "default_fraction": 0.8}},
        }
    )
    assert [(item.id, item.what) for item in catalog_diff(SHIPPED, ours)] == [
        ("box", "added"),
        ("vllm@0.28", "changed"),
        ("mine@0", "added"),
    ]
    assert [item.id for item in catalog_diff(SHIPPED, ours, ("instances",))] == ["box"]
    assert [item.what for item in catalog_diff(ours, SHIPPED, ("instances",))] == ["removed"]
    assert catalog_diff(SHIPPED, ours, ("instances",))[0].old_provenance == {}
