"""A grid asked backwards: the largest context, the smallest tensor parallelism, the largest concurrency."""
