"""Ticked plans, kept beside the receipts: a tick is work, and outlives the page and the kernel."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from svc_tools import nexus
from svc_tools.nexus.journal import private_folder

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from svc_tools.nexus import Plan

__all__ = ["keep", "kept", "not_applied"]

_LOOKED_AT = 20
"""So many of the newest plans are looked at; an older one is opened by its file."""


def keep(plan: Plan) -> Path:
    """Write a plan where `kept` finds it.

    Raises:
        JournalError: the folder cannot be used.
        OSError: the file cannot be written; what was there stays.
    """
    folder = private_folder(nexus.receipt_folder() / "plans")
    return plan.write(folder / f"{plan.plan_id}.csv")


def kept(plan_id: str) -> Path | None:
    """The file of a plan that was kept; `None` where there is none."""
    path = nexus.receipt_folder() / "plans" / f"{plan_id}.csv"
    return path if plan_id and path.is_file() else None


def not_applied(account: str | None, applied: Collection[str]) -> Plan | None:
    """The newest kept plan with ticks that no receipt is of; its file is `kept(plan.plan_id)`.

    Args:
        account: whose plans are looked at: of this account, or of none; `None` for all.
        applied: the plans that there are receipts of.
    """
    files = nexus.receipt_folder().joinpath("plans").glob("plan-*.csv")
    # the name begins with the moment at which it was made
    for path in sorted(files, reverse=True)[:_LOOKED_AT]:
        if path.stem in applied:
            continue
        with suppress(nexus.PlanError, OSError):
            plan = nexus.read_plan(path)
            if plan.ticked and (account is None or plan.account in {"", account}):
                return plan
    return None
