"""Reports of an enriched frame: the workbook, and the page for the browser."""
