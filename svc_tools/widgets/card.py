"""The card of a lookup in the panel: with the service, the time and the reasons for a review."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING

from svc_sdk._reading import percent
from svc_sdk.rates import rate_to_decimal, units_to_rate
from svc_tools.display import card
from svc_tools.frames.what_to_do import what_to_do
from svc_tools.lookup.review import REVIEW_REASONS, review_reasons
from svc_tools.meanings import MEANINGS

if TYPE_CHECKING:
    from svc_sdk import TaxResponse
    from svc_tools.lookup import Found, Outcome

__all__ = ["answer_card", "day_in_words"]


def answer_card(
    answer: TaxResponse,
    outcome: Outcome,
    *,
    service: str,
    day: date | None = None,
    notes: tuple[str, ...] = (),
) -> str:
    """The card as HTML without JavaScript; everything from the service is escaped.

    Args:
        answer: the answer.
        outcome: what became of the question; its reasons for a review are said.
        service: who answered.
        day: the day that was asked for; `None` for today.
        notes: what else to say of the question.
    """
    facts = [("Service", service)]
    at = outcome.looked_up_at
    if at is not None:
        facts.append(("Answered", at.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z").strip()))
    return card(
        answer,
        day=day_in_words(day),
        facts=facts,
        notes=(*notes, *_reasons(outcome, day)),
        meanings=MEANINGS,
    )


def day_in_words(day: date | None) -> str:
    """The day that a rate was asked for."""
    return f"today, {datetime.now().astimezone().date()}" if day is None else f"on {day}"


def _reasons(outcome: Outcome, day: date | None) -> tuple[str, ...]:
    """Why a person should look at the answer, where its own warnings do not say so."""
    found = outcome.found
    if found is None:
        return ()
    own_day = day or datetime.now().astimezone().date()
    codes = review_reasons(outcome, found.warnings, own_day)
    unsaid = [code for code in codes if code not in found.warnings and code != "partial"]
    unsaid += [code for code in found.warnings if code == "parts_do_not_add_up"]
    return tuple(_reason(code, found) for code in unsaid)


def _reason(code: str, found: Found) -> str:
    said = f"{REVIEW_REASONS[code][0]}."
    if code == "several_rates" and found.low is not None and found.high is not None:
        low, high = (
            percent(rate_to_decimal(units_to_rate(units))) for units in (found.low, found.high)
        )
        said = f"{REVIEW_REASONS[code][0]}, from {low} to {high}."
    return f"{said} {what_to_do(code)}"
