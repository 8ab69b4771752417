"""Exact tax of an enriched frame: amounts, rounding, exemptions, delivery, what is due."""
