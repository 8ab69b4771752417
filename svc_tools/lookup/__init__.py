"""Many places at once: each distinct one is asked for once, and every one gets an outcome."""

from svc_tools.codes import lacking, part_is_known
from svc_tools.lookup.driver import Run, look_up
from svc_tools.lookup.many import alookup_many, lookup_many
from svc_tools.lookup.outcomes import STATUSES, Component, Found, Outcome, Status, refused

__all__ = [
    "STATUSES",
    "Component",
    "Found",
    "Outcome",
    "Run",
    "Status",
    "alookup_many",
    "lacking",
    "look_up",
    "lookup_many",
    "part_is_known",
    "refused",
]
