"""Columns as whole numbers: rates, cents, and cells that are neither."""
