"""Parquet made from the known structure of a cube: pages encoded block by block, chunks and files put around them.

A column of a cube repeats along every axis it does not depend on, and the writer knows where. General writers find that
out value by value; here a page of such a column is made from its few own values, and one that was made before is used
again. What comes out is plain Parquet: version 1 data pages, numbers PLAIN, text through a dictionary, statistics and a
page index.

Format: Apache Parquet, `parquet.thrift` and `Encodings.md`, version 2.10 (2023-11), cited by name in each file.
"""
