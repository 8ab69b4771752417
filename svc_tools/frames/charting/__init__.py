"""Charts of an enriched frame, drawn without a display."""
