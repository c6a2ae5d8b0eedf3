"""A run on a cluster of dask.distributed: the same parts, planned by processes on other machines."""
