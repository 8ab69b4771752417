"""Nexus: where a seller has to collect tax, and the account's registrations of it.

A register is read (`read_register`) or listed by the service (`list_register`), measured against
the states' thresholds (`exposure`), planned (`make_plan`), cleaned up (`apply_plan`) and, where the
service can add records, restored (`restore`). Nothing here prompts the user; the command line and
the panel do.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svc_tools.nexus.apply import (
        apply_plan,
        preview,
        preview_restore,
        preview_state,
        remove_state,
        restore,
    )
    from svc_tools.nexus.plan import Missing, Plan, PlanError, PlanRow, Removal, read_plan
    from svc_tools.nexus.planning import make_plan
    from svc_tools.nexus.receipt import (
        PlannedRequest,
        Receipt,
        ReceiptError,
        ReceiptItem,
        read_receipt,
        receipt_folder,
        receipts,
    )
    from svc_tools.nexus.register import (
        NEXUS_TYPES,
        Register,
        RegisterError,
        Registration,
        read_register,
    )
    from svc_tools.nexus.requests import ApplyError
    from svc_tools.nexus.service import (
        Abilities,
        NotListedError,
        abilities,
        differences,
        list_register,
    )
    from svc_tools.nexus.state_exposure import exposure
    from svc_tools.nexus.thresholds import Threshold, Thresholds, ThresholdsError, read_thresholds

__all__ = [
    "NEXUS_TYPES",
    "Abilities",
    "ApplyError",
    "Missing",
    "NotListedError",
    "Plan",
    "PlanError",
    "PlanRow",
    "PlannedRequest",
    "Receipt",
    "ReceiptError",
    "ReceiptItem",
    "Register",
    "RegisterError",
    "Registration",
    "Removal",
    "Threshold",
    "Thresholds",
    "ThresholdsError",
    "abilities",
    "apply_plan",
    "differences",
    "exposure",
    "list_register",
    "make_plan",
    "preview",
    "preview_restore",
    "preview_state",
    "read_plan",
    "read_receipt",
    "read_register",
    "read_thresholds",
    "receipt_folder",
    "receipts",
    "remove_state",
    "restore",
]

_HOMES = {
    "apply": (
        "apply_plan",
        "preview",
        "preview_restore",
        "preview_state",
        "remove_state",
        "restore",
    ),
    "plan": ("Missing", "Plan", "PlanError", "PlanRow", "Removal", "read_plan"),
    "planning": ("make_plan",),
    "receipt": (
        "PlannedRequest",
        "Receipt",
        "ReceiptError",
        "ReceiptItem",
        "read_receipt",
        "receipt_folder",
        "receipts",
    ),
    "register": ("NEXUS_TYPES", "Register", "RegisterError", "Registration", "read_register"),
    "requests": ("ApplyError",),
    "service": ("Abilities", "NotListedError", "abilities", "differences", "list_register"),
    "state_exposure": ("exposure",),
    "thresholds": ("Threshold", "Thresholds", "ThresholdsError", "read_thresholds"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a module when it is first used: a register alone needs neither pandas nor locks."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = found
    return found
