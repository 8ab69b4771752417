"""Bulk lookups: each distinct place is looked up once, and each gets an outcome. No pandas.

Also why a result requires review (`reviewing`), the cache, lock files and plans, and the tables of
all added columns and all options.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svc_tools.lookup.many import Run, alookup_many, look_up, lookup_many
    from svc_tools.lookup.outcomes import Component, Found, Outcome, refused
    from svc_tools.tables.statuses import STATUSES, Status, StatusText

__all__ = [
    "STATUSES",
    "Component",
    "Found",
    "Outcome",
    "Run",
    "Status",
    "StatusText",
    "alookup_many",
    "look_up",
    "lookup_many",
    "refused",
]
_OF_MANY = {"Run", "alookup_many", "look_up", "lookup_many"}
_STATUSES = {"STATUSES", "Status", "StatusText"}


def __getattr__(name: str) -> object:
    """Load a name when it is first used: who shows one outcome needs no engine and no cache."""
    if name in __all__:
        home = "lookup.many" if name in _OF_MANY else "lookup.outcomes"
        home = "tables.statuses" if name in _STATUSES else home
        found = globals()[name] = getattr(import_module(f"svc_tools.{home}"), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
