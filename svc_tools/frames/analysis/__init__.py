"""Reconciling a computed tax with what was collected, filing it, and figures by month."""
