"""Reconciling a computed tax with what was collected, and filing it."""
