"""Nexus: where a seller has to collect tax, and the account's registrations of it.

A register is read (`read_register`) or listed by the service (`list_register`), measured against
the states' thresholds (`exposure`), planned (`make_plan`) and cleaned up (`apply_plan`).
Registrations are added or changed (`add_registration`, `add_registrations`, `edit_registration`).
Where the service can add records, each is undone (`restore`). Nothing here prompts the user; the
command line, the panel and the macros of Excel do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.base.extras import needs
from svc_tools.nexus.apply import (
    apply_plan,
    preview,
    preview_restore,
    remove_state,
    restore,
)
from svc_tools.nexus.edit import add_registration, add_registrations, edit_registration
from svc_tools.nexus.plan import Missing, Plan, PlanError, PlanRow, read_plan
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
from svc_tools.nexus.thresholds import Threshold, Thresholds, ThresholdsError, read_thresholds

if TYPE_CHECKING:
    from svc_tools.nexus.standings import exposure_summary
    from svc_tools.nexus.state_exposure import exposure

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
    "Threshold",
    "Thresholds",
    "ThresholdsError",
    "abilities",
    "add_registration",
    "add_registrations",
    "apply_plan",
    "differences",
    "edit_registration",
    "exposure",
    "exposure_summary",
    "list_register",
    "make_plan",
    "preview",
    "preview_restore",
    "read_plan",
    "read_receipt",
    "read_register",
    "read_thresholds",
    "receipt_folder",
    "receipts",
    "remove_state",
    "restore",
]


def __getattr__(name: str) -> object:
    """Load `exposure` and its summary when they are first used: they need pandas."""
    if name not in {"exposure", "exposure_summary"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needs(f"nexus.{name}", "pandas"):
        from svc_tools.nexus.standings import exposure_summary  # noqa: PLC0415 - see above
        from svc_tools.nexus.state_exposure import exposure  # noqa: PLC0415 - see above
    return exposure if name == "exposure" else exposure_summary
