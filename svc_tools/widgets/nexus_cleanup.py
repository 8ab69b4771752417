"""What the sections of the Nexus tab know together, and who is told when it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from svc_sdk import SvcError
from svc_tools import nexus

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    import pandas as pd

    from svc_sdk import Svc
    from svc_tools.nexus import Abilities, Plan, Receipt, Register, Thresholds

__all__ = ["Change", "Cleanup", "carried", "listed_if_it_lists", "listed_since"]

Change = Literal["register", "exposure", "plan", "ticks", "receipt", "account"]


class Cleanup:
    """One cleanup: the registers, the exposure, the plan, the receipt.

    Attributes:
        mine: the register from the user's own file, or `None`.
        mine_path: that file.
        listed: the service's own list, or `None` where it was not asked or does not list.
        use_mine: whether the plan is made of the user's own register, where both are there: it
            then says where the service's list differs, and what only that has.
        exposure: one row for each state, or `None`.
        thresholds: the thresholds that it was computed with, where they are the user's own.
        as_of: the day for which it was computed; `None` for its own choice.
        plan: the plan with its ticks, or `None`.
        abilities: whether the service lists and adds; `None` where that is not known.
        receipt: the receipt that is shown, or `None`.
    """

    def __init__(self) -> None:
        self.mine: Register | None = None
        self.mine_path: str = ""
        self.listed: Register | None = None
        self.use_mine = True
        self.exposure: pd.DataFrame | None = None
        self.thresholds: Thresholds | None = None
        self.as_of: date | None = None
        self.plan: Plan | None = None
        self.abilities: Abilities | None = None
        self.receipt: Receipt | None = None
        self._told: list[Callable[[Change], object]] = []

    @property
    def register(self) -> Register | None:
        """The register that a plan is made of."""
        if self.use_mine and self.mine is not None:
            return self.mine
        return self.listed if self.listed is not None else self.mine

    def on_change(self, told: Callable[[Change], object]) -> None:
        """Have a function called after each change, with what changed."""
        self._told.append(told)

    def ended(self, receipt: Receipt, listed: Register | None) -> None:
        """Show the receipt of what was done, and what the service lists since, where it does."""
        self.receipt = receipt
        self.changed("receipt")
        if listed is not None:
            self.listed = listed
            self.changed("register")

    def changed(self, what: Change) -> None:
        """Say that something changed."""
        for listener in self._told:
            listener(what)


def carried(former: Plan | None, plan: Plan) -> tuple[Plan, int]:
    """A new plan with the person's ticks of the former one, and how many could not be kept.

    A tick is kept only where the very same record, decision and reasons are in both.
    """
    if former is None:
        return plan, 0
    kept, lost = plan, 0
    for old in former.ticked:
        same = [
            row
            for row in plan.rows
            if (row.state, row.nexus_type, row.registered_at, row.address, row.notes)
            == (old.state, old.nexus_type, old.registered_at, old.address, old.notes)
            and (row.decision, row.reasons) == (old.decision, old.reasons)
        ]
        if len(same) == 1 and old.action == "remove":
            kept = kept.tick(same[0].number)
        else:
            lost += 1
    return kept, lost


def listed_if_it_lists(client: Svc) -> Register | None:
    """The service's records; `None` where it does not list them.

    Raises:
        SvcError: the call failed.
    """
    try:
        return nexus.list_register(client)
    except nexus.NotListedError:
        return None


def listed_since(client: Svc) -> Register | None:
    """What the service lists after a change; `None` where it cannot say: the receipt counts."""
    try:
        return listed_if_it_lists(client)
    except SvcError:
        return None
