"""What other tools open: the rows of a cube as a star schema, a wide file, CSV, Excel, a database, a Delta table.

Rows come from `gridplan.query` a batch at a time and go to the files as they come: memory does not grow with the cube.
"""
