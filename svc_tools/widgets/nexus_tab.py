"""The tab "Nexus": a cleanup from the register to the receipt, and back.

Five steps from top to bottom; each is a call of `svc_tools.nexus`, and shows it as code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ipywidgets as w

from svc_tools.widgets.nexus_apply import ApplySection
from svc_tools.widgets.nexus_cleanup import Cleanup
from svc_tools.widgets.nexus_exposure import ExposureSection
from svc_tools.widgets.nexus_history import HistorySection
from svc_tools.widgets.nexus_left_over import LeftOverSection
from svc_tools.widgets.nexus_plan import PlanSection
from svc_tools.widgets.nexus_receipt import ReceiptSection
from svc_tools.widgets.nexus_register import RegisterSection
from svc_tools.widgets.nexus_whole_state import WholeStateSection
from svc_tools.widgets.parts import HERE

if TYPE_CHECKING:
    from svc_tools.widgets.nexus_cleanup import Change
    from svc_tools.widgets.session import Session

__all__ = ["NexusTab"]


class NexusTab:
    """Clean up nexus registrations: provably, and back where the service can add.

    Attributes:
        cleanup: what the steps know together.
        register, exposure, plan, apply, receipt: the steps.
        left_over: what an earlier page did not bring to its end.
        history: earlier receipts.
        whole_state: removing every type of one state.
        view: all of it.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.cleanup = Cleanup()
        self.register = RegisterSection(session, self.cleanup)
        self.exposure = ExposureSection(session, self.cleanup)
        self.plan = PlanSection(session, self.cleanup)
        self.apply = ApplySection(session, self.cleanup)
        self.receipt = ReceiptSection(session, self.cleanup, self.plan.open)
        self.history = HistorySection(session, self.cleanup)
        self.whole_state = WholeStateSection(session, self.cleanup)
        self.left_over = LeftOverSection(session, self.cleanup, self.plan.use)
        steps = (
            self.left_over,
            self.register,
            self.exposure,
            self.plan,
            self.apply,
            self.receipt,
            self.history,
            self.whole_state,
        )
        css = (HERE / "nexus.css").read_text(encoding="utf-8")
        looks = w.HTML(f"<style>{css}</style>", layout={"display": "none"})
        self.view = w.VBox([looks, *(step.view for step in steps)])
        self.view.add_class("svc-nexus")
        self.cleanup.on_change(self._changed)
        session.on_change(self._account_changed)

    def opened(self) -> None:
        """The tab is shown: only now look for what is left over.

        A host may make the panel long before anybody sees it.
        """
        self.left_over.look()

    def _changed(self, what: Change) -> None:
        if what == "register":
            self.exposure.register_changed()
            self.whole_state.show()
        if what in {"register", "exposure"}:
            self.plan.register_changed()
        if what in {"plan", "ticks"}:
            self.apply.drop("The ticks have changed: preview the requests again.")
        if what == "receipt":
            self.receipt.show()

    def _account_changed(self) -> None:
        self.cleanup.abilities = None
        self.left_over.look_anew()
        self.register.forget_service()
        self.plan.show()
        self.apply.drop("The account has changed: preview the requests again.")
        self.receipt.drop()
        self.whole_state.show()
