"""Rates and nexus as functions of a spreadsheet: one registry, and an adapter for each host."""
