"""Which term of a comparison is named."""

from __future__ import annotations

from gridplan.report.log_terms import UNITS, Term
from gridplan.report.log_verdict import conclusion

GIB = 2**30


def named(**terms: tuple[float, float]) -> str:
    """The term that is named, of terms printed and predicted: GiB for parts and the pool."""
    made = []
    for key, (printed, predicted) in terms.items():
        name = key.replace("_", " ").replace("non torch", "non-torch")
        unit = UNITS.get(name, "bytes")
        scale = 1 if name in UNITS else GIB
        made.append(Term(name, printed * scale, predicted * scale, unit))
    return conclusion(made).split(":")[0]


def test_a_part_explains_the_pool() -> None:
    terms = {"weights": (60, 66), "KV_pool": (20, 14), "KV_pool_in_tokens": (2e5, 1.4e5)}
    assert named(**terms) == "weights"


def test_several_parts_explain_it_together() -> None:
    """A public log of DeepSeek-R1 on eight H200: 16.68 GiB are 4.61, 6.91 and 5.16."""
    parts = {"weights": (83.88, 79.27), "non_torch": (7.16, 0.25), "activation": (6.37, 1.21)}
    assert named(**parts, KV_pool=(21.43, 38.11), maximum_concurrency=(2.3, 4.09)) == "non-torch"


def test_concurrency_that_no_part_explains_is_named_beside_large_parts() -> None:
    terms = {"activation": (2.0, 6.0), "KV_pool": (90, 86), "KV_bytes_of_a_token": (24576, 6200)}
    assert named(**terms, maximum_concurrency=(0.75, 2.96)) == "maximum concurrency"


def test_the_largest_share_is_named_where_parts_agree() -> None:
    parts = {"weights": (60.0, 60.1), "KV_pool": (20.0, 19.9)}
    assert named(**parts, KV_bytes_of_a_token=(100, 25), maximum_concurrency=(1.0, 4.0)) == "maximum concurrency"
    # One difference told three times: the bytes of a token are its cause.
    shares = {"KV_bytes_of_a_token": (100, 105), "KV_pool_in_tokens": (1000, 950), "maximum_concurrency": (10, 9.5)}
    assert named(**parts, **shares) == "KV bytes of a token"


def test_a_pool_that_no_part_explains() -> None:
    terms = [Term("weights", 60.0 * GIB, 60.0 * GIB, "bytes"), Term("KV pool", 20.0 * GIB, 18.0 * GIB, "bytes")]
    assert "(-10.0%) less is predicted than printed, which no printed part explains; " in conclusion(terms)


def test_small_differences_hold() -> None:
    assert named(weights=(60, 60.05), KV_pool=(20, 19.9)) == "the prediction holds; weights"
