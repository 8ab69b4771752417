"""Bulk lookups: each distinct place is looked up once, and each gets an outcome. No pandas."""

from svc_tools.lookup.many import Run, alookup_many, look_up, lookup_many
from svc_tools.lookup.outcomes import STATUSES, Component, Found, Outcome, Status, refused

__all__ = [
    "STATUSES",
    "Component",
    "Found",
    "Outcome",
    "Run",
    "Status",
    "alookup_many",
    "look_up",
    "lookup_many",
    "refused",
]
