"""Excel on Windows through xlwings: the functions, the macros, and the COM access that both need.

Importing this loads no xlwings; `udfs`, `macros` and `nexus` do.
"""
