"""From a cube to a decision: what matters, what to choose, how wrong one may be, and thresholds asked backwards."""
