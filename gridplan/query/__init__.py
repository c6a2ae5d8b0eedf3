"""Questions to a stored cube in SQL: DuckDB reads its files, and only those that hold rows of the answer."""
