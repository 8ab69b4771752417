"""What came of a refresh: counted, and in a sentence for a message box or a task pane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_tools.excel.memory import is_answer
from svc_tools.shown import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_tools.lookup import Outcome
    from svc_tools.places import Place

__all__ = ["RefreshReport", "report_on", "worth_keeping"]


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What came of a refresh.

    Attributes:
        asked: how many places were asked about again.
        changed: for how many the answer is another now.
        failed: how many got no answer; where there was an old one, it stays.
        why: why the first of them failed, in a sentence; `None` where none did.
        register: why the nexus register could not be listed anew; `None` where it was, or where
            no cell asks for it.
    """

    asked: int
    changed: int
    failed: int
    why: str | None = None
    register: str | None = None

    @property
    def sentence(self) -> str:
        """The report in words."""
        told = self._of_places
        if self.register:
            told = f"{told} The nexus register stays as it was listed before: {self.register}"
        return told

    @property
    def _of_places(self) -> str:
        if not self.asked:
            return "There is nothing to ask again."
        changes = f"{counted(self.changed, 'answer')} changed" if self.changed else "none changed"
        told = f"{counted(self.asked, 'place')} asked again: {changes}."
        if not self.failed:
            return told
        return (
            f"{told} {counted(self.failed, 'place')} got no answer ({self.why}); cells with an"
            " older answer keep it."
        )

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence


def worth_keeping(
    old: Mapping[Place, Outcome], new: Mapping[Place, Outcome]
) -> dict[Place, Outcome]:
    """What replaces the old outcomes: every answer, and a failure where there was none before."""
    return {
        place: outcome
        for place, outcome in new.items()
        if is_answer(outcome) or place not in old or not is_answer(old[place])
    }


def report_on(
    old: Mapping[Place, Outcome], new: Mapping[Place, Outcome], register: str | None
) -> RefreshReport:
    """The report on outcomes before and after, and on why the register could not be listed."""
    answers = {place: outcome for place, outcome in new.items() if is_answer(outcome)}
    failures = [outcome.error for place, outcome in new.items() if place not in answers]
    changed = sum(
        (outcome.status, outcome.found) != (old[place].status, old[place].found)
        for place, outcome in answers.items()
    )
    why = next((why for why in failures if why), None)
    return RefreshReport(len(new), changed, len(failures), why, register)
