"""The road of every row: its query, the results of a source, and the columns that they fill."""
