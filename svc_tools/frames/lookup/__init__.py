"""From rows to rates: columns of the place and the date, queries, results, added columns."""
