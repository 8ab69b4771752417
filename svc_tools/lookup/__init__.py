"""Many places at once: each distinct one is asked for once, and every one gets an outcome."""

from svc_tools.lookup.engine import look_up
from svc_tools.lookup.outcomes import (
    STATUSES,
    Component,
    Found,
    Outcome,
    Status,
    lacking,
    part_is_known,
    refused,
)

__all__ = [
    "STATUSES",
    "Component",
    "Found",
    "Outcome",
    "Status",
    "lacking",
    "look_up",
    "part_is_known",
    "refused",
]
