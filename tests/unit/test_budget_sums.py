"""A measured pool beside stated terms that leave another one is an error; beside predicted ones it is a difference."""

from __future__ import annotations

import pytest

import gridplan
from gridplan.report.explanation import Explanation

GIB = 2**30
PLAN = """
schema: 1
workload: {{prompt_tokens: 2000, output_tokens: 300, arrival_rate: 2}}
deployment: {{gpu: h100-sxm, {stated}}}
policy: {{rho_target: 0.65}}
"""


def explained(stated: str) -> Explanation:
    return gridplan.explain(gridplan.loads_grid(PLAN.format(stated=stated)))


SUM = "model: llama-3.1-8b, gpu_memory_bytes: 80 GiB, gpu_memory_utilization: 0.9, weights_bytes: 15 GiB"


@pytest.mark.parametrize(
    "terms", ["workspace_bytes: 5 GiB", "non_torch_bytes: 1 GiB, activation_bytes: 4 GiB, cuda_graphs_bytes: 0"]
)
def test_a_pool_that_stated_terms_contradict_is_an_error(terms: str) -> None:
    with pytest.raises(gridplan.ContractError, match=r"leave 52\.00 GiB, not the 50\.00 GiB that are given"):
        explained(f"{SUM}, {terms}, kv_pool_bytes_given: 50 GiB")
    # What two printed decimals may miss is no contradiction.
    assert explained(f"{SUM}, {terms}, kv_pool_bytes_given: 51.97 GiB").budget


def test_an_adapter_that_is_not_stated_counts_in_the_sum() -> None:
    # 4 slots of Llama-3-8B take 0.31 GiB: with them the pool of 52 GiB is one of another start.
    terms = "non_torch_bytes: 1 GiB, activation_bytes: 4 GiB, cuda_graphs_bytes: 0"
    with pytest.raises(gridplan.ContractError, match=r"leave 51\.69 GiB"):
        explained(f"{SUM}, {terms}, max_loras: 4, kv_pool_bytes_given: 52 GiB")


def test_a_pool_beside_predicted_terms_is_a_difference_not_an_error() -> None:
    assert explained("model: llama-3.1-8b, kv_pool_bytes_given: 40 GiB").budget[-2].bytes > 10 * GIB
