"""Excel on Windows through xlwings: the functions, the macros, and what both need of a workbook.

Importing this loads no xlwings; `udfs` and `macros` do.
"""
